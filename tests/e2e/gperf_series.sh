#!/bin/bash
# SPDX-License-Identifier: MIT
# HEAPPROFILE and every trigger, beside Debian's libtcmalloc.so.4: the same files by name
# and number, the same messages, the same figures in each. A row of the table is one set
# of variables.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_gperf.sh"
need_libseep
[ -n "$TCMALLOC" ] || skip "no libtcmalloc.so.4 here"

prog=$(program gperf_series) || exit
while read -r name files settings; do
	# shellcheck disable=SC2086 # settings are words
	profiled "$TCMALLOC" "$TMP/theirs" $settings "$prog"
	theirs=$status
	# shellcheck disable=SC2086
	profiled "$LIBSEEP" "$TMP/ours" $settings "$prog"
	expect_eq "$name: status" "$status" "$theirs"
	expect_eq "$name: how many files" "$(heaps "$TMP/ours" | wc -l)" "$files"
	expect_eq "$name: names" "$(heaps "$TMP/ours")" "$(heaps "$TMP/theirs")"
	expect_eq "$name: messages" "$(cat "$TMP/ours/messages")" "$(cat "$TMP/theirs/messages")"
	for file in $(heaps "$TMP/theirs"); do
		expect_eq "$name: $file, sums" "$(header "$TMP/ours/$file")" "$(header "$TMP/theirs/$file")"
		# Where two have the same bytes in use, theirs come in no certain order.
		expect_eq "$name: $file, stacks" "$(buckets "$TMP/ours/$file" | sort)" "$(buckets "$TMP/theirs/$file" | sort)"
	done
done <<'TABLE'
defaults 1 A=
in-use 5 HEAP_PROFILE_INUSE_INTERVAL=20000000
in-use-small 98 HEAP_PROFILE_INUSE_INTERVAL=1
allocated 4 HEAP_PROFILE_ALLOCATION_INTERVAL=30000000 HEAP_PROFILE_INUSE_INTERVAL=0
freed 5 HEAP_PROFILE_DEALLOCATION_INTERVAL=10000000 HEAP_PROFILE_INUSE_INTERVAL=0
all-three 19 HEAP_PROFILE_ALLOCATION_INTERVAL=7000000 HEAP_PROFILE_DEALLOCATION_INTERVAL=9000000 HEAP_PROFILE_INUSE_INTERVAL=8000000
order 10 HEAP_PROFILE_ALLOCATION_INTERVAL=10000000 HEAP_PROFILE_INUSE_INTERVAL=9999999
number-and-letters 5 HEAP_PROFILE_INUSE_INTERVAL=20000000bytes
negative 1 HEAP_PROFILE_INUSE_INTERVAL=-1 HEAP_PROFILE_ALLOCATION_INTERVAL=-5
not-a-number 1 HEAP_PROFILE_INUSE_INTERVAL=lots
quiet 5 HEAP_PROFILE_INUSE_INTERVAL=20000000 PERFTOOLS_VERBOSE=-1
quieter 1 PERFTOOLS_VERBOSE=-4
signal-unused 1 HEAPPROFILESIGNAL=10
signal-invalid 0 HEAPPROFILESIGNAL=999
TABLE

# What the truth is, whatever both say.
profiled "$LIBSEEP" "$TMP/ours" "$prog"
expect_eq "in use at the end" "$(header "$TMP/ours/x.0001.heap")" "50 51381380 152 101714915"
expect_eq "by stack" "$(buckets "$TMP/ours/x.0001.heap")" "49 51380371 97 101712163
1 1009 1 1009
0 0 1 100
0 0 53 1643"
expect_match "map" "$(cat "$TMP/ours/x.0001.heap")" '^[0-9a-f]+-[0-9a-f]+ r-xp [0-9a-f]{8} 00:00 [0-9]+ +/.*/gperf_series$'

# Old files go, unless told otherwise; others stay.
touch "$TMP/ours/x.9999.heap" "$TMP/ours/x.0002.heap" "$TMP/ours/xy.0001.heap" "$TMP/ours/x.heap.keep"
env HEAPPROFILE="$TMP/ours/x" HEAP_PROFILE_CLEANUP=0 LD_PRELOAD="$LIBSEEP" "$prog" 2>/dev/null
expect_eq "not cleaned up" "$(heaps "$TMP/ours" | tr '\n' ' ')" "x.0001.heap x.0002.heap x.9999.heap xy.0001.heap "
env HEAPPROFILE="$TMP/ours/x" PERFTOOLS_VERBOSE=1 LD_PRELOAD="$LIBSEEP" "$prog" 2>"$TMP/err"
expect_eq "cleaned up" "$(heaps "$TMP/ours" | tr '\n' ' ')" "x.0001.heap xy.0001.heap "
expect_eq "said so" "$(grep -c '^Removing old heap profile .*/x\.[0-9]*\.heap$' "$TMP/err")" 3
expect_eq "other files stay" "$(ls "$TMP/ours/x.heap.keep")" "$TMP/ours/x.heap.keep"

# Nothing to do: no variable, an empty one, another word for us, a real tcmalloc behind
# us.
for how in A= HEAPPROFILE= "HEAPPROFILE=$TMP/none SEEP=mode=off"; do
	# shellcheck disable=SC2086
	run env $how LD_PRELOAD="$LIBSEEP" "$prog"
	expect_eq "$how: silent" "$status $out$err$(ls "$TMP"/none* 2>/dev/null)" "0 "
done
profiled "$LIBSEEP:$TCMALLOC" "$TMP/both" "$prog"
expect_eq "over the real one: its own messages" "$(cat "$TMP/both/messages")" "Starting tracking the heap
Dumping heap profile to x.0001.heap (Exiting, 49 MB in use)"
profiled "$LIBSEEP:$TCMALLOC" "$TMP/forced" SEEP=compat=gperftools "$prog"
expect_eq "forced over the real one: messages once" "$(cat "$TMP/forced/messages")" "Starting tracking the heap
Dumping heap profile to x.0001.heap (Exiting, 49 MB in use)"
expect_eq "forced over the real one: ours" "$(header "$TMP/forced/x.0001.heap") $(sed -n 2p "$TMP/forced/x.0001.heap" | grep -o ' 0x' | wc -l)" \
	"50 51381380 152 101714915 2"
expect_match "over the real one: it wrote the file" "$(sed -n 2p "$TMP/both/x.0001.heap")" '( 0x[0-9a-f]+){5}$'
