#!/bin/bash
# SPDX-License-Identifier: MIT
# All system calls that a process makes for seep attach are made in one go, and so are
# those for detach: the thread that makes them waits for a processor once, not once a
# call.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command strace
strace -o /dev/null true 2>/dev/null || skip "strace is not allowed here"

prog=$(program many_threads) || exit
begin "$prog" 3 1
strace -f -e trace=ptrace -o "$TMP/trace" "$SEEP" attach --for 10ms --max-stop 0 "$pid" 2>"$TMP/err"
expect_match "attached and detached" "$(cat "$TMP/err")" 'detached, nothing left'
# One to attach, one to detach, and at most as many again where a thread was stopped
# before it had begun.
expect_between "times that a thread was let go" "$(grep -c PTRACE_CONT "$TMP/trace")" 2 4
expect_eq "nothing is left" "$(ours "$pid")" 0
finish
expect_eq "the process left in good order" "$ended" 0
