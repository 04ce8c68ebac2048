#!/bin/bash
# SPDX-License-Identifier: MIT
# The final profile: however the process ends, and whatever becomes of its file; fork;
# threads.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_jemalloc.sh"
need_libseep
prog=$(program jem_ends) || exit
conf=prof:true,lg_prof_sample:0,prof_final:true
one="17: 17153 [0: 0]"

for how in "exit 3" "_exit 3" "quick 3" "ignored 5"; do
	profiled "$LIBSEEP" $conf "$prog" "${how% *}"
	expect_eq "${how% *}" "$status $err $(dumps) $(total '*.f.heap')" \
		"${how#* }  jeprof.PID.0.f.heap $one"
done
profiled "$LIBSEEP" $conf "$prog" late
expect_eq "after the program's own exit handlers" "$(total '*.f.heap')" "10: 10090 [0: 0]"
profiled "$LIBSEEP" prof:true,lg_prof_sample:0 "$prog" _exit
expect_eq "not asked for" "$(dumps)" ""

# ended_by SIGNAL HOW: starts it, sends the signal when it is ready, leaves its status.
ended_by() {
	rm -rf "${DUMPS:?}"/*
	: >"$TMP/out" # what the one before said
	(in_dumps "$LIBSEEP" "$conf" "$prog" "$2") >"$TMP/out" 2>"$TMP/err" &
	local pid=$!
	wait_for 10 grep -q ready "$TMP/out"
	kill -"$1" $pid
	wait $pid 2>/dev/null
	status=$?
}
ended_by TERM wait
expect_eq "SIGTERM" "$status $(dumps) $(total '*.f.heap')" "143 jeprof.PID.0.f.heap $one"
ended_by TERM handled
expect_eq "SIGTERM with a handler" "$status $(dumps) $(total '*.f.heap')" \
	"4 jeprof.PID.0.f.heap $one"
ended_by KILL wait
expect_eq "SIGKILL" "$status $(dumps)" "137 "
profiled "$LIBSEEP" $conf "$prog" asks
expect_eq "the program sees its default" "$status $out" "6 default default mine default"

# ---- fork ----

# ended_at BYTES: a final profile of so many is complete.
ended_at() { grep -qE "^  t\*: [0-9]+: $1 " "$DUMPS"/*.f.heap 2>/dev/null && grep -q ^MAPPED "$DUMPS"/*.f.heap; }

profiled "$LIBSEEP" $conf "$prog" fork
child=${out#child }
expect_eq "fork: two files" "$(count_dumps)" 2
expect_eq "fork: the child goes on with what it inherited" "$(total "jeprof.$child.0.f.heap")" \
	"18: 23132 [0: 0]"
rm -f "$DUMPS/jeprof.$child.0.f.heap"
expect_eq "fork: the parent's" "$(total '*.f.heap')" "$one"
# Forks inside of libc, which do not come by any name of ours.
profiled "$LIBSEEP" $conf "$prog" daemon
wait_for 10 ended_at "23132"
expect_eq "daemon: its own, nothing of who made it" "$(count_dumps) $(total '*.f.heap')" \
	"1 18: 23132 [0: 0]"
profiled "$LIBSEEP" $conf "$prog" pty
expect_eq "forkpty: the child's beside the parent's" \
	"$(count_dumps) $(grep -l '^  t\*: 18: 23132 ' "$DUMPS"/*.f.heap | wc -l)" "2 1"
if [ -n "$JEMALLOC" ]; then
	profiled "$JEMALLOC" $conf "$prog" daemon
	wait_for 10 ended_at "[0-9]+"
	expect_eq "daemon: as jemalloc's" "$(count_dumps)" 1
fi
profiled "$LIBSEEP" $conf "$prog" threads
expect_eq "fork while threads allocate" "$status $out" "0 bad children 0"
expect_eq "fork while threads allocate: files" "$(count_dumps)" 24

# ---- no file ----

profiled "$LIBSEEP" $conf,prof_prefix:/nowhere/at/all "$prog" exit
expect_match "no folder: one line" "$err" '^<seep>: failed to open "/nowhere/at/all\.[0-9]+\.0\.f\.heap"$'
expect_eq "no folder: the program goes on" "$status $(wc -l <"$TMP/err")" "3 1"
grow=$(program jem_grow) || exit
profiled "$LIBSEEP" prof:true,prof_gdump:true,prof_final:true,prof_prefix:/nowhere/at/all "$grow"
expect_eq "no folder for a thousand files: one line" "$status $(wc -l <"$TMP/err")" "0 1"
profiled "$LIBSEEP" $conf,prof_prefix:/proc/self/x "$prog" exit
expect_eq "a folder that cannot be written to" "$status $(wc -l <"$TMP/err")" "3 1"
mkdir "$TMP/full"
if mount -t tmpfs -o size=8k none "$TMP/full" 2>/dev/null; then
	profiled "$LIBSEEP" prof:true,prof_gdump:true,prof_prefix:"$TMP/full/x" "$grow"
	expect_eq "a full one" "$status $err" "0 <seep>: failed to write during heap profile flush"
	expect_eq "a full one: no halves" \
		"$(grep -L MAPPED_LIBRARIES "$TMP/full"/*.heap 2>/dev/null | wc -l)" 0
	umount "$TMP/full"
else
	left_out "may not mount"
fi

# ---- threads ----

prog=$(program jem_threads) || exit
profiled "$LIBSEEP" prof:true,lg_prof_sample:0,prof_accum:true "$prog"
expect_eq "threads: told" "$status $out" "0 second: 0, was on
dump: 0"
profile=$(cat "$DUMPS"/*.m0.heap)
expect_match "what an ended thread allocated is its own, whoever frees" "$profile" '^  t1: 14: 14182 \['
expect_match "a thread with a name" "$profile" '^  t2: 29: 59131 \[29: 59131\] second one$'
expect_match "the stack of both: all threads" "$profile" '^  t\*: 14: 14182 \[23: 23299\]$'
expect_no_match "left out by thread.prof.active" "$profile" "^ *t.*[:[ ]9003[]: ]|^ *t.*: 9003$"
profiled "$LIBSEEP" prof:true,lg_prof_sample:0,prof_thread_active_init:false "$prog"
expect_match "new threads are left out" "$(cat "$DUMPS"/*.m0.heap)" '^  t\*: 0: 0 \[0: 0\]$'
profiled "$LIBSEEP" prof:true,lg_prof_sample:0,prof_sys_thread_name:true "$prog"
expect_match "names that the kernel has" "$(cat "$DUMPS"/*.m0.heap)" '^  t2: 29: 59131 \[0: 0\] jem_threads$'
profiled "$LIBSEEP" prof:true,lg_prof_sample:4 "$prog"
expect_match "sampled: threads are told apart too" "$(cat "$DUMPS"/*.m0.heap)" '^  t1: 14: 14182 \['
if have jeprof; then
	expect_match "jeprof by thread" "$(cd "$DUMPS" && jeprof --text --show_bytes --thread=2 "$prog" ./*.m0.heap 2>/dev/null)" \
		'^Total \(t2\): 59131 B'
fi

# ---- nobody waits for a dump ----

prog=$(program jem_stall) || exit
best=1000000
for try in $(seq 10); do # a machine that is shared takes milliseconds from a thread now and then
	[ "$try" -le 2 ] || [ "$best" -gt 1000 ] || break
	profiled "$LIBSEEP" prof:true,lg_prof_sample:0 "$prog"
	expect_match "dumps of 32,768 stacks" "$out" '^stacks=32768 error=0 '
	us=$(sed -n 's/.* longest_us=\([0-9]*\) .*/\1/p' <<<"$out")
	[ "${us:-$best}" -ge "$best" ] || best=$us
done
expect_between "longest CPU time of a malloc meanwhile, in us" "$best" 0 1000
expect_between "stacks written" "$(grep -c '^@' "$DUMPS/stall.heap")" 32768 32775
