#!/bin/bash
# SPDX-License-Identifier: MIT
# Room around blocks and freed blocks held back leave alone the pages that the program has
# closed or never touched.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_wrong.sh"

prog=$(program wrong_pages) || exit
for name in end_closed end_readable middle_closed middle_readable; do
	expect_eq "$name: by itself" "$("$prog" $name)" end
	for opts in 'run --redzone' 'run --redzone=4096' 'run --quarantine 1M' 'valgrind -q'; do
		# shellcheck disable=SC2086 # options are words
		run "$SEEP" $opts -- "$prog" $name
		expect_eq "$name, $opts: goes on" "$status: $out" "0: end"
		expect_eq "$name, $opts: nothing found" "$(grep -E '^WRONG|Invalid' <<<"$err")" ""
	done
done

# 320 MiB are asked for, of which 20 pages are used.
run "$SEEP" run --quarantine 1G -o "$TMP/u.rec" -- "$prog" untouched
expect_eq "untouched: exit status" "$status" 0
expect_between "untouched: at most so many MiB" "$(sed -n 's/^most \([0-9]*\) MiB$/\1/p' <<<"$out")" 1 200

# What was touched is looked at.
for name in write_first write_middle; do
	run "$SEEP" run --quarantine 32M --json --log-file "$TMP/json" -o "$TMP/w.rec" -- "$prog" $name
	expect_eq "$name: found" "$(said "$TMP/json")" "write-after-free freed=write_later alloc=write_later"
done
