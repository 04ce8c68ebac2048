#!/bin/bash
# SPDX-License-Identifier: MIT
# Profiles at every end that a process can see coming, by signal and by the clock, in
# children; and what becomes of a program whose profiles cannot be written: nothing.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_gperf.sh"
need_libseep

prog=$(program peer_ends) || exit
# ends HOW STATUS FILES MESSAGE: 7 blocks, 7,084 bytes, are in use.
ends() {
	profiled "$LIBSEEP" "$TMP/o" "$prog" "$1"
	expect_eq "$1: status" "$status" "$2"
	expect_eq "$1: files" "$(heaps "$TMP/o" | tr '\n' ' ')" "$3"
	expect_eq "$1: messages" "$(grep -v '^Starting' "$TMP/o/messages")" "$4"
}
one=$'Dumping heap profile to x.0001.heap (Exiting, 6 kB in use)'
for how in return _exit; do
	ends $how "$([ $how = return ] && echo 0 || echo 3)" "x.0001.heap " "$one"
	expect_eq "$how: in use" "$(header "$TMP/o/x.0001.heap")" "7 7084 7 7084"
done
ends quick 3 "x.0001.heap " "$one"
ends term 143 "x.0001.heap " "Dumping heap profile to x.0001.heap (Terminated, 6 kB in use)"
expect_eq "term: in use" "$(header "$TMP/o/x.0001.heap")" "7 7084 7 7084"
expect_match "term: whole" "$(tail -n 1 "$TMP/o/x.0001.heap")" '^[0-9a-f]+-[0-9a-f]+ '
ends ignored 143 "x.0001.heap " "Dumping heap profile to x.0001.heap (Terminated, 6 kB in use)"
ends handled 9 "x.0001.heap " "$one"
ends kill 137 "" ""
ends crash 139 "" ""

# fork: the child's file is its own, and it goes on from what the parent had.
ends fork 0 "x.0001.heap x_PID.0001.heap " "Dumping heap profile to x_PID.0001.heap (Exiting, 5 kB in use)
Dumping heap profile to x.0001.heap (Exiting, 5 kB in use)"
expect_eq "fork: parent" "$(header "$TMP/o/x.0001.heap")" "6 6074 7 7084"
expect_eq "fork: child" "$(header "$TMP"/o/x_*.0001.heap)" "7 6080 8 7089"
# A child that leaves at once, as after a failing exec, leaves nothing; a vfork's is no
# process.
ends failed 0 "x.0001.heap " "Dumping heap profile to x.0001.heap (Exiting, 5 kB in use)"
ends vfork 0 "x.0001.heap " "Dumping heap profile to x.0001.heap (Exiting, 5 kB in use)"
# A daemon's fork is inside of libc; who made it leaves there, without a word.
profiled "$LIBSEEP" "$TMP/o" "$prog" daemon
wait_for 10 grep -qs MAPPED_LIBRARIES "$TMP"/o/*.heap
expect_eq "daemon: files" "$(heaps "$TMP/o" | tr '\n' ' ')" "x_PID.0001.heap "
expect_eq "daemon: in use" "$(header "$TMP"/o/x_*.0001.heap)" "7 6080 8 7089"
# Programs started by a profiled one have names of their own.
profiled "$LIBSEEP" "$TMP/o" sh -c "$prog; $prog _exit; exec $prog"
expect_eq "exec: files" "$(heaps "$TMP/o" | tr '\n' ' ')" "x_PID.0001.heap x_PID.0001.heap x_PID.0001.heap "
profiled "$LIBSEEP" "$TMP/o" HEAPPROFILE_USE_PID=1 "$prog"
expect_eq "HEAPPROFILE_USE_PID" "$(heaps "$TMP/o" | tr '\n' ' ')" "x_PID.0001.heap "
profiled "$LIBSEEP" "$TMP/o" PMIX_RANK=3 SLURM_JOB_ID=77 HEAPPROFILE_USE_PID=1 "$prog"
expect_match "rank" "$(heaps "$TMP/o")" '^x_PID\.rank-3\.slurmid-77\.0001\.heap$'

# By signal.
profiled "$LIBSEEP" "$TMP/o" HEAPPROFILESIGNAL=10 "$prog" usr1
expect_eq "signal: messages" "$(grep -v ^Starting "$TMP/o/messages")" "Using signal 10 as heap profiling switch
Dumping heap profile to x.0001.heap (signal)
Dumping heap profile to x.0002.heap (signal)
Dumping heap profile to x.0003.heap (Exiting, 7 kB in use)"
expect_eq "signal: the first" "$(header "$TMP/o/x.0001.heap")" "7 7084 7 7084"
expect_eq "signal: the second" "$(header "$TMP/o/x.0002.heap")" "12 7239 12 7239"
# By the clock, while it sleeps: at 1, 2 and 3 seconds, of which a slow machine may make
# two; its sleep is not cut short.
before=$(date +%s%N)
profiled "$LIBSEEP" "$TMP/o" HEAP_PROFILE_TIME_INTERVAL=1 "$prog" idle
slept=$((($(date +%s%N) - before) / 1000000))
expect_between "clock: slept" $slept 3600 9000
expect_match "clock: files" "$(heaps "$TMP/o" | tr '\n' ' ')" '^x\.0001\.heap x\.0002\.heap x\.0003\.heap '
expect_between "clock: no more than one a second, and the last" "$(heaps "$TMP/o" | wc -l)" 3 $((slept / 1000 + 1))
expect_match "clock: message" "$(cat "$TMP/o/messages")" '^Dumping heap profile to x\.0002\.heap \([12] sec since the last dump\)$'
expect_eq "clock: in use" "$(header "$TMP/o/x.0001.heap")" "7 7084 7 7084"

# Nowhere to write: one line each time, and the program goes on.
run env HEAPPROFILE="$TMP/missing/x" LD_PRELOAD="$LIBSEEP" "$prog"
expect_eq "missing folder" "$status ${err//"$TMP/"/}" "0 Starting tracking the heap
Dumping heap profile to missing/x.0001.heap (Exiting, 6 kB in use)
Failed dumping heap profile to missing/x.0001.heap"
mkdir "$TMP/limited"
run env HEAPPROFILE="$TMP/limited/x" LD_PRELOAD="$LIBSEEP" bash -c "ulimit -f 1; exec $prog"
expect_eq "file size limit" "$status" 0
expect_match "file size limit: said" "$err" '^Failed dumping heap profile to .*/limited/x_[0-9]+\.0001\.heap$'
if [ -w /dev/full ]; then
	ln -s /dev/full "$TMP/limited/y.0001.heap"
	run env HEAPPROFILE="$TMP/limited/y" HEAP_PROFILE_CLEANUP=no LD_PRELOAD="$LIBSEEP" "$prog"
	expect_eq "full: status" "$status" 0
	expect_match "full: said" "$err" '^Failed dumping heap profile to .*/y\.0001\.heap$'
