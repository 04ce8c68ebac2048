#!/bin/bash
# SPDX-License-Identifier: MIT
# seep and its libraries run with glibc 2.31: what they need was in that release.
#
#   tests/meta/glibc.sh                   the products of the build folder
#   tests/meta/glibc.sh --strict FILE...  what was built in a release that old (make dist)
#
# A newer glibc gives some symbols a later version than the one they came with; those are
# listed here, and are right once built in the old release. So --strict goes by the version
# alone. A weak reference may be missing.
set -u
most=2.31
# Moved from libdl and libpthread to libc in 2.34, or given another way to start in that one;
# stat and its kin were inline functions until 2.33.
known='__libc_start_main|dl(addr|close|error|iterate_phdr|open|sym|vsym)|pthread_[a-z_]+|sem_[a-z]+|[fl]?stat(64)?|fstatat(64)?|mknod(at)?'

if [ "${1:-}" = --strict ]; then
	known=
	shift
else
	build=${SEEP_BUILD:-$(cd "$(dirname "$0")/../.." && pwd)/build}
	set -- "$build/libseep.so" "$build/libseep_copy.so" "$build/seep"
	for file; do
		[ -e "$file" ] || { echo "skipped: ${file##*/} is not built yet"; exit 77; }
	done
fi
failed=0
for file; do
	listed=$(nm -D --undefined-only "$file") || { failed=1; continue; }
	# Weak ones have a small letter.
	newer=$(awk '$1 == "U" && $2 ~ /@/ { sub(/@+/, " ", $2); print $2 }' <<<"$listed" |
		while read -r name version; do
			number=${version#GLIBC_}
			[ "$number" != "$version" ] || continue
			[ "$(printf '%s\n' "$number" $most | sort -V | tail -n 1)" != $most ] || continue
			[[ -n $known && $name =~ ^($known)$ ]] || echo "$name@$version"
		done)
	[ -z "$newer" ] || { echo "${file##*/} needs a glibc after $most:" "${newer//$'\n'/ }"; failed=1; }
done
[ $# -gt 0 ] || { echo "no file to look at"; failed=1; }
exit $failed
