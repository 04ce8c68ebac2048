#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep watch` on a process that does not move: the same kB as pmap -x, mapping by
# mapping, and as smaps_rollup. On processes that grow: the region that does is named.
# Commands, limits, metrics.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_watch.sh"
need_seep
need_command jq
parts=$(program watch_parts) || exit
# Its name is its own: someone else may run this test too.
name=watch-$$
prog=$TMP/$name
cp "$parts" "$prog" || exit

# ---- the same as others see ----

target "$prog" 5
stop_target
expect_status 0 "$SEEP" watch "$pid" --count 3 --every 20ms --json
cp "$TMP/out" "$TMP/stopped.json"
expect_json "rollup" "$TMP/stopped.json" '[.processes[0].mappings[].rss_kib] | add' \
	"$(awk '/^Rss:/ { print $2 }' "/proc/$pid/smaps_rollup")"
expect_json "regions add up to it" "$TMP/stopped.json" \
	'[.processes[0].regions[].rss_bytes] | add / 1024' \
	"$(awk '/^Rss:/ { print $2 }' "/proc/$pid/smaps_rollup")"
if have pmap; then
	pmap -x "$pid" | awk '$1 ~ /^[0-9a-f]+$/ && $2 ~ /^[0-9]+$/ { print $1, $2, $3, $4 }' >"$TMP/pmap"
	jq -r '.processes[0].mappings[] | "\(.start) \(.size_kib) \(.rss_kib) \(.dirty_kib)"' "$TMP/stopped.json" |
		while read -r at rest; do printf '%016x %s\n' "$at" "$rest"; done >"$TMP/ours"
	expect_between "pmap has lines" "$(wc -l <"$TMP/pmap")" 20 500
	expect_file "as pmap -x" "$TMP/ours" "$TMP/pmap"
fi
expect_json "nothing grows" "$TMP/stopped.json" '.processes[0].verdict.word' STEADY
expect_json "threads have stacks" "$TMP/stopped.json" \
	'[.processes[0].regions[] | select(.kind == "thread")] | length' 5
expect_json "arenas, blocks, shared memory" "$TMP/stopped.json" \
	'[.processes[0].regions[].kind] | map(select(. == "heap" or . == "chunk" or . == "shared" or . == "stack")) | unique | join(" ")' \
	"chunk heap shared stack"

# In words, and the limit of what could have been seen.
expect_status 0 "$SEEP" watch "$pid" --count 3 --every 20ms
expect_match "a line for each snapshot" "$out" "^[0-9:]+  $pid  RSS [0-9.]+ MiB  0 B"
expect_match "verdict" "$out" '^STEADY  no region grows; growth under .*/min would not show in .*, use --for 60s$'
expect_match "about it" "$out" "^pid $pid \($name\), up .*, 6 threads · 3 snapshots in"
expect_match "next" "$out" "^next: seep watch $pid --for 10m$"
expect_status 0 "$SEEP" watch "$pid" --count 2 --every 20ms
expect_match "two are too few" "$out" '^NO VERDICT  2 snapshots cannot show growth, three can; use seep watch --count 10 [0-9]+$'
expect_status 0 "$SEEP" watch "$name" --count 1 --all
expect_match "by name" "$out" 'mapping@[0-9a-f]+'

# Nobody touches anything while it is stopped.
expect_status 0 "$SEEP" watch "$pid" --cold --count 4 --every 20ms --json
expect_json "all is cold" "$TMP/out" '.processes[0].regions[] | select(.name == "heap") | .cold_bytes == .rss_bytes' true
expect_between "cold since" "$(jq '.processes[0].cold_seconds' "$TMP/out")" 0.001 60

# ---- metrics ----

expect_status 0 "$SEEP" watch "$pid" --count 1 --metrics "$TMP/m.prom"
expect_match "rss" "$(cat "$TMP/m.prom")" "^seep_watch_rss_bytes\{pid=\"$pid\",name=\"$name\"\} [0-9]+$"
expect_match "kinds" "$(cat "$TMP/m.prom")" "^seep_watch_region_bytes\{.*kind=\"heap\"\} [0-9]+$"
expect_eq "every metric has its type once" "$(grep -c '^# TYPE' "$TMP/m.prom")" \
	"$(grep '^# TYPE' "$TMP/m.prom" | sort -u | wc -l)"
