#!/bin/bash
# SPDX-License-Identifier: MIT
# Copies whose source and destination overlap, found when asked for; what is started
# meanwhile works.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_wrong.sh"
[ -e "$BUILD/libseep_copy.so" ] || { echo "$BUILD/libseep_copy.so is missing: make build"; exit 3; }

source=$ROOT/tests/programs/wrong_heap.c
prog=$(program wrong_heap) || exit
for name in overlap_memcpy overlap_strcpy overlap_strncpy overlap_strcat; do
	wrong_case "$prog" "$source" "$name" --check-copy
done
run_case "$prog" overlap_memcpy bug
expect_eq "not asked for: not looked for" "$(said "$TMP/json")" ""
run_case "$prog" double_free bug --check-copy --keep-going
expect_eq "beside the others" "$(said "$TMP/json")" "double-free in=second_free freed=first_free alloc=make"
run "$SEEP" run --check-copy --format=memcheck -o "$TMP/c.rec" -- "$prog" overlap_memcpy bug
expect_match "memcheck" "$err" '== Source and destination overlap in memcpy\(0x[0-9a-f]+, 0x[0-9a-f]+, 50\)'

# A shell and what it starts, with both libraries in its environment.
run "$SEEP" run --check-copy -o "$TMP/sh.rec" -- sh -c 'printf "%s\n" b a | sort | tr ab AB; echo done'
expect_eq "children: exit status" "$status" 0
expect_eq "children: output" "$out" "A
B
done"
expect_eq "children: nothing found" "$(grep '^WRONG' <<<"$err")" ""

wrong_valgrind "$prog" overlap_strcpy overlap_strncpy overlap_strcat
wrong_words "$prog" overlap_strcpy overlap_strncpy overlap_strcat
