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
libs=$(find "$dest" -name '*.so*' -printf '%P\n')
case $libs in
*/seep/libseep.so) ;;
*) echo "libraries: $libs"; failed=1 ;;
esac
[ ! -e "$root/include/seep/seep.h" ] || [ -n "$(find "$dest" -path '*/include/seep/seep.h')" ] || {
	echo "seep.h was not installed"
	failed=1
}
# Where the installed seep looks, as built in.
want=/${libs%/libseep.so}
grep -qaF "$want" "$build/seep" || { echo "seep does not know $want"; failed=1; }
exit $failed
