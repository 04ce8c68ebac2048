#!/bin/bash
# SPDX-License-Identifier: MIT
# 100,003 stacks and a million blocks: whole in a recording with room, and in one without
# room what is there is right and what is not there is counted.
. "$(dirname "$0")/lib.sh"
# timeout: 600
need_seep
need_libseep
need_command jq
prog=$(program manysites) || exit
cd "$TMP" || exit
stacks=100003

# The report is large: read once, and only what is asked below is kept. `ours` are the
# stacks made by go_on: the array and stdio's buffer are places too.
# shellcheck disable=SC2016 # jq's own variables
extract() {
	jq -c '. as $r | {summary, damage, lost: .processes[0].lost,
		crooked: [.sites[] | select(.live_blocks != .allocs - .frees)] | length,
		ours: [.sites[] | select($r.frames[.stack[.shown_from]].function == "go_on")
			| {a: .allocs, f: .frees, n: .live_blocks, b: .live_bytes, deep: (.stack | length > 15)}]}' \
		"$1" >"$2"
}

# Of so many places JSON lists the first 1,000 and sums up the others.
run "$SEEP" run -o whole.rec --json --log-file short.json -- "$prog" $stacks
expect_eq "whole: status" "$status" 29
expect_eq "whole: output" "$out" "stacks=100003 allocs=1000030 frees=300009 live=9100273"
expect_json "short: sites" short.json '.sites | length' 1000
expect_json "short: the others" short.json '.sites_not_listed.sites > 99000' true
# shellcheck disable=SC2016 # jq's own variables
expect_json "short: nothing is missing from the sums" short.json \
	'. as $r | ["allocs", "frees", "live_bytes", "live_blocks", "allocated_bytes", "at_peak_bytes"]
	| map(. as $k | $r.totals[$k] == $r.sites_not_listed[$k] + ([$r.sites[][$k]] | add)) | unique' '[true]'
# shellcheck disable=SC2016 # jq's own variables
expect_json "short: frames are those of the sites" short.json \
	'[.sites[].stack[], .errors[].stack[]] as $s | [($s | max) + 1, ($s | unique | length)]
	 == [.frames | length, length]' true
run "$SEEP" report --json -n 7 whole.rec
expect_json "rows: sites" - '.sites | length' 7 <<<"$out"
run "$SEEP" report --html page.html whole.rec
expect_eq "page: all figures" "$(grep -o '"what":"[a-z]*","unit":"[a-z]*"' page.html | sort -u | wc -l)" 6
# speedscope's file has the largest stacks and the sums of the others: figures add up to
# the report's.
"$SEEP" convert whole.rec whole.speedscope.json 2>/dev/null
"$SEEP" convert whole.rec whole.pb.gz 2>/dev/null
run /usr/bin/python3 "$ROOT/tests/e2e/lib_speedscope.py" whole.speedscope.json
expect_eq "speedscope: totals" "$(grep -E '^(live_bytes|allocations) ' <<<"$out")" \
	"live_bytes $(jq .totals.live_bytes short.json)
allocations $(jq .totals.allocs short.json)"
expect_match "speedscope: smaller stacks are summed up" "$(<whole.speedscope.json)" '"\(smaller stacks\)"'
for file in short.json whole.speedscope.json; do
	[ "$(gzip -c $file | wc -c)" -le $((5 * $(wc -c <whole.pb.gz))) ] ||
		fail "$file" "packed more than 5 times as large as pprof's"
done
"$SEEP" report --json --all whole.rec >large.json
extract large.json whole.json
expect_json "whole: stacks" whole.json '.ours | length' $stacks
expect_json "whole: totals" whole.json \
	'.ours | [(map(.a) | add), (map(.f) | add), (map(.b) | add)]' '[1000030,300009,9100273]'
expect_json "whole: each stack" whole.json '.ours | map([.a, .f, .n]) | unique' '[[10,3,7]]'
expect_json "whole: nothing lost" whole.json '[.lost[] | numbers] | add' 0

for size in $(times 2M '2M 16M'); do
	run "$SEEP" run --max-size "$size" -o small.rec --log-file text -- "$prog" $stacks
	expect_eq "$size: status" "$status" 29
	expect_eq "$size: output" "$out" "stacks=100003 allocs=1000030 frees=300009 live=9100273"
	"$SEEP" report --json --all small.rec >large.json
	extract large.json small.json
	# Two allocations are not the million's: the array and stdio's buffer.
	expect_json "$size: every allocation is recorded or counted as lost" small.json \
		'.summary.allocs + .lost.space' 1000032
	expect_json "$size: every free too" small.json '.summary.frees + .lost.frees_unknown' 300009
	expect_json "$size: stacks that are there are right" small.json \
		'.ours | map(select(.a == 10 and .f != 3)) | length' 0
	expect_json "$size: no stack has more than it made" small.json \
		'.ours | map(select(.a > 10 and .deep)) | length' 0
	expect_json "$size: live is allocs less frees" small.json .crooked 0
	expect_json "$size: no verdict of OK" small.json '.summary.verdict | IN("OK", "HELD")' false
	expect_json "$size: nothing damaged" small.json .damage '[]'
	run "$SEEP" report small.rec
	expect_match "$size: said" "$out" '^not recorded: [0-9,]+ allocations \(no room: raise --max-size\)'
done

# The tool's own memory, with the workload of bench/run --many: 264,000 places.
need_command gcc
# anonymous COMMAND...: the most anonymous memory that it had, in MB.
anonymous() {
	local most=0 now pid
	"$@" >/dev/null 2>&1 &
	pid=$!
	while now=$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -le "$most" ] || most=$now
		sleep 0.01
	done
	wait $pid
	echo $((most * 1024 / 1000000))
}
gcc -O1 -g -fno-inline -fno-optimize-sibling-calls -o sites "$ROOT/bench/workloads/sites.c" || exit
expect_between "memory of seep run, MB" "$(anonymous "$SEEP" run -o sites.rec -- ./sites 264000)" 40 150
expect_between "memory of seep report, MB" "$(anonymous "$SEEP" report sites.rec)" 40 128
