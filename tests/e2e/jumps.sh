#!/bin/bash
# SPDX-License-Identifier: MIT
# A handler leaves malloc, realloc and free by siglongjmp, after every single instruction
# of theirs: the program lives, what it does afterwards is recorded to the byte, and what
# was left half done costs one event and nothing else: live bytes and the peak stay those
# of the blocks.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq
[ "$(uname -m)" = x86_64 ] || skip "the trap flag is that of x86-64"

prog=$(program jumps) || exit
bump=$(program bump) || exit

# jumped WHAT LEAST BYTES ARGS...: at least so many jumps; the peak is right but for so
# many bytes.
jumped() {
	local what=$1 least=$2 off=$3 jumps peak lost places
	shift 3
	LD_PRELOAD=$bump record timeout 300 "$prog" "$@"
	expect_eq "$what: status" "$status $err" "0 "
	expect_truth "$what" "$TMP/json" "$out"
	read -r _ whole _ jumps _ peak _ places < <(grep '^whole ' <<<"$out")
	expect_eq "$what: each call came to its end" "${whole:-none}" 6
	expect_between "$what: jumps" "${jumps:-0}" "$least" 1000000
	expect_between "$what: the peak is what is live and the last block" \
		"$(jq '.processes[] | select(.name == "jumps") | .peak_bytes - .live_bytes' "$TMP/json")" \
		$((peak - off)) $((peak + off))
	# What was left half done at a place must not keep later events from being seen.
	run "$SEEP" report --json --all "$TMP/rec"
	expect_eq "$what: places that were left are recorded" "$(jq '.frames as $f
		| [.sites[] | select(.allocs >= 3 and ([.stack[] | $f[.].function]
			| index("make_stepped", "resize_stepped")))] | length' <<<"$out")" "${places:-none}"
	# The allocator itself takes a block of libc, and a jump out of libc leaves one
	# there.
	lost=$(jq '[.processes[].lost | to_entries[] | select(.value == true or (.value | type == "number"))
		| select(.key != "reentry" and .key != "past") | .value | tonumber? // 1] | add // 0' "$TMP/json")
	expect_eq "$what: lost otherwise" "$lost" 0
}
# Stepping costs 12 us an instruction on a virtual machine, and each jump begins at the
# first.
step=$(times 97 13)
for first in $(times 5 "$(seq 1 13)"); do
	jumped "every ${step}th instruction from $first" "$(times 100 1000)" 0 "$first" "$step"
done
# Several threads' sum is followed in steps of 4 KiB, and may miss what was just being
# added: one block of 2 MiB.
jumped "beside another thread" 50 $(((2 << 20) + 16384)) 3 "$(times 197 29)" threads
