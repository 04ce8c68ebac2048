#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory that begins where a library's data ends is not blamed on the library: by why,
# watch, dump, scan and leaks --who.
. "$(dirname "$0")/lib.sh"
need_seep
need_command jq
prog=$(program beside)

"$prog" >"$TMP/pid" &
job=$!
for _ in $(seq 600); do
	[ ! -s "$TMP/pid" ] || break
	sleep 0.1
done
read -r pid <"$TMP/pid"
if [ -z "$pid" ]; then
	wait "$job"
	[ $? -ne 99 ] || skip "no room behind the library"
fi

run "$SEEP" why --for 3s "$pid"
expect_match "why: the mapping grows" "$out" '^GROWING  mapping@[0-9a-f]+ \+'
expect_no_match "why: the library does not" "$out" 'libm\.so.*grew'
region=$(grep -o 'mapping@[0-9a-f]*' <<<"$out" | head -n 1)
run "$SEEP" dump "$pid" "$region"
expect_eq "dump: the mapping can be read" "$status" 0
run "$SEEP" scan "$pid"
expect_match "scan: the mapping holds the blocks" "$out" 'held by mapping [0-9a-f]+-[0-9a-f]+$'
expect_no_match "scan: the library does not" "$out" 'held by data of libm'
run "$SEEP" scan --json "$pid"
block=$(jq -r '[.groups[] | select(.size == 904)][0].example' <<<"$out")
run "$SEEP" leaks --who "$block" "$pid"
expect_match "leaks --who: the mapping" "$out" 'mapping [0-9a-f]+-[0-9a-f]+\+0x'
expect_no_match "leaks --who: not the library" "$out" 'libm\.so'
kill "$job"
