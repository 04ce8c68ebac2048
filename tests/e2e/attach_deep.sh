#!/bin/bash
# SPDX-License-Identifier: MIT
# A thread in uninterruptible sleep cannot be stopped: it is waited for, up to two
# seconds, and the others are not to stand still for that long. The bounds leave room for
# a machine under load.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
prog=$(program deep_sleep) || exit

gap() { sed -n 's/^gap //p' "$TMP/said"; }
deep() { grep -lsq '^State:.*D' "/proc/$pid/task"/*/status; }

begin "$prog" 1500
deep || left_out "no thread is in that state here"
run "$SEEP" attach --for 500ms "$pid"
expect_eq "1.5 s of sleep: attached in the end" "$status" 0
expect_match "and left" "$err" 'detached, nothing left'
finish
expect_eq "it ended well" "$ended" 0
expect_between "the first thread stood still, ms" "$(gap)" 0 1000

begin "$prog" 6000
run "$SEEP" attach --for 500ms "$pid"
expect_eq "6 s of sleep: refused" "$status" 3
expect_match "why" "$err" 'its thread [0-9]+ did not stop within 2 s \(state D\); nothing was changed, try again later'
expect_eq "nothing is left" "$(ours "$pid")" 0
finish
expect_eq "it ended well" "$ended" 0
expect_between "the first thread stood still, ms" "$(gap)" 0 1000
