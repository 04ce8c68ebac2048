#!/bin/bash
# SPDX-License-Identifier: MIT
# However a process ends, its recording is complete, its status is passed on, and the
# report says how it ended.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq
ulimit -c 0

prog=$(program ends) || exit

# ending HOW STATUS END CODE
ending() {
	run "$prog" "$1"
	local alone=$status
	record "$prog" "$1"
	expect_eq "$1: status" "$status" "$2"
	expect_eq "$1: same as without seep" "$status" "$alone"
	expect_truth "$1" "$TMP/json" "${out:-expect in=make_seven allocs=7 frees=4 live_bytes=57}"
	expect_nothing_lost "$1" "$TMP/json"
	expect_json "$1: what is said" "$TMP/json" '.processes[0] | [.end, .status]' "[\"$3\",$4]"
}

ending return 0 exited 0
ending exit 31 exited 31
ending _exit 29 exited 29
ending quick_exit 23 exited 23
ending thread 43 exited 43
ending exit_again 37 exited 37
ending destructor 41 exited 41
ending abort 134 signal 6
ending SIGTERM 143 signal 15
ending SIGKILL 137 signal 9
ending SIGSEGV 139 signal 11
ending SIGBUS 135 signal 7
ending SIGBUS-fault 135 signal 7
ending SIGBUS-handled 0 exited 0
expect_no_match "SIGBUS-handled: nothing to complain of" "$out" '^[^e]'

# A child of vfork is on our memory: its end is not ours.
ending vfork-killed 137 signal 9
expect_json "vfork-killed: no exit was seen" "$TMP/json" '.processes[0].exit_ms' null
run "$SEEP" run -o "$TMP/rec" -- "$prog" vfork-left
expect_eq "vfork-left: status" "$status" 0
expect_match "vfork-left: all of the stack was looked at" "$err" 'still reachable 1.25 KiB in 56 blocks'
expect_no_match "vfork-left: nothing is lost" "$err" '^LEAK'
