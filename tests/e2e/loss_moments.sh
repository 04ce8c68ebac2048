#!/bin/bash
# SPDX-License-Identifier: MIT
# When blocks were lost: ten programs that lose theirs at a moment that they print, by as
# many ways; the interval that `seep run --check-every` reports contains it, and lies
# between two checks that follow each other.
# timeout: 240
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program lose_moments) || exit
cd "$TMP" || exit

# The sites of the process with that pid: "FROM TO BYTES BLOCKS" of each interval.
intervals() { # FILE PID
	jq -r --argjson pid "$2" '.sites[].lost_between[] |
		select(.pid == $pid and .kind != "possible") |
		"\(.from_ms) \(.to_ms) \(.bytes) \(.blocks)"' "$1"
}

contained=0 checks=0
for way in overwritten list_head cycle container_freed thread_ended unmapped address_again \
	at_birth shrunk in_child; do
	"$SEEP" run --json --log-file="$way.json" --check-every=200ms --max-stop=0 \
		-o "$way.rec" -- "$prog" "$way" 700 >truth 2>stderr
	read -r _ before after bytes blocks pid <truth
	start=$(jq --argjson pid "$pid" '.processes[] | select(.pid == $pid) | .start_ns' "$way.json")
	intervals "$way.json" "$pid" >found
	expect_eq "$way: bytes and blocks" \
		"$(awk '{ bytes += $3; blocks += $4 } END { print bytes, blocks }' found)" \
		"$bytes $blocks"
	# The two clocks of the recording's start are read one after the other: 20 ms.
	if awk -v from=$((before / 1000 - start / 1000)) -v to=$((after / 1000 - start / 1000)) '
		{ n++ }
		$1 > to / 1000 + 20 || $2 < from / 1000 - 20 { bad++ }
		END { exit !(n > 0 && bad == 0) }' found; then
		contained=$((contained + 1))
	else
		echo "$way: lost between $(((before - start) / 1000)) and $(((after - start) / 1000)) us:"
		cat found
	fi
	expect_eq "$way: no check lies within an interval" "$(jq --argjson pid "$pid" '
		[.loss_checks[] | select(.pid == $pid and .done) | .ms] as $checks |
		[.sites[].lost_between[] | select(.pid == $pid) | . as $i |
		 $checks[] | select(. > $i.from_ms and . < $i.to_ms - 1)] | length' "$way.json")" 0
	checks=$((checks + $(jq --argjson pid "$pid" '
		[.loss_checks[] | select(.pid == $pid and .done)] | length' "$way.json")))
done
expect_eq "intervals that contain the moment" "$contained" 10
expect_eq "more checks than those at the ends" "$((checks > 20))" 1

# ---- what is said ----
run "$SEEP" report overwritten.rec
expect_match "the line below the site" "$out" '^    lost between [0-9]+\.[0-9]+ and [0-9.]+ s$'
expect_match "how many checks" "$out" '^checked for leaks [0-9]+ times · stopped for up to [0-9.]+ ms each'
expect_eq "the same from the saved file" \
	"$("$SEEP" report --json overwritten.rec | jq -c '[.loss_checks, .sites[].lost_between]')" \
	"$(jq -c '[.loss_checks, .sites[].lost_between]' overwritten.json)"
expect_eq "lost at its birth: not before" "$(jq '
	[.loss_checks[] | select(.done) | .ms] as $checks |
	[.sites[].lost_between[] | .from_ms as $from | select($checks | index($from) == null)] |
	length' at_birth.json)" 1
expect_eq "bytes lost at the last check" "$(jq '[.loss_checks[] | select(.done)] | last.lost_bytes' list_head.json)" 1680

run "$SEEP" timeline overwritten.rec
expect_match "lost bytes over time" "$out" '^ +time +live +RSS +seep +lost$'
expect_match "lost bytes at the end" "$out" '^ +[0-9.]+ s .* 996 B( |$)'
expect_eq "lost bytes over time, as JSON" "$("$SEEP" timeline --json overwritten.rec |
	jq -c '[.rows[].loss_checks[].lost_bytes] | unique')" '[0,996]'

# ---- marks ----
"$SEEP" run --json --log-file=marked.json --check-every=200ms -o marked.rec -- \
	"$prog" overwritten 2000 >truth 2>stderr &
run_pid=$!
# Not by its name: another test may run the same program.
until "$SEEP" mark "$(pgrep -P $run_pid -x lose_moments)" reload >said 2>&1 || ! kill -0 $run_pid; do sleep 0.05; done
wait $run_pid
expect_eq "the mark" "$(jq -c '[.sites[].lost_between[] | .after_mark // .mark_during]' marked.json)" \
	'["reload"]'

# ---- killed: what the last check found ----
"$SEEP" run --json --log-file=killed.json --check-every=200ms --max-stop=0 -o killed.rec -- \
	"$prog" overwritten 400 >truth 2>stderr &
until [ -s truth ]; do sleep 0.02; done
read -r _ _ _ _ _ pid <truth
sleep 0.3
kill -KILL "$pid" 2>/dev/null
wait $!
lost=$(jq '[.loss_checks[] | select(.done)] | last.lost_bytes' killed.json)
expect_eq "killed: lost at the last check, and reported" \
	"$(jq '.summary.leaks.definite_bytes' killed.json)" "$lost"

# ---- what cannot be done ----
run "$SEEP" run --check-every=200ms --max-stop=1ns -o a.rec -- "$prog" overwritten 380
expect_match "left out: why" "$err" 'more left out, the last at .*: it would stop the process for about .* more than --max-stop allows'
run "$SEEP" run --check-every=200ms --sample -- "$prog" overwritten 1
expect_eq "sampled: refused" "$status" 2
expect_match "sampled: why" "$err" '--check-every needs the leak check'
run "$SEEP" run --check-every=1ms -- "$prog" overwritten 1
expect_eq "too often: refused" "$status" 2
run "$SEEP" run -o a.rec -- "$prog" overwritten 1
expect_no_match "one check alone: nothing is said" "$err" 'lost between|checked for leaks'
