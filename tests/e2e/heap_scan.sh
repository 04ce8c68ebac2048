#!/bin/bash
# SPDX-License-Identifier: MIT
# seep scan and seep report on a process that nobody recorded: what is there, who holds
# it, what grew between two looks; a leak is told from what is held and from what malloc
# keeps. And who holds a single block, also in a core and in a recorded process.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_libseep
need_command jq
prog=$(program heap_grow) || exit
cd "$TMP" || exit

# order WORD: the process does it.
order() {
	local before
	before=$(grep -c 'done' "$TMP/said")
	echo "$1" >&8
	wait_for 20 more_done "$before" || fail "the process does not go on"
}

begin "$prog"
run "$SEEP" scan --save a.scan "$pid"
expect_eq "status" "$status" 0
expect_match "nothing lost" "$out" '^OK  no leak: [0-9.]+ KiB in 1,01[0-9] blocks; malloc keeps [0-9.]+ KiB that was freed or never used$'
expect_match "blocks by size" "$out" '^ 1 +197 KiB +[0-9]+ % +1,00[89] x 200 bytes each: pointer, text, text, text$'
expect_match "held by" "$out" '^        held by registry in heap_grow'
expect_match "retained" "$out" '^ +197 KiB +[0-9]+ % +1,010  registry in heap_grow, by 0x[0-9a-f]+$'
expect_match "a stack holds too" "$out" "^ +12\.1 KiB +[0-9.]+ % +1  stack of thread [0-9]+ \(heap_grow\)"
expect_match "arenas" "$out" '^    main +live [0-9]+ KiB in [0-9,]+ blocks, free but kept [0-9.]+ KiB \(.* between blocks, .* at the end, .* for reuse\), fragmentation '
expect_match "saved" "$err" '^seep: saved a\.scan; later: --since a\.scan$'
run "$SEEP" report "$pid"
expect_match "seep report does the same" "$out" '^OK  no leak: '
run "$SEEP" report --since a.scan "$pid"
expect_match "steady" "$out" '^STEADY  live 0 B in 0 blocks'

order hold
run "$SEEP" report --since a.scan --json "$pid"
expect_json "held growth" "$TMP/out" '.growth | .blocks, .lost_blocks' $'1009\n0'
expect_json "held growth: of what" "$TMP/out" '.growth.groups[0] | .size, .blocks, .held_by' $'200\n1009\nregistry in heap_grow'
run "$SEEP" report --since a.scan --save b.scan "$pid"
expect_match "held growth in words" "$out" '^GROWING  live \+197 KiB in \+1,009 blocks, none of it lost: held by registry in heap_grow'

order lose
run "$SEEP" scan --save c.scan --since b.scan "$pid"
expect_match "a leak" "$out" '^LEAK  \+[0-9.]+ KiB in \+307 blocks lost since then, of \+[0-9.]+ KiB that came'
expect_match "a leak: of what" "$out" '^ 1 +\+98\.3 KiB  \+307 blocks of 328 bytes each: all bytes equal, \+307 of them lost, NEW$'
run "$SEEP" scan b.scan c.scan
expect_match "from two files" "$out" '^LEAK  \+[0-9.]+ KiB in \+307 blocks lost since then'

order churn
run "$SEEP" scan --since c.scan "$pid"
expect_match "what malloc keeps is no leak" "$out" '^GROWING  malloc keeps \+(19|20|21)\.[0-9] MiB more, live \+[0-9,.]+ B: freed memory that is not given back'
run "$SEEP" scan --json "$pid"
expect_between "kept between blocks" "$(jq '.arenas[0].free_bytes' "$TMP/out")" 20000000 22500000
expect_json "and not live" "$TMP/out" '.arenas[0].live_bytes < 1000000' true

# ---- one block ----
item=$(jq -r '[.groups[] | select(.size == 200)] | max_by(.reachable_blocks).example' "$TMP/out")
buffer=$(jq -r '.groups[] | select(.size >= 12345 and .size < 12400) | .example' "$TMP/out")
lost=$(jq -r '.groups[] | select(.size == 328) | .example' "$TMP/out")
run "$SEEP" leaks --who "$item" "$pid"
expect_match "who: state" "$out" "^$item 200 bytes, .*, still reachable$"
expect_match "who: the root" "$out" '^  registry in heap_grow, at 0x[0-9a-f]+$'
expect_match "who: the table" "$out" '^    -> 0x[0-9a-f]+  40 bytes, '
expect_match "who: the step from it" "$out" '^    \+0x18 -> 0x[0-9a-f]+  200 bytes, pointer, text, text, text'
expect_match "who: the block itself" "$out" "^    \+0x0 -> $item  200 bytes, .*   this one$"
run "$SEEP" leaks --who "$item" --json "$pid"
expect_json "who: as JSON" "$TMP/out" '.path[0].place, .path[1].offset, .path[-1].block' "registry in heap_grow"$'\n24\n'"$item"
run "$SEEP" leaks --who "$buffer" "$pid"
expect_match "who: a stack" "$out" '^  stack of thread [0-9]+ \(heap_grow\), in serve_with_buffer heap_grow\.c:[0-9]+, at 0x[0-9a-f]+$'
run "$SEEP" leaks --who "$lost" "$pid"
expect_match "who: lost" "$out" "^$lost 328 bytes, all bytes equal, definitely lost$"
run "$SEEP" leaks --who 0x10 "$pid"
expect_match "who: nothing there" "$out" '^0x10 is in no block that is in use: nothing is mapped there$'
run "$SEEP" leaks --who xyz "$pid"
expect_eq "who: not an address" "$status" 2
expect_match "who: not an address, said" "$err" '^seep leaks: --who: xyz is not an address'

