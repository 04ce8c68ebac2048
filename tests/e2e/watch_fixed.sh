#!/bin/bash
# SPDX-License-Identifier: MIT
# Shared memory of fixed size that fills up, as PostgreSQL's buffers do, raises no alarm;
# more and more of it does. What is told to be pasted can be pasted. Forecasts go by the
# whole process.
. "$(dirname "$0")/lib.sh"
need_seep
need_command jq
prog=$(program shared_memory) || exit

for what in fill grow; do
	: >"$TMP/said" # the first one said so too
	"$prog" "$what" >"$TMP/said" &
	pid=$!
	wait_for 20 grep -q ready "$TMP/said"
	"$SEEP" why --for 4s "$pid" >"$TMP/$what.why" &
	"$SEEP" watch --every 200ms --count 15 --json "$pid" >"$TMP/$what.json"
	wait $!
	if [ $what = grow ]; then
		# What it says is next can be pasted, and works.
		eval "set -- $(sed -n 's/^next: seep //p' "$TMP/grow.why")"
		expect_status 0 "$SEEP" "$@"
	fi
	kill "$pid"
	wait "$pid" 2>/dev/null
done
for what in fill grow; do
	expect_golden "$what: all of it" "$(cat "$TMP/$what.why")" "verdicts/shared_$what.txt" live
done
expect_match "filling: of how much" "$(sed -n 2p "$TMP/fill.why")" 'fills up \([0-9.]+ MiB of 1\.00 GiB\)'
expect_match "filling: why" "$(sed -n 2p "$TMP/fill.why")" '^(STEADY|NO VERDICT)  '
expect_no_match "filling: no forecast" "$(cat "$TMP/fill.why")" 'reached in'
expect_no_match "filling: watch" "$(jq -r '.. | .word? // empty' "$TMP/fill.json" | tail -n 1)" GROWING
expect_eq "filling: no forecast in JSON" "$(jq -r '[.. | .seconds_to_limit? // empty] | length' "$TMP/fill.json" | tail -n 1)" 0
expect_match "growing: why" "$(sed -n 2p "$TMP/grow.why")" '^GROWING  .* \+[0-9.]+ ?(± [0-9.]+ )?MiB/min.* reached in about '
# What it says is next can be pasted.
command=$(sed -n 's/^next: //p' "$TMP/grow.why")
expect_match "growing: next" "$command" "^seep dump [0-9]+ "
expect_match "growing: the region's name is one word" "$(eval "set -- $command" && echo "$# $4")" '^4 .*dev/zero \(deleted\)'
