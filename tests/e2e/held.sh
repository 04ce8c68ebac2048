#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# What was there when exit began, what exit handlers and static destructors freed of it,
# what they left: the words for it and @exit.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program held) || exit
for how in return exit; do
	record "$prog" $how
	expect_eq "$how: status" "$status $err" "0 "
	expect_truth "$how" "$TMP/json" "$out"
	expect_nothing_lost "$how" "$TMP/json"
	# 11 of 1,009, 14 of 503 and 7 of 251 bytes; left are 11 of 1,009, 3 of 61, 2 of
	# 31
	expect_json "$how: freed only at exit" "$TMP/json" \
		'.summary | [.freed_only_at_exit_blocks, .freed_only_at_exit_bytes]' '[32,19898]'
	expect_json "$how: left" "$TMP/json" '.summary | [.left_blocks, .left_bytes]' '[16,11344]'
done
run "$SEEP" report "$TMP/rec"
expect_match "in words" "$out" 'freed only at exit (19\.4 KiB|19,898)'
run "$SEEP" report --bytes "$TMP/rec"
expect_match "in bytes" "$out" 'freed only at exit 19,898'
expect_status 0 "$SEEP" report --json "$TMP/rec@exit"
# 22 + 14 + 7 + 3 blocks were there, and libstdc++'s own pool
expect_json "@exit: live" "$TMP/out" \
	'.frames as $f | [.sites[] | select(any(.stack[]; ($f[.].function // "") | test("^make_"))) | .live_blocks] | add' 46

record "$prog" quick
expect_eq "_exit: status" "$status $err" "0 "
expect_truth "_exit" "$TMP/json" "$out"
expect_json "_exit: freed only at exit" "$TMP/json" '.summary.freed_only_at_exit_blocks' 0
