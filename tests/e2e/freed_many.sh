#!/bin/bash
# SPDX-License-Identifier: MIT
# Blocks that were freed and that malloc keeps in lists of any length are neither lost nor
# unknown.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_libseep
need_command jq
prog=$(program freed_many) || exit

for n in 66000 300000; do
	run "$SEEP" run --json --log-file "$TMP/json" -- "$prog" "$n" 24
	expect_json "$n freed: all is known" "$TMP/json" \
		'[.summary.verdict, .totals.allocs, .totals.live_blocks, .processes[0].lost.past]' "[\"OK\",$((n + 1)),0,0]"
done
begin "$prog" 300000 56 wait
run "$SEEP" leaks "$pid"
expect_match "a process that nobody recorded" "$out" '^OK  '
expect_no_match "nothing of it is lost" "$out" 'definitely lost [1-9]'
finish
