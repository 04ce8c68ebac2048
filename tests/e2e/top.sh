#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep top`: the figures on the screen are those of seep report --json, at both sizes, on
# a process that waits; keys; the terminal is restored however it ends; a process that
# dies, execs or has children; finished recordings; --once. Goldens: tests/golden/top.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_steps.sh"
. "$ROOT/tests/e2e/lib_screen.sh"
# timeout: 240
need_seep
need_libseep
need_command jq
prog=$(program over_time) || exit
cd "$TMP" || exit
mkdir live
cp "$prog" ./over_time
line=$(grep -n 'malloc(bytes)' "$ROOT/tests/programs/over_time.c" | sed 's/:.*//')

# What is certain on a screen: no times, trends, memory beside malloc's, growth.
screens=('2,/^live /{/^live /!d}' shares 's/[▁▂▃▄▅▆▇█]+/BARS/g' 's/  RSS .*//; s/[0-9,]+\/s\)/N\/s)/'
	's/ ?[0-9]{2}:[0-9]{2}:[0-9]{2}$//; s/ *TIME$//; s/(exact, nothing) mis.*/\1/; /^[ ○◐●].*_IO_/d' 's/[+−][0-9.]+ ± [0-9.]+ [KMG]iB//'
	's/^[○◐●]/ /; s/ +/ /g; s/ $//; s/─+/--/g' 's/^ (STEADY|OK|GROWING) / /; s/^ 0 ([0-9])/ \1/' 's/(% N s) [0-9,<]+ /\1 N /'
	's/ at N s( |$)/\1/')

# ---- once: text and JSON ----
begin_steps preloaded "mode=exact,dir=$TMP/live" ./over_time
say take 1000 1024
say take 77 5003
say drop 10
run "$SEEP" top --once "$pid"
expect_eq "once: status" "$status" 0
expect_golden "once: text" "$out" top/once.txt "${screens[@]}"
expect_eq "once: no line is wider than 80" "$(awk '{ if (length($0) > 80) n++ } END { print n + 0 }' <<<"$out")" 0
COLUMNS=200 LINES=50 run "$SEEP" top --once "$pid"
expect_golden "once: wide" "$out" top/once_wide.txt "${screens[@]}" 
"$SEEP" report --json --all "$pid" >report.json
"$SEEP" top --once --json "$pid" >top.json
totals='[.live_bytes, .live_blocks, .allocs, .frees]'
expect_eq "totals are those of seep report" "$(jq -c "$totals" top.json)" "$(jq -c ".totals | $totals" report.json)"
# shellcheck disable=SC2016 # jq's own variables
expect_eq "sites are those of seep report" \
	"$(jq -c '[.rows[] | [.live_bytes, .live_blocks, .allocs, .frees]] | sort' top.json)" \
	"$(jq -c '[.sites[] | [.live_bytes, .live_blocks, .allocs, .frees]] | sort' report.json)"
expect_eq "the verdict is that of seep report" "$(jq -r '.verdict, .severity' top.json)" "$(jq -r '.summary | .verdict, .severity' report.json)"
expect_json "the site" top.json \
	'.rows[] | select(.function == "take_more") | [.where, .live_bytes, .live_blocks, .allocs, .frees]' \
	"[\"over_time.c:$line\",$((990 * 1024 + 77 * 5003)),1067,1077,10]"
expect_json "kind, pid" top.json '[.kind, .pid, .ended]' "[\"live\",$pid,false]"
run "$SEEP" top --once --filter TAKE_more -n 5 "$pid"
expect_eq "once: filtered" "$(grep -cE '^[ ○◐●].*(take_more|libc)' <<<"$out")" 1
LC_ALL=C run "$SEEP" top --once "$pid"
expect_eq "once: ASCII only" "$(LC_ALL=C grep -c '[^ -~]' <<<"$out")" 0

# ---- against a mark ----
"$SEEP" mark "$pid" first >/dev/null
say take 13 1000
run "$SEEP" top --once --since first --sort since "$pid"
expect_match "since a mark" "$out" 'since mark "first" at'
expect_match "since a mark: the site" "$out" '^. +\+12\.7 KiB .* take_more'
"$SEEP" top --once --json --since first "$pid" >top.json
expect_json "since a mark: JSON" top.json '[.since_mark, (.rows[] | select(.function == "take_more").change_bytes)]' '["first",13000]'
run "$SEEP" top --once --since second "$pid"
expect_eq "no such mark" "$status:$err" "3:seep: no mark @second here; there is @peak @exit @1 or @first"

# ---- without a terminal ----
run "$SEEP" top "$pid"
expect_eq "a pipe" "$status:$err" "3:seep: the screen needs a terminal as input and output; for a pipe or a file, add --once"
if have script; then
	TERM=dumb script -qec "$SEEP top $pid" /dev/null </dev/null >said.dumb 2>&1
	expect_eq "a dumb terminal" "$?:$(tr -d '\r' <said.dumb)" \
		"3:seep: the screen needs a terminal that can move its cursor, and TERM is \"dumb\"; add --once"
fi

# ---- a recording, a process that execs, one with children ----
"$SEEP" run -o done.rec --log-file log -- ./over_time >/dev/null <<<$'take 50 1000\ntake 3 77\n'
run "$SEEP" top --once done.rec
expect_golden "a finished recording" "$out" top/finished.txt "${screens[@]}"
run "$SEEP" top --once done.rec@exit
expect_eq "not at a point in time" "$status:$err" \
	"3:seep: done.rec@exit: seep top shows the present; for a moment of the past: seep report done.rec@exit"

