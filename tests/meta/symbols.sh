#!/bin/bash
# SPDX-License-Identifier: MIT
# What libseep.so gives to and takes from its host, compared with two lists that are
# reviewed like code: a new export may change a stranger's program, a new import may lock
# or allocate.
#
#   tests/meta/symbols.sh [--update]
#
# Also what makes it a light guest: libc alone, no lazy TLS, at most 64 bytes of static
# TLS (the loader keeps little room for late-comers), no writable code, no executable
# stack.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
lib=${SEEP_BUILD:-$root/build}/libseep.so
tls_limit=64
if [ ! -e "$lib" ]; then
	if [ ! -e "$root/src/guest/hooks/meson.build" ]; then
		echo "skipped: no recorder in this tree yet"
		exit 77
	fi
	echo "$lib is missing: make build"
	exit 1
fi
failed=0
fault() {
	echo "$*"
	failed=1
}

# names OPTION: sorted dynamic symbols without versions. Weak references of the toolchain
# (_ITM_*, __gmon_start__) are not ours. Dynamic names only: what is hidden is free.
names() {
	nm -D "$1" "$lib" | awk '{ print $NF }' | sed 's/@.*//' |
		grep -vxE '_ITM_(de)?registerTMCloneTable|__gmon_start__' | LC_ALL=C sort -u
}

# compare LIST OPTION
compare() {
	local list=$here/$1
	if [ "${update:-}" = yes ]; then
		{
			grep '^#' "$list" 2>/dev/null || echo "# $3"
			names "$2"
		} >"$list.new" && mv "$list.new" "$list"
		return
	fi
	[ -e "$list" ] || { fault "$1 is missing: tests/meta/symbols.sh --update"; return; }
	diff -u --label "$1" --label libseep.so <(grep -v '^#' "$list") <(names "$2") ||
		fault "libseep.so and $1 differ (tests/meta/symbols.sh --update, and look at the change)"
}

update=
[ "${1:-}" != --update ] || update=yes
compare exports.list --defined-only "What libseep.so defines for its host."
compare imports.list --undefined-only "What libseep.so needs from its host's C library."

needed=$(readelf -dW "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so|ld-linux)')
[ -z "$needed" ] || fault "needs more than libc:" "$needed"
names --undefined-only | grep -qx __tls_get_addr && fault "lazy TLS: __tls_get_addr is called"
tls=$(readelf -lW "$lib" | awk '$1 == "TLS" { print $6 }')
[ $((tls)) -le $tls_limit ] || fault "$((tls)) bytes of TLS, more than $tls_limit"
readelf -dW "$lib" | grep -q TEXTREL && fault "has text relocations"
readelf -lW "$lib" | awk '$1 == "GNU_STACK" { print $7 }' | grep -q E && fault "asks for an executable stack"
readelf -lW "$lib" | grep -E '^ +LOAD' | grep -q 'RWE' && fault "has a segment both writable and executable"
exit $failed
