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
