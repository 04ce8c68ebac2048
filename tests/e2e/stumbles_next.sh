#!/bin/bash
# SPDX-License-Identifier: MIT
# What seep says to do next: it can be pasted, and it helps.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
prog=$(program stumbles) || exit 3
mkdir "$TMP/here" && cd "$TMP/here" || exit 3
cp "$prog" ./sessions

# A dump of jemalloc with that many blocks and bytes, of a program that is gone.
dump() {
	printf 'heap_v2/524288\n  t*: %s [0: 0]\n  t0: %s [0: 0]\n' "$1" "$1"
	printf '@ 0x401000 0x401100\n  t*: %s [0: 0]\n  t0: %s [0: 0]\n\n' "$1" "$1"
	printf 'MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 123 /nothere/prog\n'
}
dump "1: 607" >a.heap
dump "2: 1214" >b.heap
dump "40: 2400000" >c.heap

# ---- diff: where the names came from ----
mkdir 'debug files' more
expect_status 0 "$SEEP" diff --exe ./sessions --debug-dir 'debug files' --debug-dir more a.heap c.heap
expect_match "diff: next has the options" "$out" \
	"next: seep report --exe \./sessions --debug-dir 'debug files' --debug-dir more c\.heap$"
expect_status 0 "$SEEP" diff ./sessions a.heap c.heap
expect_match "diff: the program as a word" "$out" 'next: seep report --exe \./sessions c\.heap$'
expect_status 0 "$SEEP" diff a.heap c.heap
expect_match "diff: without options" "$out" 'next: seep report c\.heap$'
expect_status 3 "$SEEP" report --peek nobody a.heap
expect_eq "--peek: there are no names" "$err" \
	"seep: --peek nobody: no function like that; no names in prog: file is gone; try --debug-dir, --sysroot or --exe"

# ---- diff of dumps: what jemalloc calls it ----
expect_status 0 "$SEEP" diff a.heap b.heap
expect_match "too few samples: jemalloc's setting" "$out" \
	'^NO VERDICT  .*; too few samples, record with a smaller lg_prof_sample \(MALLOC_CONF='
expect_status 2 "$SEEP" diff a.heap
expect_eq "diff of one dump: it has no peak" "$err" \
	"seep diff: OLD and NEW are needed, there is only a.heap (seep diff --help)"

# ---- attach does not record mmap: what grows there needs another command ----
cat >maps.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 600; i++) {
		memset(mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 3, 1 << 20);
		if (i == 0 && write(1, "ready\n", 6) != 6)
			return 3;
		usleep(100000);
	}
}
END
${CC:-gcc} -o maps maps.c || exit 3
./maps >maps.txt &
maps=$!
trap 'kill "$maps" 2>/dev/null; lib_end' EXIT
wait_for 20 grep -q ready maps.txt
expect_status 0 "$SEEP" attach $maps --for 5s
expect_match "mappings grow" "$err" '^GROWING  mappings '
expect_match "mappings grow: next" "$err" "^next: seep why $maps \(which regions grow\); seep attach does not record mmap: start it with seep run --mmap$"
expect_match "attach: nothing is saved" "$err" '^not saved \(-o FILE saves it\)$'
expect_status 0 "$SEEP" attach $maps --for 500ms -o maps.rec
expect_no_match "attach -o: is saved" "$err" 'not saved'

# ---- words that people type, and what is wrong with them ----
refuses() { # WHAT STATUS REGEX COMMAND...
	expect_status "$2" "$SEEP" "${@:4}"
	expect_match "$1" "$err" "$3"
}
refuses "--exe of nothing" 2 '^seep report: --exe nothere: No such file or directory ' report --exe nothere a.heap
refuses "--sites names the option" 2 '^seep report: --objects cannot be used with --sites ' report --sites --objects a.heap
refuses "--sites and a filter" 2 '^seep report: --focus cannot be used with --sites ' report --focus x --sites a.heap
refuses "an unknown letter" 2 "^seep report: unknown option '-g' " report -g
refuses "tcmalloc" 2 '^seep: no command "tcmalloc"; use: seep run PROGRAM ' tcmalloc
refuses "version" 2 '^seep: no command "version"; use: seep --version$' version
refuses "tracemalloc: what prints something" 2 'PYTHONMALLOC=malloc seep run python3 SCRIPT .*printed by the script itself$' tracemalloc
cat >static.c <<'END'
#include <stdlib.h>
int main(void) { return malloc(17) == 0; }
END
if ${CC:-gcc} -static -o static static.c 2>gcc.log; then
	refuses "--fail-on and a static program" 3 '; leave --fail-on out$' run --no-save --fail-on leak ./static
else
	left_out "no static libc here"
fi

# ---- what is not known of a point before the end is not said ----
expect_status 0 "$SEEP" run -o points.rec ./sessions once 4
expect_status 0 "$SEEP" report points.rec@peak
expect_no_match "@peak: freed later" "$out" ' freed$'
expect_status 0 "$SEEP" report --json points.rec@peak
echo "$out" >peak.json
expect_json "@peak: no verdict" peak.json '[.summary.verdict, .summary.severity]' '[null,null]'
expect_json "@peak: no process has one" peak.json '[.processes[].verdict] | unique' '[null]'
run "$SEEP" report --json points.rec
echo "$out" >end.json
expect_json "at the end: one" end.json '.summary.verdict' 'LEAK (minor)'

# ---- pmap ----
printf '%s\n' '4711:   ./server' 'Address           Kbytes     RSS   Dirty Mode  Mapping' \
	'000055d0a0a00000       4       4       0 r---- server' >1.txt
refuses "a file of pmap" 3 '^seep: 1\.txt: output of pmap; save it twice and compare the two files: seep diff OLD\.txt NEW\.txt$' report 1.txt
refuses "pmap through a pipe" 3 ': output of pmap; save it twice ' report <(cat 1.txt)
refuses "pmap" 2 'seep watch PID .* seep diff OLD\.txt NEW\.txt ' pmap
