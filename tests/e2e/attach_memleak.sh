#!/bin/bash
# SPDX-License-Identifier: MIT
# seep memleak: bcc's options and lines, with whole stacks and every block. Figures are
# the program's own.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach

prog=$(program attach_steps) || exit
begin "$prog"
: >"$TMP/memleak"
"$SEEP" memleak -p "$pid" -o 0 -a 3600 >"$TMP/memleak" 2>&1 &
attacher=$!
wait_for 20 grep -q "Attaching to pid $pid" "$TMP/memleak" || fail "it does not attach" "$(cat "$TMP/memleak")"
one_round
kill -INT $attacher
wait $attacher
expect_eq "Ctrl-C: status" $? 0
got=$(cat "$TMP/memleak")
expect_match "a last report" "$got" '^\[[0-9:]{8}\] Top [0-9]+ stacks with outstanding allocations:$'
expect_match "blocks that are there" "$got" $'^\t1081 bytes in 23 allocations from stack$'
expect_match "of calloc" "$got" $'^\t1547 bytes in 7 allocations from stack$'
expect_match "with their function" "$got" $'^\t\t0x[0-9a-f]{16}\tmake_malloc\\+0x[0-9a-f]+ \\[attach_steps\\] attach_steps.c:[0-9]+$'
expect_eq "a whole stack" "$(grep -c $'\tmake_deep+' "$TMP/memleak")" 41
expect_eq "every block by address" "$(grep -c '^	addr = [0-9a-f]* size = 47$' "$TMP/memleak")" 23
expect_no_match "nothing that was freed" "$got" 'size = 1009$'
expect_eq "nothing is left" "$(ours "$pid")" 0

run timeout 60 "$SEEP" memleak -p "$pid" -o 3600000 1 2
expect_eq "interval and count: status" "$status" 0
expect_eq "two reports, without a stack" "$(grep -c 'Top 10 stacks' <<<"$out") $(grep -c 'from stack' <<<"$out")" "2 0"
finish
expect_eq "it ended well" "$ended" 0

printf '\n' >"$TMP/line"
run timeout 60 "$SEEP" memleak -c "sh -c '$prog <$TMP/line; sleep 20'" -T 1 -z 1000000 1 1
expect_eq "-c: status" "$status" 0
# A command that ends at once: nothing that it left is too young, and Top N is -T's as
# with bcc.
run timeout 60 "$SEEP" memleak -T 37 -c "$(program jem_demo)"
expect_eq "-c, over at once: status" "$status" 0
expect_match "-c, over at once: Top N" "$out" '^\[[0-9:]{8}\] Top 37 stacks with outstanding allocations:$'
expect_match "-c, over at once: 80 blocks" "$out" $'^\t3235840 bytes in 80 allocations from stack$'
expect_eq "-c: main() is the outermost frame" "$(grep -c 'libseep' <<<"$out") $(grep -cP '\tmain\+' <<<"$out")" "0 2"
expect_match "-c, over at once: 40 blocks" "$out" $'^\t3194880 bytes in 40 allocations from stack$'
run timeout 60 "$SEEP" memleak -c "$TMP/nothing-here x"
expect_eq "no such command" "$status $err" "3 seep: cannot start $TMP/nothing-here x"

run "$SEEP" memleak
expect_eq "no kernel: status" "$status" 2
expect_match "no kernel" "$err" 'give -p PID or -c COMMAND'
