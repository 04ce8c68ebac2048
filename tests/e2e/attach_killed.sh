#!/bin/bash
# SPDX-License-Identifier: MIT
# The attacher is killed: at every step on its way in, while a thread makes a system call
# for it, on its way out, and while it records. The process lives, and seep detach finds
# and undoes what there is.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command nm

# raised PID: how many of its threads have nice -20.
raised() { cat "/proc/$1/task/"*/stat | sed 's/.*) //' | awk '$17 == -20 { n++ } END { print n + 0 }'; }

prog=$(program attach_busy) || exit
begin "$prog" 3
before=$(entry "$pid" malloc)
points=$(sed -n '/^enum tracee_point {/,/TRACEE_POINTS/p' "$ROOT/src/tool/target/trace/tracee.h" | grep -c 'TRACEE_[A-Z_]*\( = 1\)\?,')
points=$((points - 1))
expect_between "points to die at" "$points" 15 30
for ((point = 1; point <= points; point++)); do
	# The last one: a thread with another nice value, which takes the right to give
	# one.
	if [ "$point" = "$points" ] && [ "$(nice -n -1 nice 2>/dev/null)" != $(($(nice) - 1)) ]; then
		left_out "not allowed to lower nice values: a thread that is raised"
		break
	fi
	[ "$point" = "$points" ] && export SEEP_TEST_SCARCE=1
	SEEP_TEST_DIE=$point timeout 60 "$SEEP" attach --for 10ms "$pid" >/dev/null 2>&1
	expect_eq "point $point: killed there" $? 137
	unset SEEP_TEST_SCARCE
	if [ "$point" = "$points" ]; then
		expect_eq "killed with a thread raised" "$(raised "$pid")" 1
		expect_match "doctor finds it" "$("$SEEP" doctor "$pid" 2>&1)" "left its thread [0-9]+ at nice -20 instead of $(nice)"
	fi
	if ! is_running "$pid"; then
		fail "point $point: the process died of it" "$(cat "$TMP/said.err")"
		break
	fi
	expect_status 0 timeout 60 "$SEEP" detach -q "$pid"
	expect_match "point $point: detached" "$out" 'detached, nothing left|nothing was in it'
	expect_eq "point $point: no thread is raised" "$(raised "$pid") $(find /run /dev/shm -maxdepth 1 -name "seep-nice.$pid" 2>/dev/null | wc -l)" "0 0"
	expect_eq "point $point: nothing is left" "$(ours "$pid") $(entry "$pid" malloc)" "0 $before"
done 2>/dev/null

# Killed while it records, without --stay: what was seen until then is in the report of
# detach.
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

# One of two cannot be attached to: the other is recorded and left clean, and the status
# says that not all was done.
run "$SEEP" attach --for 20ms "$pid" 2
expect_eq "one of two failed: status" "$status" 3
expect_match "one of two failed: the other is recorded" "$err" "^pid $pid .*detached, nothing left"
expect_eq "one of two failed: nothing is left" "$(ours "$pid")" 0

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
