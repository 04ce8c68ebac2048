#!/bin/bash
# SPDX-License-Identifier: MIT
# Blocks that the walkers find in processes over glibc's malloc, jemalloc, tcmalloc and mimalloc, compared with what the
# process says it has: none is missing, sizes are equal, and hardly any is there that is not the program's. And
# what is lost of 10,100 blocks is the same over all of them, recorded or not.
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

	begin env LD_PRELOAD="$lib" "$many"
	want=$(sed -n 's/^expect //p' "$TMP/said")
	run "$SEEP" leaks --json "$pid"
	expect_eq "${name%%:*}: not recorded" "$(blocks "$TMP/out")" "10000 0"
	expect_match "${name%%:*}: by name" "$(jq -r .allocators "$TMP/out")" "^${name%%:*}"
	finish
	expect_eq "the truth" "$want" "definite=30468205/10000 reachable=257500/100"
	LD_PRELOAD=$lib "$SEEP" run --json --log-file many.json -o many.rec -- "$many" </dev/null >/dev/null
	expect_eq "${name%%:*}: recorded" "$(leaks many.json)" "$want"
done

# The demo of jemalloc's leak check, linked with jemalloc: the same verdict and bytes as over glibc's malloc.
lib=$(find_library libjemalloc.so.2)
if [ -n "$lib" ]; then
	plain=$(program jem_demo) || exit
	linked=$(program jem_demo linked -g -w -O0 -Wl,--no-as-needed "$lib") || exit
	for prog in "$plain" "$linked"; do
		"$SEEP" run --json --log-file "demo.json" -o demo.rec -- "$prog"
		expect_eq "${prog##*/}: lost" "$(leaks demo.json)" "definite=6430720/120 reachable=0/0"
		run "$SEEP" report demo.rec
		expect_match "${prog##*/}: verdict" "$out" '^LEAK  6\.13 MiB in 120 blocks'
	done
fi

# What cannot be read is said, and nothing is reported.
lib=$(find_library libtcmalloc_debug.so.4)
if [ -n "$lib" ]; then
	LD_PRELOAD=$lib "$SEEP" run --json --log-file many.json -o many.rec -- "$many" </dev/null >/dev/null
	expect_eq "tcmalloc for debugging: recorded" "$(leaks many.json)" "not done"
	expect_json "tcmalloc for debugging: why" many.json '.checks[0].why' \
		'seep cannot read its blocks: the debugging version of tcmalloc puts headers of its own into the blocks'
fi
