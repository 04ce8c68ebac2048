#!/bin/bash
# SPDX-License-Identifier: MIT
# Blocks with room around them, freed ones held back: what is written there is found, with
# the stacks of allocation and free; a program that does nothing wrong works as before.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_wrong.sh"

source=$ROOT/tests/programs/wrong_heap.c
prog=$(program wrong_heap) || exit
for name in overflow underflow overflow_kept overflow_realloc; do
	wrong_case "$prog" "$source" "$name" --redzone
done
wrong_case "$prog" "$source" overflow --redzone=256
wrong_case "$prog" "$source" write_after_free --quarantine 1M
# Freed blocks are known with the whole stack of their free.
for name in double_free double_free_later realloc_freed; do
	wrong_case "$prog" "$source" "$name" --quarantine 1M --keep-going
	expect_match "$name: all of it" "$(jq '.errors[0].freed_stack | length' "$TMP/json")" '^[3-9]$'
	wrong_case "$prog" "$source" "$name" --free-stacks --keep-going
	expect_match "$name: all of it" "$(jq '.errors[0].freed_stack | length' "$TMP/json")" '^[3-9]$'
done
# One that has left the quarantine was looked at then.
run_case "$prog" write_after_free bug --quarantine 100
expect_eq "larger than the quarantine: not held back" "$(said "$TMP/json")" ""

room=$(program wrong_room) || exit
for opts in --redzone=4096 '--quarantine 64K' '--redzone=64 --quarantine 16M'; do
	# shellcheck disable=SC2086 # options are words
	run "$SEEP" run $opts -o "$TMP/room.rec" -- "$room"
	expect_eq "$opts: exit status" "$status" 0
	expect_eq "$opts: output" "$out" "ok many"
	expect_eq "$opts: nothing found" "$(grep '^WRONG' <<<"$err")" ""
done

# What is held back is the program's when there is no more.
scarce=$(program wrong_scarce) || exit
for how in malloc calloc memalign aligned_alloc posix_memalign valloc realloc; do
	expect_eq "$how: had" "$("$scarce" "$how")" "had, errno 0"
	for opts in '--quarantine 64M' --redzone; do
		# shellcheck disable=SC2086 # options are words
		run "$SEEP" run $opts -o "$TMP/scarce.rec" -- "$scarce" "$how"
		expect_eq "$how, $opts: had" "$status: $out" "0: had, errno 0"
	done
done

# What takes no byte takes its place in the quarantine all the same, and none where there
# is no quarantine.
ways=$(program wrong_ways) || exit
for opts in --redzone '--redzone --quarantine 1M' '--quarantine 64K'; do
	# shellcheck disable=SC2086 # options are words
	run "$SEEP" run $opts -o "$TMP/ways.rec" -- "$ways" empty
	expect_between "$opts: grown by so many MiB" "${out#grown by }" 0 8
done

wrong_valgrind "$prog" overflow underflow overflow_kept overflow_realloc write_after_free
run "$SEEP" run --redzone=5000 -- true
expect_eq "too much room" "$status" 2
run "$SEEP" run --redzone --sample -- true
expect_eq "not when sampling" "$status" 2

# Over other allocators, and a wrapper whose functions call each other by name: the
# figures of a program that does everything are the same.
cxx=$(program counts_cxx) || exit
nested=$(program bump nested -O2 -g -fPIC -shared -fno-builtin -DNESTED) || exit
for lib in "$(find_library libjemalloc.so.2)" "$(find_library libtcmalloc_minimal.so.4)" "$nested"; do
	[ -n "$lib" ] || continue
	want=$(LD_PRELOAD=$lib "$cxx")
	got=$(LD_PRELOAD=$lib "$SEEP" run --redzone --quarantine 256K --guard 7 --json --log-file "$TMP/json" -o "$TMP/c.rec" -- "$cxx")
	expect_eq "${lib##*/}: the same" "$(sort <<<"$got")" "$(sort <<<"$want")"
	expect_eq "${lib##*/}: nothing found" "$(said "$TMP/json")" ""
done
