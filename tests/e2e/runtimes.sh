#!/bin/bash
# SPDX-License-Identifier: MIT
# Language runtimes: every command says the same about where their memory is, and objects
# that a collector frees are never called lost. Goldens in tests/golden/runtimes: go.txt,
# Perl.txt and Ruby.txt (at exit), python.txt, perl_process.txt.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq objcopy
cc=${CC:-gcc}
cd "$TMP" || exit

# ---- Go without C ----
# A static program with Go's build information; no Go compiler is needed for that.
cat >go.c <<'END'
static long call(long n, long a, const void *b, long c)
{
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return n;
}
void _start(void)
{
	static char c;
	call(1, 1, "ready\n", 6);
	call(0, 0, &c, 1);
	call(231, 0, 0, 0);
}
END
if [ "$(uname -m)" = x86_64 ] && "$cc" -static -nostdlib -fno-stack-protector -O1 -o plain go.c; then
	echo "go1.22" >info
	objcopy --add-section .go.buildinfo=info plain server
	says='written in Go and has no malloc; use its net/http/pprof, or seep watch'
	show "$SEEP" run -o go.rec ./server
	expect_match "run" "$err" "server.*$says"
	mkfifo in
	./server <in >ready &
	pid=$!
	exec 7>in
	wait_for 20 grep -q ready ready
	for command in leaks attach scan; do
		show "$SEEP" $command "$pid"
		expect_match "$command" "$err" "$pid \(server\) is $says $pid$"
		expect_eq "$command: status" "$status" 3
	done
	show "$SEEP" doctor "$pid"
	expect_match "doctor" "$out" "server: $says $pid$"
	expect_shown "Go: all of it" runtimes/go.txt "s/\\b$pid\\b/PID/g" \
		"s/RSS [0-9.]+ [KM]iB/RSS SIZE/; s/the machine's .*/the machine's SIZE/; s/[0-9]+ (mappings|regions)/N \\1/g"
	exec 7>&-
	wait $pid
else
	left_out "Go: another processor"
fi


# ---- objects that a collector frees, or that are left at exit on purpose ----
cat >leak.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile last;
__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 200; i++)
		memset(last = malloc(1000), 1, 1000);
	last = NULL;
}
__attribute__((constructor)) static void begin(void) { lose(); }
END
"$cc" -shared -fPIC -O1 -g -o leak.so leak.c || exit

# collected NAME PROGRAM WITH_MODULE: nothing of the runtime's own is called lost; what a
# module loses is. A few of its 200 blocks may look held by words that the interpreter
# left in memory.
collected() {
	local name=$1
	run "$SEEP" run --json --log-file own.json -o own.rec -- "$2" -e "$3"
	expect_json "$name: verdict" own.json '[.summary.verdict, .summary.leaks.definite_bytes, .summary.not_judged, .summary.not_judged_blocks > 0]' \
		"[\"OK\",0,\"$name\",true]"
	show "$SEEP" report own.rec
	expect_match "$name: in words" "$out" "^OK  no leak outside $name's own code: "
	expect_match "$name: counted" "$out" "^definitely lost 0 · .* · not judged, $name's own [0-9.]+ [KM]iB in "
	expect_status 0 "$SEEP" run --no-save --fail-on leak -- "$2" -e "$3"
	show "$SEEP" run -o module.rec "$2" -e "$4"
	# The interpreter's own blocks, and which of the 200 look held, differ from
	# machine to machine and run to run.
	expect_shown "$name: all of it" "runtimes/$name.txt" live '/^( *[0-9]+  |at the peak|most |    [0-9,]+ more|recorded)/d' \
		's/(possibly|indirectly) lost (SIZE in [0-9N,]+ blocks?|0)/\1 lost …/; s/still reachable (SIZE in [0-9N,]+ blocks?|0)/still reachable …/; s/ at 1 site, N? ?[0-9]* ?times/ at 1 site, N times/' \
		's/(freed only at exit) (SIZE|0)/\1 …/; s/N freed.*/N freed …/; s/; peak .*/; peak …/; s/[0-9]+ frames/N frames/; /^ +[^ ]+ in |^    0x|  [+]0x|more frames|callers left out|folded/d; s/ \(N? ?[0-9]* ?of them only by words that malloc may have left behind\)//'
	expect_match "$name: a module that leaks" "$err" '^LEAK  1[5-9][0-9] KiB in (200|1[5-9][0-9]) blocks lost at 1 site, '
	expect_match "$name: its line" "$err" '^    lose +leak\.c:8 '
	expect_status 1 "$SEEP" run --no-save --fail-on leak -- "$2" -e "$4"
}
[ ! -x /usr/bin/perl ] || collected Perl /usr/bin/perl 1 'use DynaLoader; DynaLoader::dl_load_file("./leak.so")'
if [ -x /usr/bin/ruby ]; then
	collected Ruby /usr/bin/ruby 'x = (1..20000).map { |i| "s" * 300 }' 'require "fiddle"; Fiddle.dlopen("./leak.so")'
