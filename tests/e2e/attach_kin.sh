#!/bin/bash
# SPDX-License-Identifier: MIT
# Children of a process that is attached to: recorded with --children if they live for a
# moment, else counted; the parent goes on being recorded, and nothing of ours stays in
# any of them. Many processes at once take little memory.
# shellcheck disable=SC2016 # jq has variables of its own
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
prog=$(program attach_kin) || exit

recorded() { [ "$(ours "$pid")" = 1 ]; }
# kin LINE...: attaches to a begun process with its children, gives it these lines, and
# ends it; JSON is in $TMP/json.
kin() {
	local line
	"$SEEP" attach --for 0 --exact --children --json --log-file "$TMP/json" "$pid" &
	attacher=$!
	wait_for 20 recorded || fail "it is not attached to"
	for line in "$@"; do
		before=$(grep -c 'done' "$TMP/said")
		echo "$line" >&8
		wait_for 60 more_done "$before" || fail "the process does not go on"
	done
	kill -INT $attacher
	wait $attacher
	expect_eq "status" $? 0
	expect_eq "nothing is left in the parent" "$(ours "$pid")" 0
}

# ---- connections that come and go: none lives long enough, all are counted
begin "$prog"
kin "37 0" "46 0"
expect_json "short: no process but the parent" "$TMP/json" '.processes | length' 1
expect_json "short: each child is counted" "$TMP/json" '.processes[0].lost.missed_child' 83
finish
expect_eq "short: all ended as they should" "$ended" 0

# ---- children that live for a second: recorded, beside their parent
begin "$prog"
kin "23 0" "3 2000" "11 0"
blocks=$(awk '/^done/ { n += $3 } END { print n }' "$TMP/said")
expect_json "long: the children are there" "$TMP/json" '.processes | length' 4
expect_json "long: the others are counted" "$TMP/json" '[.processes[].lost.missed_child] | add' 34
expect_json "long: the parent is recorded to the end" "$TMP/json" \
	'.frames as $f | [.sites[] | select([.stack[] | $f[.].function] | index("make_parent")) | .allocs] | add' "$blocks"
finish
expect_eq "long: all ended as they should" "$ended" 0

# ---- what was forked and is not attached to: as if nobody had been there
for options in "" --children; do
	begin "$prog"
	# shellcheck disable=SC2086 # an option or none
	"$SEEP" attach --for 0 --exact $options "$pid" 2>"$TMP/report" &
	attacher=$!
	wait_for 20 recorded || fail "it is not attached to"
	echo "1 20000" >&8
	has_child() { [ -n "$(child_of "$pid")" ]; }
	wait_for 20 has_child
	kid=$(child_of "$pid")
	kill -INT $attacher
	wait $attacher
	expect_eq "a child, $options: nothing of ours" "$(ours "$kid")" 0
	plain() { sed -E 's/^[^ ]+ ([^ ]+) [^ ]+ ([^ ]+) [^ ]+ */\1 \2 /' "/proc/$1/maps" | grep -v 'heap\|stack' | sort; }
	"$prog" </dev/zero >/dev/null &
	other=$!
	sleep 0.2
	expect_eq "a child, $options: no mappings of ours" "$(plain "$kid")" "$(plain $other)"
	kill $other "$kid"
	wait $other 2>/dev/null
	finish
done

# ---- 69 processes at once
if have /usr/bin/python3; then
	all=()
	for i in $(seq 69); do
		"$prog" < <(sleep 60) >"$TMP/ready.$i" &
		all+=($!)
	done
	all_ready() { [ "$(grep -l ready "$TMP"/ready.* | wc -l)" = 69 ]; }
	wait_for 60 all_ready
	run /usr/bin/python3 -c 'import resource, subprocess, sys
r = subprocess.run(sys.argv[1:], stderr=subprocess.PIPE, text=True)
print(r.returncode, r.stderr.count("detached, nothing left"), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' \
		"$SEEP" attach --for 500ms "${all[@]}"
	read -r code left mib <<<"$out"
	expect_eq "69 processes: all of them" "$code $left" "0 69"
	expect_between "69 processes: MiB" "$mib" 1 256
	kill "${all[@]}"
	wait "${all[@]}" 2>/dev/null || :
fi
