#!/bin/bash
# SPDX-License-Identifier: MIT
# Blocks that the walkers find in processes over glibc's malloc, jemalloc, tcmalloc and
# mimalloc, compared with what the process says it has: none is missing, sizes are equal,
# and hardly any is there that is not the program's. And what is lost of 10,100 blocks is
# the same over all of them, recorded or not. Goldens, in tests/golden/walkers:
# ALLOCATOR.txt (a process that was not recorded: leaks, scan, why; a recorded one),
# demo.txt (the demo of jemalloc, alone and linked with it), debug.txt (an allocator that
# cannot be read), joined.txt.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_libseep
need_command jq
compare=$BUILD/tests/unit/test_walker
[ -x "$compare" ] || skip "no unit tests in this build"
truth=$(program heap_truth) || exit
many=$(program leak_many) || exit
cd "$TMP" || exit
cp "$many" ./many

# figure NAME: from the line that test_walker prints.
figure() { sed -nE "s/.* $1=([0-9]+).*/\1/p" "$TMP/out"; }

# walk NAME BLOCKS THREADS ENDED: of heap_truth over the library in $lib.
walk() {
	local what="$1, $2 blocks, $3 threads, $4 ended"
	begin env LD_PRELOAD="$lib" "$truth" "$2" "$3" "$4"
	"$compare" "$pid" <"$TMP/said" >"$TMP/out" 2>"$TMP/err"
	expect_match "$what: the allocator" "$(cat "$TMP/out")" "^$1[^:]*:"
	expect_eq "$what: all are there" "$(figure truth) $(figure missing) $(figure wrong)" \
		"$(grep -c ' ' "$TMP/said") 0 0"
	expect_eq "$what: others" "$(($(figure extra) <= 30))" 1
	expect_eq "$what: failed checks, caches that were not read" "$(figure failed) $(figure unread)" "0 0"
	[ "$1" = mimalloc ] || expect_eq "$what: at their beginnings" "$(figure inner)" 0
	finish
}

# leaks JSON: the four kinds.
leaks() {
	jq -r '.summary.leaks | if .done then [("definite", "reachable") as $k
		| "\($k)=\(.[$k + "_bytes"])/\(.[$k + "_blocks"])"] | join(" ") else "not done" end' "$1"
}
# blocks JSON: without sizes, which an allocator rounds.
blocks() { jq -r '.summary.leaks | "\(.definite_blocks + .indirect_blocks) \(.possible_blocks)"' "$1"; }

# What differs: addresses; the account of RSS but for live memory.
addresses=('s/0x[0-9a-f]{6,}/ADDRESS/g; s/^[0-9]+ \(/PID (/; s/(--save FILE|--who ADDRESS) [0-9]+/\1 PID/g; s/^recorded .*/recorded …/'
	's/^why: RSS [0-9.]+ MiB = live ([0-9.]+) .*/why: RSS N = live \1 + …/' 's/jemalloc 5\.[0-9]/jemalloc 5.N/; s/mimalloc 2\.[0-9]/mimalloc 2.N/'
	's/kept by malloc [0-9.]+ [KM]iB, of [0-9.]+ MiB/kept by malloc SIZE, of SIZE/; s/malloc keeps [0-9.]+ [KM]iB/malloc keeps SIZE/'
	's/free but kept .*/free but kept …/')
