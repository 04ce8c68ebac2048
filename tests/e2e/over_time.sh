#!/bin/bash
# SPDX-License-Identifier: MIT
# Figures over time: marks, timeline, RSS and the recorder's own memory, with a tool beside the program
# and without one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_steps.sh"
need_seep
need_libseep
need_command jq
prog=$(program over_time) || exit
cd "$TMP" || exit
mkdir live

# ---- marks in sampled recordings ----
# One site with blocks of two sizes: what a sample stands for differs. 6 standard errors are allowed.
begin_steps preloaded "mode=sample,rate=4K,dir=$TMP/live" "$prog"
say take 100001 64
say take 10007 1009
run "$SEEP" mark "$pid" before
expect_eq "mark" "$status" 0
say take 50021 64
run "$SEEP" mark "$pid" after
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
for settings in mode=sample mode=sample,sample=64K mode=exact; do
	begin_steps preloaded "$settings,dir=$TMP/live" "$prog"
	for ((i = 0; i < 54; i++)); do
		say take 1024 1024
	done
	say drop 51200
	"$SEEP" timeline --json "$pid" >json
	end_steps
	expect_between "$settings: highest" "$(points '.live_bytes' | jq 'max')" 42000000 72000000
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
begin_steps "$SEEP" run --sample -o sampled.rec "$prog"
say take 55296 1024
say drop 51200
sleep 1.2
end_steps
"$SEEP" timeline --json sampled.rec >json
expect_between "points while it waits" \
	"$(points 'select(.live_bytes < 12000000 and .ms > 100)' | jq length)" 3 10000
run "$SEEP" timeline sampled.rec
expect_match "columns" "$out" '^ +time +live +RSS +seep$'
expect_match "a row" "$out" '^ +[0-9.]+ m?s +[0-9.]+ [KM]iB +[0-9.]+ MiB +[0-9.]+ [KM]iB  '
