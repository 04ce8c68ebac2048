#!/bin/bash
# SPDX-License-Identifier: MIT
# KILLED names the site that holds most in the process that was killed, not in a child or
# another program of the run. A sampled run that loses until its end, with too few samples
# for a trend, is not called steady.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
prog=$(program left_behind) || exit 3
cd "$TMP" || exit 3

run "$SEEP" run -o fork.rec "$prog" fork 15
expect_match "beside a child" "$(grep -m 1 ^KILLED <<<"$err")" \
	'^KILLED  by SIGTERM: 1000 B in 1 block live, 100 % from take_small left_behind\.c:[0-9]+'
run "$SEEP" report fork.rec
expect_match "beside a child: report" "$(grep -m 1 ^KILLED <<<"$out")" \
	'^KILLED  by SIGTERM: 1000 B in 1 block live, 100 % from take_small left_behind\.c:[0-9]+'
run "$SEEP" run -o shell.rec "$prog" shell 15
expect_match "beside shells" "$(grep -m 1 ^KILLED <<<"$err")" \
	'^KILLED  by SIGTERM: 1000 B in 1 block live, 100 % from take_small left_behind\.c:[0-9]+'

# Each block of 300 KB is a sample but for one in a hundred; six of them come in the
# second half.
run "$SEEP" run --sample 64K -o late.rec "$prog" late 4800 12 300000
expect_no_match "lost until the end" "$err" '^(OK|STEADY)  '
expect_match "lost until the end: what is known" "$(head -n 1 <<<"$err")" '^(NO VERDICT  .*; no leak check: it needs an exact recording|LEAK likely  |GROWING  )'
run "$SEEP" run --sample 64K -o early.rec "$prog" early 4800 12 300000
expect_match "made at the start" "$(head -n 1 <<<"$err")" '^STEADY  about .*MiB.* left, which did not grow at the end; seep run --exact shows whether it is lost'
# What a queue holds at the end was made late too, but blocks of that age were always
# freed.
run "$SEEP" run --sample 4K -o ring.rec "$prog" ring 4800 120 30000
expect_match "a queue" "$(head -n 1 <<<"$err")" '^STEADY  about .*KiB.* left, which did not grow at the end; seep run --exact shows whether it is lost'
