#!/bin/bash
# SPDX-License-Identifier: MIT
# The attacher is killed: at every step on its way in, while a thread makes a system call for it, on its
# way out, and while it records. The process lives, and seep detach finds and undoes what there is.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command nm

prog=$(program attach_busy) || exit
begin "$prog" 3
before=$(entry "$pid" malloc)
points=$(sed -n '/^enum tracee_point {/,/TRACEE_POINTS/p' "$ROOT/src/target/tracee.h" | grep -c 'TRACEE_[A-Z_]*\( = 1\)\?,')
points=$((points - 1))
expect_between "points to die at" "$points" 15 30
for ((point = 1; point <= points; point++)); do
	SEEP_TEST_DIE=$point timeout 60 "$SEEP" attach --for 10ms "$pid" >/dev/null 2>&1
	expect_eq "point $point: killed there" $? 137
	if ! is_running "$pid"; then
		fail "point $point: the process died of it" "$(cat "$TMP/said.err")"
		break
	fi
	expect_status 0 timeout 60 "$SEEP" detach -q "$pid"
	expect_match "point $point: detached" "$out" 'detached, nothing left'
	expect_eq "point $point: nothing is left" "$(ours "$pid") $(entry "$pid" malloc)" "0 $before"
done 2>/dev/null

# Killed while it records, without --stay: what was seen until then is in the report of detach.
"$SEEP" attach --for 60s --sample 1K "$pid" 2>/dev/null &
attacher=$!
# Only once it is recorded: a process that is not would be looked through.
seen() { "$SEEP" ps | grep -qw "$pid" && "$SEEP" report "$pid" 2>/dev/null | grep -q '^    work '; }
wait_for 20 seen || fail "no recording is to be seen"
kill -KILL $attacher
wait $attacher 2>/dev/null
run "$SEEP" detach "$pid"
expect_eq "killed while recording: detach" "$status $err" "0 "
expect_match "its report names the place" "$out" '^    work +attach_busy.c:'
expect_eq "nothing is left" "$(ours "$pid") $(entry "$pid" malloc)" "0 $before"

# SIGTERM is no death: it ends with the report and a clean detach.
"$SEEP" attach --for 60s "$pid" 2>"$TMP/err" &
attacher=$!
wait_for 20 seen || fail "no recording is to be seen"
kill -TERM $attacher
wait $attacher
expect_eq "SIGTERM: status" $? 0
expect_match "SIGTERM: the report comes" "$(cat "$TMP/err")" 'detached, nothing left'
expect_eq "SIGTERM: nothing is left" "$(ours "$pid")" 0

kill -TERM "$pid"
wait "$pid"
expect_eq "the process left in good order" "$? $(cat "$TMP/said.err")" "0 "
exec 8>&-
