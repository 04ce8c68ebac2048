#!/bin/bash
# SPDX-License-Identifier: MIT
# Every view of `seep report` on a program whose figures are known: counts and sizes are
# primes, so that no sum comes about by accident.
# shellcheck disable=SC2016 # the dollars are jq's
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq python3

mkdir "$TMP/w"
cd "$TMP/w" || exit
cat >a.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define KEEP(n, bytes) for (int i = 0; i < (n); i++) keep(malloc(bytes))
#define NOINLINE __attribute__((noinline, noclone))
void *volatile kept;
NOINLINE void keep(void *p) { kept = p; }
void in_b(void), in_cc(void);
static NOINLINE void init(void) { KEEP(7, 101); }
static inline __attribute__((always_inline)) void grab(void)
{
	KEEP(23, 131); /* the line of grab */
}
NOINLINE void holder(void) { grab(); keep(NULL); }
NOINLINE void recurse(int n)
{
	if (n > 0) {
		recurse(n - 1);
		keep(NULL);
		return;
	}
	KEEP(19, 127);
}
NOINLINE void young(void) { KEEP(37, 149); }
NOINLINE void temporary(void)
{
	for (int i = 0; i < 31; i++) {
		void *p = malloc(139);
		keep(p);
		free(p);
	}
}
static pthread_barrier_t done;
NOINLINE void work(void) { KEEP(29, 137); }
static void *thread(void *unused)
{
	pthread_setname_np(pthread_self(), "worker-a");
	work();
	pthread_barrier_wait(&done);
	pause();
	return unused;
}
int main(void)
{
	pthread_t t;

	init();
	in_b();
	in_cc();
	holder();
	recurse(3);
	temporary();
	pthread_barrier_init(&done, NULL, 2);
	pthread_create(&t, NULL, thread, NULL);
	pthread_barrier_wait(&done);
	usleep(1500000);
	young();
	return 0;
}
END
cat >b.c <<'END'
#include <stdlib.h>
void keep(void *p);
static __attribute__((noinline, noclone)) void init(void)
{
	for (int i = 0; i < 11; i++)
		keep(malloc(103));
}
void in_b(void) { init(); keep(0); }
END
cat >c.cc <<'END'
#include <stdlib.h>
extern "C" void keep(void *p);
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE void put(int n) { for (int i = 0; i < n; i++) keep(malloc(107)); }
NOINLINE void put(const char *s) { for (; *s; s++) keep(malloc(109)); }
extern "C" void in_cc(void) { put(13); put("17 letters, all in"); keep(0); }
END
${CC:-gcc} -g -O1 -pthread -c a.c b.c && ${CXX:-g++} -g -O1 -fno-exceptions -fno-rtti -c c.cc &&
	${CC:-gcc} -pthread -o prog a.o b.o c.o || exit
run "$SEEP" run -o p.rec --log-file log -- ./prog
expect_eq "status of the run" "$status" 0

# json VIEW...: the view into $TMP/json
json() {
	"$SEEP" report --json "$@" p.rec >"$TMP/json" 2>"$TMP/err" || {
		fail "status of --json $*" "$(cat "$TMP/err")"
		echo '{}' >"$TMP/json"
	}
}
# figure NAME: flat and cum of a row
figure() { jq -c --arg n "$1" '[.rows[] | select(.name == $n) | .flat, .cum]' "$TMP/json"; }

