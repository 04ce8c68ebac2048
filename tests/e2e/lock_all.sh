#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that locks its memory (mlockall) locks as much under seep as without it: the
# recording, mapped at the size that it may reach, is neither locked nor filled with
# pages, and goes on growing.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
prog=$(program lock_all) || exit
"$prog" >"$TMP/plain" || exit
[ "$(sed -n 1p "$TMP/plain")" = 'mlockall 0' ] || skip "mlockall is not allowed here (ulimit -l)"

# locked FILE N: the N-th figure of a run's output.
locked() { awk '$1 == "locked" { print $2 }' "$1" | sed -n "$2p"; }

for mode in "" "--sample 4K"; do
	# shellcheck disable=SC2086 # none or two words
	run "$SEEP" run $mode -o "$TMP/a.rec" -- "$prog"
	name=${mode:-exact}
	expect_eq "$name: exit status" "$status" 0
	expect_eq "$name: mlockall's result" "$(sed -n 1p <<<"$out")" 'mlockall 0'
	printf '%s\n' "$out" >"$TMP/said"
	# libseep.so itself is a library of the program like any other; its tables are
	# not.
	for n in 1 2; do
		more=$(($(locked "$TMP/said" $n) - $(locked "$TMP/plain" $n)))
		expect_eq "$name: locked memory, look $n: at most 3 MiB more (it is $more KiB)" $((more < 3072)) 1
	done
done
run "$SEEP" run -o "$TMP/b.rec" -- "$prog"
expect_match "nothing missed" "$err" 'exact, nothing missed'
expect_match "what is lost" "$err" 'definitely lost 552 B in 23 blocks'
run "$SEEP" report --json "$TMP/b.rec"
expect_match "every block was recorded" "$(jq -c .totals.allocs <<<"$out")" '^13107[1-9]$'
