#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that confine themselves in the middle of their work: another root, another
# user, no descriptors, no system calls. They survive; what was recorded is exact, the
# rest is counted.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program confine) || exit
mkdir "$TMP/empty"
chmod 755 "$TMP" "$TMP/empty"

# confined WHAT CHILDREN ARGS...: its fork has a recording of its own (yes), or is counted
# as lost (no).
confined() {
	local what=$1 children=$2
	shift 2
	record "$prog" "$@"
	expect_eq "$what: status" "$status $err" "0 "
	expect_truth "$what" "$TMP/json" "$out"
	if [ "$children" = yes ]; then
		expect_nothing_lost "$what" "$TMP/json"
		expect_truth "$what" "$TMP/json" "expect in=make_childs allocs=13 live_bytes=3991"
	else
		expect_json "$what: the child is not forgotten" "$TMP/json" \
			'[(.processes[0].lost.child), ([.processes[] | select(.not_recorded != null)] | length)] | add' 1
		expect_truth "$what" "$TMP/json" "expect in=make_childs allocs=0"
		expect_no_match "$what: no all-clear" "$(jq -r .summary.verdict "$TMP/json")" '^(OK|STEADY)$'
	fi
}

confined "close" yes close
confined "limits" no limits
# A filter that was only asked for is none: nothing is sealed by it.
confined "probe" yes probe
record "$prog" probe SIGTERM
expect_eq "probe: ended by a signal" "$status" 143
expect_json "probe: looked at all the same" "$TMP/json" '.processes[0].leaks.done' true
if is_root "chroot and setuid"; then
	confined "chroot" no chroot "$TMP/empty"
	confined "setuid before" no setuid
	confined "setuid after" no setuid-late
	# Another user from the start cannot write into root's folder: it runs, and that
	# is said.
	if have setpriv; then
		cp "$prog" "$TMP/empty/confine"
		record setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/empty/confine" close
		expect_eq "another user: status" "$status" 0
		expect_json "another user: recorded or said" "$TMP/json" \
			'[.processes[] | select(.not_recorded != null or .allocs == 52)] | length > 0' true
	fi
fi

n=$(times 1009 40009)
for how in prctl syscall; do
	record "$prog" seccomp $how "$n"
	if [ "$status" = 77 ]; then
		left_out "$out"
		continue
	fi
	expect_eq "seccomp by $how: status" "$status $err" "0 "
	"$SEEP" report --json --all "$TMP/rec" >"$TMP/json" # it has more than 1,000 sites
	expect_truth "seccomp by $how" "$TMP/json" "$out"
	seen=$(jq '.frames as $f | [.sites[] | select(any(.stack[]; $f[.].function == "make_after")) | .allocs] | add // 0' "$TMP/json")
	missing=$(jq '.processes[0].lost | .space + .thread + .reentry + .lock' "$TMP/json")
	all=$(sed -n 's/^after //p' <<<"$out")
	expect_between "seccomp by $how: seen or counted as lost" $((seen + missing)) "${all:-0}" "${all:-0}"
	expect_between "seccomp by $how: seen" "$seen" 1 "${all:-0}"
	expect_json "seccomp by $how: said" "$TMP/json" '.processes[0].lost.sealed_by_seccomp' true
done

# What a confined program makes is confined as well: it is let be, and counted.
# inherited_filter MODE LOST: .lost of the process, as JSON.
inherited_filter() {
	run "$prog" "$1"
	local alone="$status $out"
	if [ "$status" = 77 ]; then
		left_out "$out"
		return
	fi
	record "$prog" "$1"
	expect_eq "$1: as without seep" "$status $out$err" "$alone"
	expect_truth "$1" "$TMP/json" "$out"
	expect_json "$1: one recording" "$TMP/json" '[.processes[] | select(.not_recorded == null)] | length' 1
	expect_json "$1: counted" "$TMP/json" '.processes[0].lost | {child, exec, sealed_by_seccomp}' "$2"
}

# What fails to start is no process that is missing.
options=(--redzone=32)
inherited_filter seccomp-fork '{"child":1,"exec":0,"sealed_by_seccomp":true}'
options=()
inherited_filter seccomp-fork '{"child":1,"exec":0,"sealed_by_seccomp":true}'
expect_json "seccomp-fork: its end" "$TMP/json" '.processes[0] | [.end, .status]' '["exited",0]'
inherited_filter seccomp-exec '{"child":0,"exec":1,"sealed_by_seccomp":true}'
# It ends by its own signal, not by one of the filter's for what a handler of ours asks.
ulimit -c 0
inherited_filter seccomp-fault '{"child":0,"exec":0,"sealed_by_seccomp":true}'

# Memory is refused where we would give back ours, but may not.
run "$prog" seccomp-refused
if [ "$status" = 77 ]; then
	left_out "$out"
else
	# shellcheck disable=SC2016 # the inner shell's
	record bash -c 'ulimit -v 16000000; exec "$0" seccomp-refused' "$prog"
	expect_eq "refused under a filter: status" "$status $err" "0 "
	expect_truth "refused under a filter" "$TMP/json" "$out"
fi
