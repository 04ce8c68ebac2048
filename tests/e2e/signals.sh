#!/bin/bash
# SPDX-License-Identifier: MIT
# Signal handlers on top of malloc and of seep: that allocate, on either stack, that leave
# by longjmp thousands of times, that end the process. It neither hangs nor stops
# recording, and what could not be recorded is counted. Fibres, whose stacks come and go,
# are exact.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program signals) || exit
bump=$(program bump) || exit

# interrupted WHAT ARGS...: leaves $finished and $handled.
interrupted() {
	local what=$1
	shift
	LD_PRELOAD=$bump record timeout 60 "$prog" "$@"
	expect_eq "$what: status" "$status $err" "0 "
	expect_truth "$what" "$TMP/json" "$out"
	read -r _ finished _ handled < <(grep '^done ' <<<"$out")
	expect_eq "$what: signals" "${handled:-none}" "$2"
	reentry=$(jq '[.processes[].lost.reentry] | add' "$TMP/json")
}
# allocs_in FUNCTION KEY [BUT]: sum over the stacks with FUNCTION and without BUT.
allocs_in() {
	jq --arg in "$1" --arg key "$2" --arg but "${3:-}" '.frames as $f
		| [.sites[] | [.stack[] | $f[.].function] as $names
		| select(($names | index($in)) and ($names | index($but) | not)) | .[$key]]
		| add // 0' "$TMP/json"
}

n=$(times 2003 40009)
for stack in "" alt; do
	interrupted "longjmp $stack" longjmp "$n" $stack
	# Two allocations a turn; each jump may cost what was under way, and no more.
	expect_between "longjmp $stack: recorded" "$(allocs_in make_in_loop allocs)" \
		$((2 * finished - 2 * handled)) $((2 * finished + 2 * handled))
	expect_between "longjmp $stack: left behind" "$(allocs_in make_in_loop live_blocks)" 0 $((2 * handled))
	expect_between "longjmp $stack: lost" "$reentry" 0 $((3 * handled))

	interrupted "allocating $stack" alloc "$n" $stack
	# Either both calls of a handler are recorded or both are counted as lost.
	expect_eq "allocating $stack: all accounted for" \
		$((2 * $(allocs_in make_in_handler allocs) + reentry)) $((2 * handled))
	expect_eq "allocating $stack: handlers' frees" "$(allocs_in make_in_handler live_blocks)" 0
	expect_eq "allocating $stack: the loop" \
		"$(allocs_in make_in_loop allocs make_in_handler) $(allocs_in make_in_loop live_blocks)" \
		"$((2 * finished)) 0"
done
# Signals that come while the first cells and modules are made, many times anew.
for ((i = 0; i < $(times 12 900); i++)); do
	interrupted "longjmp at the start, run $i" longjmp 60 alt
	expect_between "longjmp at the start, run $i: recorded" "$(allocs_in make_in_loop allocs)" \
		$((2 * finished - 2 * handled)) $((2 * finished + 2 * handled))
done
LD_PRELOAD=$bump record "$prog" exit 101
expect_eq "_exit in a handler" "$status $out" "0 "
expect_between "_exit in a handler: recorded" "$(allocs_in make_in_loop allocs)" 101 1000000000

fibres=$(program fibres) || exit
record "$fibres" "$(times 29 997)"
expect_eq "fibres: status" "$status $err" "0 "
expect_truth "fibres" "$TMP/json" "$out"
expect_nothing_lost "fibres" "$TMP/json"
