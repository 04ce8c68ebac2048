#!/bin/sh
# SPDX-License-Identifier: MIT
# Manual pages are well-formed mdoc; every page of a subcommand says what it costs and where
# it is wrong.
set -u
cd "$(dirname "$0")/../.." || exit 1
set -- man/*.[1-9]
if [ ! -e "$1" ]; then
	echo "skipped: no manual pages in this tree yet"
	exit 77
fi
failed=0
for page; do
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
