# SPDX-License-Identifier: Apache-2.0
# lib/base: the basics: errors, memory, text, time, hashes, log. Included by Makefile.am.
libassay_a_SOURCES += lib/base/backoff.c lib/base/backoff.h lib/base/base64.c lib/base/base64.h lib/base/circle.c \
	lib/base/circle.h lib/base/clock.c lib/base/clock.h lib/base/distance.c lib/base/distance.h lib/base/duration.c lib/base/duration.h lib/base/err.c \
	lib/base/err.h lib/base/fnv.h lib/base/glob.c lib/base/glob.h lib/base/log.c lib/base/log.h lib/base/log_limit.c lib/base/log_limit.h \
	lib/base/macro.h \
	lib/base/map.c lib/base/map.h lib/base/pool.c lib/base/pool.h lib/base/random.c lib/base/random.h lib/base/sha256.c \
	lib/base/sha256.h lib/base/splitmix.h lib/base/strbuf.c lib/base/strbuf.h lib/base/strv.c lib/base/strv.h lib/base/subdomain.c lib/base/subdomain.h lib/base/utf8.c \
	lib/base/utf8.h lib/base/xalloc.c lib/base/xalloc.h
