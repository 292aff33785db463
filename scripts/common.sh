# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts share; sourced with $top set to the source directory.
: "${top:?}"

say()
{
	printf '%s\n' "$*"
}

complain()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

is_installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# missing_packages GROUP...: one name a line of what is not installed.
missing_packages()
{
	local group choices _purpose choice found

	command -v dpkg-query >/dev/null || return 0
	while read -r group choices _purpose; do
		[[ " $* " == *" $group "* ]] || continue
		found=
		for choice in ${choices//|/ }; do
			is_installed "$choice" && found=1 && break
		done
		[ -n "$found" ] || printf '%s\n' "${choices%%|*}"
	done <"$top/scripts/packages" | sort -u
}

# run_quietly WORDS LOG COMMAND...: say what is done and how long it took; on a
# terminal the seconds count up. On failure the end of LOG is shown.
run_quietly()
{
	local words=$1 log=$2 start=$SECONDS status=0 pid
	shift 2

	printf '%s ...' "$words"
	[ -t 1 ] || printf '\n'
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	if [ -t 1 ]; then
		while kill -0 "$pid" 2>/dev/null; do
			printf '\r%s ... %d s' "$words" $((SECONDS - start))
			read -r -t 1 <> <(:) || true
		done
		printf '\r'
	fi
	wait "$pid" || status=$?
	if [ "$status" -eq 0 ]; then
		say "$words ... done in $((SECONDS - start)) s"
	else
		say "$words ... FAILED after $((SECONDS - start)) s; the end of $log:"
		tail -n 30 "$log"
	fi
	return "$status"
}

apt()
{
	DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

apt_install()
{
	# Package lists may be absent (a fresh image) or too old to still be served.
	if ! apt-cache show "$1" >/dev/null 2>&1; then
		apt update
	fi
	apt install --no-install-recommends "$@" || { apt update && apt install --no-install-recommends "$@"; }
}

# need_packages GROUP...: install what is missing as root; else print the one
# command that does and return 2.
need_packages()
{
	local missing log status=0

	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		complain "packages are missing; run this as root, then try again:"
		printf 'apt-get install -y %s\n' "${missing[*]}" >&2
		return 2
	fi
	say "Missing packages, to be installed with apt-get: ${missing[*]}"
	log=$(mktemp)
	run_quietly "Installing ${#missing[@]} packages" "$log" apt_install "${missing[@]}" || status=2
	rm -f "$log"
	return "$status"
}