# ---- top ----
json --top
expect_eq "static of a.c" "$(figure 'init (a.c)')" '[707,707]'
expect_eq "static of b.c" "$(figure 'init (b.c)')" '[1133,1133]'
expect_eq "overload for int" "$(figure 'put(int)')" '[1391,1391]'
expect_eq "overload for text" "$(figure 'put(char const*)')" '[1962,1962]'
expect_eq "inlined" "$(figure grab)" '[3013,3013]'
expect_eq "around it" "$(figure holder)" '[0,3013]'
expect_eq "recursion" "$(figure recurse)" '[2413,2413]'
expect_eq "thread" "$(figure work)" '[3973,3973]'
expect_eq "main, without the thread" "$(jq '.rows[] | select(.name == "main") | .cum >= 16132' "$TMP/json")" true
expect_eq "nothing is left of it" "$(figure temporary)" '[]'
expect_json "flat adds up to the total" "$TMP/json" '([.rows[].flat] | add) == .total' true
expect_json "rank" "$TMP/json" '[.rows[].flat] | . == (sort | reverse)' true
json --top --cum
expect_json "rank by cum" "$TMP/json" '[.rows[].cum] | . == (sort | reverse)' true
json --top --no-inlines
expect_eq "without inlines" "$(figure holder)" '[3013,3013]'
expect_eq "no row of its own" "$(figure grab)" '[]'
run "$SEEP" report --top p.rec
expect_match "table" "$out" '^ +flat +flat % +cum +cum % +function$'
expect_match "row" "$out" '^ *3\.88 KiB +[0-9.]+ % +3\.88 KiB +[0-9.]+ % +work$'
expect_match "marked" "$out" ' grab \(inlined\)$'
run "$SEEP" report --top --functions --bytes p.rec
expect_match "in whole numbers" "$out" '^ *3973 +[0-9.]+ % +3973 +[0-9.]+ % +work$'
run "$SEEP" report --top --bytes p.rec
expect_match "a place a line for scripts" "$out" '^3973  29  work a\.c:[0-9]+ '
expect_eq "and nothing else" "$(grep -cvE '^([0-9]+  [0-9]+  |# )' <<<"$out")" 0
expect_eq "the same by name" "$("$SEEP" report --sites --bytes p.rec)" "$out"

# ---- sample index ----
json --top --objects
expect_eq "blocks" "$(figure work)" '[29,29]'
json --sample-index allocated
expect_eq "allocated" "$(figure temporary)" '[4309,4309]'
json --sample-index=temporary --objects
expect_between "temporary" "$(jq '.rows[] | select(.name == "temporary") | .flat' "$TMP/json")" 30 31
json --alloc_objects
expect_eq "pprof's name for it" "$(figure temporary)" '[31,31]'
json --inuse_space
expect_eq "pprof's name for live" "$(figure work)" '[3973,3973]'
json --sample_index=peak
expect_json "peak" "$TMP/json" '[.value, .unit] | join(" ")' 'peak bytes'

# ---- grains ----
json --lines
line=$(grep -n 'the line of grab' a.c | cut -d: -f1)
expect_eq "a line" "$(figure "grab a.c:$line")" '[3013,3013]'
json --files
expect_eq "b.c" "$(figure b.c)" '[1133,1133]'
expect_eq "a.c" "$(figure a.c | jq '.[0]')" $((707 + 3013 + 2413 + 3973 + 5513))
json --modules
expect_eq "the program" "$(figure prog | jq '.[0]')" $((707 + 3013 + 2413 + 3973 + 5513 + 1133 + 1391 + 1962))
json --addresses
expect_json "addresses" "$TMP/json" '[.rows[] | select(.function == "work") | .flat] | add' 3973
json --filefunctions
expect_eq "function and file" "$(figure 'init b.c')" '[1133,1133]'

# ---- trees ----
json --tree
expect_json "a path of the tree" "$TMP/json" '. as $t | [.nodes | to_entries[] |
	select(.value.self == 2413) | .value] | .[0] | [.,
	$t.nodes[.parent], $t.nodes[$t.nodes[.parent].parent]] | map($t.entries[.entry].name) | join(" ")' 'recurse recurse recurse'
expect_json "nodes add up" "$TMP/json" '([.nodes[].self] | add) == .total' true
json --bottom-up --all
expect_json "upside down" "$TMP/json" '. as $t | [.nodes[] | select(.parent != null and
	$t.entries[.entry].name == "holder")] | .[0] | [.total, $t.entries[$t.nodes[.parent].entry].name]' '[3013,"grab"]'
