#!/bin/bash
# SPDX-License-Identifier: MIT
# What seep answers, word for word: a user's command and all that it prints, for each row
# of docs/verdicts.md that a single run can show.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
cases=$(program verdict_cases) || exit
cd "$TMP" || exit
cp "$cases" ./cases
ln -s "$ROOT/tests/programs/verdict_cases.c" verdict_cases.c

# answer NAME COMMAND...: everything that it writes to stderr, and that JSON has the same
# word.
answer() {
	local name=$1 first
	shift
	run "$@"
	expect_golden "$name" "$err" "verdicts/$name.txt" 's/of 4[0-9.]+ MiB anonymous/of 4N MiB anonymous/'
	first=$(head -n 1 <<<"$err")
	run "$SEEP" report --json a.rec
	expect_eq "$name: the same word in JSON" "$(jq -r .summary.verdict "$TMP/out")" "${first%%  *}"
	run "$SEEP" report a.rec
	# shellcheck disable=SC2001 # a group of the expression
	expect_match "$name: the same line from the file" "$out" "^$(sed 's/[][().*+?^$|\\]/\\&/g' <<<"$first")\$"
}

answer clean "$SEEP" run -o a.rec ./cases clean
answer reachable "$SEEP" run -o a.rec ./cases reachable
run "$SEEP" leaks --leak-kinds possible,reachable a.rec
expect_golden "on request: all of it" "$out" verdicts/on_request.txt
expect_match "on request: possibly lost" "$out" '^ 2  1\.47 KiB .*3 blocks, 0 freed, possibly lost$'
answer minor "$SEEP" run -o a.rec ./cases minor
expect_json "minor: severity" <("$SEEP" report --json a.rec) .summary.severity warning
expect_status 1 "$SEEP" run --fail-on leak -o a.rec ./cases minor
expect_status 0 "$SEEP" run --fail-on growth -o a.rec ./cases minor
answer once "$SEEP" run -o a.rec ./cases once
expect_json "once: severity" <("$SEEP" report --json a.rec) .summary.severity error
expect_status 1 "$SEEP" run --fail-on growth -o a.rec ./cases once
expect_status 0 "$SEEP" run --fail-on leak -o a.rec ./cases reachable
answer blocks "$SEEP" run -o a.rec ./cases blocks
answer spread "$SEEP" run -o a.rec ./cases spread
answer indirect "$SEEP" run -o a.rec ./cases indirect
answer abort "$SEEP" run -o a.rec ./cases abort
# One site: whether there is a line about RSS, for which the others would have to make
# room, is chance.
answer unchecked "$SEEP" run --no-leak-check -o a.rec ./cases once
answer server "$SEEP" run -o a.rec ./cases server
# The loss comes first, then what was not seen. How large the program itself is depends on
# its libraries.
answer mapped "$SEEP" run -o a.rec ./cases mapped
answer few_samples "$SEEP" run --sample 1K -o a.rec ./cases once
run "$SEEP" run --fail-on leak -o a.rec ./cases minor
expect_golden "--fail-on leak" "$err" verdicts/fail_on.txt
# On a wide terminal, where the length of a process id decides about no line. A pipeline:
# those programs count that were built where the user is. Of bash's own blocks each
# version has others.
run env COLUMNS=1000 "$SEEP" run -o a.rec bash -c './cases clean | ./cases minor | ./cases reachable'
expect_golden "pipeline" "$err" verdicts/pipeline.txt '/^([0-9]+ (processes|frees)|definitely)/{
	s/[0-9][0-9.,]* ([KM]i)?B/SIZE/g; s/[0-9][0-9,]* (allocs|frees|blocks)/N \1/g; s/[0-9,]+ bytes/N bytes/; s/[0-9]+ %/N %/}'
run env COLUMNS=1000 "$SEEP" report --process cases a.rec
expect_golden "--process" "$out" verdicts/process.txt brief '1s/cases [a-z]+/cases CASE/'

# Fewer than ten samples are not enough for an all-clear.
for try in 1 2 3; do
	run "$SEEP" run --sample 8M -o a.rec ./cases clean
	expect_match "few samples, $try" "$(head -n 1 <<<"$err")" '^NO VERDICT  only [0-9] samples?, 10 are needed; '
done

# A program that the loader is called with by hand, as bundles do: /proc/self/exe is the
# loader, and what the program lost is not the loader's.
loader=/lib64/ld-linux-x86-64.so.2
if [ -x $loader ]; then
	run "$SEEP" run -o a.rec $loader --argv0 other ./cases once
	expect_match "by the loader" "$(head -n 1 <<<"$err")" '^LEAK  97\.7 KiB in 1 block lost at 1 site, once$'
	expect_match "by the loader: the line" "$err" 'lose +verdict_cases\.c:[0-9]+ '
	expect_json "by the loader: whose program" <("$SEEP" report --json a.rec) '.processes[0].exe | split("/")[-1]' cases
else
	left_out "the loader by hand: no $loader here"
fi
