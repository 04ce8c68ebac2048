#!/bin/bash
# SPDX-License-Identifier: MIT
# SIGBUS stays the program's own, and a recording that someone truncates under four busy
# threads costs the recording but not the program.
. "$(dirname "$0")/lib.sh"
# timeout: 300
need_seep
need_libseep
prog=$(program bus) || exit
churn=$(program kill_churn) || exit
cd "$TMP" || exit
mkdir live

for way in dies sent handles ignores; do
	run bash -c '"$@"; exit $?' - "$prog" file $way
	alone=$out alone_status=$status
	run "$SEEP" run -o bus.rec -- "$prog" file $way
	expect_eq "$way: output" "$out" "$alone"
	expect_eq "$way: status" "$status" "$alone_status"
	expect_match "$way: recorded" "$err" '^LEAK .* in (100|107) blocks lost at [12] sites?, 10[07] times'
	expect_match "$way: the last one" "$err" 'still reachable (109|113) B in 1 block'
	run bash -c '"$@"; exit $?' - env LD_PRELOAD="$LIBSEEP" SEEP=mode=sample,dir="$TMP/live" "$prog" file $way
	expect_eq "$way, sampled: output" "$out" "$alone"
	expect_eq "$way, sampled: status" "$status" "$alone_status"
done

# Calls each thread has made: the words that kill_churn keeps in its file.
counters() { od -An -v -tu8 -w64 -N256 counts 2>/dev/null | awk '{ print $1 }'; }
busy() { [ "$(counters | awk '$1 > 100' | wc -l)" = 4 ]; }
gone_on() { # every thread has made calls since $1
	counters | paste - <(echo "$1") | awk '$1 <= $2 { stuck = 1 } END { exit stuck }'
}
truncated() { # ROUND
	local calls=() mode=exact bytes=$(($1 % 4 * 300000)) before word=going
	rm -rf counts live
	mkdir live
	[ $(($1 % 2)) -eq 0 ] || calls=(53)
	[ $(($1 % 3)) -ne 0 ] || mode=sample,rate=64
	LD_PRELOAD=$LIBSEEP SEEP=mode=$mode,dir=$TMP/live "$churn" counts "${calls[@]}" 2>churn.err &
	pid=$!
	wait_for 10 busy || word="not started"
	truncate -s $bytes live/*.live
	before=$(counters)
	wait_for 20 gone_on "$before" || word=stuck
	sleep 0.1
	kill -0 $pid 2>/dev/null || word=dead
	expect_eq "$mode, round $1, truncated to $bytes" "$word" going
	{ kill -KILL $pid && wait $pid; } 2>/dev/null
	expect_eq "$mode, round $1: said nothing for the program" "$(cat churn.err)" ""
	run "$SEEP" report live/*.live
	expect_match "$mode, round $1: what is left is read or refused" "$status" '^(0|3)$'
}
for i in $(seq 1 "$(times 6 60)"); do truncated "$i"; done
