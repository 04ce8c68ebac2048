#!/bin/sh
# SPDX-License-Identifier: MIT
# Is every C file as .clang-format wants it? With --fix, makes it so. Named files, or all.
# Versions of clang-format differ in what they print, so the one we pinned is insisted
# upon.
set -eu
cd "$(dirname "$0")/.."
pinned=14
tool=$(command -v "clang-format-$pinned" || command -v clang-format) || {
	echo "format: clang-format $pinned is not installed (tools/deps.sh lint)" >&2
	exit 3
}
case "$("$tool" --version)" in
*"version $pinned."*) ;;
*)
	echo "format: $("$tool" --version), but $pinned is what .clang-format was written for" >&2
	exit 3
	;;
esac

# Without --fix, one complaint is enough to fail.
mode=check
if [ "${1:-}" = --fix ]; then
	mode=fix
	shift
fi
if [ $# -eq 0 ]; then
	for dir in src include tests fuzz bench examples; do
		[ ! -d $dir ] || find $dir -name '*.[ch]' ! -path '*/golden/*' -print0
	done
else
	printf '%s\0' "$@"
fi | if [ $mode = fix ]; then
	xargs -0 -r "$tool" -i
else
	xargs -0 -r "$tool" --dry-run -Werror
fi
