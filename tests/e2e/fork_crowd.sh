#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# Children of which a dozen threads allocate at the same moment, before anything was
# recorded in them: one of the threads begins the recording, the others wait for it, and
# nobody's memory goes. Sampled, too, where the thread that started them has not come by.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program fork_crowd) || exit
n=$(times 40 2000)

for mode in "--sample 4M" "--sample 64" --exact; do
	# shellcheck disable=SC2206 # two words
	options=($mode)
	record "$prog" "$n" 12
	expect_eq "$mode: every child ends well" "$status $err $out" "0  children $n bad 0"
	expect_json "$mode: every process is recorded" "$TMP/json" '[.processes[] | .end // .state] | length' $((n + 1))
done
# Every thread of every child, and the parent: 100 blocks each.
expect_json "all of it is recorded" "$TMP/json" '.frames as $f | [.sites[]
	| select([.stack[] | $f[.].function] | index("make_in_crowd")) | .allocs] | add' $((100 * (12 * n + 1)))
expect_nothing_lost "exact" "$TMP/json"
