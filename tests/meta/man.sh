#!/bin/sh
# SPDX-License-Identifier: MIT
# Manual pages are well-formed mdoc; every page of a subcommand says what it costs and where
# it is wrong. A page may be another name for one that is there: `.so man1/PAGE` and no more.
set -u
cd "$(dirname "$0")/../.." || exit 1
set -- man/*.[1-9]
if [ ! -e "$1" ]; then
	echo "skipped: no manual pages in this tree yet"
	exit 77
fi
failed=0
for page; do
	if grep -q '^\.so ' "$page"; then
		of=$(sed -n 's,^\.so man1/\(seep[a-z-]*\.1\)$,\1,p' "$page")
		if [ "$(wc -l <"$page")" != 1 ] || [ -z "$of" ] || [ ! -e "man/$of" ] ||
			grep -q '^\.so ' "man/$of"; then
			echo "$page: is not one line that names a page of this tree"
			failed=1
			continue
		fi
		command=${page#man/seep-}
		grep -qx "\.Cm ${command%.1}" "man/$of" || {
			echo "$page: man/$of is not about ${command%.1}"
			failed=1
		}
		continue
	fi
	mandoc -T lint -W warning "$page" || failed=1
	case $page in man/seep-*.1)
		for section in OVERHEAD CAVEATS; do
			grep -qx "\\.Sh $section" "$page" || {
				echo "$page: no section $section"
				failed=1
			}
		done
		;;
	esac
done
exit $failed
