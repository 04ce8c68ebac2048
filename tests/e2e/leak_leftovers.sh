#!/bin/bash
# SPDX-License-Identifier: MIT
# Words that glibc's malloc leaves in memory which is used again look like pointers into
# the middle of blocks: the summary says which possibly lost blocks only such words hold,
# and no program with pointers of its own to the last 8 bytes of blocks is called leaking.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_libseep
need_command jq
prog=$(program left_words) || exit
cd "$TMP" || exit

# sums WHAT FILE: definite/possible/leftover blocks of a JSON report into $definite,
# $possible and $leftover.
sums() {
	IFS=/ read -r definite possible leftover < <(jq -r \
		'.summary.leaks | "\(.definite_blocks)/\(.possible_blocks)/\(.possible_leftover_blocks)"' "$2")
	expect_eq "$1: all that are lost" $((definite + possible)) "$3"
}

# as_is WHAT ARGS...: the unprepared process, into $TMP/out (JSON) and $text.
as_is() {
	begin "$prog" "${@:2}"
	text=$("$SEEP" leaks "$pid")
	expect_status 0 "$SEEP" leaks --json "$pid"
	finish
}

said='^definitely lost .* possibly lost .* blocks \(only by words that malloc may have left behind\) · '
for written in 0 8; do
	run "$SEEP" run -o a.rec -- "$prog" left $written </dev/null
	expect_match "run, $written bytes written: said" "$err" "$said"
	"$SEEP" report --json a.rec >a.json
	sums "run, $written bytes written" a.json 997
	expect_between "run, $written bytes written: some" "$possible" 10 200
	expect_eq "run, $written bytes written: only by malloc's words" "$leftover" "$possible"
	as_is "leaks" left $written
	expect_match "leaks, $written bytes written: said" "$text" "$said"
	sums "leaks, $written bytes written" out 997
	expect_between "leaks, $written bytes written: some" "$possible" 10 200
	expect_eq "leaks, $written bytes written: only by malloc's words" "$leftover" "$possible"
done
run "$SEEP" run -o a.rec -- "$prog" left 24 </dev/null
expect_match "all written: all definitely lost" "$err" '^definitely lost [0-9.]+ KiB in 997 blocks · possibly lost 0 · '

# ---- pointers of a program's own that look the same ----
run "$SEEP" run -o b.rec -- "$prog" tail </dev/null
expect_match "run: no leak" "$err" '^OK '
"$SEEP" report --json b.rec >b.json
sums "run, links at the end" b.json 320
expect_eq "run, links at the end: none lost" "$definite/$possible/$leftover" 0/320/320
as_is "links at the end" tail
expect_match "leaks: no leak" "$text" '^OK '
sums "leaks, links at the end" out 320
expect_eq "leaks, links at the end: none lost" "$definite/$possible/$leftover" 0/320/320
