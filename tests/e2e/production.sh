#!/bin/bash
# SPDX-License-Identifier: MIT
# Recipes of docs/production.md that no other test runs: its unit files, read by systemd,
# and their commands with the capabilities that they leave; containers with CAP_SYS_PTRACE
# alone, and another one's pid; always-on sampling.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_libseep
need_command jq python3
prog=$(program turnover) || exit
page=$ROOT/docs/production.md

# unit N: the N-th unit file on the page.
unit() {
	python3 - "$page" "$1" <<'EOF'
import re, sys
print(re.findall(r"```ini\n(.*?)```", open(sys.argv[1]).read(), re.S)[int(sys.argv[2])], end="")
EOF
}

# Every test that the page names is there.
while read -r name; do
	expect_eq "$name" "$(test -x "$ROOT/$name" && echo there)" there
done < <(grep -o 'tests/e2e/[a-z_]*\.sh' "$page" | sort -u)

# Units as systemd reads them, with the programs of this tree.
unit 0 | sed "s|/usr/local/bin/seep|$SEEP|" >"$TMP/seep-attach@.service"
unit 1 | sed "s|/usr/bin/api-server|$prog|" >"$TMP/api.service"
expect_match "a unit that attaches" "$(cat "$TMP/seep-attach@.service")" "^ExecStart=$SEEP attach --for 10m --cgroup"
if have systemd-analyze; then
	for file in seep-attach@.service api.service; do
		run systemd-analyze verify --man=no "$TMP/$file"
		expect_eq "systemd reads $file" "$status $(grep -F "$TMP/$file" "$TMP/err" "$TMP/out" | head -n 3)" "0 "
	done
else
	left_out "no systemd-analyze here"
fi

# begin_here: a process of another user, in $pid.
begin_here() {
	: >"$TMP/said"
	"$@" >"$TMP/said" &
	pid=$!
	wait_for 20 grep -q ready "$TMP/said" || fail "$1 did not start"
}
end_here() {
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}
names() { jq -r '[.frames[].function] | index("lose") != null' "$1"; }

if is_root "a process of another user, containers" && have setpriv; then
	# The unit's command, with its capabilities, on a process of somebody else.
	caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$TMP/seep-attach@.service" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
	chmod 0711 "$TMP"
	install -m 0755 "$prog" "$TMP/turnover"
	begin_here setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/turnover" 0 1009 60
	run setpriv --bounding-set="-all,$caps" --inh-caps="-all,$caps" --no-new-privs \
		"$SEEP" attach --exact --for 500ms --json --log-file "$TMP/json" -o "$TMP/unit.rec" "$pid"
	expect_eq "with the unit's capabilities: status" "$status $err" "0 "
	expect_eq "with the unit's capabilities: names" "$(names "$TMP/json")" true
	end_here

	# A container with the capability and no other; what is in it is number 1.
	if unshare -pf --mount-proc true 2>/dev/null; then
		begin_here unshare -pf --mount-proc "$prog" 0 1009 60
		inside=$(child_of "$pid")
		run nsenter -t "$inside" -p -m setpriv --bounding-set=-all,+sys_ptrace --inh-caps=-all,+sys_ptrace \
			"$SEEP" attach --exact --for 500ms --json --log-file "$TMP/json" 1
		expect_eq "in the container, CAP_SYS_PTRACE alone: status" "$status $err" "0 "
		expect_json "its number in there" "$TMP/json" '[.processes[].pid]' '[1]'
		expect_eq "names" "$(names "$TMP/json")" true
		run nsenter -t "$inside" -p -m setpriv --bounding-set=-all --inh-caps=-all "$SEEP" attach --for 500ms 1
		expect_match "without it" "$status $err" '^3 .*CAP_SYS_PTRACE is missing here.*--cap-add=SYS_PTRACE'
		run nsenter -t "$inside" -p -m "$SEEP" doctor 1
		expect_match "the doctor in there" "$out" '^ok +attach +works: seep attach 1$'
		# From outside, by the number that is seen there.
		run "$SEEP" attach --exact --for 500ms --json --log-file "$TMP/json" "$inside"
		expect_eq "another container's pid: status" "$status $err" "0 "
		expect_eq "another container's pid: names" "$(names "$TMP/json")" true
		expect_eq "nothing is left" "$(ours "$inside")" 0
		kill -KILL "$inside" # the first process of a namespace ignores others
		wait "$pid" 2>/dev/null
	else
		left_out "no pid namespaces here"
	fi
fi

# Always on: the unit's own settings, with another folder.
mkdir "$TMP/always"
settings=$(unit 1 | sed -n 's/^Environment=SEEP=//p' | sed "s|dir=[^,]*|dir=$TMP/always|; s/%%/%/g")
expect_match "its settings" "$settings" '^mode=sample,dir=.*,name=%e\.%p,keep=10$'
: >"$TMP/said"
LD_PRELOAD=$LIBSEEP SEEP=$settings,rate=4096 "$prog" 0 100003 60 >"$TMP/said" &
pid=$!
wait_for 20 grep -q ready "$TMP/said"
seen() { "$SEEP" report "$pid" 2>/dev/null | grep -q 'turnover\.c:3[0-9]'; }
wait_for 20 seen || fail "always on: nothing is to be seen while it runs" "$("$SEEP" report "$pid" 2>&1 | head -n 5)"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
run "$SEEP" report "$TMP/always/turnover.$pid.live"
expect_match "always on: after it was killed" "$out" '^    lose +turnover\.c:3[0-9]'
