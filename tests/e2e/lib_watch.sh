# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For tests that look at a process of their own: starts it, waits for its word, ends it.

lib_watch_pids=()
lib_watch_end() {
	local pid
	for pid in "${lib_watch_pids[@]}"; do kill -KILL "$pid" 2>/dev/null; done
	wait 2>/dev/null
	lib_end
}
trap lib_watch_end EXIT

# target COMMAND...: runs it until `end_target`, with its pid in $pid and what it said in
# $said, once a line of that is `ready`, or begins so.
target() {
	rm -f "$TMP/said"
	"$@" >"$TMP/said" 2>"$TMP/said.err" </dev/null &
	pid=$!
	lib_watch_pids+=("$pid")
	wait_for 15 grep -qs '^ready' "$TMP/said" || fail "it does not start: $*" "$(cat "$TMP/said.err")"
	# shellcheck disable=SC2034 # for the test
	said=$(cat "$TMP/said")
}

# stopped: it does not move any more, so that two looks see the same.
is_stopped() { grep -q '^State:.T' "/proc/$pid/status"; }
stop_target() {
	kill -STOP "$pid"
	wait_for 10 is_stopped || fail "it does not stop"
}

end_target() {
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}
