#!/bin/bash
# SPDX-License-Identifier: MIT
# seep valgrind: command lines as people type them, options from files and the
# environment, processes, and what cannot be done.
. "$(dirname "$0")/lib.sh"
# timeout: 120
need_seep
need_libseep
c=$(program leak_report) || exit
sort_c=$(program sort_c) || exit
export HOME=$TMP/home
mkdir "$TMP/home" "$TMP/bin" "$TMP/work"
ln -s "$SEEP" "$TMP/bin/valgrind"
cd "$TMP/work" || exit
vg() { run "$TMP/bin/valgrind" "$@"; }

# ---- two documents' command lines ----
vg --log-file=valgrind.log --tool=memcheck --leak-check=full --show-leak-kinds=all "$c" arg1 0
expect_eq "status" "$status" 0
expect_eq "the program's output, and nothing else" "$out$err" arg1
expect_match "log" "$(cat valgrind.log)" '^==[0-9]+== Command: .*/leak_report arg1 0$'
expect_match "log: parent" "$(cat valgrind.log)" '^==[0-9]+== Parent PID: [0-9]+$'
expect_match "log: kinds" "$(cat valgrind.log)" 'are still reachable in loss record'
expect_eq "nothing is saved" "$(ls)" valgrind.log
seq 1 17 >num
vg --leak-check=full --show-leak-kinds=all "$sort_c" num
for line in 'HEAP SUMMARY:' 'LEAK SUMMARY:' 'ERROR SUMMARY: [0-9]+ errors from [0-9]+ contexts \(suppressed: 0 from 0\)'; do
	expect_match "sort-c: $line" "$err" "^==[0-9]+== $line\$"
done

# ---- exit statuses ----
vg "$c" x 5
expect_eq "the program's" "$status" 5
vg --error-exitcode=9 "$c" x 5
expect_eq "a summary has no errors" "$status" 5
vg --error-exitcode=9 --leak-check=full "$c" x 5
expect_eq "errors" "$status" 9
vg --error-exitcode=9 --leak-check=full /bin/true
expect_eq "none" "$status" 0
vg ./nothing
expect_eq "no such program" "$status" 127
vg /bin/sh -c 'kill -11 $$'
expect_eq "by a signal" "$status" 139

# ---- options ----
vg --leak-check=full -q "$c"
expect_match "quiet: errors" "$err" 'are definitely lost in loss record'
expect_no_match "quiet: nothing else" "$err" 'SUMMARY|Command'
vg --leak-check=no "$c"
expect_match "no" "$err" '^==[0-9]+== For a detailed leak analysis, rerun with: --leak-check=full$'
vg --leak-check=full --show-reachable=yes "$c"
expect_match "the older words" "$err" 'are still reachable in loss record'
vg --leak-check=full --show-possibly-lost=no "$c"
expect_no_match "and the other" "$err" 'are possibly lost in loss record'
vg --track-origins=yes --undef-value-errors=no --vgdb=no --smc-check=all --num-callers=30 "$c"
expect_eq "what cannot be done has a line" "$(grep -v '^==' <<<"$err")" \
	'seep valgrind: --track-origins=yes: seep does not check for uninitialised values; use valgrind itself'
expect_eq "and is run all the same" "$status" 0
for tool in helgrind callgrind dhat; do
	vg --tool=$tool --time-unit=B "$c"
	expect_eq "--tool=$tool" "$status" 1
	expect_match "--tool=$tool: one line" "$err" "^seep valgrind: --tool=$tool: [^ ].*\$"
	expect_eq "--tool=$tool: no more" "$(wc -l <<<"$err")" 1
done
for wrong in --nonsense --leak-check=some --leak-check --xml=yes --suppressions=none --xml=maybe -z --tool=x; do
	vg $wrong "$c"
	expect_eq "$wrong" "$status" 1
	expect_match "$wrong: said" "$err" '^seep valgrind: '
	expect_eq "$wrong: in one line" "$(wc -l <<<"$err")" 1
done
vg
expect_eq "no program" "$status" 1

# ---- where options come from; later ones win ----
VALGRIND_OPTS='--leak-check=full  --error-exitcode=8' vg "$c"
expect_eq "from the environment" "$status" 8
VALGRIND_OPTS='--leak-check=full --error-exitcode=8' vg --error-exitcode=6 "$c"
expect_eq "the command line wins" "$status" 6
echo "--memcheck:leak-check=full --massif:depth=3 --error-exitcode=4" >"$HOME/.valgrindrc"
vg "$c"
expect_eq "from the home folder" "$status" 4
VALGRIND_OPTS=--error-exitcode=8 vg "$c"
expect_eq "the environment wins" "$status" 8
echo "'--error-exitcode=5'" >.valgrindrc
VALGRIND_OPTS=--error-exitcode=8 vg "$c"
expect_eq "this folder wins" "$status" 5
chmod o+w .valgrindrc
VALGRIND_OPTS=--error-exitcode=8 vg "$c"
expect_eq "unless anybody can write to it" "$status" 8
expect_match "which is said" "$err" '^seep valgrind: \./\.valgrindrc was not read: '
rm .valgrindrc "$HOME/.valgrindrc"

# ---- processes: forks are told, other programs only when asked for ----
vg /bin/sh -c "$c x; $c y; exit 3"
expect_eq "a shell: its status" "$status" 3
expect_eq "a shell: not what it starts" "$(grep -c 'definitely lost: 3,419' <<<"$err")" 0
vg --trace-children=yes /bin/sh -c "$c x; $c y; exit 3"
expect_eq "what it starts" "$(grep -c 'definitely lost: 3,419' <<<"$err")" 2
vg --trace-children=yes --log-file='%q{NAME}.%p.log' /bin/sh -c "$c x; exit 0"
expect_eq "a variable that is not there" "$status" 1
NAME=log vg --trace-children=yes --leak-check=full --log-file='%q{NAME}.%p.log' /bin/sh -c "$c x; exit 0"
expect_eq "a file for each" "$(grep -l 'definitely lost: 3,419' log.*.log | wc -l)" 1
expect_between "all of them" "$(find . -name 'log.*.log' | wc -l)" 2 3
