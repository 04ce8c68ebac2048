#!/bin/bash
# SPDX-License-Identifier: MIT
# Operators new and delete that do not belong together, found by an ordinary exact run.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_wrong.sh"

source=$ROOT/tests/programs/wrong_cxx.cpp
prog=$(program wrong_cxx) || exit
for name in $("$prog"); do
	wrong_case "$prog" "$source" "$name"
done
cases=(malloc_delete new_free new_array_delete new_delete_array new_realloc delete_twice)
wrong_valgrind "$prog" "${cases[@]}"
wrong_words "$prog" "${cases[@]}"

# Operators of somebody's own hand out what malloc does not know: nothing is wrong with
# that.
own=$(program own_operators) || exit
for name in sized_delete delete_twice new_array_delete; do
	export LD_PRELOAD=$own
	run "$SEEP" run --json --log-file "$TMP/json" -o "$TMP/own.rec" -- "$prog" "$name" fixed
	unset LD_PRELOAD
	expect_eq "own operators, $name: exit status" "$status" 0
	expect_eq "own operators, $name: nothing found" "$(said "$TMP/json")" ""
done
