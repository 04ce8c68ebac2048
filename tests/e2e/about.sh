#!/bin/bash
# SPDX-License-Identifier: MIT
# Every report that was asked for begins with what it is about: file, command, pid and
# date. What programs read does not, nor does the report of `seep run`, which answers at
# once.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
cd "$TMP" || exit

cat >leaky.c <<'END'
#include <stdlib.h>
static void *volatile last;
int main(void) { for (int i = 0; i < 23; i++) last = malloc(1000); return 0; }
END
"${CC:-gcc}" -g -O1 -fno-builtin -o leaky leaky.c || exit
expect_status 0 "$SEEP" run -o leaky.rec ./leaky -x
expect_match "run: the answer is first" "$(head -n 1 "$TMP/err")" '^LEAK '
"$SEEP" report --json leaky.rec >leaky.json
pid=$(jq '.processes[0].pid' leaky.json)
day='20[0-9]{2}-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]'
line="leaky.rec: ./leaky -x, pid $pid, $day"

# begins WHAT REGEX COMMAND...: its first line, and a second that is something else.
how=show # or run, where the rest depends on the machine
begins() {
	local what=$1 regex=$2
	shift 2
	"$how" "$@"
	expect_match "$what: the first line" "$(sed -n 1p "$TMP/out")" "^$regex\$"
	expect_no_match "$what: only once" "$(sed 1d "$TMP/out")" "^$regex\$"
}
begins "report" "$line" "$SEEP" report leaky.rec
expect_match "report: then the verdict" "$(sed -n 2p "$TMP/out")" '^LEAK '
begins "leaks" "$line" "$SEEP" leaks leaky.rec
expect_match "leaks: then the verdict" "$(sed -n 2p "$TMP/out")" '^LEAK '
begins "@last" "$TMP/$line" "$SEEP" report
for view in --top --tree --bottom-up --traces --threads --sizes --lifetimes '--peek=main' '--list=main'; do
	begins "report $view" "$line" "$SEEP" report "$view" leaky.rec
done
begins "a point in time" "$line" "$SEEP" report leaky.rec@peak
cp leaky.rec other.rec
begins "diff: old" "old  $line" "$SEEP" diff leaky.rec other.rec
expect_match "diff: new" "$(sed -n 2p "$TMP/out")" "^new  other.rec: ./leaky -x, pid $pid, $day\$"
begins "diff of one" "$line" "$SEEP" diff leaky.rec@exit
how=run
begins "report --timeline" "$line" "$SEEP" report --timeline leaky.rec
begins "timeline" "$line" "$SEEP" timeline leaky.rec
begins "scan" "$$: [a-z.]+, pid $$, $day" "$SEEP" scan $$
begins "why" "$$: [a-z.]+, pid $$, $day" "$SEEP" why --for 300ms $$
begins "leaks of a process" "$$: [a-z.]+, pid $$, $day" "$SEEP" leaks $$
how=show
"$SEEP" convert leaky.rec leaky.folded 2>/dev/null
begins "another tool's" 'leaky.folded: folded' "$SEEP" report leaky.folded

# The start of exit and the end may fall into the same millisecond.
expect_shown "all of it" about/asked.txt 's/RSS [0-9.]+ → [0-9.]+ MiB/RSS SIZE → SIZE/; s/\(0 B\) in N s; RSS/(0 B); RSS/'

# Several processes, and a long command.
run "$SEEP" run -o many.rec sh -c "./leaky; ./leaky; : $(seq -s ' ' 100)"
begins "several" "many.rec: sh -c ./leaky; ./leaky; : 1 2 3 .* \.\.\., pid [0-9]+ and 2 more processes, $day" \
	"$SEEP" report many.rec

# What programs read.
run "$SEEP" report --json leaky.rec
expect_match "JSON" "$(head -c 1 "$TMP/out")" '^\{'
for options in --sites '--top --bytes' --graph; do
	# shellcheck disable=SC2086 # options are words
	run "$SEEP" report $options leaky.rec
	expect_no_match "$options" "$out" "^$line"
done
run "$SEEP" leaks --format=memcheck leaky.rec
expect_no_match "memcheck" "$out" "^$line"
