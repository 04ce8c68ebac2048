#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that is killed, by somebody or by the kernel for want of memory, and perhaps
# seep with it: the recording is there, says how it ended, and has what held most.
# alone: @last may be a run of another test that was killed with its tool
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_steps.sh"
need_seep
need_libseep
need_command jq
prog=$(program over_time) || exit
cd "$TMP" || exit
group=/sys/fs/cgroup/memory/seep-test-$$
times=${SOAK:+20}

# last: the newest recording as JSON in `json`.
last() {
	"$SEEP" report --json @last >json 2>json.err || fail "report @last" "$(cat json.err)"
}

# held WHAT LOW HIGH: the site that held most is take_more, within these bytes.
held() {
	# shellcheck disable=SC2016 # jq's
	expect_json "$1: the site" json \
		'. as $r | .sites[0] | $r.frames[.stack[.shown_from]].function' take_more
	expect_between "$1: its bytes" "$(jq '.sites[0].live_bytes' json)" "$2" "$3"
}

# ---- SIGKILL of the program ----
begin_steps "$SEEP" run -o killed.rec "$prog"
say take 1009 1009
echo die >&8
wait "$pid"
expect_eq "SIGKILL: status passed through" $? 137
last
held "SIGKILL" 1018081 1018081
expect_json "SIGKILL: how it ended" json '.processes[0] | "\(.end) \(.status)"' 'signal 9'

run "$SEEP" report @last
expect_match "SIGKILL: the headline" "$out" '^KILLED  by SIGKILL: .* live, [0-9]+ % from take_more over_time\.c:'

expect_golden "SIGKILL: all of it" "$out" verdicts/killed.txt brief

# ---- one site holds most, another one grows ----
{
	echo threads 1 8388608
	for ((i = 0; i < 66; i++)); do
		echo take 20 1009
		sleep 0.05
	done
	echo die
} | "$SEEP" run -o grew.rec "$prog" >/dev/null 2>&1
run "$SEEP" report @last
expect_golden "SIGKILL while it grows" "$out" verdicts/killed_growing.txt \
	pace brief 's/[0-9,]+ (blocks, none freed)/N \1/; s/grew in [0-9]+ of [0-9]+/grew in N of N/'

# ---- SIGKILL of seep and then of the program ----
begin_steps "$SEEP" run -o both.rec "$prog"
say take 1009 1009
child=$(pgrep -P "$pid" | head -n 1)
kill -KILL "$pid"
wait "$pid" 2>/dev/null
say take 1009 1009
kill -KILL "$child"
wait_for 10 test ! -e "/proc/$child"
exec 8>&-
last
held "SIGKILL of both" 2036162 2036162

# ---- the kernel's ----
if ! { mkdir "$group" && echo $((48 << 20)) >"$group/memory.limit_in_bytes"; } 2>/dev/null; then
	rmdir "$group" 2>/dev/null
	left_out "no memory cgroup (version 1) can be made here"
	exit
fi
trap 'rmdir "$group" 2>/dev/null; lib_end' EXIT
# in_group COMMAND...: in place of this shell, in the group.
in_group() {
	echo "$BASHPID" >"$group/tasks"
	exec "$@"
}
oom() {
	expect_json "$1: how it ended" json '.processes[] | select(.name == "over_time") | "\(.end) \(.status)"' 'signal 9'
	expect_json "$1: whose doing" json '.processes[] | select(.name == "over_time") | .memory.oom' "$2"
	expect_json "$1: the limit" json '.processes[] | select(.name == "over_time") | .memory.limit_bytes' $((48 << 20))
	# it is looked at several times a second; a busy machine may be late
	expect_between "$1: usage" "$(jq '.processes[] | select(.name == "over_time") | .memory.limit_used_bytes' json)" $((8 << 20)) $((48 << 20))
	held "$1" $((30 << 20)) $((1 << 30))
	run "$SEEP" report @last
	# A shell that has few variables in its environment has allocated nothing when it
	# becomes the program.
	expect_golden "$1: all of it" "$out" "verdicts/$3.txt" live brief \
		's/at (SIZE of|its limit of) SIZE: /at LIMIT: /; /^recorded SIZE of SIZE anonymous memory/d' \
		's/^(DIR\/[a-z]+)[0-9]+/\1/; s/sh -c .*, pid/sh -c COMMAND, pid/' \
		's/(replaced by exec), SIZE live then$/\1/'
	expect_match "$1: the headline" "$out" '^KILLED  by OOM at (4[3-8](\.[0-9]+)? MiB of|its limit of) 48\.0 MiB: .* live, (100|9[0-9]|[5-8][0-9]) % from take_more over_time\.c:'
}
for ((i = 0; i < ${times:-1}; i++)); do
	# The program alone is in the group; and seep with it.
	run "$SEEP" run -o "oom$i.rec" sh -c "echo \$\$ >$group/tasks; echo grow 65536 | exec $prog"
	last
	oom "OOM of the program" sure oom
	echo 'grow 65536' >grow
	(in_group "$SEEP" run -o "all$i.rec" "$prog") <grow >out 2>err
	wait_for 10 sh -c "! grep -q . $group/tasks"
	last
	oom "OOM with seep in the group" sure oom_all
done
