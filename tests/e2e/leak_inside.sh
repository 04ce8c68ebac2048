#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that asks for a look at its own memory, by seep's names and LeakSanitizer's,
# and says what is no leak.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
prog=$(program leak_inside) || exit
cd "$TMP" || exit

# answers WHAT COUNT: every line of $out says `NAME got N wanted N`, and there are so
# many.
answers() {
	expect_eq "$1: answers" "$(grep -c ' got .* wanted ' <<<"$out")" "$2"
	expect_eq "$1: wrong answers" "$(awk '/ got / && $(NF - 2) != $NF' <<<"$out")" ""
}

run "$prog" bare
answers "without seep" 2
run "$SEEP" run -o a.rec -- "$prog"
expect_eq "status" "$status" 0
answers "under seep run" 13
# In order: 505 bytes twice, the second time in the words of LeakSanitizer, whose function
# was called; then only what is new.
expect_eq "in LeakSanitizer's words" "$(grep -c '^SUMMARY: LeakSanitizer: 505 byte(s) leaked in 5 allocation(s)\.$' <<<"$err")" 1
expect_eq "what was told meanwhile" "$(grep -oE '^(LEAK \(minor\)  [0-9.]+ K?i?B in [0-9]+ block|OK  no leak of)' <<<"$err" | head -n 9)" \
	"LEAK (minor)  505 B in 5 block
OK  no leak of
LEAK (minor)  309 B in 3 block
OK  no leak of
OK  no leak of
OK  no leak of
LEAK (minor)  233 B in 1 block
LEAK (minor)  239 B in 1 block
LEAK (minor)  1.46 KiB in 12 block"
expect_no_match "what is ignored is not in the report at the end" "$err" '(calloc\(1, 2(11|23|27)\)|malloc\(229\))'
run "$SEEP" run -o a.rec -- "$prog" dies
expect_eq "__lsan_do_leak_check ends it" "$status" 23
expect_no_match "at once" "$out" 'still here'

# Preloaded, without a tool around it: it is started from where SEEP_BIN says, or beside
# the library.
run env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP" "$prog"
answers "preloaded" 13
run env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP" SEEP_BIN=/nowhere/seep "$prog"
expect_match "no tool: says that it could not" "$out" '^lost got -1 wanted 1$'
run env LD_PRELOAD="$LIBSEEP" SEEP="mode=sample,dir=$TMP" "$prog"
expect_match "sampled: says that it could not" "$out" '^lost got -1 wanted 1$'
rm -f ./*.live

# What is spared takes no more room the more often it is asked for.
ways=$(program wrong_ways) || exit
run "$SEEP" run -o "$TMP/ways.rec" -- "$ways" disabled
expect_between "spared: grown by so many MiB" "${out#grown by }" 0 8
expect_no_match "spared" "$err" '^LEAK'
