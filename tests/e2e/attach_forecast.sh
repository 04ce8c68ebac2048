#!/bin/bash
# SPDX-License-Identifier: MIT
# When a limit is reached is told by how the process grows, not by what its sites ask for,
# and seep attach and seep why agree on it. What was allocated before the attach is said
# to be so, and is no reason for PARTIAL.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
prog=$(program half_touched) || exit

"$prog" >"$TMP/said" &
pid=$!
wait_for 20 grep -q ready "$TMP/said"
"$SEEP" attach --for 6s --log-file "$TMP/log" "$pid" &
sleep 1
"$SEEP" why --for 4s "$pid" >"$TMP/why"
wait $!
# After three seconds ages say that it grows; a slow machine has other chances to be
# quicker.
for _ in 1 2 3 4; do
	run "$SEEP" attach --stay "$pid"
	sleep 1
	run "$SEEP" report "$pid"
	cp "$TMP/out" "$TMP/report"
	run "$SEEP" detach -q "$pid"
	grep -qE '^GROWING|; it grew' "$TMP/report" || break
done
kill "$pid"

first=$(head -n 1 "$TMP/log")
expect_golden "attach: all of it" "$(cat "$TMP/log")" verdicts/forecast_attach.txt live
# Which other regions grow by a page or two is chance.
expect_golden "why: all of it" "$(cat "$TMP/why")" verdicts/forecast_why.txt live '/^  \+N .*  (mapping@|\/|BUILD|\[)/d'
expect_golden "report: all of it" "$(cat "$TMP/report")" verdicts/forecast_report.txt live brief
expect_match "the first line" "$first" \
	"^GROWING  1 site: \\+[0-9.]+( ± [0-9.]+)? MiB/min; the process \\+[0-9.]+( ± [0-9.]+)? MiB/min, (memory limit|the machine's memory) reached in about [0-9.]+ (s|min|h|d) \\(100 % of the growth\\)"
# shellcheck disable=SC2001 # a group of the expression
expect_between "what the site asks for, MiB/min" "$(sed 's/^GROWING  1 site: +\([0-9]*\).*/\1/' <<<"$first")" 380 520
# shellcheck disable=SC2001 # a group of the expression
expect_between "the process, MiB/min" "$(sed 's/.*process +\([0-9]*\).*/\1/' <<<"$first")" 180 300

# minutes TEXT: until the limit.
minutes() {
	sed -n "s/.*reached in about \([0-9.]*\) \([a-z]*\).*/\1 \2/p" <<<"$1" | head -n 1 |
		awk '{ print $1 * ($2 == "s" ? 1 / 60 : $2 == "min" ? 1 : $2 == "h" ? 60 : 1440) }'
}
a=$(minutes "$first")
b=$(minutes "$(sed -n 2p "$TMP/why")")
expect_between "attach and why agree" "$(awk -v a="$a" -v b="$b" 'BEGIN { print a / b }')" 0.7 1.4

expect_match "before the attach" "$(cat "$TMP/report")" '^allocated before the attach: [0-9.]+ MiB resident'
expect_no_match "no complaint" "$(cat "$TMP/report")" 'PARTIAL|anonymous memory \('
expect_match "in attach's own report" "$(cat "$TMP/log")" '^allocated before the attach \([0-9:]+\): [0-9.]+ MiB resident    see: seep leaks [0-9]+$'
