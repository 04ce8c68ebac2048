#!/bin/bash
# SPDX-License-Identifier: MIT
# --mmap: mappings that grow, that are larger than an entry of the table can say, and
# munmap of ranges that are mostly empty or that the kernel refuses. Exact and sampled say
# the same.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq
prog=$(program mappings) || exit

for how in "--exact" "--sample 512K"; do
	for what in counts wide; do
		# shellcheck disable=SC2206 # words
		options=(--mmap $how)
		record "$prog" $what
		expect_eq "$what $how: status" "$status $err" "0 "
		expect_truth "$what $how" "$TMP/json" "$out"
		expect_nothing_lost "$what $how" "$TMP/json"
	done
	expect_match "$how: refused as without us" "$out" '^refused 3$'
	# Page by page a tebibyte alone takes seconds.
	expect_between "$how: CPU of the wide ones, in ms" "$(sed -n 's/^ms //p' <<<"$out")" 0 1000
done
