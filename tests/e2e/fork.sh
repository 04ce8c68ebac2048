#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# fork, vfork, posix_spawn and exec: each process has an account of its own, none hangs,
# and one file holds all of them.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program fork) || exit
small=$(program ends) || exit

# processes WHAT ARGS...
processes() {
	local what=$1
	shift
	record "$prog" "$@"
	expect_eq "$what: status" "$status $err" "0 "
	expect_processes "$what" "$out"
	expect_eq "$what: one file" "$(cd "$TMP" && ls rec)" rec
}

processes "tree" tree
expect_json "tree: processes" "$TMP/json" '.processes | length' 3
expect_json "tree: parents" "$TMP/json" \
	'.processes as $p | [$p[1:][] | .ppid as $pp | $p | any(.pid == $pp)] | all' true
n=$(times 23 997)
processes "threaded parent" threads "$n"
expect_json "threaded parent: processes" "$TMP/json" '.processes | length' $((n + 1))

processes "threads that only fork" first
expect_json "threads that only fork: processes" "$TMP/json" '.processes | length' 3

n=$(times 101 3001)
processes "fork in a handler" handler "$n"

processes "raw clone" raw
processes "children that do nothing" idle 29

processes "spawn" spawn "$small"
expect_json "spawn: programs" "$TMP/json" \
	'[.processes[] | select(.name == "ends") | [.allocs, .frees, .end, .status]] | unique' \
	'[[7,4,"exited",0]]'
expect_json "spawn: how many" "$TMP/json" '[.processes[] | select(.name == "ends")] | length' 3

n=$(times 53 1009)
record "$prog" exec "$n"
expect_eq "exec: status" "$status $err" "0 "
expect_json "exec: images" "$TMP/json" '.processes | length' $((n + 1))
expect_json "exec: one process" "$TMP/json" '[.processes[].pid] | unique | length' 1
expect_truth "exec" "$TMP/json" "expect in=make_parents allocs=$(((n + 1) * (n + 2) / 2)) frees=0"
expect_json "exec: each image by itself" "$TMP/json" \
	'[.processes[].allocs - 3] | sort | .[-1]' $((n + 1))
expect_json "exec: all but the last ended by exec" "$TMP/json" \
	'[.processes[].end] | group_by(.) | map([.[0], length])' "[[\"exec\",$n],[\"exited\",1]]"
