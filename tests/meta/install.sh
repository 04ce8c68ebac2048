#!/bin/bash
# SPDX-License-Identifier: MIT
# `make install` puts things where seep looks for them, only `seep` into bindir, and
# completions and manual pages where shells and man look; `make uninstall` leaves nothing
# but what others have put there.
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
prefix=$(meson introspect "$build" --buildoptions | sed -n 's/.*"name": "prefix", "value": "\([^"]*\)".*/\1/p')
[ -n "$prefix" ] || { echo "$build: no prefix"; exit 1; }
mkdir -p "$dest$prefix/share/man/man1"
echo "somebody else's" >"$dest$prefix/share/man/man1/other.1"
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
for file in bash-completion/completions/seep zsh/site-functions/_seep fish/vendor_completions.d/seep.fish; do
	[ -s "$dest$prefix/share/$file" ] || { echo "share/$file was not installed"; failed=1; }
done
# Other tools' names are links to seep that still lead there when all of it is moved.
while read -r link; do
	[ "$(realpath "$link")" = "$(realpath "$dest$prefix/bin/seep")" ] || { echo "$link leads elsewhere"; failed=1; }
done < <(find "$dest$prefix/libexec" -type l)
[ -L "$dest$prefix/libexec/seep/bin/jeprof" ] || { echo "no other tools' names"; failed=1; }
# Where the installed seep looks, as built in.
want=/${libs%/libseep.so}
grep -qaF "$want" "$build/seep" || { echo "seep does not know $want"; failed=1; }
# Removed again.
ninja -C "$build" uninstall >/dev/null || { echo "uninstall failed"; failed=1; }
left=$(find "$dest" ! -type d -printf '%P\n')
[ "$left" = "${prefix#/}/share/man/man1/other.1" ] || { echo "left behind: $left"; failed=1; }
empty=$(find "$dest" -mindepth 1 -type d -empty -printf '%P\n')
[ -z "$empty" ] || { echo "folders left behind: $empty"; failed=1; }
exit $failed
