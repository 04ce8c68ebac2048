#!/bin/bash
# SPDX-License-Identifier: MIT
# Names that others chose (of processes, files, threads, functions) never reach the
# terminal as control characters, marks of direction or rows of their own, whichever
# command prints them.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep

# expect_clean WHAT FILE: no control byte but newline and tab, no C1 character, no mark of
# direction.
expect_clean() {
	local bad
	bad=$(LC_ALL=C grep -naP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]' "$2" | cat -v)
	expect_eq "$1" "$bad" ""
}

esc=$'\033'
bidi=$'\xe2\x80\xae'
prog=$TMP/"x${esc}]0;owned"$'\n'"ok    process 1${bidi}"
cp "$(program hostile_name)" "$prog"
mkfifo "$TMP/ready"
LD_PRELOAD=$LIBSEEP SEEP=mode=exact,dir=$TMP "$prog" >"$TMP/ready" &
pid=$!
read -r _ <"$TMP/ready"

for words in "doctor $pid" ps "why $pid --for 0" "leaks $pid" "report $pid" "scan $pid" "mark $pid" "detach $pid"; do
	# shellcheck disable=SC2086 # words
	run "$SEEP" $words
	expect_clean "seep ${words%% *}: stdout" "$TMP/out"
	expect_clean "seep ${words%% *}: stderr" "$TMP/err"
	expect_no_match "seep ${words%% *}: no row made by a newline in a name" "$out$err" '^(ok)? +process 1|^ +1 \?'
	case $words in
	doctor*) expect_match "doctor shows the name" "$out" "^ok +process +$pid \(a\?\[2J\? +1" ;;
	ps) expect_eq "one row" "$(grep -c "^ *$pid  " <<<"$out")" 1 ;;
	esac
done
kill -9 $pid
wait $pid 2>/dev/null

# A profile with names inside, as anyone may send it.
cat >"$TMP/bad.heap" <<X
--- symbol
binary=/bin/x${esc}[31m
0x0000000000001001 evil${esc}[2J${esc}]0;t${bidi}_fn
---
--- heap
heap profile: 1: 1000 [ 1: 1000] @ heap_v2/1
1: 1000 [ 1: 1000] @ 0x1001
X
for words in "jeprof --stacks --text" "jeprof --text" "jeprof --traces" "pprof -top" "pprof -traces" report; do
	# shellcheck disable=SC2086 # words
	run "$SEEP" $words "$TMP/bad.heap"
	expect_clean "seep $words: stdout" "$TMP/out"
	expect_clean "seep $words: stderr" "$TMP/err"
done
expect_match "the name is still to be read" "$out" 'evil\?\[2J.*_fn'

# mtrace quotes the program that its log names.
printf '= Start\n@ /tmp/x%s[2J:(main+0x1)[0x1%s] + 0x5000 0x10\n= End\n' "$esc" "$bidi" >"$TMP/mtrace.log"
run "$SEEP" mtrace "$TMP/mtrace.log"
expect_clean "seep mtrace: stdout" "$TMP/out"
expect_clean "seep mtrace: stderr" "$TMP/err"
expect_match "mtrace tells the block" "$out" '0x0*5000 '

# JSON keeps the name whole, and is as harmless.
run "$SEEP" report --json "$TMP/bad.heap"
expect_clean "seep report --json" "$TMP/out"
expect_json "the name in JSON" "$TMP/out" \
	'[.. | strings | select(test("evil"))][0] | explode | map(select(. == 27 or . == 8238)) | length' 3

# Data is not touched: a converted profile is byte for byte what its file is.
run "$SEEP" convert --to pprof "$TMP/bad.heap" "$TMP/file.pb.gz"
run "$SEEP" convert --to pprof "$TMP/bad.heap" -
expect_eq "data to standard output" "$(cmp "$TMP/out" "$TMP/file.pb.gz" && echo same)" same

# On a terminal the styles of our own pass, and nothing else does.
if have script; then
	TERM=xterm script -qec "$SEEP report --no-pager $TMP/bad.heap" /dev/null </dev/null | tr -d '\r' >"$TMP/tty"
	expect_match "a style of ours" "$(cat -v "$TMP/tty")" '\^\[\[[0-9;]+m'
	sed -E 's/\x1b\[(0|1|2|1;31|33|32|36)m//g' "$TMP/tty" >"$TMP/plain"
	expect_clean "nothing else" "$TMP/plain"
	# A terminal is not sent data either.
	for format in csv folded; do
		TERM=xterm script -qec "$SEEP convert --to $format $TMP/bad.heap -" /dev/null </dev/null | tr -d '\r' >"$TMP/tty"
		expect_match "$format: is printed" "$(<"$TMP/tty")" 'evil'
		expect_clean "$format: on a terminal" "$TMP/tty"
	done
	# The line that says how far it is goes over itself.
	TERM=xterm script -qec "$SEEP why --for 300ms $$" /dev/null </dev/null >"$TMP/tty"
	expect_match "progress" "$(cat -v "$TMP/tty")" '\^M\^\[\[Kexamining: '
	expect_no_match "no sign in its place" "$(cat -v "$TMP/tty")" 's[?]looking'
fi
