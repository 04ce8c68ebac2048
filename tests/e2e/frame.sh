#!/bin/bash
# SPDX-License-Identifier: MIT
# The helpers of lib.sh themselves: each check is broken once in a script of its own and
# must turn that script's result red, with the counts that follow from what it did.
. "$(dirname "$0")/lib.sh"

# script TEXT...: runs it as a test would be; $out and $status as with run.
script() {
	printf '. "%s/tests/e2e/lib.sh"\n' "$ROOT" >"$TMP/script.sh"
	printf '%s\n' "$@" >>"$TMP/script.sh"
	run bash "$TMP/script.sh"
}

script 'expect_eq same 17 17' 'expect_eq other 17 19'
expect_eq "one of two" "$status $(tail -n 1 "$TMP/out")" "1 1 passed, 1 failed"
script 'expect_match yes "one two" "^one"' 'expect_no_match yes "one two" "^two"' \
	'expect_match no "one two" "^two"' 'expect_no_match no "one two" "^one"'
expect_eq "matches" "$status $(tail -n 1 "$TMP/out")" "1 2 passed, 2 failed"
script 'expect_between in 2.5 2 3' 'expect_between out 3.5 2 3' 'expect_between none "" 0 1'
expect_eq "ranges" "$status $(tail -n 1 "$TMP/out")" "1 1 passed, 2 failed"
script 'expect_status 3 sh -c "exit 3"' 'expect_status 0 sh -c "exit 3"'
expect_eq "statuses" "$status $(tail -n 1 "$TMP/out")" "1 1 passed, 1 failed"
# shellcheck disable=SC2016 # expanded in the script
script 'echo "{\"n\": 23}" >"$TMP/j"' 'expect_json n "$TMP/j" .n 23' 'expect_json n "$TMP/j" .n 29'
expect_eq "json" "$status $(tail -n 1 "$TMP/out")" "1 1 passed, 1 failed"
script 'expect_eq same 1 1' 'exit 5'
expect_eq "stopped halfway" "$status $(tail -n 1 "$TMP/out")" "1 1 passed, 1 failed"
script 'true'
expect_eq "nothing checked" "$status $(tail -n 1 "$TMP/out")" "1 0 passed, 0 failed"
script 'skip because'
expect_eq "skipped" "$status $out" "77 skipped: because"
script 'expect_eq same 1 1'
expect_eq "all well" "$status $out" "0 1 passed, 0 failed"
