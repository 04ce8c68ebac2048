#!/bin/bash
# SPDX-License-Identifier: MIT
# seep attach --cgroup: every process of a control group and of those below it, and no
# other; in the hierarchies that this machine has, of version 1 and 2, by the name that
# /proc/PID/cgroup shows and by the folder's.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
[ "$(id -u)" = 0 ] || skip "control groups are made by root"
prog=$(program turnover) || exit
name=seep-test-$$
groups=()
pids=()

# away: processes back to the top, groups removed.
away() {
	local g p
	for p in "${pids[@]}"; do
		kill "$p" 2>/dev/null
	done
	wait
	for g in "${groups[@]}"; do
		for ((i = 0; i < 50; i++)); do
			rmdir "$g/below" "$g" 2>/dev/null
			[ -d "$g" ] || break
			sleep 0.1
		done
	done
}

# worker GROUP: a process in that group; its number is the last of pids.
worker() {
	: >"$TMP/said"
	"$prog" 500 0 60 >"$TMP/said" &
	pids+=($!)
	wait_for 20 grep -q ready "$TMP/said"
	[ -z "$1" ] || echo $! >"$1/cgroup.procs"
}

# try WHAT MOUNT: a group below MOUNT with a process, another with one below that, and a
# process beside them.
try() {
	local what=$1 group=$2/$name one two
	if ! mkdir "$group" "$group/below" 2>/dev/null; then
		left_out "$what: no group can be made below $2"
		return
	fi
	groups+=("$group")
	worker "$group"
	one=${pids[-1]}
	worker "$group/below"
	two=${pids[-1]}
	for path in "$name" "/$name" "$group"; do
		run "$SEEP" attach --cgroup "$path" --for 200ms --json
		cp "$TMP/err" "$TMP/json"
		expect_eq "$what, $path: status" "$status" 0
		expect_json "$what, $path: these two" "$TMP/json" '[.processes[].pid] | sort' "[$one,$two]"
	done
	run "$SEEP" attach --cgroup "$name/below" --for 200ms --json
	cp "$TMP/err" "$TMP/json"
	expect_json "$what: the one below" "$TMP/json" '[.processes[].pid]' "[$two]"
	expect_eq "$what: nothing is left" "$(ours "$one") $(ours "$two")" "0 0"
	kill "$one" "$two"
	wait "$one" "$two" 2>/dev/null
	run "$SEEP" attach --cgroup "$name" --for 200ms
	expect_eq "$what, empty: status" "$status" 3
	expect_match "$what, empty: why" "$err" "^seep( attach)?: $name: no process is in that control group"
	for ((i = 0; i < 50; i++)); do
		rmdir "$group/below" "$group" 2>/dev/null
		[ -d "$group" ] || break
		sleep 0.1
	done
}

worker ""
if [ -e /sys/fs/cgroup/cgroup.procs ]; then
	try "version 2" /sys/fs/cgroup
	left_out "no version 1 here"
else
	[ -e /sys/fs/cgroup/unified/cgroup.procs ] && try "version 2, hybrid" /sys/fs/cgroup/unified
	for mount in memory pids; do
		[ -e /sys/fs/cgroup/$mount/cgroup.procs ] && try "version 1, $mount" /sys/fs/cgroup/$mount
	done
fi
run "$SEEP" attach --cgroup "$name/none" --for 200ms
expect_eq "no such group: status" "$status" 3
expect_match "no such group: why" "$err" "^seep( attach)?: $name/none: no such control group; see: cat /proc/PID/cgroup"
away
