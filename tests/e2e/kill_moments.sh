#!/bin/bash
# SPDX-License-Identifier: MIT
# Killed at any moment, a process leaves a recording that is right to within the one call
# that each thread had under way: started with the library alone, and by seep run.
. "$(dirname "$0")/lib.sh"
# timeout: 900
need_seep
need_libseep
need_command jq
prog=$(program kill_churn) || exit

# Per worker function: allocs frees bytes live_blocks live_bytes, from a report in JSON.
figures() {
	jq -r '. as $r | [.sites[] | {f: ([$r.frames[.stack[]].function | strings
			| select(startswith("worker_"))][0] // "other"),
			a: .allocs, x: .frees, b: .allocated_bytes, n: .live_blocks, l: .live_bytes}]
		| group_by(.f)[] | "\(.[0].f) \(map(.a) | add) \(map(.x) | add) \(map(.b) | add) " +
			"\(map(.n) | add) \(map(.l) | add)"' "$1"
}

# Is each worker's line either the state after its last completed call, or one call later?
# Both are whole states: no mixture of them is accepted.
judge() {
	awk 'NR == FNR { split($0, w, " "); before[$1] = w[3] " " w[4] " " w[5] " " w[6] " " w[7]
			after[$1] = w[9] " " w[10] " " w[11] " " w[12] " " w[13]; next }
		$1 ~ /^worker_/ { seen++; got = $2 " " $3 " " $4 " " $5 " " $6
			if (got != before[$1] && got != after[$1])
				print $1 ": recorded " got ", not " before[$1] " nor " after[$1] }
		END { if (seen != 4) print seen + 0 " of 4 threads are in it" }' "$1" "$2"
}

# check WHAT REPORT: the report against the truth in $TMP/done; what was lost must be
# said.
check() {
	"$prog" --truth "$TMP/done" >"$TMP/truth"
	figures "$2" >"$TMP/figures"
	expect_eq "$1: figures" "$(judge "$TMP/truth" "$TMP/figures")" ""
	expect_json "$1: nothing lost" "$2" '[.processes[].lost[] | numbers] | add' 0
	expect_json "$1: nothing damaged" "$2" '.damage' '[]'
}

# All four threads have made calls; then it takes some random milliseconds more.
under_way() {
	[ -s "$TMP/done" ] && [ "$("$prog" --truth "$TMP/done" | awk '$2 > 100' | wc -l)" = 4 ]
}
moment() {
	wait_for 10 under_way || fail "the program does not get going"
	sleep "0.$(printf %03d $((RANDOM % 150)))"
}

# Short-lived threads at every third: their figures are on the move when they end.
calls() { [ $(($1 % 3)) -ne 0 ] || echo $((37 + $1 % 7)); }

mkdir "$TMP/live"
# shellcheck disable=SC2046 # a word or none
for i in $(seq 1 "$(times 12 140)"); do
	rm -f "$TMP/done" "$TMP/live"/*
	LD_PRELOAD=$LIBSEEP SEEP=mode=exact,dir=$TMP/live "$prog" "$TMP/done" $(calls "$i") &
	pid=$!
	moment
	kill -KILL $pid
	wait $pid 2>/dev/null
	run "$SEEP" report --json "$TMP/live"/*.live
	expect_eq "kill $i: opens" "$status" 0
	check "kill $i" "$TMP/out"
done

cd "$TMP" || exit
# shellcheck disable=SC2046
for i in $(seq 1 "$(times 8 60)"); do
	rm -f "$TMP/done"
	"$SEEP" run --json -o "$TMP/run.rec" --log-file "$TMP/log" -- "$prog" "$TMP/done" $(calls "$i") &
	pid=$!
	moment
	kill -KILL "$(child_of $pid)"
	wait $pid
	expect_eq "run $i: status" "$?" 137
	check "run $i" "$TMP/log"
	expect_json "run $i: how it ended" "$TMP/log" '.processes[0] | [.end, .signal]' '["signal","SIGKILL"]'
done

# The tool itself is killed: the program goes on, and whoever comes next saves its
# recording.
limits=$(program limits) || exit
rm -f ready go
"$SEEP" run -o "$TMP/orphan.rec" -- "$limits" 30011 ready go >orphan.out 2>/dev/null &
pid=$!
wait_for 10 test -e ready || fail "the program does not get going"
child=$(child_of $pid)
{ kill -KILL $pid && wait $pid; } 2>/dev/null
touch go
gone() { ! kill -0 "$child" 2>/dev/null; }
wait_for 10 gone || fail "the program does not end"
expect_eq "tool killed: output of the program" "$(cat orphan.out)" "$("$limits" 30011)"
saved() {
	"$SEEP" ps >/dev/null 2>&1
	[ -s "$TMP/orphan.rec" ]
}
wait_for 10 saved || fail "the recording of a killed tool is not saved"
run "$SEEP" report --json "$TMP/orphan.rec"
expect_json "tool killed: figures" "$TMP/out" '[.summary.allocs, .summary.frees, .summary.left_blocks]' '[30013,20007,10005]'
