#!/bin/bash
# SPDX-License-Identifier: MIT
# No program that a run starts is missed without a word: those that are started with an
# environment of their own are recorded and see nothing of it, the others are counted,
# named and part of the verdict.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program children) || exit
static=$(program children static -O1 -g -fno-builtin -static -pthread) || exit
cd "$TMP" || exit
mkdir tree
cp "$prog" tree/children
cp "$prog" tree/leaker
cp "$static" tree/static

# Every way to start a program: it is recorded, and its environment is the one that it was
# given.
run tree/children all "$prog"
alone=$out
expect_eq "without seep: status" "$status $err" "0 "
record tree/children all "$prog"
expect_eq "status" "$status $err" "0 "
expect_eq "the same with seep" "$(diff <(echo "$alone") <(echo "$out"))" ""
ways=$(grep -c 'status 0$' <<<"$out")
expect_eq "ways" "$ways" 16
expect_json "those started are recorded" json \
	'[.sites[] | select(.allocs > 0 and .allocated_bytes == 4711 * .allocs) | .allocs] | add' $((23 * ways))
expect_nothing_lost "those started" json
run env -i "$(command -v env)"
alone=$out
run "$SEEP" run --no-save env -i env
expect_eq "env -i env" "$out" "$alone"
# Asked for by name, our variables are there all the same.
run "$SEEP" run --no-save env -u LD_PRELOAD -u SEEP tree/leaker leak
expect_match "env -u" "$err" '^LEAK  106 KiB in 23 blocks lost at 1 site, 23 times$'

# golden NAME COMMAND...: its whole report. What the system's own programs allocate is not
# the test's business.
golden() {
	local name=$1
	shift
	run "$SEEP" run --no-save "$@"
	expect_golden "$name" "$(sed -E 's/(replaced by exec), .* live then$/\1/' <<<"$err")" "children/$name.txt"
}
golden env-i env -i ./tree/leaker leak
golden execle ./tree/children execle ./tree/leaker
golden clearenv ./tree/children clearenv ./tree/leaker

# Children that end at once have nothing to record, and are counted all the same.
golden quick ./tree/children quick 5 0
golden quick-some ./tree/children quick 5 3
record tree/children quick 5 3
expect_json "quick" json '[(.processes | length), .processes[0].quiet_children, ([.processes[].lost.child] | add)]' '[4,5,0]'
record tree/children fork tree/leaker 5
expect_json "executed: not quiet" json '[.processes[].quiet_children] | add' 0

# A program that executes itself: the figures are those of the image that went on to the
# end.
golden again ./tree/children again

# What cannot be recorded is said, and no all-clear is given for it.
golden static ./tree/children many ./tree/static 3
golden static-exec ./tree/children execle ./tree/static
golden static-beside tree/children many "$static" 1
run "$SEEP" run --no-save sh -c 'tree/static leak; tree/leaker leak; true'
expect_match "a leak comes first" "$(head -n 1 <<<"$err")" '^LEAK  106 KiB in 23 blocks lost at 1 site, 23 times, in leaker '
expect_match "a leak, and what is missing" "$err" '^static \([0-9]+\) not recorded: statically linked; '
expect_match "a leak, and the processes" "$err" '^3 processes: 2 exited 0, 1 not recorded · exact, but not everything was recorded · '
record tree/children many tree/static 130
expect_json "130 times" json '[.processes[0].lost.exec, (.processes | length), .summary.verdict, .summary.no_verdict_because]' \
	'[130,101,"NO VERDICT","not-recorded"]'
run "$SEEP" report rec
expect_match "130 times: named" "$out" '^static × 100 not recorded: statically linked; '
expect_match "130 times: counted" "$out" '^not recorded: 30 programs that were started and cannot be recorded$'
golden blind ./tree/children blind
# Forked children that never allocated say so in their parent's recording; what was not
# started is not missed.
record tree/children fork tree/static 5
expect_json "forked" json '[.processes[0].lost.exec, ([.processes[] | select(.not_recorded != null)] | length)]' '[5,5]'
expect_json "forked: each has its number" json '[.processes[1].pid > 0, .processes[1].ppid == .processes[0].pid]' '[true,true]'
record tree/children fork /nowhere/at/all 5
expect_json "nothing started" json '[.processes[0].lost.exec, (.processes | length), .processes[0].quiet_children]' '[0,1,5]'
# The environment of a program with threads cannot be changed for a moment.
record tree/children threads tree/leaker
expect_json "threads" json '[.summary.verdict, (.processes[] | select(.not_recorded != null) | .name, .cmdline, .not_recorded)]' \
	'["NO VERDICT","sh","sh -c tree/leaker","started with an environment without LD_PRELOAD and SEEP"]'
if is_root "a setuid program"; then
	cp "$prog" tree/setuid
	chown 65534 tree/setuid
	chmod 4755 tree/setuid
	chmod 755 "$TMP"
	record tree/children many tree/setuid 1
	if grep -q nosuid <(findmnt -no OPTIONS -T "$TMP") || [ "$(stat -c %a tree/setuid)" != 4755 ]; then
		left_out "no setuid programs here"
	else
		expect_json "setuid" json '[.processes[] | .not_recorded]' \
			'[null,"setuid, setgid or with capabilities, so the loader ignores LD_PRELOAD"]'
	fi
fi

# Nobody asked for other programs: only this one is recorded, and nothing is missing.
options=(--no-children)
record tree/children many tree/leaker 2
expect_json "--no-children" json '[(.processes | length), .processes[0].lost.exec]' '[1,0]'
options=()
# Recorded without seep run: what its own environment does not hand on is not forced on
# others, but said.
mkdir on
run env LD_PRELOAD="$LIBSEEP" SEEP=mode=exact,dir="$TMP/on" tree/children many tree/leaker 2
run "$SEEP" report --json on/*
expect_json "always on" out '[.processes[].not_recorded]' \
	'[null,"started with an environment without LD_PRELOAD and SEEP","started with an environment without LD_PRELOAD and SEEP"]'
