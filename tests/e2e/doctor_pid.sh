#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep doctor PID`: what is in the way of watching and attaching, each with what helps.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_watch.sh"
need_seep
prog=$(program watch_parts) || exit

target "$prog" 2
run "$SEEP" doctor "$pid"
expect_match "watch" "$out" '^ok    watch +works: [0-9]+ mappings, [0-9]+ regions$'
expect_match "contents" "$out" "^ok    contents +readable; malloc is glibc's, with [0-9]+ arenas?$"
expect_match "attach" "$out" '^(ok|BAD )   +attach +'
expect_match "limit" "$out" '^ok    memory limit +'

if is_root "a process of another user" && have setpriv; then
	chmod 755 "$TMP"
	others=$(for_others "$SEEP")
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$others/seep" doctor "$pid"
	expect_eq "not ours: status" "$status" 3
	expect_match "not ours: watch" "$out" "^BAD   watch +it belongs to uid 0; run: sudo seep watch $pid$"
	expect_match "not ours: attach" "$out" '^BAD   attach .*uid 0; run: sudo seep attach'
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$others/seep" watch "$pid" --count 1
	expect_eq "watch: status" "$status" 3
	expect_match "watch: where help is" "$err" "^seep: $pid \(watch_parts\): its memory cannot be read: Permission denied; see: seep doctor $pid$"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$others/seep" dump "$pid" heap
	expect_eq "dump: status" "$status" 3
fi
end_target

if have unshare && unshare -mp --fork true 2>/dev/null; then
	unshare -mp --fork sleep 60 &
	parent=$!
	lib_watch_pids+=("$parent")
	inner() { pid=$(cat "/proc/$parent/task/$parent/children" 2>/dev/null) && [ -n "$pid" ]; }
	wait_for 10 inner
	pid=${pid%% *}
	lib_watch_pids+=("$pid")
	run "$SEEP" doctor "$pid"
	expect_match "namespaces" "$out" "^note  namespaces +its own files and process numbers; its files are read through /proc/$pid/root"
	run "$SEEP" watch "$pid" --count 1
	expect_eq "watched all the same" "$status" 0
else
	left_out "no namespaces here"
fi
run "$SEEP" doctor 999999999
expect_eq "no process" "$status" 3
