#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep top` on a process that nobody records: its regions, and the key that attaches,
# which asks first. The recorder is gone when it is left.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
. "$ROOT/tests/e2e/lib_screen.sh"
# timeout: 180
need_attach
need_command jq
prog=$(program stay) || exit
cd "$TMP" || exit
begin "$prog" grow

# ---- once ----
run "$SEEP" top --once "$pid"
expect_eq "once: status" "$status" 0
expect_match "once: what it is" "$out" "^seep top  stay \($pid\)  up .* not recorded: memory by region"
expect_match "once: regions" "$out" ' +GROWTH/MIN +CHANGE +RESIDENT  REGION$'
expect_match "once: the large block" "$out" ' 23\.0 MiB  chunk@[0-9a-f]+$'
"$SEEP" top --once --json "$pid" >top.json
expect_json "once: JSON" top.json '[.kind, .ended, (.rows[] | select(.region | startswith("chunk@")).resident_bytes > 24000000)]' \
	'["regions",false,true]'
run "$SEEP" top --once --since first "$pid"
expect_eq "no marks" "$status:$err" "3:seep: $pid is not recorded, so it has no marks; see: seep attach"
expect_eq "nothing was injected" "$(ours "$pid")" 0

# ---- the key ----
if begin_screen 80 24; then
	keys "PS1='prompt> '; '$SEEP' top $pid; echo status=\$?" Enter
	awaits "regions" 'a:attach'
	keys a
	awaits "it asks" "Inject the recorder into $pid\? 2 stops of ~[0-9]+ ms; removed on quit\. y/n"
	keys n
	awaits "no" 'a:attach'
	expect_eq "nothing was injected on no" "$(ours "$pid")" 0
	keys a
	awaits "it asks again" 'y/n'
	keys y
	awaits "sites" '^.* main +stay\.c:[0-9]+'
	awaits "sampled" 'sampled, one per'
	expect_between "it is attached to" "$(ours "$pid")" 1 9
	awaits "samples arrive" '^.* ~[0-9.]+ [KM]iB +~[0-9,]+ .* main'
	run "$SEEP" ps
	expect_match "seep ps has it" "$out" "^ *$pid "
	keys C-z
	awaits "it cannot be suspended meanwhile" 'leave with q'
	keys q
	awaits "what it has cost" 'detached, nothing left'
	awaits "left" 'status=0'
	expect_eq "nothing is left" "$(ours "$pid")" 0
	expect_eq "the process goes on" "$(is_running "$pid" && echo yes)" yes

	# It ends while it is attached to.
	keys "clear; '$SEEP' top $pid; echo status=\$?" Enter
	awaits "regions once more" 'a:attach'
	keys a
	awaits "it asks once more" 'y/n'
	keys y
	awaits "sites once more" '^.* main +stay\.c:[0-9]+'
	kill -9 "$pid"
	awaits "its last state" 'the process has ended: this is its last state'
	keys q
	awaits "left after its end" 'status=0'
else
	kill -9 "$pid"
fi
{ wait "$pid"; } 2>/dev/null
exec 8>&-
