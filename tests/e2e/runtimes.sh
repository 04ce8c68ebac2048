#!/bin/bash
# SPDX-License-Identifier: MIT
# Language runtimes: every command says the same about where their memory is, and objects that a collector frees are
# never called lost.
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
	run "$SEEP" run -o go.rec -- ./server </dev/null
	expect_match "run" "$err" "server.*$says"
	mkfifo in
	./server <in >ready &
	pid=$!
	exec 7>in
	wait_for 5 grep -q ready ready
	for command in leaks attach scan; do
		run "$SEEP" $command "$pid"
		expect_match "$command" "$err" "$pid \(server\) is $says $pid$"
		expect_eq "$command: status" "$status" 3
	done
	run "$SEEP" doctor "$pid"
	expect_match "doctor" "$out" "server: $says $pid$"
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

# collected NAME PROGRAM WITH_MODULE: nothing of the runtime's own is called lost; what a module loses is.
# A few of its 200 blocks may look held by words that the interpreter left in memory.
collected() {
	local name=$1
	run "$SEEP" run --json --log-file own.json -o own.rec -- "$2" -e "$3"
	expect_json "$name: verdict" own.json '[.summary.verdict, .summary.leaks.definite_bytes, .summary.not_judged, .summary.not_judged_blocks > 0]' \
		"[\"OK\",0,\"$name\",true]"
	run "$SEEP" report own.rec
	expect_match "$name: in words" "$out" "^OK  no leak outside $name's own code: "
	expect_match "$name: counted" "$out" "^definitely lost 0 · .* · not judged, $name's own [0-9.]+ [KM]iB in "
	expect_status 0 "$SEEP" run --no-save --fail-on leak -- "$2" -e "$3"
	run "$SEEP" run -o module.rec -- "$2" -e "$4"
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
fi

# ---- a process that was not recorded ----
if [ -x /usr/bin/perl ]; then
	mkfifo perl.in
	/usr/bin/perl -e '$| = 1; print "ready\n"; <STDIN>' <perl.in >perl.ready &
	pid=$!
	exec 8>perl.in
	wait_for 5 grep -q ready perl.ready
	for command in leaks scan; do
		run "$SEEP" $command "$pid"
		expect_no_match "$command: perl is not called a leak" "$out" '^LEAK'
		expect_match "$command: a verdict" "$out" '^(OK|NO VERDICT)  '
	done
	exec 8>&-
	wait $pid
fi