for name in "glibc's malloc:" jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc.so.4 \
	tcmalloc:libtcmalloc_minimal.so.4 mimalloc:libmimalloc.so.2; do
	lib=
	if [ -n "${name#*:}" ]; then
		lib=$(find_library "${name#*:}")
		[ -n "$lib" ] || { left_out "no ${name#*:} here"; continue; }
	fi
	walk "${name%%:*}" 4000 1 0
	walk "${name%%:*}" 10000 4 1
	walk "${name%%:*}" 3000 12 5

	begin env LD_PRELOAD="$lib" ./many
	want=$(sed -n 's/^expect //p' "$TMP/said")
	run "$SEEP" leaks --json "$pid"
	expect_eq "${name%%:*}: not recorded" "$(blocks "$TMP/out")" "10000 0"
	expect_match "${name%%:*}: by name" "$(jq -r .allocators "$TMP/out")" "^${name%%:*}"
	library=${name#*:}
	shown=
	if [ "$library" != libtcmalloc_minimal.so.4 ]; then
		show "$SEEP" leaks "$pid"
		show "$SEEP" scan "$pid"
	fi
	if [ -z "$library" ]; then # blocks with mappings of their own count in both
		run "$SEEP" why --for 1s "$pid"
		shown+=$(grep -E '^(RSS|live and freed)' <<<"$out" | sed 's/^/why: /')$'\n'
	fi
	finish
	expect_eq "the truth" "$want" "definite=30468205/10000 reachable=257500/100"
	LD_PRELOAD=$lib "$SEEP" run --json --log-file many.json -o many.rec ./many </dev/null >/dev/null
	expect_eq "${name%%:*}: recorded" "$(leaks many.json)" "$want"
	[ -n "$shown" ] || continue
	show "$SEEP" leaks many.rec
	expect_shown "${name%%:*}: all of it" "walkers/${library:-glibc}.txt" "${addresses[@]}" 's/still reachable 34[01] KiB/still reachable 341 KiB/'
done

# The demo of jemalloc's leak check, linked with jemalloc: the same verdict and bytes as
# over glibc's malloc.
lib=$(find_library libjemalloc.so.2)
if [ -n "$lib" ]; then
	plain=$(program jem_demo) || exit
	linked=$(program jem_demo linked -g -w -O0 -Wl,--no-as-needed "$lib") || exit
	for prog in "$plain" "$linked"; do
		cp "$prog" .
		"$SEEP" run --json --log-file "demo.json" -o demo.rec "./${prog##*/}"
		expect_eq "${prog##*/}: lost" "$(leaks demo.json)" "definite=6430720/120 reachable=0/0"
		show "$SEEP" report demo.rec
		expect_match "${prog##*/}: verdict" "$out" '^LEAK  6\.13 MiB in 120 blocks'
	done
	# The emergency pool of libstdc++, which comes with jemalloc, is one block more.
	expect_shown "the demo of jemalloc" walkers/demo.txt 's/121 allocs, 0 frees, [0-9,]+ bytes · peak 6\.20/120 + 1 allocs, 0 frees, N bytes · peak 6.20/'
fi

# What cannot be read is said, and nothing is reported.
lib=$(find_library libtcmalloc_debug.so.4)
if [ -n "$lib" ]; then
	LD_PRELOAD=$lib "$SEEP" run --json --log-file many.json -o many.rec ./many </dev/null >/dev/null
	run "$SEEP" report many.rec
	shown="\$ seep report many.rec"$'\n'$(grep -E '^(NO VERDICT|no leak check)' <<<"$out")$'\n' # its lists are long
	begin env LD_PRELOAD="$lib" ./many
	show "$SEEP" leaks "$pid"
	finish
	expect_shown "tcmalloc for debugging: all of it" walkers/debug.txt 's/^seep: [0-9]+ /seep: PID /' \
		's/^(recorded|temporary|[0-9].*most alloc).*/\1 …/; s/(allocs|frees|bytes|peak) [^·]*/\1 /g; s/([0-9,.]+ [KM]iB|[0-9,]+ blocks|[0-9,.]+ %)/N/g' \
		's/\+0x[0-9a-f]+|0x[0-9a-f]{4,}/+0xN/g'
	expect_eq "tcmalloc for debugging: recorded" "$(leaks many.json)" "not done"
	expect_json "tcmalloc for debugging: why" many.json '.checks[0].why' \
		'seep cannot read its blocks: the debugging version of tcmalloc puts headers of its own into the blocks; use libtcmalloc.so.4'
fi

# Four threads that have ended: what glibc keeps for them is not lost, recorded or not.
cat >joined.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *a) { void *volatile p = malloc(1000); free(p); return a; }
int main(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	puts("ready");
	fflush(stdout);
	return getchar() == 'x';
}
END
"${CC:-gcc}" -g -O1 -fno-builtin -pthread -o joined joined.c || exit
show "$SEEP" run -o joined.rec ./joined
begin ./joined
show "$SEEP" leaks "$pid"
finish
# How many ran at the same time, and so how many stacks there are, depends on the machine.
expect_shown "joined threads: all of it" walkers/joined.txt "${addresses[@]}" 's/peak [0-9.]+ KiB/peak SIZE/g; s/within [0-9.]+ KiB: 4 KiB for each of [2-5]/within …/' \
	's/^exited.*allocs.*( · peak)/exited … 4 frees\1/; s/[0-9]+ allocs, 4 frees/N allocs, 4 frees/; s/[0-9.]+ KiB in [0-9]+ blocks/SIZE in N blocks/; s/[0-9]+ blocks, [0-9] arenas?/N blocks, N arenas/; s/temporary.*/temporary …/'
