#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make ./configure from configure.ac. Needs autoconf, automake and pkg-config.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake pkg-config; do
	command -v "$tool" >/dev/null || {
		echo "autogen.sh: $tool is missing: apt-get install autoconf automake pkg-config" >&2
		exit 2
	}
done
exec autoreconf --force --install
