#!/bin/bash
# SPDX-License-Identifier: MIT
# A process waits at its end for the look at its memory only as long as there is somebody
# to look; what is found then is in the report, in the saved file and in other tools'
# words.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program leak_life) || exit
held=$(program leak_held) || exit
cd "$TMP" || exit

# ---- what is said, and where ----
run "$SEEP" run -o a.rec -- "$prog" returns
expect_match "a leak" "$err" '^LEAK \(minor\)  409 B in 1 block lost at 1 site, once$'
expect_match "the rest" "$err" '^definitely lost 409 B in 1 block · possibly lost 0 · still reachable 419 B in 1 block · freed only at exit 0'
expect_match "its place" "$err" ' leak +leak_life\.c:[0-9]+ +leak_hide\(malloc\(409\)\);'
expect_no_match "what is reachable is not listed" "$err" 'malloc\(419\)'
run "$SEEP" report a.rec
expect_match "the same from the file" "$out" '^LEAK \(minor\)  409 B in 1 block lost at 1 site, once$'
run "$SEEP" leaks a.rec
expect_match "and from seep leaks" "$out" '^LEAK \(minor\)  409 B in 1 block lost at 1 site, once$'
run "$SEEP" run --leak-kinds=reachable -o a.rec -- "$prog" returns
expect_match "reachable, if asked for" "$err" 'malloc\(419\)'
expect_no_match "and nothing else then" "$err" 'malloc\(409\)'
run "$SEEP" run -o a.rec -- "$prog" nothing
expect_match "nothing" "$err" '^OK  '
run "$SEEP" run --no-leak-check -o a.rec -- "$prog" returns
expect_match "not looked for" "$err" '^NO VERDICT  828 B in 2 blocks at 2 sites not freed; no leak check: it was switched off'
expect_no_match "not looked for: no figures" "$err" 'reachable|definitely'
run "$SEEP" leaks a.rec
expect_eq "not looked for: seep leaks" "$status" 3
expect_match "not looked for: seep leaks says so" "$err" 'it has no leak check; record it with seep run'
run "$SEEP" run --sample=1 -o a.rec -- "$prog" returns
expect_no_match "sampled: no figures" "$err" 'reachable|definitely'

# ---- memcheck's words ----
run "$SEEP" run --format=memcheck --leak-kinds=all -o a.rec -- "$prog" returns
sed 's/^==[0-9]*== \?//; s/0x[0-9A-F]*/ADDR/' <<<"$err" >memcheck
for line in 'HEAP SUMMARY:' '    in use at exit: 828 bytes in 2 blocks' \
	'  total heap usage: 2 allocs, 0 frees, 828 bytes allocated' \
	'409 bytes in 1 blocks are definitely lost in loss record 1 of 2' \
	'419 bytes in 1 blocks are still reachable in loss record 2 of 2' \
	'LEAK SUMMARY:' '   definitely lost: 409 bytes in 1 blocks' '   indirectly lost: 0 bytes in 0 blocks' \
	'     possibly lost: 0 bytes in 0 blocks' '   still reachable: 419 bytes in 1 blocks' \
	'        suppressed: 0 bytes in 0 blocks' \
	'ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)'; do
	expect_eq "memcheck: $line" "$(grep -cxF -- "$line" memcheck)" 1
done
expect_match "memcheck: stack" "$(cat memcheck)" '^   by ADDR: leak \(leak_life\.c:[0-9]+\)$'
run "$SEEP" run --format=memcheck -o a.rec -- "$prog" nothing
expect_match "memcheck: nothing left" "$err" '^==[0-9]+== All heap blocks were freed -- no leaks are possible$'
if have valgrind; then
	# The same lines in the same order, but for addresses and what stands for malloc
	# itself.
	plain() { sed -nE 's/^==[0-9]+== ?//; s/0x[0-9A-F]+/ADDR/; /^HEAP SUMMARY/,$p' "$1" |
		grep -vE '^ +at ADDR|rerun with|^ ?$|main \(leak_life|Reachable blocks'; }
	valgrind --leak-check=full --show-leak-kinds=all --log-file=vg "$prog" returns >/dev/null 2>&1
	"$SEEP" run --format=memcheck --leak-kinds=all --log-file=ours -o a.rec -- "$prog" returns >/dev/null
	expect_eq "memcheck: as valgrind writes it" "$(plain ours)" "$(plain vg)"
