#!/bin/bash
# SPDX-License-Identifier: MIT
# seep attach --around: marks before and after a command, and what it changed. A program
# that becomes another one while it is attached to. Titles and peaks that say what they
# are about. Goldens: around.txt (--around), exec.txt, points.txt (report and diff at
# @peak, @MARK, @exit).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_attach.sh"
. "$(dirname "$0")/lib_steps.sh"
need_attach
need_libseep
need_command jq
prog=$(program over_time) || exit
cd "$TMP" || exit
cp "$prog" ./over_time
around='s/around\.[0-9]+\.rec/around.PID.rec/'

# ---- around a command that makes it take 1009 blocks of 1013 bytes ----
begin_steps ./over_time
say take 10007 101
cat >request <<EOF
echo take 1009 1013 >$TMP/in
until [ \$(grep -c ^ok $TMP/said) -ge 3 ]; do sleep 0.05; done
echo answered
EOF
show "$SEEP" attach "$pid" --exact --around 'sh request'
steps=$((steps + 1))
expect_eq "status" "$status" 0
expect_eq "output of the command" "$out" answered
expect_match "what grew" "$err" '\+998\.2 KiB .* \+1,009 .* take_more over_time.c'
expect_match "detached" "$err" 'detached'
run "$SEEP" diff --json @last@before @last@after
expect_json "the marks are kept" "$TMP/out" '[.total.change, .total.beside_change]' '[1022117,1009]'
show "$SEEP" attach "$pid" --exact --around 'exit 7'
expect_eq "status of a command that fails" "$status" 7
expect_match "which is said" "$err" '^the command ended with status 7$'
run "$SEEP" attach "$pid" --exact --around 'kill -TERM $$' -o around.rec --json
expect_eq "status of one that is killed" "$status" 143
expect_json "as JSON" "$TMP/err" '.total.change' 0
run "$SEEP" report --json around.rec@after
expect_eq "saved by name" "$status" 0
show "$SEEP" attach "$pid" --around true --stay
expect_eq "not with --stay" "$status" 2
expect_shown "all of it" over_time/around.txt "$around" 's/; RSS .*//' # known or not: that depends on the clock
expect_eq "nothing of ours is left" "$(ours "$pid")" 0

# ---- two attaches to one process: each counts from its own, so less is no all-clear ----
for i in 2003 1009; do
	echo "echo take $i 1009 >$TMP/in; until [ \$(grep -c ^ok $TMP/said) -gt $steps ]; do sleep 0.05; done" >request
	run "$SEEP" attach "$pid" --exact --around 'sh request' -o "twice.$i.rec"
	expect_eq "attach, $i blocks" "$status" 0
	steps=$((steps + 1))
done
run "$SEEP" diff twice.2003.rec twice.1009.rec
expect_match "two attaches" "$out" \
	'^NO VERDICT  live .* [KM]iB \(each since its own attach\); .* seep attach PID --around COMMAND$'
expect_match "one process" "$out" '^exact, same process, same build'
run "$SEEP" diff --json twice.2003.rec twice.1009.rec
expect_json "two attaches, as JSON" "$TMP/out" '[.verdict, .no_verdict_because, .same_process]' \
	'["NO VERDICT","too-early",true]'

# ---- exec while it is attached to ----
"$SEEP" attach "$pid" --for 20s 2>report &
tool=$!
wait_for 20 grep -q memfd:seep "/proc/$pid/maps"
sleep 1
say take 1009 1009
echo "exec $(command -v cat)" >&8
wait "$tool"
cat_path=$(readlink -f "$(command -v cat)")
expect_match "exec" "$(cat report)" \
	"replaced itself by exec of $cat_path after [0-9.]+ m?s; the recording ends there"
expect_match "exec: how it ended" "$(cat report)" "^replaced by exec of $cat_path after "
expect_golden "exec: all of it" "$(cat report)" over_time/exec.txt live "s,$cat_path,CAT,g"
end_steps

# ---- titles ----
begin_steps "$SEEP" run -o run.rec ./over_time
say take 101 1009
say threads 3 100003
show "$SEEP" mark "$(pgrep -P "$pid" | head -n 1)" here
expect_eq "mark" "$status" 0
say drop 101
exec 8>&-
wait "$pid"
for point in 'peak at the peak' 'exit when exit began' 'here at mark here'; do
	at=${point%% *} words=${point#* }
	"$SEEP" report --html "$at.html" "run.rec@$at" >wrote 2>&1
	expect_match "page @$at" "$(cat "$at.html")" "<title>run.rec $words</title>"
	"$SEEP" report --flame "$at.svg" "run.rec@$at" >wrote 2>&1
	expect_match "flame graph @$at" "$(cat "$at.svg")" "<title>run.rec $words</title>"
done
for point in peak here exit; do
	show "$SEEP" report "run.rec@$point"
done
show "$SEEP" diff run.rec@here run.rec@exit
show "$SEEP" report run.rec
expect_match "a peak with threads" "$out" 'peak [0-9.]+ KiB \(within 16.0 KiB: 4 KiB for each of 4 threads\)'
# Blocks of threads are counted to 4 KiB each: 396 or 397 KiB.
expect_shown "points in time: all of it" over_time/points.txt 's/39[0-9] KiB/39N KiB/; s/; RSS .*//' \
	's/of [0-9]+: /of PID: /'