run "$SEEP" report --tree p.rec
expect_match "branches" "$out" '^ *2\.94 KiB +15 % +[├└] holder$'
expect_eq "the recursion, line for line" "$(grep -c 'recurse$' <<<"$out")" 4
run "$SEEP" report --bottom-up p.rec
expect_match "what allocates is outermost" "$out" '^ *[0-9.]+ KiB +[0-9.]+ %  work$'
run env LC_ALL=C "$SEEP" report --tree p.rec
expect_eq "ASCII where the locale is" "$(grep -cP '[^\x00-\x7f]' <<<"$out")" 0

# ---- peek, list, traces ----
json --peek '^holder$'
expect_json "callers and callees" "$TMP/json" '.rows[0] | [.flat, .cum, .callers[0].name, .callers[0].weight,
	.callees[0].name, .callees[0].weight]' '[0,3013,"main",3013,"grab",3013]'
run "$SEEP" report --peek 'hold' p.rec
expect_match "called by" "$out" '^ +2\.94 KiB +100 %  main$'
expect_status 3 "$SEEP" report --peek 'nobody' p.rec
expect_match "no such function" "$err" '^seep: --peek nobody: no function like that$'
json --list 'grab|holder'
cp "$TMP/json" list.json
expect_json "lines of both" "$TMP/json" '[.rows[] | {function, flat, cum, n: (.lines | length)}] | sort_by(.function) | map("\(.function) \(.flat) \(.cum) \(.n)") | join(", ")' \
	'grab 3013 3013 1, holder 0 3013 1'
run "$SEEP" report --list '^grab$' p.rec
expect_match "source beside figures" "$out" "^ *2\.94 KiB +2\.94 KiB +$line +KEEP\(23, 131\); /\* the line"
expect_match "and around them" "$out" "^ +\. +\. +$((line - 2)) +static inline"
run "$SEEP" report --list '^put$' p.rec
expect_eq "overloads are two" "$(grep -c '^put ' <<<"$out")" 2
file=$(jq -r '[.rows[] | select(.function == "grab")][0].file' list.json)
for word in "$file" "${file##*/}"; do
	run "$SEEP" report --annotate "$word" p.rec
	expect_match "annotate $word: a line of it" "$out" "^ *2\.94 KiB +2\.94 KiB +$line +KEEP\(23, 131\); /\* the line"
	expect_eq "annotate $word: one listing" "$(grep -c '^  flat ' <<<"$out")" 1
done
expect_status 3 "$SEEP" report --annotate "x${file##*/}" p.rec
expect_match "annotate: no such file" "$err" "^seep: --annotate x${file##*/}: no line of that file; --files lists all$"
json --traces
expect_json "a stack, innermost first" "$TMP/json" '. as $t | .rows[] | select(.value == 3013) |
	[.stack[] | $t.entries[.].function] | join(" ")' 'grab holder main'
expect_json "stacks add up" "$TMP/json" '([.rows[].value] | add) == .total' true

# ---- threads, sizes, labels ----
json --threads
expect_json "the thread's" "$TMP/json" '.rows[] | select(.name == "worker-a") | .value' 3973
expect_json "threads add up" "$TMP/json" '([.rows[].value] | add) == .total' true
json --threads --sample-index allocated
expect_json "allocated by it" "$TMP/json" '.rows[] | select(.name == "worker-a") | .value' 3973
json --sizes
# 128 bytes and less: 101, 103, 107, 109 and 127; up to 256: 131, 137, 149
expect_json "a class of sizes" "$TMP/json" '.rows[] | select(.max_bytes == 128) | .value' $((707 + 1133 + 1391 + 1962 + 2413))
expect_json "sizes add up" "$TMP/json" '([.rows[].value] | add) == .total' true
"$SEEP" lifetimes --json p.rec >"$TMP/json"
expect_json "lifetimes: every block is counted once" "$TMP/json" '.temporary + .not_freed + ([.rows[].value] | add)' \
	"$("$SEEP" report --json p.rec | jq .totals.allocs)"
