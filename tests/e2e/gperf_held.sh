#!/bin/bash
# SPDX-License-Identifier: MIT
# A handler that was held back while a profile was written: it may end the program, which
# leaves a last profile then, or go elsewhere by longjmp, and profiles are written as
# before.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_gperf.sh"
need_libseep
prog=$(program gperf_held) || exit

for how in exit jump; do
	profiled "$LIBSEEP" "$TMP/o" HEAP_PROFILE_ALLOCATION_INTERVAL=1000000 "$prog" "$TMP/o/x" $how
	expect_eq "$how: status" "$status" 0
	expect_match "$how: the last of all" "$(tail -n 1 "$TMP/o/messages")" '\(Exiting, [12] MB in use\)'
done
expect_eq "jump: files" "$(heaps "$TMP/o" | tr '\n' ' ')" "x.0001.heap x.0002.heap x.0003.heap "
