#!/bin/bash
# SPDX-License-Identifier: MIT
# The recipe for leaks with gperftools: export HEAPPROFILE, run the program with the
# library preloaded or linked (-ltcmalloc), compare two of the profiles with pprof. Read
# by google-pprof.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_gperf.sh"
need_libseep
need_command google-pprof

cp "$ROOT/tests/programs/gperf_series.c" "$TMP/app.c"
cd "$TMP" || exit
gcc -g -O1 -o app app.c || exit
export HEAPPROFILE=$TMP/heapprof HEAP_PROFILE_INUSE_INTERVAL=30000000

LD_PRELOAD=$LIBSEEP ./app 2>messages
expect_eq "series" "$(heaps "$TMP" | tr '\n' ' ')" "heapprof.0001.heap heapprof.0002.heap heapprof.0003.heap heapprof.0004.heap "
expect_eq "first" "$(pprof_total heapprof.0001.heap app)" 30408791 # 29 * 1,048,579
expect_eq "last" "$(pprof_total heapprof.0004.heap app)" 51381380
expect_eq "ever allocated" "$(pprof_total heapprof.0004.heap app --alloc_space)" 101714915
expect_eq "blocks" "$(google-pprof --text --inuse_objects app heapprof.0004.heap 2>/dev/null | sed -n 1p)" "Total: 50 objects"
# The line is that of the call, and nothing of ours is in it.
text=$(google-pprof --text --show_bytes --lines app heapprof.0004.heap 2>/dev/null)
line=$(awk '/malloc\(n\)/ { print NR }' app.c)
expect_match "leaf" "$text" "^51380371 100\.0% 100\.0% 51380371 100\.0% grow .*app\.c:$line( |\$)"
expect_match "main" "$text" ' 51380371 100\.0% main '
expect_no_match "none of ours" "$text" 'libseep|main_then_exit'
# --base, as the recipe has it: 58 blocks less 29.
export PPROF_TMPDIR=$TMP
run google-pprof --base=heapprof.0001.heap --lines --edgefraction=1e-10 --nodefraction=0 --text --show_bytes app heapprof.0002.heap
expect_match "growth" "$out" '^Total: 30408791 B'
run google-pprof --base=heapprof.0001.heap --lines --edgefraction=1e-10 --nodefraction=0 --dot app heapprof.0002.heap
expect_match "growth: graph" "$out" 'label="grow.*29\.0 \(100\.0%\)'
if have dot; then
	run google-pprof --svg app heapprof.0001.heap
	expect_match "svg" "$out" '<svg '
fi

# Linked in: the library's name is found in build/compat, where the headers are too.
rm -f ./*.heap
export CPATH=$BUILD/compat/include LIBRARY_PATH=$BUILD/compat
gcc -g -O1 app.c -o linked -Wl,--as-needed -ltcmalloc || exit
LD_LIBRARY_PATH=$BUILD/compat ./linked 2>messages
expect_eq "linked: series" "$(heaps "$TMP" | wc -l)" 4
expect_eq "linked: last" "$(pprof_total heapprof.0004.heap linked)" 51381380
expect_eq "linked: messages" "$(sed "s,$TMP/,,g" messages)" "Starting tracking the heap
Dumping heap profile to heapprof.0001.heap (29 MB currently in use)
Dumping heap profile to heapprof.0002.heap (58 MB currently in use)
Dumping heap profile to heapprof.0003.heap (87 MB currently in use)
Dumping heap profile to heapprof.0004.heap (Exiting, 49 MB in use)"
# A program that was linked with the real one, which finds us by its name.
if [ -n "$TCMALLOC" ]; then
	unset CPATH LIBRARY_PATH
	gcc -g -O1 app.c -o theirs -Wl,--no-as-needed "$TCMALLOC" || exit
	rm -f ./*.heap
	LD_LIBRARY_PATH=$BUILD/compat ./theirs 2>/dev/null
	expect_eq "by the real one's name: last" "$(pprof_total heapprof.0004.heap theirs)" 51381380
	expect_eq "by the real one's name: one library" "$(LD_LIBRARY_PATH=$BUILD/compat ldd ./theirs | grep -c "$BUILD")" 1
fi
# Linked and preloaded: still one.
rm -f ./*.heap
LD_LIBRARY_PATH=$BUILD/compat LD_PRELOAD=$LIBSEEP ./linked 2>messages
expect_eq "linked and preloaded" "$(grep -c '^Starting' messages) $(pprof_total heapprof.0004.heap linked)" "1 51381380"