expect_json "lifetimes: those that are live" "$TMP/json" .not_freed "$("$SEEP" report --json p.rec | jq .totals.live_blocks)"
"$SEEP" timeline --json p.rec >"$TMP/json"
expect_json "timeline: one process, in order" "$TMP/json" \
	'[(.rows | length), ([.rows[0].points[].ms] | . == sort), (.rows[0].points | length > 0)]' '[1,true,true]'
expect_eq "seep peak is report --peak" "$("$SEEP" peak p.rec)" "$("$SEEP" report p.rec@peak)"
expect_eq "seep churn is report --churn" "$("$SEEP" churn p.rec)" "$("$SEEP" report --by count p.rec)"
expect_eq "seep timeline is report --timeline" "$("$SEEP" timeline p.rec)" "$("$SEEP" report --timeline p.rec)"
expect_status 2 "$SEEP" report --churn --by live p.rec
expect_status 3 "$SEEP" peak p.rec@exit
run "$SEEP" report --tags p.rec
expect_match "no labels here" "$out" '^# nothing to show: this profile has no labels$'

# ---- filters ----
json --top --focus '^holder$'
expect_json "focus" "$TMP/json" '[.total, .stacks] | join(" ")' '3013 1'
json --top --ignore '^holder$|^work$'
expect_json "ignore" "$TMP/json" '.unfiltered_total - .total' $((3013 + 3973))
json --top --focus main --ignore 'recurse'
expect_eq "ignore wins" "$(figure recurse)" '[]'
json --top --hide '^grab$'
expect_eq "hidden, its caller has it" "$(figure holder)" '[3013,3013]'
json --top --show '^(main|work)$'
expect_json "show" "$TMP/json" '[.rows[].name] | sort | join(" ")' 'main work'
json --tree --show-from '^holder$'
expect_json "show_from" "$TMP/json" '[.nodes[] | select(.parent == null).entry] as $e | .entries[$e[0]].name' 'holder'
json --top --prune_from '^holder$'
expect_eq "prune_from" "$(figure holder)" '[3013,3013]'
json --top --thread worker
expect_json "thread" "$TMP/json" '.total' 3973
json --top --size 137
expect_json "size" "$TMP/json" '.total' 3973
json --top --size 130:140 --focus main
expect_json "size and focus" "$TMP/json" '.total' 3013
json --top --age :1s --focus main
expect_json "young" "$TMP/json" '[.rows[] | select(.flat > 0) | .name, .flat]' '["young",5513]'
json --top --age 1s
expect_eq "old" "$(figure young)" '[]'
run "$SEEP" report --top --focus nowhere p.rec
expect_match "said when nothing matches" "$out" '^# --focus nowhere matched nothing$'
run "$SEEP" report --top --focus '^work$' p.rec
expect_match "the first line tells" "$out" '^live  3\.88 KiB of [0-9.]+ KiB \([0-9.]+ %\) in 1 of [0-9]+ stacks · focus=\^work\$$'
run "$SEEP" report --top --focus '^work$' --relative p.rec
expect_match "shares of what passed" "$out" '^3\.88 KiB +100 %'

# ---- graph ----
run "$SEEP" report --graph p.rec
expect_match "nodes" "$out" '^N[0-9]+ \[label="work\\n3\.88 KiB '
expect_match "edges" "$out" '^N[0-9]+ -> N[0-9]+ \[label=" 2\.94 KiB'
# grab and holder have the same figure, and the alphabet leaves holder out
run "$SEEP" report --graph --nodecount 6 --nodefraction 0 p.rec
expect_eq "not more than asked for" "$(grep -c '^N[0-9]* \[' <<<"$out")" 6
expect_match "calls through what is left out" "$out" '2\.94 KiB.*style=dotted'
if have dot; then
	for type in svg pdf ps png gif; do
		expect_status 0 "$SEEP" report --$type "$TMP/out.$type" p.rec
	done
	expect_match "svg" "$(cat "$TMP/out.svg")" '>work<'
	expect_eq "pdf" "$(head -c 4 "$TMP/out.pdf")" '%PDF'
	expect_eq "png" "$(head -c 4 "$TMP/out.png" | tail -c 3)" 'PNG'
