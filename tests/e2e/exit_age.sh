#!/bin/bash
# SPDX-License-Identifier: MIT
# How long a program ran does not include the leak check after its end: here seep is
# stopped for four seconds before it.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program exit_age) || exit

"$SEEP" run --json --log-file "$TMP/json" --no-save -- "$prog" >"$TMP/age" &
pid=$!
for _ in {1..300}; do
	grep -q '^State:.*stopped' /proc/$pid/status 2>/dev/null && break
	sleep 0.1
done
expect_match "seep is stopped" "$(cat /proc/$pid/status)" '^State:.*stopped'
sleep 4
kill -CONT $pid
wait $pid
expect_eq "status" "$?" 0
expect_json "the leak check was made" "$TMP/json" '.processes[0].leaks.done' true
age=$(cat "$TMP/age")
expect_between "milliseconds from main to the end" \
	"$(jq '.processes[0].duration_ms' "$TMP/json")" "$age" $((age + 3000))
