#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory that malloc keeps although the program has freed it: GROWING with its kind and
# what may help if it grows, from seep run and attach; why and watch name the heap. Where
# it only stays, nothing is said to grow.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
prog=$(program fragmented) || exit

# ask WHAT: run, and attach, why and watch at another process meanwhile; answers in
# WHAT.run and so on.
ask() {
	"$prog" "$1" 60 >"$TMP/$1.said" &
	local pid=$!
	wait_for 20 grep -qs ready "$TMP/$1.said"
	"$SEEP" run --log-file "$TMP/$1.run" -o "$TMP/$1.rec" "$prog" "$1" 7 >/dev/null &
	local run=$!
	"$SEEP" attach --for 6s --log-file "$TMP/$1.attach" "$pid" &
	local attach=$!
	"$SEEP" why --for 5s "$pid" >"$TMP/$1.why" &
	local why=$!
	"$SEEP" watch --every 0.5s --for 5s "$pid" >"$TMP/$1.watch"
	wait $run $attach $why
	kill "$pid"
	wait "$pid" 2>/dev/null
}
ask grow &
ask flat &
wait
kept='memory kept by malloc \+[0-9.]+( ± [0-9.]+)? MiB/min \(live memory is flat, so it is fragmentation: try malloc_trim\(0\), MALLOC_ARENA_MAX=2 or jemalloc\)'
for how in run attach; do
	expect_match "$how" "$(head -n 1 "$TMP/grow.$how")" "^GROWING  .*$kept"
	expect_no_match "$how: it stays" "$(cat "$TMP/flat.$how")" '^(GROWING|LEAK|PARTIAL)'
done
for how in why watch; do
	expect_match "$how" "$(grep -m 1 -E '^[A-Z]{2,} ' "$TMP/grow.$how")" '^GROWING  memory kept by malloc '
	expect_no_match "$how: it stays" "$(cat "$TMP/flat.$how")" '^(GROWING|LEAK|PARTIAL)'
done
