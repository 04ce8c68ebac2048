#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that is an interpreter and says where its frames are (seep_runtime_register):
# its scripts' functions and lines are in every stack, exact and sampled, in every format;
# two lines under one native path are two sites, and a line of an outer function alone
# makes another stack; damaged chains do no harm and are counted.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
prog=$(program interp) || exit 1
compare=$(dirname "$0")/lib_interp.py
cd "$TMP" || exit 1

# sites WHAT SHARE: the report on what.rec has what the program said.
sites() {
	"$SEEP" report --json --all what.rec >what.json || echo "no report" >&2
	run python3 "$compare" truth what.json "$2"
	expect_match "$1: sites" "$out" '^[1-9][0-9]* met, 0 wrong$'
}

for how in plain threads types reuse deep hidden late loop wild odd text; do
	"$SEEP" run --log-file log -o what.rec -- "$prog" $how >truth
	expect_eq "$how: status" $? 0
	expect_match "$how: registered once" "$(head -1 truth)" '^refused -1 -1 -1 registered 0 again 0$'
	sites "$how" 0
	cp what.rec $how.rec
	"$SEEP" run --log-file log --sample 1 -o what.rec -- "$prog" $how >truth
	expect_eq "$how sampled: status" $? 0
	sites "$how sampled" 0.01
done

# Without seep the program runs as it did.
run "$prog" plain
expect_eq "alone: status" "$status" 0
expect_match "alone: not registered" "$out" '^refused -1 -1 -1 registered -1 again -1$'

# The text report: function, file and line; the type of what was made.
run "$SEEP" report --all --by live plain.rec
expect_match "report: callee" "$out" 'load +load\.fk:11'
expect_match "report: another line" "$out" 'load +load\.fk:12'
expect_match "report: caller" "$out" 'script +main\.fk:1'
expect_match "report: caller's other line" "$out" 'script +main\.fk:2'
expect_match "report: complete" "$out" 'exact, nothing missed'
run "$SEEP" report --all --by live types.rec
expect_match "report: types" "$out" '^ +types Session 45 %, list 33 %, unknown 22 %$'
run "$SEEP" report --top --focus '^callback$' --bytes plain.rec
expect_match "focus: by function" "$out" 'total 1070|^ *1070\b'
run "$SEEP" report --top --focus 'load\.fk' --ignore callback --bytes plain.rec
expect_match "focus: by file" "$out" '2032'
run "$SEEP" report --tree plain.rec
expect_match "tree" "$out" 'load'

# What other tools read. Native frames around them stay where they are.
run "$SEEP" convert plain.rec plain.folded
expect_match "folded: lines of a script are one function" "$(cat plain.folded)" 'main;plain;script;load;grow 2032$'
expect_match "folded: C between them" "$(cat plain.folded)" 'main;plain;script;load;each;callback;grow 1070$'
expect_eq "folded: nothing else" "$(wc -l <plain.folded)" 2
"$SEEP" convert plain.rec plain.pb.gz 2>/dev/null
run "$SEEP" report --json --all plain.pb.gz
expect_match "pprof: read back" "$out" '"function":"callback","linkage":"callback","file":"/srv/each.fk","line":21'
"$SEEP" convert plain.pb.gz again.folded 2>/dev/null
expect_eq "pprof: the same stacks" "$(cat again.folded)" "$(cat plain.folded)"
"$SEEP" convert plain.rec plain.speedscope.json 2>/dev/null
expect_match "speedscope" "$(cat plain.speedscope.json)" '"name":"callback","file":"/srv/each.fk"'
"$SEEP" report --html plain.html plain.rec 2>/dev/null
expect_match "html" "$(cat plain.html)" 'callback'
expect_match "packed again" "$("$SEEP" convert plain.rec second.rec 2>&1)" 'wrote'
mv second.rec what.rec
"$prog" plain >truth
sites "packed again" 0

# A child that was forked begins its own recording with the runtimes of its parent.
"$SEEP" run --log-file log -o what.rec -- "$prog" fork >truth
sites "forked" 0
run python3 -c 'import json; print(*(p["inherited"]["blocks"] for p in json.load(open("what.json"))["processes"] if p["inherited"]))'
expect_match "forked: knows its parent's blocks" "$out" '^30$'

# What is not whole is said.
run "$SEEP" report loop.rec
expect_match "loop: counted" "$out" '11 stacks could not be unwound to main'
run "$SEEP" report --json deep.rec
expect_match "deep: placed by guess" "$out" '"mixed":1\b'
run "$SEEP" report text.rec
expect_match "text: placed by guess" "$out" '1 stack has the frames of its interpreter in a place that is a guess'
