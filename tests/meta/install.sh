#!/bin/bash
# SPDX-License-Identifier: MIT
# `make install` puts things where seep looks for them and only `seep` into bindir; nothing
# else appears, and what the list of installed files names is what is there.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${SEEP_BUILD:-$root/build}
if [ ! -e "$build/seep" ] || [ ! -e "$build/libseep.so" ]; then
	echo "skipped: seep or libseep.so is not built yet"
	exit 77
fi
dest=$(mktemp -d)
log=$build/meson-logs/install-log.txt # what `make uninstall` goes by: not ours to replace
[ ! -e "$log" ] || cp -p "$log" "$dest.log"
# shellcheck disable=SC2317 # called by the trap
restore() {
	if [ -e "$dest.log" ]; then mv "$dest.log" "$log"; else rm -f "$log"; fi
	rm -rf "$dest"
}
trap restore EXIT
DESTDIR=$dest meson install -C "$build" --no-rebuild --quiet || exit 1
failed=0
bins=$(find "$dest" -path '*/bin/*' -type f -printf '%f\n')
[ "$bins" = seep ] || { echo "in bindir: $bins"; failed=1; }
libs=$(find "$dest" -name '*.so*' -type f ! -name libseep_copy.so -printf '%P\n')
case $libs in
*/seep/libseep.so) ;;
*) echo "libraries: $libs"; failed=1 ;;
esac
[ ! -e "$root/include/seep/seep.h" ] || [ -n "$(find "$dest" -path '*/include/seep/seep.h')" ] || {
	echo "seep.h was not installed"
	failed=1
}
[ -e "$dest/${libs%/libseep.so}/libseep_copy.so" ] || { echo "libseep_copy.so was not installed"; failed=1; }
# The other libraries' names, and the headers that go with them.
compat=$dest/${libs%/libseep.so}/compat
for name in libjemalloc.so.2 libtcmalloc.so libseep.so include/gperftools/heap-profiler.h; do
	[ -e "$compat/$name" ] || { echo "compat/$name leads nowhere"; failed=1; }
done
[ "$(find "$dest" -name '*.so*' -type l ! -path '*/seep/compat/*')" = "" ] || {
	echo "links outside of compat"
	failed=1
}
# Every manual page, and those that are another name for one find it.
for page in "$root"/man/*.[1-9]; do
	name=${page##*/}
	there=$(find "$dest" -path "*/man/man${name##*.}/$name")
	[ -n "$there" ] || { echo "$name was not installed"; failed=1; continue; }
	of=$(sed -n 's/^\.so //p' "$there")
	[ -z "$of" ] || [ -e "${there%/man*/*}/$of" ] || { echo "$name: no $of"; failed=1; }
done
# Where the installed seep looks, as built in.
want=/${libs%/libseep.so}
grep -qaF "$want" "$build/seep" || { echo "seep does not know $want"; failed=1; }
exit $failed
