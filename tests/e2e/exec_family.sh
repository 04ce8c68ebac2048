#!/bin/bash
# SPDX-License-Identifier: MIT
# Every function that starts a program, with what can be started and what cannot: the
# outcome, errno, arguments and environment are those without seep.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program exec_family) || exit
mkdir "$TMP/dir" "$TMP/dir/folder"
cp "$prog" "$TMP/dir/good"
cp "$prog" "$TMP/dir/plain"
chmod -x "$TMP/dir/plain"
# shellcheck disable=SC2016 # for the script
printf 'echo script "$0" "$@" $VARIABLE\n' >"$TMP/dir/script"
printf '#!%s show\n' "$TMP/dir/good" >"$TMP/dir/shebang"
chmod +x "$TMP/dir/script" "$TMP/dir/shebang"

run "$prog" "$TMP/dir"
alone=$out
expect_eq "without seep: status" "$status" 0
expect_match "without seep: something is started" "$out" '^execle ./good: \[zero two words 3 chosen\] status 23'
record "$prog" "$TMP/dir"
expect_eq "status" "$status $err" "0 "
expect_eq "the same with seep" "$(diff <(echo "$alone") <(echo "$out"))" ""
# Each process that got to show its arguments was recorded, 4,711 bytes and all.
shown=$(grep -c '\[.*\]' <<<"$out")
expect_json "those started are recorded" "$TMP/json" \
	'[.sites[] | select(.allocs > 0 and .allocated_bytes == 4711 * .allocs) | .allocs] | add' "$shown"
