#!/bin/bash
# SPDX-License-Identifier: MIT
# Blocks that handlers of pthread_atfork make are known to the child or not accused of
# anything, and a child whose handler allocates is one process, not two.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program atfork) || exit
run "$SEEP" run --json --log-file "$TMP/a.json" -o "$TMP/a.rec" -- "$prog" 11
expect_eq "what the program says" "$status $out" '0 forks 11 bad 0'
expect_json "the verdict" "$TMP/a.json" .summary.verdict 'LEAK (minor)'
expect_json "processes" "$TMP/a.json" '.processes | length' 12
expect_json "no wrong use of the heap" "$TMP/a.json" '.errors // [] | length' 0
expect_json "what the parent lost" "$TMP/a.json" \
	'[.summary.leaks.definite_bytes, .summary.leaks.definite_blocks]' '[1189,29]'