fi
expect_status 3 env PATH=/nonexistent "$SEEP" report --svg "$TMP/none.svg" p.rec
expect_match "without graphviz" "$err" '^seep: --svg needs dot of graphviz, which is not installed'
expect_eq "one line" "$(wc -l <"$TMP/err")" 1
expect_eq "and no file" "$([ -e "$TMP/none.svg" ] && echo there)" ""

# ---- every view as JSON says the same total ----
for view in --top --tree --bottom-up '--peek .' '--list .' --traces --tags --threads --sizes --timeline --graph --lines; do
	# shellcheck disable=SC2086 # words
	json $view
	totals+="$(jq -r '"\(.seep_json) \(.value) \(.unit) \(.total)"' "$TMP/json")"$'\n'
done
expect_eq "one total" "$(sort -u <<<"$totals" | grep -c .)" 1

# ---- sampled: errors ----
run "$SEEP" run --sample 256 -o s.rec --log-file log -- ./prog
run "$SEEP" report --top s.rec
expect_match "estimates with their error" "$out" '^ *[0-9.]+ ± [0-9.]+ (KiB|B) .* [a-z]+'
"$SEEP" report --top --json s.rec >"$TMP/json"
expect_json "and in JSON" "$TMP/json" '.total_error > 0 and (.rows[0] | .flat_error > 0 and .cum_error > 0)' true

# ---- masking ----
run "$SEEP" run -o secret.rec --log-file log -- ./prog --password=hunter2
expect_match "it is in there" "$("$SEEP" report --json secret.rec)" 'hunter2'
run "$SEEP" report --json --share secret.rec
expect_no_match "shared without arguments" "$out" 'hunter2'
expect_no_match "nor the folder" "$(jq -c '.processes[] | [.cwd, .host]' <<<"$out")" '"'
expect_match "but with names" "$out" '"function":"work"'
expect_no_match "no folder of programs, files or modules" "$out" "$TMP"'|/usr/lib'
run "$SEEP" report --share --html share.html secret.rec
expect_match "page: names" "$(cat share.html)" 'work'
expect_no_match "page: no folder, no argument" "$(cat share.html)" "$TMP|hunter2"
expect_no_match "page: no source" "$(grep -c 'malloc(' share.html)" '[1-9]'
expect_no_match "list: no source" "$("$SEEP" report --share --list work secret.rec)" 'malloc\('

# ---- several files, points, a terminal ----
"$SEEP" run -o q.rec --log-file log -- ./prog
"$SEEP" report --top --json p.rec q.rec >"$TMP/json"
expect_eq "two are summed" "$(figure work)" "[$((2 * 3973)),$((2 * 3973))]"
"$SEEP" report --top --json ./prog p.rec >"$TMP/json"
expect_eq "a program among them is none" "$(figure work)" '[3973,3973]'
"$SEEP" report --top --json p.rec@peak >"$TMP/json"
expect_eq "at the peak" "$(figure work)" '[3973,3973]'
cat >on_tty.py <<'END'
import os, pty, sys
os.environ.update({"TERM": "xterm", "COLUMNS": "100"})
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], lambda fd: os.read(fd, 65536))))
END
out=$(PAGER="cat" python3 on_tty.py "$SEEP" report --top p.rec </dev/null)
expect_match "colour on a terminal" "$out" $'\e\\[[0-9;]*mwork'
out=$(PAGER="sed s/^/through:/" python3 on_tty.py "$SEEP" report --top p.rec </dev/null)
expect_match "through the pager" "$out" '^through:'
out=$(PAGER=/nonexistent/pager python3 on_tty.py "$SEEP" report --top p.rec </dev/null)
expect_match "without one all the same" "$out" 'work'
out=$(NO_COLOR=1 PAGER="cat" python3 on_tty.py "$SEEP" report --top p.rec </dev/null)
expect_no_match "NO_COLOR" "$out" $'\e'
out=$(PAGER="sed s/^/through:/" "$SEEP" report --top p.rec)
expect_no_match "plain when piped" "$out" $'through|\e'

