#!/bin/bash
# SPDX-License-Identifier: MIT
# Live bytes of each place over time: what the program says that it held, in order, is
# what the timeline has; with a tool and without one, with threads, killed, in forked
# children, sampled, from the live and from the packed recording.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program series_steps) || exit
cd "$TMP" || exit
mkdir live

# has FUNCTION: its figures in `json`, each as often as it changed.
has() {
	jq -r --arg f "$1" '[.series.rows[] | select(.function == $f) | .live_bytes][0] as $b
		| reduce $b[] as $x ([]; if length > 0 and .[-1] == $x then . else . + [$x] end)
		| map(tostring) | join(" ")' json
}

# check NAME: `json` against what the program said in `truth`.
check() {
	while read -r function figures; do
		expect_eq "$1: $function" "$(has "$function")" "$figures"
	done <truth
	expect_eq "$1: points" "$(jq '.series.ms | length > 5 and length <= 128' json)" true
	expect_eq "$1: in order" "$(jq '.series.ms | . == sort' json)" true
	expect_eq "$1: the rows add up" "$(jq '.series | . as $s
		| [range(.ms | length) as $i | ([$s.rows[].live_bytes[$i]] | add)
			+ $s.not_listed_bytes[$i] == $s.live_bytes[$i]] | all' json)" true
}

SEEP="mode=exact,dir=$TMP/live" LD_PRELOAD=$LIBSEEP "$prog" >truth
"$SEEP" timeline --json live/*.live >json
check "without a tool"
"$SEEP" report --json live/*.live >said
expect_eq "the end" "$(jq .series.live_bytes[-1] json)" "$(jq ".processes[0].live_bytes" said)"
"$SEEP" convert live/*.live packed.rec
"$SEEP" timeline --json packed.rec >json.packed
expect_eq "packed: the same" "$(jq -c .series json.packed)" "$(jq -c .series json)"
rm -f live/*

"$SEEP" run -o run.rec "$prog" >truth 2>/dev/null
"$SEEP" timeline --json run.rec >json
check "with a tool"

"$SEEP" run -o forks.rec "$prog" forks >truth 2>/dev/null
"$SEEP" timeline --json forks.rec >json
check "with a child"
expect_eq "two processes" "$(jq '.rows | length' json)" 2
"$SEEP" timeline --json -n 1 forks.rec >json
expect_eq "one row" "$(jq -c '.series | [(.rows | length), .rows_not_listed > 3]' json)" "[1,true]"

# ---- the plot: its figures are those of JSON, it fits, and is plain in a pipe ----
"$SEEP" timeline --json forks.rec >json
"$SEEP" timeline --bytes forks.rec >plot
while read -r function highest last; do
	expect_eq "plot: $function" "$(awk -v f="$function" '$4 == f && NF == 5 { print $2, $3 }' plot)" "$highest $last"
done < <(jq -r '.series.rows[:5][] | select(.line) | "\(.function) \(.highest_bytes) \(.live_bytes[-1])"' json)
expect_eq "plot: total" "$(awk 'NF == 3 && $3 == "total" { print $1, $2 }' plot)" \
	"$(jq -r '.series.live_bytes | "\(max) \(last)"' json)"
expect_eq "plot: scale" "$(awk 'NR == 3 { print $1 }' plot)" "$(jq '.series.live_bytes | max' json)"
expect_eq "plot: 80 columns" "$(sed -n '3,/^$/p' plot | wc -L)" 80
expect_eq "plot: 100 columns" "$(COLUMNS=100 "$SEEP" timeline forks.rec | sed -n '3,/^$/p' | wc -L)" 100
expect_eq "plot: no colours in a pipe" "$(grep -c $'\033' plot)" 0
expect_match "plot: colours if asked for" "$("$SEEP" timeline --color always forks.rec)" $'\033\\[34m'
expect_eq "ASCII" "$("$SEEP" timeline --ascii forks.rec | sed -n '3,/^$/p' | LC_ALL=C grep -c '[^ -~]')" 0
expect_eq "the same without UTF-8" "$(LC_ALL=C "$SEEP" timeline forks.rec)" "$("$SEEP" timeline --ascii forks.rec)"
"$SEEP" timeline --svg plot.svg forks.rec
"$SEEP" report --svg - --timeline forks.rec >again.svg
expect_eq "SVG: to a file and to a pipe" "$(cat plot.svg)" "$(cat again.svg)"
expect_eq "SVG: a layer for each place" "$(grep -c '<polygon' plot.svg)" "$(jq '.series.rows | if length > 5 then 6 else length end' json)"
for function in take_a take_b take_thread take_child total; do
	expect_match "SVG: $function" "$(cat plot.svg)" ">$function"
done
printf 'main;work 17\n' >plain.folded
run "$SEEP" timeline --svg none.svg plain.folded
expect_eq "nothing to plot" "$status ${err%%:*}" "3 seep"
expect_match "nothing to plot: why" "$err" 'there is nothing to plot'
expect_eq "nothing to plot: no file" "$(ls none.svg 2>/dev/null)" ""

# Blocks of this size are always caught at this rate.
"$SEEP" run --sample 1K -o sampled.rec "$prog" >truth 2>/dev/null
"$SEEP" timeline --json sampled.rec >json
check "sampled"

# ---- killed: complete up to that moment ----
SEEP="mode=exact,dir=$TMP/live" LD_PRELOAD=$LIBSEEP "$prog" >/dev/null &
holds_b() { "$SEEP" timeline --json live/*.live 2>/dev/null >json && [ -n "$(has take_b 2>/dev/null)" ]; }
wait_for 30 holds_b || fail "it never came to take_b"
kill -KILL $!
wait $! 2>/dev/null
"$SEEP" timeline --json live/*.live >json
expect_match "killed: take_a" "0 100003 200006 100003" "^$(has take_a)"
expect_eq "killed: the rows add up" "$(jq '.series | [.rows[].live_bytes[-1]] | add' json)" \
	"$("$SEEP" report --json live/*.live | jq '.processes[0].live_bytes')"
