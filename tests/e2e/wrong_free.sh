#!/bin/bash
# SPDX-License-Identifier: MIT
# Frees and sizes that are wrong, found by an ordinary exact run: what glibc does to the
# program about it stays as it is, or nothing with --keep-going; what was found survives.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_wrong.sh"

source=$ROOT/tests/programs/wrong_heap.c
prog=$(program wrong_heap) || exit
cases=(double_free double_free_later free_inside free_behind free_stack free_other_stack free_above_stack free_global free_never
	realloc_freed realloc_zero fishy_malloc fishy_calloc fishy_realloc fishy_memalign)
for name in "${cases[@]}"; do
	wrong_case "$prog" "$source" "$name"
done
wrong_case "$prog" "$source" double_free --keep-going
wrong_case "$prog" "$source" free_inside --keep-going
# Where addresses are not random and the recording is small, stacks of threads are right
# below that of main.
if have setarch && setarch -R true 2>/dev/null; then
	for name in free_stack free_other_stack free_above_stack; do
		setarch -R "$SEEP" run --max-size 64M --keep-going --json --log-file "$TMP/json" -o "$TMP/rec" -- \
			"$prog" $name bug >"$TMP/out" 2>&1
		expect_eq "$name, not random: found" "$(said "$TMP/json")" "$(sed -n 's/^expect //p' "$TMP/out")"
	done
else
	left_out "no setarch -R here"
fi

run "$SEEP" run -o "$TMP/text.rec" -- "$prog" double_free bug
expect_match "first line" "$(grep -n -m 1 'of the heap' <<<"$err")" '^2:WRONG  1 wrong use of the heap$'
expect_match "says what" "$err" ' 1  double free of a block of 37 bytes'
run "$SEEP" report "$TMP/text.rec"
expect_match "from the file" "$(head -n 2 <<<"$out")" 'WRONG  1 wrong use of the heap
 1  double free of a block of 37 bytes'
# A block that was freed long ago is forgotten, so nothing is said about its past;
# --free-stacks remembers it.
cat >"$TMP/forgotten.c" <<'END2'
#include <stdlib.h>
int main(void) { char *volatile p = malloc(24); free(p); void *volatile q = malloc(100); free(q); free(p); return 0; }
END2
${CC:-gcc} -g -O0 -fno-builtin -w -o "$TMP/forgotten" "$TMP/forgotten.c" || exit
run "$SEEP" run --keep-going --no-save "$TMP/forgotten"
expect_match "forgotten" "$err" '^ 1  free of an address that is not allocated \(0x[0-9a-f]+\)$'
run "$SEEP" run --keep-going --no-save --free-stacks "$TMP/forgotten"
expect_match "remembered" "$err" '^ 1  double free of a block of 24 bytes$'
run "$SEEP" run --keep-going --error-exitcode 77 --format=memcheck -o "$TMP/text.rec" -- "$prog" free_global bug
expect_eq "error exit code" "$status" 77
expect_match "memcheck: what" "$err" '== Invalid free\(\) / delete / delete\[\] / realloc\(\)'
expect_match "memcheck: where" "$err" '== +Address 0x[0-9a-f]+ is 16 bytes inside data symbol "global_buffer"'
expect_match "memcheck: summary" "$err" 'ERROR SUMMARY: 1 errors from 1 contexts'
run "$SEEP" run --error-exitcode 77 -o "$TMP/text.rec" -- "$prog" free_global fixed
expect_eq "no error, its own exit code" "$status" 0

wrong_valgrind "$prog" double_free double_free_later free_inside free_stack free_global free_never realloc_freed \
	fishy_malloc fishy_calloc fishy_realloc
wrong_words "$prog" double_free double_free_later free_inside free_global realloc_freed fishy_malloc