fi

# Mappings: not in the sums of the first line, and logged when asked for.
cat >"$TMP/maps.c" <<'EOF'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static void *volatile keep;
int main(void)
{
	char *m = mmap(NULL, 7 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *gone = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(gone, 3 << 20);
	keep = mremap(m, 7 << 20, 11 << 20, MREMAP_MAYMOVE);
	keep = sbrk(12288);
	keep = malloc(1009);
	return 0;
}
EOF
gcc -g -o "$TMP/maps" "$TMP/maps.c" || exit
profiled "$LIBSEEP" "$TMP/o" HEAP_PROFILE_MMAP=1 "$TMP/maps"
expect_eq "mmap: sums" "$(header "$TMP/o/x.0001.heap")" "1 1009 1 1009"
expect_eq "mmap: stacks" "$(buckets "$TMP/o/x.0001.heap" | grep -v '^0 0 ')" "1 11534336 1 11534336
1 12288 1 12288
1 1009 1 1009"
profiled "$LIBSEEP" "$TMP/o" HEAP_PROFILE_ONLY_MMAP=yes "$TMP/maps"
expect_eq "only mmap: sums" "$(header "$TMP/o/x.0001.heap")" "0 0 0 0"
expect_eq "only mmap: stacks" "$(buckets "$TMP/o/x.0001.heap" | grep -v '^0 0 ')" "1 11534336 1 11534336
1 12288 1 12288"
profiled "$LIBSEEP" "$TMP/o" HEAP_PROFILE_MMAP_LOG=t "$TMP/maps"
expect_eq "log" "$(sed -E 's/0x[0-9a-f]{8,}/0xA/g' "$TMP/o/messages" | grep 'mmap(\|munmap(\|mremap(\|sbrk(')" \
	"mmap(start=0x0, len=7340032, prot=0x3, flags=0x22, fd=-1, offset=0x0) = 0xA
mmap(start=0x0, len=3145728, prot=0x3, flags=0x22, fd=-1, offset=0x0) = 0xA
munmap(start=0xA, len=3145728)
mremap(old_addr=0xA, old_size=7340032, new_size=11534336, flags=0x1, new_addr=0x0) = 0xA
sbrk(inc=12288) = 0xA"

# While 20,000 stacks are written nobody waits: no allocation of another thread spins or
# sleeps for a millisecond.
gcc -g -O1 -pthread -fno-inline -fno-optimize-sibling-calls -o "$TMP/stall" "$ROOT/tests/programs/gperf_stall.c" \
	-L"$BUILD/compat" -ltcmalloc -Wl,-rpath,"$BUILD/compat" || exit
best=1000000
for _ in 1 2 3; do
	profiled "" "$TMP/o" "$TMP/stall"
	us=$(sed -n 's/^longest \([0-9]*\) us$/\1/p' "$TMP/o/stdout")
	[ "$us" -ge "$best" ] || best=$us
done
expect_eq "stall: files" "$(heaps "$TMP/o" | wc -l)" 11
expect_between "stall: stacks" "$(buckets "$TMP/o/x.0005.heap" | grep -c '^1 31 1 31$')" 20000 20000
expect_between "stall: longest call in us" "$best" 0 1000
