#!/bin/bash
# SPDX-License-Identifier: MIT
# Figures over time: marks, timeline, RSS and the recorder's own memory, with a tool
# beside the program and without one. Goldens: marks.txt (report and diff at marks),
# timeline_*.txt (rows of the same kind are one).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_steps.sh"
need_seep
need_libseep
need_command jq
prog=$(program over_time) || exit
cd "$TMP" || exit
mkdir live
cp "$prog" ./over_time

# rows: of a timeline's table; which figures they have, not how many there are. Whether
# one came before the first block depends on the clock.
rows() {
	awk '/^ +time +live/ { table = 1 } NR <= 2 || table' | sed -E '/^ +[0-9.]+( m?s)? +0 B /d; /^# each row/d; s/^ +[0-9.]+ m?s /  TIME /; s/([0-9.]+ ± )?[0-9.]+ [KM]iB/SIZE/g
		s/ +/ /g; s/█+/BAR/; s/ in [12] stacks?/ in N stacks/' | uniq
}

# ---- marks in sampled recordings ----
# One site with blocks of two sizes: what a sample stands for differs. 6 standard errors
# are allowed.
begin_steps preloaded "mode=sample,rate=4K,dir=$TMP/live" ./over_time
say take 100001 64
say take 10007 1009
show "$SEEP" mark "$pid" before
expect_eq "mark" "$status" 0
say take 50021 64
show "$SEEP" mark "$pid" after
show "$SEEP" report "$pid@before"
show "$SEEP" diff "$pid@before" "$pid@after"
# The buffer of stdout is sampled or not; whether the resident size is known depends on
# the clock.
expect_shown "marks: all of it" over_time/marks.txt live 's/at [12] (stack|site)s?\b/at N \1s/; /^ +1 site unchanged/d; s/; RSS .*//; s/^ +growth/  growth/' \
	's/ of [0-9]+: / of PID: /; s/[0-9]+@/PID@/g' \
	's/[0-9.]+ → ([0-9.]+|SIZE)/N → N/g; s/[+][0-9.,]+( ± [0-9.,]+)?/+N/g'
"$SEEP" report --json --all "$pid@before" >before
"$SEEP" report --json --all "$pid@after" >after
expect_between "blocks at a mark" "$(jq '[.sites[].live_blocks] | add' before)" 93000 127000
expect_between "bytes at a mark" "$(jq '[.sites[].live_bytes] | add' before)" 15000000 18000000
expect_between "blocks at a later mark" "$(jq '[.sites[].live_blocks] | add' after)" 139000 181000
run "$SEEP" diff --json "$pid@before" "$pid@after"
expect_between "their difference" "$(jq '.total.beside_change' <<<"$out")" 38000 62000
end_steps
rm -f live/*

# ---- the timeline of a sampled recording follows frees ----
# points FILTER: of the timeline in the file `json`.
points() { jq "[.rows[0].points[] | $1]" json; }
# At the default rate 54 MiB are 108 samples: five standard errors are 27 MiB.
for settings in mode=sample mode=sample,sample=64K mode=exact; do
	begin_steps preloaded "$settings,dir=$TMP/live" ./over_time
	for ((i = 0; i < 54; i++)); do
		say take 1024 1024
	done
	say drop 51200
	"$SEEP" timeline --json "$pid" >json
	run "$SEEP" timeline "$pid"
	expect_golden "$settings: as text" "$(rows <<<"$out")" "over_time/timeline_${settings//[^a-zA-Z0-9]/_}.txt" \
		's/^[0-9]+:/PID:/'
	end_steps
	expect_between "$settings: highest" "$(points '.live_bytes' | jq 'max')" 29000000 85000000
	expect_between "$settings: after 50 of 54 MiB were freed" \
		"$(points '.live_bytes' | jq 'last')" 0 12000000
	expect_between "$settings: RSS without a tool" \
		"$(points '.rss_bytes // 0' | jq 'max')" 54000000 90000000
	expect_between "$settings: the recorder's own" \
		"$(points '.recorder_bytes // 0' | jq 'max')" 500000 9000000
	"$SEEP" timeline --json live/*.live >json
	expect_between "$settings: the same when it has ended" \
		"$(points '.live_bytes' | jq 'last')" 0 12000000
	rm -f live/*
done

# ---- and with a tool, while the program only waits ----
begin_steps "$SEEP" run --sample -o sampled.rec ./over_time
say take 55296 1024
say drop 51200
sleep 1.2
end_steps
"$SEEP" timeline --json sampled.rec >json
expect_between "points while it waits" \
	"$(points 'select(.live_bytes < 12000000 and .ms > 100)' | jq length)" 3 10000
run "$SEEP" timeline sampled.rec
expect_golden "with a tool: as text" "$(rows <<<"$out")" over_time/timeline_run.txt
expect_match "columns" "$out" '^ +time +live +RSS +seep$'
expect_match "a row" "$out" '^ +[0-9.]+ m?s +[0-9.]+ [KM]iB +[0-9.]+ MiB +[0-9.]+ [KM]iB  '
