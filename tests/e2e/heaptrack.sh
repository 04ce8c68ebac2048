#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep heaptrack`: records a program or a process, says in one line what it has written,
# and shows both kinds of files. It never claims that a recording is a file of heaptrack.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
cases=$(program heaptrack_cases)
cp "$ROOT/tests/golden/heaptrack/cases.zst" "$TMP/theirs.zst"
cd "$TMP" || exit

# wrote WHAT FILE: the last line, and what is in the file
wrote() {
	expect_eq "$1: the last line" "$(tail -n 1 "$TMP/err")" \
		"seep: $2 is a recording of seep, not a file of heaptrack; look at it: seep heaptrack --analyze $2"
	expect_status 0 "$SEEP" convert --sample-index peak -t folded "$2" -
	expect_match "$1: the peak of Large" "$out" '(^|;)main;Box<long, 1009>::make 153368$'
}

expect_status 0 "$SEEP" heaptrack -o mine "$cases" 5
expect_match "the program's own output" "$out" '^expect in=grow '
wrote "-o" mine.rec
expect_status 0 "$SEEP" heaptrack -o new/folder/%h.%p.rec "$cases" 5
name=$(find new -name '*.rec')
expect_match "%h and %p" "$name" "^new/folder/$(uname -n)\.[0-9]+\.rec$"
wrote "folders" "$name"
expect_status 0 "$SEEP" heaptrack -- "$cases" 5
name=$(find . -maxdepth 1 -name 'heaptrack.*.rec' -printf '%f')
expect_match "without -o" "$name" '^heaptrack\.heaptrack_cases\.[0-9]+\.rec$'
wrote "without -o" "$name"
expect_status 7 "$SEEP" heaptrack -o seven sh -c 'exit 7'
expect_status 127 "$SEEP" heaptrack -o none ./nosuch
expect_eq "nothing written, nothing said of it" "$(wc -l <"$TMP/err") $(find . -name 'none*')" "1 "
echo mine >kept.rec
expect_status 2 "$SEEP" heaptrack -o kept "$cases" 5
expect_eq "a file that is not seep's" "$(cat kept.rec)" mine

# ---- a process, until it ends
"$cases" 2500 >/dev/null &
pid=$!
until grep -q 'libc\.so.*\|libc-.*\.so' /proc/$pid/maps; do sleep 0.05; done
sleep 0.2
expect_status 0 "$SEEP" heaptrack -o attached --pid $pid
wait $pid
expect_match "attached" "$(tail -n 1 "$TMP/err")" '^seep: attached\.rec is a recording of seep, '
expect_status 0 "$SEEP" convert -t folded attached.rec -
expect_match "attached: after it was" "$out" '(^|;)main;grow 14021$'

# ---- to look at
for file in mine.rec theirs.zst; do
	expect_status 0 "$SEEP" heaptrack --analyze $file
	expect_eq "$file: the report" "$out" "$("$SEEP" report $file)"
	expect_status 0 "$SEEP" heaptrack $file
	expect_eq "$file: in place of a program" "$out" "$("$SEEP" report $file)"
	expect_status 0 "$SEEP" heaptrack -a $file -l 1 -p 0
	expect_eq "$file: as heaptrack_print" "$out" "$("$SEEP" heaptrack_print -l 1 -p 0 $file)"
done

# ---- what it does not do
wrong() {
	expect_status 2 "$SEEP" heaptrack "${@:2}"
	expect_match "${*:2}" "$err" "^seep heaptrack: $1"
	expect_eq "${*:2}: one line" "$(wc -l <"$TMP/err")" 1
}
wrong '--raw: seep writes a recording' -r "$cases"
wrong '--debug: use gdb ' --debug "$cases"
wrong 'no program given'
wrong '--pid and a program exclude each other' -p 1 "$cases"
wrong '--output needs an argument' -o
wrong '--output: the name is empty' -o '' "$cases"
wrong 'unknown option' --nothing "$cases"
expect_status 3 "$SEEP" heaptrack -a nosuch
expect_eq "one line" "$(wc -l <"$TMP/err")" 1
