#!/bin/bash
# SPDX-License-Identifier: MIT
# What a program may say (seep.h: weak functions, nothing to link, nothing happens without
# seep) and what one may ask of it from outside while it runs: pause, resume, mark, ps,
# report by pid.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq nm

prog=$(program api) || exit
expect_eq "only weak references" "$(nm -u "$prog" | awk '/seep_/ { print $1 }' | sort -u)" w
expect_no_match "no library of ours needed" "$(ldd "$prog")" seep
run "$prog"
expect_eq "without seep" "$status $(head -n 1 <<<"$out")" "0 seep is not here"
record "$prog"
expect_eq "status" "$status $err" "0 "
expect_eq "with seep" "$(head -n 1 <<<"$out")" "seep is here"
expect_no_match "errno" "$out" errno
expect_truth "what it said" "$TMP/json" "$out"
# 13 new blocks and one resized; 11 of them freed later
expect_json "allocations not recorded" "$TMP/json" '.processes[0].lost.paused_allocs' 14
expect_json "frees of those" "$TMP/json" '.processes[0].lost.frees_unknown' 11
expect_json "marks" "$TMP/json" '[.marks[].name]' \
	'["five","a name that is much longer than the thi",null]'
expect_status 0 "$SEEP" report --json "$TMP/rec@five"
expect_truth "at the first mark" "$TMP/out" "expect in=make_seen live_blocks=5 live_bytes=295"
expect_status 0 "$SEEP" report --json "$TMP/rec@2"
expect_truth "at the second mark" "$TMP/out" "expect in=make_seen live_blocks=12 live_bytes=708"

# From outside. Its name is its own: someone else may run this test too.
name=api-$$
cp "$prog" "$TMP/$name" || exit
coproc TARGET { "$SEEP" run --json --log-file "$TMP/json" -o "$TMP/rec" -- "$TMP/$name" serve 2>"$TMP/serve.err"; }
tool=$TARGET_PID
read -r -t 20 word pid <&"${TARGET[0]}"
expect_eq "serves" "$word" ready
ask() {
	echo "$1" >&"${TARGET[1]}"
	read -r -t 20 word <&"${TARGET[0]}"
	expect_eq "$1" "$word" "done"
}
live() {
	expect_status 0 "$SEEP" report --json "$pid"
	expect_truth "$1" "$TMP/out" "expect in=make_served $2"
}
ask "make 7"
live "running" "allocs=7 live_bytes=721"
expect_status 0 "$SEEP" mark "$pid" first
ask "make 5"
expect_status 0 "$SEEP" pause "$pid"
run "$SEEP" ps --json
expect_json "ps says that it is paused" "$TMP/out" "[.. | objects | select(.pid == $pid) | .paused]" '[true]'
ask "make 3"
live "paused" "allocs=12"
expect_json "paused, and said" "$TMP/out" '.processes[0] | [.paused, .lost.paused_allocs]' '[true,3]'
expect_status 0 "$SEEP" resume "$pid"
ask "make 11"
ask "free 13"
live "resumed" "allocs=23 frees=11"
expect_json "resumed, and said" "$TMP/out" '.processes[0].paused' false
expect_status 0 "$SEEP" report "$pid@first"
expect_status 0 "$SEEP" mark "$pid"
run "$SEEP" ps
expect_match "ps" "$out" "^ *$pid +$name +exact"
run "$SEEP" report "$name"
expect_match "by name" "$out" 'make_served'
echo quit >&"${TARGET[1]}"
wait "$tool"
expect_eq "status of run" "$?" 0
expect_truth "afterwards" "$TMP/json" "expect in=make_served allocs=23 frees=11 live_bytes=1236"
expect_json "marks are kept" "$TMP/json" '[.marks[].name][0]' first
expect_status 0 "$SEEP" report --json "$TMP/rec@first"
expect_truth "at the mark, afterwards" "$TMP/out" "expect in=make_served live_blocks=7 live_bytes=721"
expect_status 3 "$SEEP" pause "$pid"
expect_status 3 "$SEEP" mark 999999999

# A mark of the same name again: what was live at the first one and is not at the second,
# is not.
cat >"$TMP/twice.c" <<'END'
#include <seep/seep.h>
#include <stdlib.h>
static void *kept;
__attribute__((noinline)) static void *first(void) { return malloc(100003); }
__attribute__((noinline)) static void *second(void) { return malloc(70001); }
int main(void)
{
	void *p = first();

	if (seep_mark)
		seep_mark("loop");
	free(p);
	kept = second();
	if (seep_mark)
		seep_mark("loop");
	return kept == NULL;
}
END
cc -O1 -g -I"$ROOT/include" -o "$TMP/twice" "$TMP/twice.c" || fail "cannot compile"
"$SEEP" run -o "$TMP/twice.rec" -- "$TMP/twice" >/dev/null 2>&1
run "$SEEP" report --json "$TMP/twice.rec@loop"
expect_eq "the last mark of a name" "$(jq -c '[.sites[] | select(.live_bytes > 0) | .live_bytes]' "$TMP/out")" "[70001]"
