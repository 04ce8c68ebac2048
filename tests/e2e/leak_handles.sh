#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory behind a handle that libc returns is the caller's: iconv_open without iconv_close
# is a leak in every format, and of a running process too. libc's own tables of character
# sets are not.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_seep
need_libseep
need_command jq
prog=$(program iconv_lost) || exit
cd "$TMP" || exit
"$prog" >/dev/null || skip "iconv has no UTF-16 here"

run "$SEEP" run --no-save --fail-on leak --junit a.xml -- "$prog"
expect_eq "status" "$status" 1
expect_match "headline" "$err" '^LEAK  .* lost'
expect_match "where" "$err" 'main +iconv_lost\.c:'
expect_match "JUnit" "$(cat a.xml)" 'verdict" value="LEAK'
run "$SEEP" run --no-save --json --fail-on 'definite>=300' -- "$prog"
expect_eq "JSON: definite in both sums" \
	"$status $(jq -c '.summary.leaks.definite_blocks as $n | [$n >= 300, $n == .totals.leaks.definite_blocks]' <<<"$err")" '1 [true,true]'
for format in memcheck lsan; do
	expect_status 5 "$SEEP" run --no-save --format=$format --error-exitcode=5 -- "$prog"
done

# ---- running ----
"$SEEP" attach --dry-run $$ >/dev/null 2>&1 || exit 0
"$prog" 5 &
pid=$!
sleep 0.3
"$SEEP" attach --exact --for 4s $pid >said 2>&1
kill $pid
wait $pid 2>/dev/null
expect_match "attach" "$(cat said)" '^(LEAK|GROWING)'
expect_no_match "attach: nothing else" "$(cat said)" '^(STEADY|OK|NO VERDICT)'
