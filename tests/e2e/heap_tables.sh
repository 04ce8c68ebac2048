#!/bin/bash
# SPDX-License-Identifier: MIT
# Tables of allocators that make no sense, tables of libc for threads that have ended, and
# blocks with mappings of their own.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
compare=$BUILD/tests/unit/test_walker
[ -x "$compare" ] || skip "no unit tests in this build"
truth=$(program heap_truth) || exit
joined=$(program threads_joined) || exit
mapped=$(program heap_mapped) || exit
small=$(program heap_mapped_small) || exit
kept=$(program arenas_kept) || exit
cd "$TMP" || exit

# blocks JSON: lost and possibly lost.
blocks() { jq -r '.summary.leaks | "\(.definite_blocks + .indirect_blocks) \(.possible_blocks)"' "$1"; }

for name in "glibc's malloc:" jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc.so.4 mimalloc:libmimalloc.so.2; do
	lib=
	if [ -n "${name#*:}" ]; then
		lib=$(find_library "${name#*:}")
		[ -n "$lib" ] || { left_out "no ${name#*:} here"; continue; }
	fi
	# Tables that make no sense: every walk ends, with blocks that are in order or
	# none.
	begin env LD_PRELOAD="$lib" "$truth" 100 2 0
	run timeout 50 "$compare" "$pid" 60
	expect_match "${name%%:*}: changed memory" "$status $out" '^0 rounds=60 known=[0-9]+ '
	finish

	begin env LD_PRELOAD="$lib" "$joined"
	for command in leaks scan; do
		run "$SEEP" $command --json "$pid"
		expect_eq "${name%%:*}: seep $command of four joined threads" "$(blocks "$TMP/out")" "0 0"
	done
	finish
done

# mimalloc's segments are its own where no page of them is in use.
lib=$(find_library libmimalloc.so.2)
if [ -n "$lib" ]; then
	begin env LD_PRELOAD="$lib" "$kept" caches
	run "$SEEP" leaks "$pid"
	expect_match "mimalloc's free pages" "$out" '^OK  no leak: [0-9.]+ KiB in 30[0-9] blocks'
	finish
fi

# Blocks with mappings of their own, behind a mapping of the program's: seep why finds
# them as seep scan does.
begin "$mapped" 1
run "$SEEP" scan --json "$pid"
expect_json "mapped blocks" "$TMP/out" '[.mapped_blocks, .mapped_bytes, .notes] | tostring' '[20,21053120,[]]'
run "$SEEP" why --all --for 1s "$pid"
expect_match "seep why: where they are" "$out" '^ +21\.[0-9] MiB  0 B +chunk@'
expect_match "seep why: what they are" "$out" '^RSS .* live 20\.[0-9]+ \+ mappings 1\.0'
finish
begin "$mapped" 300
run "$SEEP" scan --json "$pid"
expect_json "mapped blocks behind much else" "$TMP/out" '[.mapped_blocks, .mapped_bytes, .notes] | tostring' '[20,21053120,[]]'
finish

# Small ones, in the middle of one mapping, because malloc's threshold was lowered: in the
# three ways in which that is done. 60,000 bytes and the header are 15 pages, 61,424 bytes
# without the header.
small_ones() {
	local what=$1
	shift
	begin "$@"
	run "$SEEP" leaks --fail-on leak "$pid"
	expect_eq "small, $what: status" "$status" 1
	run "$SEEP" leaks --json "$pid"
	expect_json "small, $what" "$TMP/out" '[.mapped_blocks, .mapped_bytes, .notes, .verdict] | tostring' \
		'[109,6695216,[],"LEAK"]'
	expect_json "small, $what: lost" "$TMP/out" \
		'.summary.leaks | "\(.definite_bytes)/\(.definite_blocks) \(.reachable_blocks)"' '6142400/100 11'
	finish
}
small_ones mallopt "$small" 100 mallopt
small_ones variable env MALLOC_MMAP_THRESHOLD_=16384 "$small" 100
small_ones tunable env GLIBC_TUNABLES=glibc.malloc.mmap_threshold=16384 "$small" 100
# One that malloc counts, and whose header is not there any more, may be lost: never OK.
begin env MALLOC_MMAP_THRESHOLD_=16384 "$small" 1 broken
run "$SEEP" leaks "$pid"
expect_match "not found" "$out" '^NO VERDICT  nothing found to be lost, but 1 block that malloc mapped could not be found; use seep attach'
run "$SEEP" leaks --json "$pid"
expect_json "not found, in JSON" "$TMP/out" '[.verdict, .no_verdict_because, .summary.leaks.definite_blocks]' '["NO VERDICT","heap-not-read",0]'
finish
