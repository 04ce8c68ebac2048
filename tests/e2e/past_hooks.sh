#!/bin/bash
# SPDX-License-Identifier: MIT
# Blocks that go past the hooks are found in glibc's heap: no all-clear, nothing that only they hold is lost, and nothing
# that was freed there.
. "$(dirname "$0")/lib.sh"
need_command jq
prog=$(program past_hooks) || exit

for what in lose tidy hold take space; do
	run "$SEEP" run -o "$TMP/$what.rec" --log-file "$TMP/$what.log" "$prog" "$what"
	run "$SEEP" report --json "$TMP/$what.rec"
	cp "$TMP/out" "$TMP/$what.json"
done
verdict='[.summary.verdict, .summary.no_verdict_because, .processes[0].lost.past, .processes[0].lost.libc]'
expect_json "37 blocks of 1,000 bytes lost" "$TMP/lose.json" "$verdict" '["NO VERDICT","calls-not-seen",37,0]'
expect_match "and said" "$(head -n 1 "$TMP/lose.log")" "^NO VERDICT  37 blocks of the heap went past seep's hooks"
expect_no_match "nothing else says that all was seen" "$(cat "$TMP/lose.log")" 'nothing missed|^OK'
expect_json "freed again: nothing is left" "$TMP/tidy.json" "$verdict" '["OK",null,0,0]'
expect_json "held by one of them" "$TMP/hold.json" "$verdict" '["NO VERDICT","calls-not-seen",1,0]'
expect_match "is reachable" "$(cat "$TMP/hold.log")" 'definitely lost 0 .* still reachable 36.1 KiB in 37 blocks'
expect_json "freed past the hooks" "$TMP/take.json" "$verdict" '["NO VERDICT","calls-not-seen",37,0]'
expect_json "another libc" "$TMP/space.json" "$verdict" '["NO VERDICT","calls-not-seen",0,1]'
