#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep leaks PID --every`: a line for each check, and when blocks were lost, of a process
# that is recorded and of one that is not.
# timeout: 120
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
prog=$(program lose_moments) || exit
cd "$TMP" || exit
now() { date +%s%N; }

# started PID: the program behind `seep run` is there.
program_of() {
	local pid=
	until pid=$(pgrep -P "$1" -x lose_moments); do kill -0 "$1" || return; sleep 0.02; done
	echo "$pid"
}

# begun PID: it has a heap.
begun() {
	until grep -qF '[heap]' "/proc/$1/maps"; do kill -0 "$1" || return; sleep 0.02; done
}

# ---- recorded: the times are those of the recording ----
"$SEEP" run --json --log-file=run.json -o a.rec -- "$prog" overwritten 3000 >truth &
run_pid=$!
pid=$(program_of $run_pid)
begun "$pid"
run "$SEEP" leaks "$pid" --every 200ms
wait $run_pid
expect_match "a line for each check" "$out" '^ +[0-9]+\.[0-9] s  lost 0, possibly 0 · new 0$'
expect_match "what is new, and where" "$out" \
	'^ +[0-9.]+ s  lost 996 B in 3 blocks, possibly 0 · new 996 B in 3 blocks: fill lose_moments\.c:[0-9]+$'
expect_match "then the report" "$out" '^LEAK \(minor\)  996 B in 3 blocks lost at 1 site, 3 times$'
expect_match "and how it was checked" "$out" \
	'^checked for leaks [0-9]+ times, the last at .* · stopped for up to [0-9.]+ ms each'
read -r _ before after _ <truth
start=$(jq '.processes[0].start_ns' run.json)
from=$(sed -nE 's/^    lost between ([0-9.]+) and ([0-9.]+) s$/\1/p' <<<"$out")
to=$(sed -nE 's/^    lost between ([0-9.]+) and ([0-9.]+) s$/\2/p' <<<"$out")
expect_eq "the interval contains the moment" "$(awk -v from="$from" -v to="$to" \
	-v before=$((before / 1000 - start / 1000)) -v after=$((after / 1000 - start / 1000)) '
	BEGIN { print from != "" && from * 1e6 <= after + 2e4 && to * 1e6 >= before - 2e4 }')" 1

# ---- not recorded: the times are since the first check ----
"$prog" overwritten 3000 >truth &
pid=$!
begun $pid
first=$(now)
"$SEEP" leaks $pid --every 200ms --json >plain.json
wait $pid
read -r _ before after _ <truth
expect_eq "not recorded: no more than what was lost" \
	"$(jq '[.groups[].lost_between[] | .blocks] | add' plain.json)" 3
expect_eq "not recorded: the interval contains the moment" "$(jq --argjson first "$first" \
	--argjson before "$before" --argjson after "$after" '
	[.groups[].lost_between[] | select($first / 1e6 + .from_ms <= $after / 1e6 and
		.to_ms > .from_ms) | .blocks] | add' plain.json)" 3
expect_eq "not recorded: checks before that found nothing" "$(jq '
	(.groups | map(.lost_between[].from_ms) | min) as $from |
	[.loss_checks[] | select(.done and .ms <= $from) | .lost_blocks] | add' plain.json)" 0
"$prog" overwritten 6000 >truth &
pid=$!
begun $pid
run "$SEEP" leaks $pid --every 200ms --for 500ms --fail-on leak
expect_eq "not recorded: nothing lost yet" "$status" 0
expect_match "not recorded: what blocks are known by" "$out" '^times are since the first check; blocks are known by address and size alone'
kill $pid
wait $pid 2>/dev/null
"$prog" overwritten 3000 >truth2 &
pid=$!
until [ -s truth2 ]; do sleep 0.02; done
run "$SEEP" leaks $pid --every 100ms --count 1
expect_match "lost before" "$out" '^    lost before the first check'
kill $pid
wait $pid 2>/dev/null

# ---- the end ----
"$prog" overwritten 3000 >truth &
pid=$!
begun $pid
run "$SEEP" leaks $pid --every 100ms --count 3
expect_eq "three checks" "$(grep -cE '^ +[0-9.]+ s  (lost|no check)' <<<"$out")" 3
run "$SEEP" leaks $pid --every 100ms --count 1 --max-stop 1ns
expect_eq "none could be made: status" "$status" 3
expect_match "none could be made: why" "$err" 'no check could be made: it would stop the process for about .* more than --max-stop allows'
kill $pid

# ---- what cannot be done ----
run "$SEEP" leaks $$ --every 1s --way stop
expect_eq "not by stopping" "$status" 2
run "$SEEP" leaks $$ --for 1s
expect_eq "--for alone" "$status" 2
run "$SEEP" leaks a.rec --every 1s
expect_eq "a file: status" "$status" 3
expect_match "a file" "$err" 'not a running process'