else
	left_out "no ruby here"
fi

# ---- Python's objects are behind the head of its collector ----
if [ -x /usr/bin/python3 ]; then
	PYTHONMALLOC=malloc run "$SEEP" run --json --log-file python.json -o python.rec -- /usr/bin/python3 -c '
import os, abc
class Base(abc.ABC): pass
class Node(Base):
	def __init__(self, next): self.next = next
rows = [({"a": i}, [i], Node(None)) for i in range(5000)]
os._exit(0)'
	expect_json "python: nothing lost" python.json '[.summary.verdict, .summary.leaks.definite_blocks]' '["OK",0]'
	expect_json "python: hardly anything possibly lost" python.json '.summary.leaks.possible_blocks < 300' true
	expect_json "python: reachable" python.json '.summary.leaks.reachable_blocks > 20000' true
	show "$SEEP" leaks python.rec
	expect_shown "python: all of it" runtimes/python.txt live 's/ \([0-9,]+ of them only by words[^)]*\)//; s/(possibly|still) (lost|reachable) (SIZE in [0-9N,]+ blocks?|0)/\1 \2 …/g; s/; peak .*/; peak …/; /^recorded/d'
fi

# Garbage of a running Python hangs on objects in pymalloc's arenas, which one look cannot
# tell from those in use. With PYTHONMALLOC=malloc in its own environment nothing hides,
# and attach looks for leaks.
collecting() {
	: >ready
	"$@" /usr/bin/python3 -c '
import gc, sys
gc.disable()
class N: pass
for i in range(3001):
	a = N(); b = N(); a.p = b; b.p = a; a.data = bytes(2003)
print("ready", flush=True)
sys.stdin.read()' <&9 >ready &
	pid=$!
	wait_for 20 grep -q ready ready
}
if [ -x /usr/bin/python3 ]; then
	mkfifo python.in
	exec 9<>python.in
	collecting env -u PYTHONMALLOC
	run "$SEEP" leaks --json "$pid"
	expect_eq "pymalloc: no all-clear" "$(jq -c '[.verdict, .no_verdict_because]' <<<"$out")" '["NO VERDICT","managed-heap"]'
	run "$SEEP" leaks "$pid"
	expect_match "pymalloc: whose objects" "$out" "^NO VERDICT  nothing is lost, but one scan does not show which of Python's objects live too long; python3? keeps its objects in pymalloc; run: PYTHONMALLOC=malloc seep run …"
	kill "$pid"
	collecting env PYTHONMALLOC=malloc
	run "$SEEP" leaks "$pid"
	expect_no_match "PYTHONMALLOC=malloc: nothing hides" "$out" 'pymalloc|NO VERDICT'
	run "$SEEP" why "$pid"
	expect_no_match "PYTHONMALLOC=malloc: why" "$out" 'keeps its objects in pymalloc'
	expect_no_match "PYTHONMALLOC=malloc: doctor" "$("$SEEP" doctor "$pid" 2>&1)" 'keeps its objects in pymalloc'
	expect_no_match "PYTHONMALLOC=malloc: attach" "$("$SEEP" attach --for 1s "$pid" 2>&1)" 'keeps its objects in pymalloc'
	kill "$pid"
	exec 9>&-
fi

# ---- a process that was not recorded ----
if [ -x /usr/bin/perl ]; then
	mkfifo perl.in
	/usr/bin/perl -e '$| = 1; print "ready\n"; <STDIN>' <perl.in >perl.ready &
	pid=$!
	exec 8>perl.in
	wait_for 20 grep -q ready perl.ready
	for command in leaks scan; do
		show "$SEEP" $command "$pid"
		expect_no_match "$command: perl is not called a leak" "$out" '^LEAK'
		expect_match "$command: a verdict" "$out" '^(OK|NO VERDICT)  '
	done
	expect_shown "perl, not recorded: all of it" runtimes/perl_process.txt live "s/\\b$pid\\b/PID/g" \
		'/^ *[0-9]+ +SIZE|^ +(held by|SIZE|main|[0-9,]+ more)/d; s/still reachable.*/still reachable …/; s/possibly lost [^·]*·/possibly lost … ·/'
	exec 8>&-
	wait $pid
fi
