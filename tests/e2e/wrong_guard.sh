#!/bin/bash
# SPDX-License-Identifier: MIT
# Blocks on fenced pages: reads and writes behind them and after their free are caught at
# the instruction, the program goes on, and its own handlers of SIGSEGV see what is
# theirs.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_wrong.sh"

source=$ROOT/tests/programs/wrong_heap.c
prog=$(program wrong_heap) || exit
for name in guard_overflow guard_overread guard_underread guard_read_freed guard_write_freed; do
	wrong_case "$prog" "$source" "$name" --guard 1
	expect_eq "$name: goes on" "$(tail -n 1 "$TMP/out")" end
	expect_eq "$name: how many bytes" "$(jq '.errors[0].given' "$TMP/json")" 1
done
# Beside the block, on its own page: found when it is freed, or at the end.
for name in guard_slack guard_before guard_slack_kept; do
	wrong_case "$prog" "$source" "$name" --guard 1
	wrong_case "$prog" "$source" "$name" --guard 1 --redzone
done
wrong_case "$prog" "$source" guard_underread_one --guard 1
wrong_case "$prog" "$source" double_free --guard 1 --keep-going
wrong_case "$prog" "$source" free_inside --guard 1
run "$SEEP" run --guard 1 --format=memcheck -o "$TMP/g.rec" -- "$prog" guard_read_freed bug
expect_match "memcheck: what" "$err" '== Invalid read of size 1'
expect_match "memcheck: where" "$err" "is 7 bytes inside a block of size 48 free'd"

chain=$(program wrong_chain) || exit
for how in handler plain jump reset onstack default ignored; do
	want=$(bash -c '"$0" "$1" 2>/dev/null; echo "status $?"' "$chain" "$how" 2>/dev/null)
	got=$(bash -c '"$0" run --guard 1 --json --log-file "$3" -o "$4" -- "$1" "$2"; echo "status $?"' \
		"$SEEP" "$chain" "$how" "$TMP/json" "$TMP/chain.rec" 2>/dev/null)
	expect_eq "$how: as without" "$got" "$want"
	expect_match "$how: caught all the same" "$(said "$TMP/json")" '^invalid-read in=overread alloc=overread$'
done
room=$(program wrong_room) || exit
for every in 1 50; do
	run "$SEEP" run --guard $every --redzone -o "$TMP/room.rec" -- "$room"
	expect_eq "guard $every: exit status" "$status" 0
	expect_eq "guard $every: output" "$out" "ok many"
	expect_eq "guard $every: nothing found" "$(grep '^WRONG' <<<"$err")" ""
done

wrong_valgrind "$prog" guard_overflow guard_overread guard_read_freed guard_write_freed

# A signal that is sent and ignored is none.
ways=$(program wrong_ways) || exit
run "$SEEP" run --guard 7 -o "$TMP/ways.rec" -- "$ways" ignored
expect_eq "SIGSEGV is ignored" "$status: $out" "0: goes on"