# ---- profiles of other tools: nothing that they do not tell ----
golden=$ROOT/tests/golden/heap
run "$SEEP" report "$golden/je_sampled.heap"
expect_match "what it is" "$out" '^heap_v2 · one sample per ~4\.00 KiB · live 1\.12 MiB in 95 blocks$'
expect_no_match "nothing about its end" "$out" 'exited|freed|peak|temporary|allocated'
run "$SEEP" report "$golden/je_sampled.heap" "$golden/je_exact.heap"
expect_eq "the sum of two is named so" "${out%%$'\n'*}" "$golden/je_sampled.heap and 1 more: heap_v2"
run "$SEEP" report --json "$golden/je_sampled.heap"
expect_eq "null, not 0" "$(jq -c '[.summary.verdict, (.totals | .allocs, .frees, .allocated_bytes, .at_peak_bytes, .temporary_allocs),
	(.processes[0] | .pid, .peak_bytes, .memory, .lost)] | unique' <<<"$out")" '[null]'
for index in peak temporary allocated; do
	expect_status 3 "$SEEP" report --sample-index $index "$golden/je_sampled.heap"
	expect_match "$index is refused" "$err" "^seep: this profile \(heap_v2\) has no $index memory, only: live\$"
done
run "$SEEP" report "$golden/plain.folded"
expect_match "no blocks in it" "$out" '^folded · live 5\.02 KiB$'
expect_status 3 "$SEEP" report --objects "$golden/plain.folded"
expect_match "and none are shown" "$err" 'does not count blocks$'
run "$SEEP" report --sites --bytes "$golden/plain.folded"
expect_no_match "nor in the list" "$out" '^[0-9]+  0 '
run "$SEEP" report --threads "$golden/je_exact.heap"
expect_match "jemalloc's threads" "$out" '^ +18\.5 KiB +1\.6 %  worker 1 \(t1\)$'
run "$SEEP" report --top --functions --bytes --thread 1 "$golden/je_exact.heap"
expect_match "one of them" "$out" '^live  189[0-9]{2} bytes of '
run "$SEEP" report --age 1s "$golden/je_exact.heap"
expect_match "ages are not known" "$err" 'does not list any$'
"$SEEP" report --top --json - <"$golden/je_exact.heap" >"$TMP/json"
expect_json "from a pipe" "$TMP/json" '[.format, .total]' "$("$SEEP" report --top --json "$golden/je_exact.heap" | jq -c '[.format, .total]')"

# ---- dumps that one process wrote one after the other are no sum ----
cp "$golden/je_sampled.heap" jeprof.7.0.i0.heap
cp "$golden/je_exact.heap" jeprof.7.1.i1.heap
cp "$golden/je_exact.heap" jeprof.8.1.i1.heap
one=$("$SEEP" report --top --json jeprof.7.1.i1.heap | jq .total)
run "$SEEP" report --top --json jeprof.7.1.i1.heap jeprof.7.0.i0.heap
expect_eq "the last one counts" "$(jq .total <<<"$out")" "$one"
expect_match "and that is said" "$err" '^seep: 2 dumps of one process: showing the last, jeprof\.7\.1\.i1\.heap$'
run "$SEEP" report --top --json jeprof.7.1.i1.heap jeprof.8.1.i1.heap
expect_eq "those of two are summed" "$(jq .total <<<"$out")" "$((2 * one))"
