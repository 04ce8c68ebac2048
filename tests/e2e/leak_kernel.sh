#!/bin/bash
# SPDX-License-Identifier: MIT
# Pointers that only the kernel holds, in epoll_event.data and sigev_value: their blocks
# are not lost, at exit and while the program runs, with a recording and without.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program leak_kernel)
[ -e /proc/self/timers ] || skip "a kernel without /proc/PID/timers"

# 29 blocks of 601 bytes and 31 of 701.
run "$SEEP" run --no-save --fail-on leak --json --log-file "$TMP/exit.json" -- "$prog" exit
expect_eq "at exit: nothing is lost" "$status $(jq -c '.summary.leaks | [.definite_blocks, .indirect_blocks, .reachable_blocks, .reachable_bytes]' "$TMP/exit.json")" \
	"0 [0,0,60,39160]"
run "$SEEP" run --no-save --fail-on leak --json --log-file "$TMP/close.json" -- "$prog" close
expect_eq "closed: all are lost" "$status $(jq -c '.summary.leaks | [.definite_blocks, .definite_bytes]' "$TMP/close.json")" "1 [60,39160]"

run "$SEEP" run --no-save --fail-on leak --json --log-file "$TMP/stack.json" -- "$prog" stack
expect_eq "the stack of signal handlers" "$status $(jq -c '.summary.leaks | [.definite_blocks, .reachable_blocks, .reachable_bytes]' "$TMP/stack.json")" "0 [0,1,80021]"

# begin COMMAND...: in the background, until its input ends; $pid, $epoll_block,
# $timer_block.
mkfifo "$TMP/in"
begin() {
	: >"$TMP/told"
	"$@" "$prog" wait <"$TMP/in" >"$TMP/told" 2>/dev/null &
	job=$!
	exec 3>"$TMP/in"
	for _ in $(seq 600); do
		[ ! -s "$TMP/told" ] || break
		sleep 0.1
	done
	read -r pid epoll_block timer_block <"$TMP/told"
}
finish() {
	exec 3>&-
	wait "$job"
}

begin
run "$SEEP" leaks --fail-on leak "$pid"
expect_eq "running, unrecorded: status" "$status" 0
expect_match "running, unrecorded" "$out" 'OK  no leak'
run "$SEEP" leaks --who "0x$epoll_block" "$pid"
expect_match "epoll's block has a holder" "$out" 'epoll descriptor [0-9]+'
run "$SEEP" leaks --who "0x$timer_block" "$pid"
expect_match "the timer's block has a holder" "$out" 'POSIX timer 30'
finish

begin "$SEEP" run --no-save --
run "$SEEP" leaks --fail-on leak "$pid"
expect_eq "running, recorded: status" "$status" 0
expect_match "running, recorded" "$out" 'definitely lost 0 '
finish
