#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# Killed at any moment, or ended while threads go on: the recording shows a state that
# was. No more blocks than threads, as many as allocations less frees, no damage.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program churn) || exit

# whole WHAT THREADS
whole() {
	expect_json "$1: no damage" "$TMP/json" '.damage' '[]'
	expect_json "$1: blocks" "$TMP/json" '.totals | .live_blocks == .allocs - .frees' true
	expect_json "$1: bytes" "$TMP/json" '.totals | .live_bytes == .allocated_bytes - .freed_bytes' true
	expect_json "$1: no site below zero" "$TMP/json" '[.sites[] | select(.live_blocks < 0 or .live_bytes < 0)]' '[]'
	expect_nothing_lost "$1" "$TMP/json"
	# What libc made for the threads (a block each) is beside the point.
	held=$(jq '.frames as $f | [.sites[] | select(any(.stack[]; $f[.].function == "make_churn"))]
		| "\([.[].live_blocks] | add) \([.[].live_bytes] | add) \([.[].allocs] | add)"' -r "$TMP/json")
	read -r blocks bytes allocs <<<"$held"
	expect_between "$1: blocks held" "$blocks" 0 "$2"
	expect_between "$1: bytes held" "$bytes" $((61 * blocks)) $((67 * blocks))
	expect_between "$1: something happened" "$allocs" 100 1000000000000
}

for ((i = 0; i < $(times 12 199); i++)); do
	threads=$((i % 4 + 1))
	mkfifo "$TMP/fifo.$i"
	"$SEEP" run --json --log-file "$TMP/json" -o "$TMP/rec" -- "$prog" $threads >"$TMP/fifo.$i" 2>"$TMP/err" </dev/null &
	tool=$!
	read -r _ pid <"$TMP/fifo.$i"
	sleep "0.0$((RANDOM % 90 + 10))"
	kill -9 "$pid"
	wait $tool
	expect_eq "killed: status" "$?" 137
	whole "killed, $threads threads" $threads
done
for threads in 2 5; do
	record "$prog" $threads 30
	expect_eq "exit: status" "$status $err" "0 "
	whole "exit, $threads threads" $threads
done
