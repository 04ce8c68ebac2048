#!/bin/bash
# SPDX-License-Identifier: MIT
# Changed copies of sound files, and bombs of gzip and zstd, for every reader: the real
# command, under ulimit -v and for at most ten seconds of processor time each. No signal,
# no time-out.
# timeout: 1800
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command python3 gcc zstd
expect_finds() { expect_eq "$1 finds nothing" "$(grep -c ', 0 finds$' <<<"$out") of $(grep -c 'inputs from' <<<"$out")$(grep -v ', 0 finds$\|: left out' <<<"$out")" "$2 of $2"; }
run "$ROOT/tools/mutate.py" --build "$BUILD" --keep "$TMP" --count "$(times 40 10000)"
expect_eq "status" "$status" 0
grep 'left out' <<<"$out"
expect_between "readers" "$(grep -c 'inputs from' <<<"$out")" 21 23
expect_finds "every reader" "$(grep -c 'inputs from' <<<"$out")"

# One line of 80 million frames, unpacked from a third of a megabyte.
cd "$TMP" || exit
python3 -c "
import sys
sys.stdout.write('a;b 1\n' + 'a;' * 80000000 + 'b 7\nc;d 2\n')" | gzip -6 >deep.gz
for words in "report" "pprof -top"; do
	# shellcheck disable=SC2016,SC2086 # the inner shell's; words
	run bash -c 'ulimit -v 4194304 -t 10; exec timeout 120 "$@"' - "$SEEP" $words deep.gz
	expect_eq "a stack without end: seep $words" "$status" 0
done
expect_match "what is a stack is shown" "$out" '^ +2B? .* d$'
