#!/bin/bash
# SPDX-License-Identifier: MIT
# seep and its libraries run with glibc 2.31: what they need was in that release.
#
#   tests/meta/glibc.sh                   the products of the build folder, and the tarball if it was made
#   tests/meta/glibc.sh --strict FILE...  what was built in a release that old (make dist)
#
# A newer glibc gives some symbols a later version than the one they came with; those are
# listed here, and are right once built in the old release. So --strict goes by the
# version alone. A weak reference may be missing.
set -u
most=2.31
failed=0
# Moved from libdl and libpthread to libc in 2.34, or given another way to start in that
# one; stat and its kin were inline functions until 2.33.
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
	# With the libraries that are in it. Each is looked at: one that is no ELF file is
	# an error.
	unpacked=$(mktemp -d)
	trap 'rm -rf "$unpacked"' EXIT
	for tarball in "$build"/dist/seep-*.tar.xz; do
		[ -e "$tarball" ] || continue
		tar -C "$unpacked" -xf "$tarball" || failed=1
		mapfile -t shipped < <(find "$unpacked" -type f \( -name '*.so*' -o -path '*/bin/*' \))
		"$0" --strict "${shipped[@]}" || { echo "in $tarball"; failed=1; }
		rm -rf "${unpacked:?}"/*
	done
fi
for file; do
	listed=$(nm -D --undefined-only "$file") || { failed=1; continue; }
	# Weak ones have a small letter. GLIBC_PRIVATE may change at any time.
	newer=$(awk -v most=$most -v known="^($known)\$" '
		$1 == "U" && split($2, part, /@+GLIBC_/) == 2 {
			split(part[2], v, "."); split(most, m, ".")
			if (v[1] ~ /^[0-9]+$/ && (v[1] + 0 < m[1] || v[1] == m[1] && v[2] + 0 <= m[2])) next
			if (part[1] !~ known) print $2
		}' <<<"$listed")
	[ -z "$newer" ] || { echo "${file##*/} needs a glibc after $most:" "${newer//$'\n'/ }"; failed=1; }
done
[ $# -gt 0 ] || { echo "no file to look at"; failed=1; }
exit $failed
