#!/bin/bash
# SPDX-License-Identifier: MIT
# How good the estimates are: ten places with 1.6 MB each at one sample in 16 KiB. Over
# many runs the truth lies within two of the reported standard errors at least as often as
# it should, and the errors cancel out: no bias, in bytes, in blocks, in all that was
# allocated.
. "$(dirname "$0")/lib.sh"
# timeout: 600
need_seep
need_libseep
need_command jq awk
prog=$(program tensites) || exit
cd "$TMP" || exit
"$prog" >truth
runs=$(times 30 100)

# shellcheck disable=SC2016 # jq's own variables
rows='. as $r | .sites[] | . as $s | [$r.frames[.stack[]].function | strings | select(startswith("site_"))][0] // empty
	| [., $s.live_bytes, $s.live_bytes_error, $s.live_blocks, $s.allocated_bytes, $s.allocated_bytes_error, $s.allocs, $s.live_samples]
	| @tsv'
# An exact recording agrees with the program's own account: the yardstick is straight.
"$SEEP" run --exact --json --log-file exact.json -o exact.rec -- "$prog" >/dev/null
jq -r "$rows" exact.json | awk '{ print $1, $2, $4, $5, $7 }' | sort >exact
expect_file "exact" exact truth

for i in $(seq 1 "$runs"); do
	run "$SEEP" run --sample 16K --json --log-file sampled.json -o sampled.rec -- "$prog"
	[ "$status" = 0 ] || fail "run $i ends with $status"
	expect_eq "run $i: output" "$out" "$(cat truth)"
	jq -r "$rows" sampled.json
done >cases

# within FIELD ERROR_FIELD TRUTH_FIELD: share of cases within two errors, then the mean
# error.
within() {
	awk -v f="$1" -v ef="$2" -v tf="$3" 'NR == FNR { truth[$1] = $tf; next }
		{ n++; e = ($f - truth[$1]) / truth[$1]; sum += e; site[$1] += e; count[$1]++
			if (ef) { d = $f - truth[$1]; if (d < 0) d = -d; if (d <= 2 * $ef) in_range++ } }
		END { for (s in site) { m = site[s] / count[s]; if (m < 0) m = -m; if (m > worst) worst = m }
			printf "%d %.4f %.4f %.4f\n", n, in_range / n, sum / n, worst }' truth cases
}

# With 1,000 cases 95.4 % are expected, 93 % is three standard deviations below; with 300
# it is 91.8 %, and 90 % more than four.
least=$(times 0.90 0.93)
bias=$(times 0.03 0.02)      # over all places: the error of one case is about 10 %
site_bias=$(times 0.11 0.04) # of one place over all runs
read -r n share mean worst <<<"$(within 2 3 2)"
echo "live bytes: $n cases, $share within two errors, mean error $mean, worst place $worst"
expect_eq "every place in every run" "$n" $((10 * runs))
expect_between "live bytes: truth within two errors" "$share" "$least" 1
expect_between "live bytes: errors are not overstated" "$share" 0 0.995
expect_between "live bytes: mean error" "$mean" "-$bias" "$bias"
expect_between "live bytes: worst place" "$worst" 0 "$site_bias"
read -r n share mean worst <<<"$(within 5 6 4)"
echo "allocated bytes: $n cases, $share within two errors, mean error $mean, worst place $worst"
expect_between "allocated bytes: truth within two errors" "$share" "$least" 1
expect_between "allocated bytes: mean error" "$mean" "-$bias" "$bias"
read -r n share mean worst <<<"$(within 4 0 3)"
echo "live blocks: $n cases, mean error $mean, worst place $worst"
expect_between "live blocks: mean error" "$mean" "-$bias" "$bias"
read -r n share mean worst <<<"$(within 7 0 5)"
echo "calls: $n cases, mean error $mean, worst place $worst"
expect_between "calls: mean error" "$mean" "-$bias" "$bias"
