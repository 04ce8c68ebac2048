#!/bin/bash
# SPDX-License-Identifier: MIT
# A process that was started with libseep.so and no settings records nothing, until seep
# attach switches it on: without injection, without a stop. Detached it is paused, and can
# be switched on again.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_libseep
need_command jq nm

prog=$(program attach_busy) || exit
LD_PRELOAD=$LIBSEEP begin "$prog" 2
before=$(entry "$pid" malloc)
expect_eq "armed: no recording yet" "$(grep -c '[.]live' "/proc/$pid/maps")" 0
run "$SEEP" attach --for 300ms --sample 4K --json "$pid"
expect_eq "switched on: status" "$status" 0
cp "$TMP/err" "$TMP/json"
expect_json "it saw the threads' work" "$TMP/json" '[.frames[] | select(.function == "work")] | length > 0' true
expect_json "at that rate" "$TMP/json" '.processes[0].rate_bytes' 4096
expect_eq "nothing was injected" "$(ours "$pid") $(entry "$pid" malloc)" "0 $before"
run "$SEEP" attach --for 100ms "$pid"
expect_eq "switched on again: status" "$status" 0
expect_match "it says how" "$err" 'libseep.so was there: never stopped, paused again'
run "$SEEP" attach --stay "$pid"
expect_eq "stay: status" "$status" 0
run "$SEEP" attach "$pid"
expect_eq "twice: status" "$status" 3
expect_match "twice" "$err" "it is being recorded already; see: seep report $pid"
run "$SEEP" detach "$pid"
expect_eq "detach: status" "$status" 0
expect_match "detach" "$out" 'recording is paused, libseep.so stays as it was'
kill -TERM "$pid"
wait "$pid"
expect_eq "it left in good order" "$? $(cat "$TMP/said.err")" "0 "
exec 8>&-
