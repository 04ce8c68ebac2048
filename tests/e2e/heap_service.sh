#!/bin/bash
# SPDX-License-Identifier: MIT
# A service that was started long ago, leaks slowly and is not prepared in any way: seep
# leaks says what is lost while it goes on, and who holds the rest, with the way from the
# root. Under `make soak` its heap has 2 GB, else 40 MB.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
prog=$(program heap_service) || exit
cd "$TMP" || exit
mib=$(times 40 2048)

"$prog" "$mib" >said &
pid=$!
wait_for 60 grep -q 'at most 50$' said || fail "the service does not run"
least=$(sed -n 's/^at least //p' said | tail -n 1)
run "$SEEP" leaks --json "$pid"
expect_eq "status" "$status" 0
sleep 0.1 # what it had forgotten by then is written now
most=$(sed -n 's/^at most //p' said | tail -n 1)
cp out a.json
expect_between "lost" "$(jq '.groups[] | select(.size == 1032) | .definite_blocks' a.json)" "$((least - 1))" "$((most + 1))"
expect_json "and nothing else" a.json '[.groups[] | select(.size != 1032) | .definite_blocks, .indirect_blocks] | add' 0
expect_between "heap" "$(jq '.summary.leaks.reachable_bytes / 1048576' a.json)" "$((mib - 1))" "$((mib + 2))"
run "$SEEP" leaks "$pid"
expect_match "in words" "$out" '^LEAK  [0-9.]+ [KM]iB in [0-9]+ blocks lost, [0-9]+ times$'
expect_match "of what" "$out" '^    1,032 bytes each: all bytes equal · for example at 0x[0-9a-f]+$'
echo "$(grep ^stopped "$TMP/out") of $mib MiB"

block=$(jq -r '[.groups[] | select(.definite_blocks == 0)] | max_by(.reachable_bytes).example' a.json)
run "$SEEP" leaks --who "$block" "$pid"
expect_match "who holds it" "$out" '^  table\+0x[0-9a-f]+ in heap_service, at 0x[0-9a-f]+$'
expect_match "and how" "$out" "^    -> $block  [0-9,]+ bytes, all bytes equal   this one$"
run "$SEEP" report "$pid"
expect_match "what hangs on that" "$out" '^ +[0-9.]+ [MG]iB +9[0-9] % +[0-9,]+  table in heap_service$'

# It goes on as before.
before=$(wc -l <said)
more() { [ "$(wc -l <said)" -gt "$before" ]; }
wait_for 20 more
expect_eq "it goes on" "$?" 0
kill "$pid"
wait "$pid" 2>/dev/null || true
