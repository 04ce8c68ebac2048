#!/bin/sh
# SPDX-License-Identifier: MIT
# Manual pages are well-formed mdoc; every page has examples, exit statuses and costs, and
# every page of a command says where it is wrong. A page may be another name for one that
# is there: `.so man1/PAGE` and no more.
set -u
cd "$(dirname "$0")/../.." || exit 1
set -- man/*.[1-9]
if [ ! -e "$1" ]; then
	echo "skipped: no manual pages in this tree yet"
	exit 77
fi
failed=0

# complain PAGE WHAT...
complain() {
	page_at_fault=$1
	shift
	echo "$page_at_fault: $*"
	failed=1
}

# Lines of text in a section: its macros that only set up a list or space do not count.
text_of() {
	awk -v name="$2" '/^\.Sh / {inside = ($0 == ".Sh " name); next}
		inside && !/^\.(Bl|El|Pp|Bd|Ed)/ {n++} END {print n + 0}' "$1"
}

for page; do
	if grep -q '^\.so ' "$page"; then
		of=$(sed -n 's,^\.so man1/\(seep[a-z-]*\.1\)$,\1,p' "$page")
		if [ "$(wc -l <"$page")" != 1 ] || [ -z "$of" ] || [ ! -e "man/$of" ] ||
			grep -q '^\.so ' "man/$of"; then
			complain "$page" "is not one line that names a page of this tree"
			continue
		fi
		command=${page#man/seep-}
		grep -qx "\.Cm ${command%.1}" "man/$of" ||
			complain "$page" "man/$of is not about ${command%.1}"
		continue
	fi
	mandoc -T lint -W warning "$page" || failed=1
	sections="EXAMPLES|EXIT STATUS|OVERHEAD"
	case $page in man/seep-*.1) sections="$sections|CAVEATS" ;; esac
	IFS='|'
	for section in $sections; do
		[ "$(text_of "$page" "$section")" -gt 0 ] ||
			complain "$page" "no section $section, or an empty one"
	done
	unset IFS
	# Exit statuses are a list, one line each, where there is more than the program's
	# own.
	case $page in man/seep-valgrind.1 | man/seep-massif.1 | man/seep*.[357]) continue ;; esac
	for status in 2 3; do
		awk '/^\.Sh / {inside = ($0 == ".Sh EXIT STATUS")} inside' "$page" |
			grep -qx "\.It $status" ||
			complain "$page" "EXIT STATUS does not list $status"
	done
done
grep -qx '\.It 1' man/seep.1 || complain man/seep.1 "EXIT STATUS does not list 1"
exit $failed
