#!/bin/bash
# SPDX-License-Identifier: MIT
# What a program says is no leak, said by a signal handler on top of one that says so.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
prog=$(program spare_signals) || exit

for i in 1 2 3; do
	run env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP" "$prog"
	expect_eq "$i: status" "$status" 0
	expect_eq "$i: output" "$out" "done"
done

# A child has not the thread that was in the middle of it. Where a profiler goes on in it,
# nothing begins anew.
prog=$(program spare_fork) || exit
run env LD_PRELOAD="$LIBSEEP" HEAPPROFILE="$TMP/x" "$prog"
expect_eq "fork: children that waited" "$status: $out" "0: slow 0"
run env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP" "$prog"
expect_eq "fork, recorded: children that waited" "$status: $out" "0: slow 0"
