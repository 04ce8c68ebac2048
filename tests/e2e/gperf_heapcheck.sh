#!/bin/bash
# SPDX-License-Identifier: MIT
# gperftools' heap checker, which its newer releases no longer have: HEAPCHECK and the
# class HeapLeakChecker.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command g++
prog=$(program heap_checker compat -O1 -g -std=c++17 -I"$ROOT/compat/include") || exit
cd "$TMP" || exit

checked() { # MODE ARGS...
	local mode=$1
	shift
	run env LD_PRELOAD="$LIBSEEP" HEAPCHECK="$mode" "$prog" "$@"
}
right() { expect_eq "$1: answers" "$(awk '/ got / && $(NF - 2) != $NF' <<<"$out")" ""; }

run "$prog" inactive
expect_eq "alone: status" "$status" 5
right "alone"
for mode in minimal normal strict as-is draconian; do
	checked $mode lose
	expect_eq "$mode, lost: status" "$status" 1
	expect_match "$mode, lost: output is all there" "$out" '^the end$'
	expect_match "$mode, lost: the report" "$err" '^LEAK \(minor\)  791 B in 7 blocks lost at 1 site'
	expect_match "$mode, lost: the place" "$err" ' lose +heap_checker\.cpp:'
	expect_match "$mode, lost: the last word" "$err" 'because of whole-program memory leaks$'
	right "$mode"
done
checked normal nothing
expect_eq "nothing lost: status" "$status" 5
checked normal keep
expect_eq "still reachable: status" "$status" 5
expect_no_match "still reachable: no word of it" "$err" 'because of whole-program'
checked draconian keep
expect_match "draconian: still reachable is lost" "$err" '^LEAK \(minor\)  127 B'
expect_eq "draconian: still reachable, status" "$status" 1
checked draconian ignored
expect_eq "draconian: what is ignored, status" "$status" 5
expect_no_match "draconian: what is ignored" "$err" '^LEAK|because of whole-program'
checked normal profile
expect_match "a profile besides: it is there" "$(cat profile.0001.heap)" '^ +5: +745 \['
expect_match "a profile besides: leaks after its end" "$err" '^LEAK \(minor\)  791 B in 7 blocks lost at 1 site'
checked normal cancel
expect_eq "cancelled: status" "$status" 5
checked local lose
expect_eq "local: nothing at the end" "$status" 5
checked normal nothing locals
expect_match "checkers: the first finds it" "$err" '^LEAK \(minor\)  303 B in 3 blocks lost at 1 site'
right "checkers"
# A gate that cannot look does not let everything through.
mkdir -p "$TMP/alone" && cp "$LIBSEEP" "$TMP/alone"
run /usr/bin/env PATH=/nowhere LD_PRELOAD="$TMP/alone/libseep.so" HEAPCHECK=normal "$prog" nothing
expect_eq "no tool: status" "$status" 1
expect_eq "no tool: one line" "$(grep -c 'could not look for leaks, exiting with an error' <<<"$err")" 1
checked loud lose
expect_eq "no such mode: status" "$status" 5
expect_match "no such mode: said" "$err" 'HEAPCHECK: minimal, normal, strict, draconian, as-is or local, not: loud$'
expect_eq "nothing is left in shared memory" "$(find /dev/shm -maxdepth 1 -name '*.live' -newer "$TMP/state" -user "$(id -u)" 2>/dev/null | wc -l)" 0
