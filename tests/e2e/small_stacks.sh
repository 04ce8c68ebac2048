#!/bin/bash
# SPDX-License-Identifier: MIT
# Allocations on the smallest stacks that programs have: seep must not need more.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq
ulimit -c 0

prog=$(program small_stacks) || exit
plugin=$(program plugin) || exit
for where in thread signal fibre; do
	run "$prog" $where "$plugin"
	expect_eq "$where: status without seep" "$status" 0
	record "$prog" $where "$plugin"
	expect_eq "$where: status" "$status $err" "0 "
	expect_truth "$where" "$TMP/json" "$out"
	expect_nothing_lost "$where" "$TMP/json"
done
