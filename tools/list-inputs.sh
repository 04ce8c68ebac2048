#!/bin/sh
# SPDX-License-Identifier: MIT
# Tells Meson which files are there, since it does not look for itself:
#   man   the manual pages
#   unit  the unit tests, one a line, followed by what each asks for in its first comment lines
#   all   everything whose coming or going asks for a new `meson setup` (used by the Makefile)
set -eu
cd "$(dirname "$0")/.."

# The words of a `/* KEY: ... */` line among the first 40 lines of FILE.
directive() {
	sed -n "1,40s,^/\\* $1: \\(.*\\) \\*/\$,\\1,p" "$2"
}

list_unit() {
	for file in tests/unit/test_*.c; do
		[ -e "$file" ] || continue
		line=${file#tests/unit/}
		for word in $(directive sources "$file"); do
			line="$line $word"
		done
		for word in $(directive libs "$file"); do
			line="$line lib:$word"
		done
		echo "$line"
	done
}

# Which of the libraries that tests ask for are there: one more is one more test to build.
list_libs() {
	list_unit | tr ' ' '\n' | sed -n 's/^lib://p' | sort -u | while read -r lib; do
		path=$("${CC:-cc}" -print-file-name="lib$lib.so")
		[ ! -e "$path" ] || echo "lib$lib"
	done
}

list_existing() {
	for file; do
		[ ! -e "$file" ] || echo "$file"
	done
}

case "${1:-}" in
man) list_existing man/*.[1-9] ;;
unit) list_unit ;;
all)
	list_unit
	list_libs
	list_existing man/*.[1-9] src/*/meson.build src/*/*/meson.build src/guest/hooks/libseep.map include/seep/seep.h
	;;
*)
	echo "usage: $0 man|unit|all" >&2
	exit 2
	;;
esac
