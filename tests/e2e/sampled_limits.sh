#!/bin/bash
# SPDX-License-Identifier: MIT
# What a sampled recording cannot show is said: the loss that may leave no sample, in
# every format, and a peak whose error covers that it is the highest of many estimates.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
prog=$(program sampled_cases) || exit 3
cases=$(program verdict_cases) || exit 3
cd "$TMP" || exit 3
cp "$prog" ./ring

# About 800 samples of 400 MiB: fewer than ten will not happen.
run "$SEEP" run --sample -o a.rec ./ring 2048 1024 200
expect_match "run" "$(head -n 1 <<<"$err")" '^OK  nothing of [0-9,]+ samples is left; a loss under 1\.50 MiB may not show; peak [0-9.]+ ± [0-9.]+ MiB in main '
run "$SEEP" report a.rec
expect_match "report" "$out" '^OK  .*; a loss under 1\.50 MiB may not show; '
run "$SEEP" report --json a.rec
expect_json "JSON" out '[.summary.loss_limit_bytes, .processes[0].loss_limit_bytes]' '[1572864,1572864]'
run "$SEEP" run --sample 64K -o b.rec --junit b.xml ./ring 2048 1024 200
expect_match "another rate" "$(head -n 1 <<<"$err")" '; a loss under 192 KiB may not show; '
expect_match "JUnit" "$(cat b.xml)" '<property name="loss_limit_bytes" value="196608"/>'
run "$SEEP" diff a.rec a.rec
expect_match "diff" "$(grep -E '^STEADY' <<<"$out")" '; growth under 1\.50 MiB may not show$'
run "$SEEP" diff --json a.rec a.rec
expect_json "diff in JSON" out .limit_bytes 1572864
run "$SEEP" run --exact -o e.rec ./ring 2048 1024 3
expect_no_match "exact: no limit" "$err" 'may not show'
expect_json "exact: none in JSON" <("$SEEP" report --json e.rec) .summary.loss_limit_bytes null

# The ring holds 2.02 MiB at most. The highest of the estimates is 4.4 errors of a single
# one above that, 6.5 MiB.
run "$SEEP" report --json a.rec
expect_json "peak: within three of its errors" out \
	'.processes[0] | (.peak_bytes - 2113536 | fabs) <= 3 * .peak_bytes_error' true
expect_json "peak: the sum of the sites" out '.processes[0].peak_bytes - .totals.at_peak_bytes | fabs < 16' true

# Without a sample the peak is not 0.
run "$SEEP" run --sample 1G -o c.rec ./ring 10 100 10
expect_match "no sample" "$err" ' · peak under 3\.00 GiB'

# A program that was killed had memory, though no sample is left of it.
run "$SEEP" run --sample 1G -o k.rec "$cases" abort
expect_match "killed" "$(head -n 1 <<<"$err")" '^KILLED  by SIGABRT: nothing of 0 samples was live$'
