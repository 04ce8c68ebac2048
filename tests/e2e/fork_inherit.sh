#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# What a forked child has from its parent: known to the block if there is not too much of
# it, and kept apart from what it does itself.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program inherit) || exit
forks=$(program fork) || exit
small=$(program ends) || exit

# processes WHAT PROGRAM ARGS...: what each process says of itself, and what it was
# handed.
processes() {
	local what=$1 pid handed
	shift
	record "$@"
	expect_eq "$what: status" "$status $err" "0 "
	expect_processes "$what" "$(sed '/ handed /d' <<<"$out")"
	while read -r _ pid _ handed; do
		expect_json "$what: handed" "$TMP/json" ".processes[] | select(.pid == $pid) | .inherited
			| if . == null then \"none\" else \"\(.blocks) \(.bytes) \(.freed_blocks) \(.freed_bytes)\" end" \
			"$handed"
	done < <(grep ' handed ' <<<"$out")
}

# The parent has at its end what it had at its fork; $1 is the child.
as_parent_had() {
	expect_json "$1: as the parent had it" "$TMP/json" '.processes as $p | [.processes[] | select(.inherited != null)
		| . as $c | $p[] | select(.pid == $c.ppid)
		| $c.inherited.blocks == .left_blocks + .kept_by_libc_blocks and $c.inherited.bytes == .live_bytes] | all' true
}

processes "one" "$prog" one
as_parent_had "one"
expect_json "one: two processes" "$TMP/json" '.processes | length' 2
expect_json "one: its own calls only" "$TMP/json" '.processes[1] | [.allocs, .frees, .left_blocks]' '[28,1,27]'
expect_json "one: the peak is of its own" "$TMP/json" '.processes[1] | .peak_bytes <= .allocated_bytes and
	.peak_bytes >= .live_bytes' true
expect_json "one: the parent inherited nothing" "$TMP/json" '.processes[0].inherited' null
pid=$(jq '.processes[1].pid' "$TMP/json")
run "$SEEP" report --process "$pid" "$TMP/rec"
expect_match "one: the line" "$out" \
	'^inherited from its parent: 807 blocks, [0-9]+ KiB, 120 freed here$'
expect_no_match "one: said once" "$out" 'frees of blocks from before the fork'
expect_no_match "one: no place of its own" "$out" '\[inherited|\[heap'
run "$SEEP" report "$TMP/rec"
expect_match "one: in the report of both" "$out" '^120 frees of blocks from before the fork$'

processes "daemon" "$prog" daemon
expect_json "daemon: the first child has no recording" "$TMP/json" '.processes | length' 2
expect_json "daemon: inherited" "$TMP/json" '[.processes[].inherited.blocks]' '[null,807]'

processes "tree" "$prog" tree
expect_json "tree: processes" "$TMP/json" '.processes | length' 3

n=$(times 500 2003)
processes "loop" "$prog" loop "$n"
expect_json "loop: processes" "$TMP/json" '.processes | length' $((n + 1))
expect_json "loop: all alike" "$TMP/json" '[.processes[1:][] | [.inherited.blocks, .inherited.freed_blocks,
	.allocs, .frees, .lost.frees_unknown, .lost.frees_unseen]] | unique' '[[80,1,0,0,0,0]]'
as_parent_had "loop"

processes "large" "$prog" large
processes "thread" "$prog" thread
as_parent_had "thread"
expect_json "thread: inherited" "$TMP/json" '.processes[1].inherited.freed_blocks' 101
processes "atfork" "$prog" atfork
as_parent_had "atfork"
expect_json "atfork: inherited" "$TMP/json" '.processes[1].inherited.freed_blocks' 120
processes "raw clone" "$forks" raw
expect_json "raw clone: told nothing" "$TMP/json" '[.processes[].inherited]' '[null,null]'

processes "exec" "$prog" exec 53 "$small"
expect_json "exec: programs" "$TMP/json" '[.processes[] | [.name, .inherited]] | group_by(.) | map([.[0][0], .[0][1], length])' \
	'[["ends",null,53],["inherit",null,1]]'

# Sampled, nothing is listed: nearly all blocks are unknown anyway.
options=(--sample 64)
record "$prog" one
expect_json "sampled: told nothing" "$TMP/json" '[.processes[].inherited] | unique' '[null]'
options=()

# Without the tool, and children not to be recorded: nobody is handed anything.
mkdir "$TMP/dir"
run env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP/dir,children=0" "$prog" one
expect_eq "children=0: status" "$status" 0
expect_eq "children=0: one recording" "$(cd "$TMP/dir" && echo *.live | wc -w)" 1

# In the order in which they began, also where the numbers get a digit longer.
if unshare --pid --fork --mount-proc true 2>/dev/null && [ -w /proc/sys/kernel/ns_last_pid ]; then
	# shellcheck disable=SC2016 # of the shell in there
	unshare --pid --fork --mount-proc bash -c 'echo 85 >/proc/sys/kernel/ns_last_pid
		exec "$@"' - "$SEEP" run --json --log-file "$TMP/json" -o "$TMP/rec" -- "$prog" loop 30 >"$TMP/said" 2>&1
	expect_json "order: numbers of two and three digits" "$TMP/json" \
		'[.processes[].pid] | [(min < 100), (max > 99), length]' '[true,true,31]'
	expect_json "order: the parent first, then as they began" "$TMP/json" \
		'[.processes[0].inherited, ([.processes[].start_ns] | . == sort)]' '[null,true]'
else
	left_out "order: no pid namespace may be made here"
fi
