#!/bin/bash
# SPDX-License-Identifier: MIT
# The first thread of a process has ended, which makes /proc/PID that of a zombie, without
# memory and files. Every command sees what the other threads have.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
prog=$(program main_ended) || exit
cd "$TMP" || exit

run "$SEEP" run --json --log-file json -o rec -- "$prog"
expect_eq "run: status" "$status $out" "0 ready"
expect_json "run: memory was looked at to the end" json \
	'.processes[0].memory.rss_peak_bytes > 48 * 1024 * 1024' true
expect_json "run: lost" json '.processes[0].leaks | [.definite_bytes, .definite_blocks]' '[129043,43]'

mkfifo in
"$prog" <in >said &
pid=$!
exec 3>in
for _ in {1..300}; do
	[ ! -s said ] || break
	sleep 0.1
done
expect_eq "it is ready" "$(cat said)" ready
expect_match "its first thread has ended" "$(cat /proc/$pid/stat)" '\) Z '

run "$SEEP" leaks "$pid"
expect_match "leaks" "$out$err" '^LEAK .* in 43 blocks'
run "$SEEP" scan "$pid"
expect_match "scan" "$out$err" '^LEAK .* in 43 blocks'
run "$SEEP" report "$pid"
expect_match "report" "$out$err" '43 lost'
run "$SEEP" doctor "$pid"
expect_match "doctor: memory" "$out" "^ok +process +$pid .* RSS (49|5[0-9])\.?[0-9]* MiB"
expect_match "doctor: program" "$out" "^ok +program +.*main_ended"
expect_no_match "doctor" "$out$err" 'ended and|has ended|cannot|No such'
run "$SEEP" watch --for 1s "$pid"
expect_match "watch" "$out" "^[0-9:]+ +$pid +RSS (49|5[0-9])\.?[0-9]* MiB"
run "$SEEP" why --for 1s "$pid"
expect_match "why" "$out" '^RSS (49|5[0-9])\.?[0-9]* MiB ='
run "$SEEP" attach --for 1s "$pid"
expect_eq "attach: status" "$status" 0
expect_match "attach: memory" "$out$err" '^RSS (49|5[0-9])\.?[0-9]* MiB peak'
expect_match "attach: taken out again" "$out$err" 'detached, nothing left'
exec 3>&-
wait "$pid"
expect_eq "and it ends well" "$?" 0
