#!/bin/bash
# SPDX-License-Identifier: MIT
# A longjmp out of the allocator, with something put around blocks: what comes after is
# recorded once.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq
prog=$(program left_inside) || exit
under=$(program leave_malloc) || exit

for what in --redzone "--guard 1000000"; do
	read -ra options <<<"$what"
	LD_PRELOAD=$under record "$prog"
	expect_eq "$what: status" "$status" 0
	expect_truth "$what" "$TMP/json" "$out"
done
