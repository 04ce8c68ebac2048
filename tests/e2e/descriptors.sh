#!/bin/bash
# SPDX-License-Identifier: MIT
# A recorder without the tool measures resident memory itself: the program's descriptors
# have the numbers that they have without it, also with threads, with none left, and when
# it closes those that it does not know.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq

prog=$(program descriptors) || exit
cd "$TMP" || exit
run "$prog" 250
alone=$out
expect_eq "without seep" "$status $err" "0 "
expect_match "without seep: it looks" "$out" '^last number 63, errno 24$'

# always_on LIMIT: soft limit on descriptors; with 1,024 the recorder's is above it, if it
# may be.
always_on() {
	rm -rf on
	mkdir on
	run bash -c "ulimit -Sn $1; exec env LD_PRELOAD=$LIBSEEP SEEP=mode=exact,dir=$TMP/on $prog 250"
	expect_eq "limit of $1: the same with seep" "$status $err$(diff <(echo "$alone") <(echo "$out"))" "0 "
}
always_on 1024
always_on "$(ulimit -Sn)"

# Measured, and by no descriptor that is opened while there are threads.
if have strace; then
	rm -rf on
	mkdir on
	run strace -f -o calls -e trace=openat,pread64,clone3,clone \
		-E LD_PRELOAD="$LIBSEEP" -E SEEP=mode=exact,dir="$TMP/on" "$prog" 250
	thread=$(sed -nE 's/.*CLONE_THREAD.* = ([0-9]+)$/\1/p' calls | head -n 1)
	if [ -z "$thread" ]; then
		left_out "strace shows no thread here"
	else
		expect_eq "opened by a thread" "$(grep -c "^$thread .*statm" calls)" 0
		expect_between "read by it" "$(grep -cE "^$thread .*pread64" calls)" 1 1000
	fi
fi