expect_eq "only such lines" "$(grep -cvE '^(# (HELP|TYPE) seep_watch_[a-z_]+ .+|seep_watch_[a-z_]+\{[^}]*\} ([-+.0-9e]+|NaN|\+Inf|-Inf))$' "$TMP/m.prom")" 0
expect_eq "others may read it" "$(umask 022; "$SEEP" watch "$pid" --count 1 --metrics "$TMP/m2" >/dev/null; stat -c %a "$TMP/m2")" 644
end_target

# ---- growth ----

# grows KIND REGION: the region's name is like this.
grows() {
	target "$prog" 2 "$1"
	run "$SEEP" watch "$pid" --every 100ms --count 12 --json
	expect_json "$1: word" "$TMP/out" '.processes[0].verdict.word' GROWING
	expect_json "$1: kind" "$TMP/out" '.processes[0].verdict.kind' "$2"
	expect_between "$1: grew often" "$(jq '.processes[0].verdict.intervals_grown' "$TMP/out")" 6 11
	expect_json "$1: limit was passed" "$TMP/out" \
		'.processes[0].verdict | .growth_bytes_per_second > .detection_limit_bytes_per_second' true
	[ -z "${3:-}" ] || expect_match "$1: next" "$(jq -r '.processes[0].next' "$TMP/out")" "$3"
	end_target
}
grows heap heap 'seep attach [0-9]+ --for 60s'
grows mapping mapping 'seep dump [0-9]+ mapping'
grows chunk chunk 'seep attach'
grows shared shared 'seep dump'
grows stack thread

# ---- commands and limits ----

target "$prog" 0 heap
# shellcheck disable=SC2016 # the command's own variables
run "$SEEP" watch --every 50ms --count 40 --on-growth 2M \
	'echo "$SEEP_PID $SEEP_NAME $SEEP_GROWTH_BYTES" >>"'"$TMP"'/told"' "$pid"
expect_eq "status" "$status" 0
expect_match "it was told" "$(cat "$TMP/told")" "^$pid $name [0-9]+$"
expect_between "after that much" "$(head -n 1 "$TMP/told" | cut -d ' ' -f 3)" 2097152 200000000
expect_match "said" "$err" "^seep: $pid: grew by .*; running: echo"
run "$SEEP" watch "$pid" --every 50ms --count 100 --at 0.001%
expect_eq "status at the limit" "$status" 1
expect_match "limit" "$err" "^seep: $pid: at .* of its memory limit of "

# It ends while it is watched, or we are told to end.
"$SEEP" watch "$pid" --every 50ms >"$TMP/till" 2>"$TMP/err" &
watcher=$!
wait_for 10 grep -qs RSS "$TMP/till"
kill -KILL "$pid"
wait "$watcher"
expect_eq "status of one that ended" $? 0
expect_match "it ended" "$(cat "$TMP/till")" ' it has ended$'
wait
target "$prog" 0
rm "$TMP/till" # what it said above is not what is waited for
"$SEEP" watch "$pid" --every 50ms >"$TMP/till" 2>&1 &
watcher=$!
wait_for 10 grep -qs RSS "$TMP/till"
kill -INT "$watcher"
wait "$watcher"
expect_eq "status after Ctrl-C" $? 0
expect_match "verdict after Ctrl-C" "$(cat "$TMP/till")" '^(STEADY|NO VERDICT|GROWING)  '

# ---- errors ----

expect_status 3 "$SEEP" watch 999999999
expect_match "no such process" "$err" '^seep: 999999999: no such process$'
expect_status 3 "$SEEP" watch no-such-name
expect_match "no such name" "$err" '^seep: no-such-name: no such process$'
expect_status 2 "$SEEP" watch
expect_status 2 "$SEEP" watch "$pid" --at much
expect_match "percentage" "$err" '^seep watch: --at: "much" is not a percentage of the limit'
expect_status 2 "$SEEP" watch "$pid" --on-growth 5M
expect_match "command" "$err" '^seep watch: --on-growth: COMMAND is missing'
end_target