fi
run "$SEEP" run --error-exitcode=77 -o a.rec -- "$prog" returns
expect_eq "exit status for a leak" "$status" 77
run "$SEEP" run --error-exitcode=77 -o a.rec -- "$prog" nothing
expect_eq "and for none" "$status" 0
run "$SEEP" run --leak-kinds=lost -o a.rec -- "$prog" nothing
expect_eq "no such kind" "$status" 2
run "$SEEP" run --sample --error-exitcode=3 -o a.rec -- "$prog" nothing
expect_eq "not without the check" "$status" 2

# ---- nobody to look ----
# The program makes a file when main is over, and a destructor another one.
seconds() { # COMMAND...: in milliseconds
	local start
	start=$(date +%s%N)
	"$@" >/dev/null 2>&1
	echo $((($(date +%s%N) - start) / 1000000))
}
expect_between "preloaded without a tool: does not wait" \
	"$(seconds env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP" "$prog" returns)" 0 4000
rm -f ./*.live
expect_between "a tool that is no more: does not wait" \
	"$(seconds env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP,hold=4194303" "$prog" returns)" 0 4000
rm -f ./*.live
"$SEEP" run -o killed.rec -- "$held" ready go >killed.out 2>/dev/null &
tool=$!
wait_for 10 test -e ready || fail "does not start"
child=$(child_of $tool)
kill -KILL $tool
{ wait $tool; } 2>/dev/null
touch go
gone() { ! kill -0 "$child" 2>/dev/null || grep -q '^State:.Z' "/proc/$child/status"; }
wait_for 20 gone
expect_eq "the tool was killed: the program ends by itself" "$?" 0
expect_eq "the tool was killed: and has said all it had to say" "$(cat killed.out)" "main is over
destructor"
"$SEEP" ps >/dev/null 2>&1 # takes in what was left behind

# ---- a process that runs ----
rm -f ready go
"$SEEP" run -o running.rec -- "$held" ready go >running.out 2>running.err &
tool=$!
wait_for 10 test -e ready || fail "does not start"
child=$(child_of $tool)
run "$SEEP" leaks "$child"
expect_eq "running: status" "$status" 0
expect_match "running: lost" "$out" '^LEAK \(minor\)  4\.89 KiB in 11 blocks lost at 1 site, 11 times$'
expect_match "running: the pause" "$out" '^stopped [0-9.]+ .?s \+ [0-9.]+ .?s, 3 threads, [0-9]+ blocks; checked on a copy$'
run "$SEEP" leaks --json "$child"
expect_json "running: in JSON" "$TMP/out" '.summary.leaks | [.done, .definite_blocks, .definite_bytes, .possible_blocks]' '[true,11,5005,0]'
run "$SEEP" leaks --error-exitcode=9 "$child"
expect_eq "running: status when asked" "$status" 9
touch go
wait $tool
expect_eq "running: ends as ever" "$?" 0
expect_eq "running: says what it has to say" "$(cat running.out)" "main is over
destructor"
expect_match "running: and the same at its end" "$(cat running.err)" '^LEAK \(minor\)  4\.89 KiB in 11 blocks lost at 1 site'
# And again and again one that does not sit still: what is on its way is not lost.
rm -f ready go
"$SEEP" run -o busy.rec -- "$held" ready go busy >busy.out 2>busy.err &
tool=$!
wait_for 10 test -e ready || fail "does not start"
child=$(child_of $tool)
for i in 1 2 3 4 5 6 7 8; do
	run "$SEEP" leaks --json "$child"
	expect_json "busy, look $i" "$TMP/out" '.summary.leaks | [.done, .definite_blocks, .definite_bytes, .indirect_blocks, .possible_blocks]' \
		'[true,11,5005,0,0]'
done
touch go
wait $tool
expect_eq "busy: ends as ever" "$?" 0
expect_match "busy: and the same at its end" "$(cat busy.err)" '^LEAK \(minor\)  4\.89 KiB in 11 blocks lost at 1 site, 11 times'
run "$SEEP" leaks --new $$
expect_eq "not recorded: status" "$status" 3
expect_match "not recorded" "$err" 'not recorded'
