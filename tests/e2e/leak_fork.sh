#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# What is lost in processes that fork and execute others: each is looked at when it ends,
# and answers for its own.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program leak_fork) || exit
cd "$TMP" || exit

each='[.processes[] | select(.end != "exec" and .leaks.done)
	| "expect definite=\(.leaks.definite_bytes)/\(.leaks.definite_blocks) reachable=\(.leaks.reachable_bytes)/\(.leaks.reachable_blocks)"]
	| sort | .[]'
run "$SEEP" run --json --log-file json -o a.rec -- "$prog"
expect_eq "status" "$status" 0
expect_eq "each process: its own" "$(jq -r "$each" json)" "$(sort <<<"$out")"
expect_eq "there are four" "$(wc -l <<<"$out")" 4
run "$SEEP" report --json a.rec
expect_eq "and so says the file" "$(jq -r "$each" "$TMP/out")" "$(jq -r "$each" json)"
run "$SEEP" run -o a.rec -- "$prog"
expect_match "all together" "$err" '^LEAK \(minor\)  1\.57 KiB in 11 blocks lost at [0-9]+ sites?'
run "$SEEP" run --no-children --json --log-file json -o a.rec -- "$prog"
expect_eq "the first alone, if so wanted" "$(jq -r "$each" json)" "expect definite=274/2 reachable=163/1"
run "$SEEP" run --error-exitcode=9 -o a.rec -- "$prog"
expect_eq "status for a leak in any of them" "$status" 9
