#!/bin/bash
# SPDX-License-Identifier: MIT
# Processes that seep attach leaves alone: one line that says why and what helps, status
# 3, and nothing is touched. (Every message: tests/unit/test_refusal.c.)
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach

# refused WHAT REGEX ARGS...
refused() {
	local what=$1 regex=$2
	shift 2
	run timeout 30 "$SEEP" attach "$@"
	expect_eq "$what: status" "$status" 3
	expect_match "$what: reason" "$err" "$regex"
	expect_eq "$what: one line" "$(wc -l <"$TMP/err")" 1
	# seep doctor says the same, without trying. (Whoever has ended it does not look
	# at.)
	if [[ "$1" =~ ^[0-9]+$ ]] && [ -e "/proc/$1/exe" ]; then
		run timeout 30 "$SEEP" doctor "$1"
		expect_match "$what: the doctor" "$(grep -w attach <<<"$out")" "${regex#^seep: }"
	fi
}

refused "no such process" '^seep: 4194303: no such process' 4194303
refused "no such name" 'no such process' no-such-name-here
refused "no such group" 'no such control group' --cgroup no/such/group
run "$SEEP" attach
expect_eq "no target: status" "$status" 2
run "$SEEP" attach --exact --sample 4K 1
expect_eq "options that exclude each other" "$status" 2

prog=$(program attach_busy) || exit
begin "$prog" 1
kill -STOP "$pid"
stopped() { grep -q '^State:.T' "/proc/$pid/status"; }
wait_for 20 stopped
refused "stopped" "is stopped; .*kill -CONT $pid" "$pid"
kill -CONT "$pid"
"$SEEP" attach --stay "$pid" 2>/dev/null
refused "attached already" "attached to already.*seep detach $pid" "$pid"
"$SEEP" detach -q "$pid" >/dev/null
if have gdb; then
	gdb -q -p "$pid" -ex 'shell sleep 20' -batch >/dev/null 2>&1 &
	gdb=$!
	traced() { ! grep -q '^TracerPid:.0$' "/proc/$pid/status"; }
	wait_for 10 traced
	refused "traced" "already traced by [0-9]+ \(gdb\); detach that first" "$pid"
	kill "$(pgrep -P $gdb 2>/dev/null)" $gdb 2>/dev/null
	wait $gdb 2>/dev/null
fi
if is_root "a process of another user, a missing capability" && have setpriv; then
	chmod 755 "$TMP"
	run setpriv --reuid 65534 --clear-groups "$(for_others "$SEEP")/seep" attach "$pid"
	expect_eq "another user's: status" "$status" 3
	expect_match "another user's" "$err" "belongs to uid 0; run: sudo seep attach $pid"
	run setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "$SEEP" attach "$pid"
	expect_eq "no capability: status" "$status" 3
	expect_match "no capability" "$err" 'CAP_SYS_PTRACE is missing here.*--cap-add=SYS_PTRACE'
fi
kill -TERM "$pid"
wait "$pid"
expect_eq "it left in good order" "$? $(cat "$TMP/said.err")" "0 "
exec 8>&-

# A zombie, a kernel thread.
bash -c 'sleep 0.01 & echo $! >"$1"; exec sleep 20' - "$TMP/zombie" &
parent=$!
wait_for 20 test -s "$TMP/zombie"
zombie() { grep -q '^State:.Z' "/proc/$(cat "$TMP/zombie")/status"; }
if wait_for 20 zombie; then
	refused "zombie" 'has ended and only waits for its parent' "$(cat "$TMP/zombie")"
fi
kill $parent
wait $parent 2>/dev/null
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	refused "kernel thread" 'is a kernel thread' 2
fi

# A static program without symbols: there is no malloc to be found.
static=$(program attach_steps static-stripped -O2 -static -s 2>/dev/null) || static=
if [ -n "$static" ]; then
	begin "$static"
	refused "static, stripped" 'no malloc was found in it' "$pid"
	finish
	expect_eq "static, stripped: it ended well" "$ended" 0
fi
