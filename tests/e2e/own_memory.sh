#!/bin/bash
# SPDX-License-Identifier: MIT
# What recording takes of a program that does little: pages that are used, not tables at
# full size.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
prog=$(program own_memory) || exit
cd "$TMP" || exit

# held NAME: that figure of $out.
held() { sed -n "s/.*$1=\([0-9]*\).*/\1/p" <<<"$out"; }

run "$prog"
alone=$(held anon)
expect_between "alone: the program says what it has" "$alone" 16 4000
expect_eq "alone: nothing shared" "$(held shared)" 0

# In a peer's place: all of it is memory of the process.
for conf in prof:true,lg_prof_sample:0 prof:true; do
	run env LD_PRELOAD="$LIBSEEP" MALLOC_CONF=$conf "$prog"
	expect_between "$conf: KiB more" $(($(held anon) - alone)) 40 400
	expect_eq "$conf: nothing shared" "$(held shared)" 0
done
run env LD_PRELOAD="$LIBSEEP" HEAPPROFILE="$TMP/heap" "$prog"
expect_between "HEAPPROFILE: KiB more" $(($(held anon) - alone)) 40 400

# A recording in a file on shared memory: its pages are made present before they are used.
if [ "$(stat -f -c %T /dev/shm)" = tmpfs ]; then
	mkdir "/dev/shm/seep-test-$$"
	run env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=/dev/shm/seep-test-$$" "$prog"
	rm -r "/dev/shm/seep-test-$$"
	expect_between "exact: KiB more" $(($(held anon) - alone)) 40 400
	expect_between "exact: KiB of the recording" "$(held shared)" 256 1280
else
	left_out "no tmpfs on /dev/shm"
fi

# Asked for nothing it holds next to nothing.
for how in SEEP=mode=off SEEP_NOTHING=; do
	run env LD_PRELOAD="$LIBSEEP" $how "$prog"
	expect_between "$how: KiB more" $(($(held anon) - alone)) 0 100
done