: >kin
"$SEEP" run -o kin.rec --log-file log -- bash -c 'sleep 100 & echo $! $$; wait' >kin </dev/null &
runner=$!
wait_for 20 grep -q ' ' kin
read -r child parent <kin
run "$SEEP" top --once "$parent"
expect_match "a process with a child" "$out" "^1 child process: $child "
kill "$child"
wait $runner

# ---- the screen ----
if ! begin_screen 80 24; then
	end_steps
	exit 0
fi

# figures WHAT: those on the screen are those of --json.
figures() {
	screen >screen.now
	"$SEEP" report --json --all "$pid" >report.json
	expect_eq "$1: blocks and allocations" \
		"$(sed -nE 's/,//g; s/^in ([0-9]+) blocks · peak .* · ([0-9]+) allocs \(.*, ?([0-9]+) frees.*/\1 \2 \3/p; s/^in ([0-9]+) blocks · peak .* · ([0-9]+) allocs \(.* ([0-9]+) frees.*/\1 \2 \3/p' screen.now | head -n 1)" \
		"$(jq -r '.totals | "\(.live_blocks) \(.allocs) \(.frees)"' report.json)"
	expect_eq "$1: the site" \
		"$(sed -nE 's/,//g; s/.* ([0-9.]+) MiB +([0-9]+) +[0-9.<]+ % .*take_more .*/\1 \2/p' screen.now)" \
		"$(jq -r '[.sites[] | select(.live_blocks > 1000)][0] | "\((.live_bytes * 100 / 1048576 + 0.5 | floor) / 100) \(.live_blocks)"' report.json)"
}

keys "PS1='prompt> '; ulimit -c 0; stty -g >before" Enter
keys "'$SEEP' top $pid; echo status=\$?" Enter
awaits "it is there" "q:quit"
awaits "totals" '^in 1,08[01] blocks'
figures "80x24"
expect_golden "80x24" "$(screen | cat -s)" top/screen_80.txt "${screens[@]}"
tm resize-window -x 200 -y 50
awaits "wider" 'VERDICT +GROWTH/MIN'
awaits "as high as the window" 'q:quit'
figures "200x50"
expect_golden "200x50" "$(screen | cat -s)" top/screen_200.txt "${screens[@]}"
tm resize-window -x 80 -y 24
awaits "narrow again" '^ +GROWTH/MIN +LIVE +BLOCKS +FREED +SITE'

# Stacks with their source; another order; a filter; help.
keys s
awaits "sorted by live" 'sort: live'
keys Enter
awaits "stacks" '1 stack'
awaits "source" "take_more +over_time.c:$line +struct block \*b = malloc\(bytes\);"
expect_golden "stacks" "$(screen | cat -s)" top/stacks.txt "${screens[@]}"
keys Enter '?'
awaits "help" 'PageUp, PageDown'
expect_golden "help" "$(screen | sed -n '/up down/,/any key/p')" top/help.txt
keys x / n o n e Enter
awaits "filtered" 'no site passes the filter'
keys Escape
awaits "not filtered" 'take_more'

# Frozen: what the process does meanwhile is not shown.
keys p
awaits "frozen" FROZEN
say take 7 1000
sleep 1.5
expect_eq "nothing moves" "$(screen | grep -c '^in 1,08[01] blocks')" 1
keys p
awaits "and goes on" '^in 1,08[78] blocks'

# A mark, and the change since then.
keys m
awaits "marked" 'since mark "top2"'
say take 21 2048
awaits "the change" '^. +\+42\.0 KiB .*take_more'
expect_golden "since a mark" "$(screen | cat -s)" top/marked.txt "${screens[@]}"
keys d
awaits "an older mark" 'since mark "first"'
keys d
awaits "no mark" '^2 marks'

# Ctrl-Z and back.
keys C-z
awaits "stopped" 'Stopped'
keys 'clear; fg; echo status=$?' Enter
awaits "back" 'q:quit'
# The terminal is as before, whoever ends it.
restored() {
	awaits "$1: ended" "status=${2:-0}\$"
	expect_eq "$1: no screen of its own" "$(tm display-message -p '#{alternate_on} #{cursor_flag}')" '0 1'
	keys 'stty -g >after; clear' Enter
	wait_for 20 test -s after
	expect_eq "$1: modes" "$(cat after)" "$(cat before)"
	rm -f after
}
restored_by() {
	keys "clear; '$SEEP' top $pid; echo status=\$?" Enter
	awaits "$1: it is there" 'q:quit'
	shift
	"$@"
}
keys q
restored "q"
restored_by "Ctrl-C" keys C-c
restored "Ctrl-C"
for sig in TERM INT HUP; do
	restored_by "SIG$sig" true
	kill -$sig "$(pgrep -P "$(tm display-message -p '#{pane_pid}')" -x seep)"
	restored "SIG$sig"
done

# A crash.
restored_by "SIGSEGV" true
kill -SEGV "$(pgrep -P "$(tm display-message -p '#{pane_pid}')" -x seep)"
restored "SIGSEGV" 139

# The process is killed: its last screen, which stays as text.
keys "clear; '$SEEP' top $pid; echo status=\$?" Enter
awaits "the last time" 'q:quit'
echo die >&8
{ wait "$pid"; } 2>/dev/null
exec 8>&-
awaits "it says so" 'the process has ended: this is its last state'
awaits "how it ended" '^seep top  over_time \([0-9]+\)  ended'
keys q
awaits "left behind" 'status=0'
awaits "the last screen as text" 'take_more'

# Replaced by another program.
begin_steps preloaded "mode=exact,dir=$TMP/live" ./over_time
say take 1000 100
keys "clear; '$SEEP' top $pid; echo status=\$?" Enter
awaits "before exec" 'q:quit'
echo exec /bin/cat >&8
awaits "after exec" 'replaced by exec'
keys q
awaits "left" 'status=0'
exec 8>&-
wait "$pid"