# ---- bytes ----
run "$SEEP" leaks --blocks 1 "$pid"
expect_match "blocks: masked" "$out" '  \|X{16}\|$'
expect_no_match "blocks: nothing of the contents" "$out" 'ZZZZ|5a 5a'
expect_match "blocks: not all" "$out" '^303 more blocks \(--all\)$'
run "$SEEP" leaks --blocks 1 --show-content "$pid"
expect_match "blocks: if asked for" "$out" '5a 5a 5a 5a 5a 5a 5a 5a  \|Z{16}\|$'
run "$SEEP" leaks --blocks 1 --leak-kinds=reachable "$pid"
expect_match "blocks: what words point to" "$out" '\|  \+0x0 -> block of 200 bytes, pointer, text, text, text$'
run "$SEEP" scan --blocks 1 --json "$pid"
expect_json "blocks: as JSON" "$TMP/out" '.blocks | length, (.[0] | .size, .state, .bytes, (.pointers[0].to | startswith("block of 200 bytes, ")))' \
	$'4\n200\nstill reachable\nnull\ntrue'
run "$SEEP" scan --who "$item" "$pid"
expect_match "who, asked of seep scan" "$out" '^  registry in heap_grow, at 0x[0-9a-f]+$'
run "$SEEP" leaks --blocks 99 "$pid"
expect_eq "blocks: no such row" "$status" 3
expect_match "blocks: no such row, said" "$err" '^seep: --blocks: there are only [0-9]+ rows$'

if have gcore && gcore -o core "$pid" >gcore.log 2>&1; then
	run "$SEEP" report "core.$pid"
	expect_match "core: report" "$out" '^LEAK  [0-9.]+ KiB in 307 blocks lost, 307 times$'
	run "$SEEP" leaks --who "$item" "core.$pid"
	expect_match "core: who" "$out" '^  registry in heap_grow, at 0x[0-9a-f]+$'
	run "$SEEP" scan "core.$pid" "$pid"
	expect_match "core and process" "$out" '^STEADY  live 0 B in 0 blocks'
fi
finish

# ---- brk is not malloc's alone ----
begin "$prog"
order brk
order hold
order lose
run "$SEEP" scan --json "$pid"
expect_json "brk: blocks before and behind" "$TMP/out" '[.groups[] | select(.size == 200) | .reachable_blocks] | add' 2018
expect_json "brk: lost" "$TMP/out" '.summary.leaks | .definite_blocks, .indirect_blocks' $'307\n0'
expect_json "brk: what lies between is a root" "$TMP/out" '[.groups[] | select(.size >= 4444 and .size < 4460) | .reachable_blocks] | add' 1
expect_match "brk: said" "$(jq -r '.notes[]' "$TMP/out")" '^1\.0[0-9] MiB of the heap could not be parsed; all pointers in it count$'
finish

# ---- a recorded process ----
begin "$SEEP" run --no-leak-check -o "$TMP/r.rec" -- "$prog"
child=$(child_of "$pid")
run "$SEEP" scan --json "$child"
item=$(jq -r '[.groups[] | select(.size == 200)] | max_by(.reachable_blocks).example' "$TMP/out")
expect_json "recorded: nothing lost, for the recorder's memory is no root" "$TMP/out" .summary.leaks.definite_blocks 0
run "$SEEP" leaks --who "$item" "$child"
expect_match "recorded: who" "$out" '^  registry in heap_grow, at 0x[0-9a-f]+$'
finish

# A local variable is on the stack and in registers: one holder, not several.
map=$(program held_map) || exit
begin "$map"
run "$SEEP" scan "$pid"
expect_match "a map of the stack has one holder" "$out" '^ +82\.6 KiB +[0-9.]+ % +1,511  stack of thread [0-9]+ \(held_map\)'
expect_match "a map behind a pointer" "$out" '^ +55\.2 KiB +[0-9.]+ % +1,010  pointed_map in held_map, by 0x[0-9a-f]+$'
# Every node of a tree leads to all others: one on the stack is no second holder of them.
expect_match "a map of a variable" "$out" '^ +[0-9.]+ KiB +[0-9.]+ % +2,003  global_map in held_map and 1 stack$'
expect_no_match "no other" "$out" 'several roots'
run "$SEEP" scan --json "$pid"
expect_json "in JSON" "$TMP/out" '.holders[] | select(.name == "global_map in held_map") | [.retained_blocks, .stacks]' '[2003,1]'
kill -TERM "$pid" # it waits for a signal
finish
