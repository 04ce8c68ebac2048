#!/bin/bash
# SPDX-License-Identifier: MIT
# seep massif, also as valgrind --tool=massif: command lines as people type them, the
# files that are written, and what is ignored or refused.
. "$(dirname "$0")/lib.sh"
# timeout: 120
need_seep
need_libseep
steps=$(program massif_steps) || exit
export HOME=$TMP/home
mkdir "$TMP/home" "$TMP/bin" "$TMP/work"
ln -s "$SEEP" "$TMP/bin/valgrind"
cd "$TMP/work" || exit
cp "$steps" your_proc

# ---- a document's command line ----
run "$TMP/bin/valgrind" --tool=massif --time-unit=B --detailed-freq=1 --massif-out-file=./massif.out ./your_proc args
expect_eq "status" "$status" 0
expect_match "the program's output" "$out" '^expect peak bytes=341149 '
expect_eq "what has no effect, in one line" "$err" \
	"seep valgrind: ignored: --time-unit (times are milliseconds)
wrote ./massif.out"
expect_eq "one file" "$(ls)" "massif.out
your_proc"
expect_eq "its head" "$(head -n 3 massif.out)" "desc: --time-unit=B --detailed-freq=1 --massif-out-file=./massif.out
cmd: ./your_proc args
time_unit: ms"
expect_eq "the peak, to the byte" "$(grep -A 1 '^heap_tree=peak$' massif.out | tail -n 1 | cut -d' ' -f2)" 341149
expect_eq "the same figure" "$(grep -B 3 '^heap_tree=peak$' massif.out | head -n 1)" "mem_heap_B=341149"

# ---- options ----
run "$SEEP" massif ./your_proc
file=$(ls massif.out.*)
expect_eq "by default" "$err" "wrote $file"
expect_match "its name" "$file" '^massif\.out\.[0-9]+$'
expect_eq "no options" "$(head -n 1 "$file")" "desc: (none)"
massif() { # OPTION...: the tree of the peak, in `tree`
	run "$SEEP" massif -q --massif-out-file=one "$@" ./your_proc
	expect_eq "$*: status" "$status" 0
	tree=$(sed -n '/^heap_tree=peak$/,/^#/p' one | grep '^ *n')
}
massif --threshold=0
expect_eq "every frame" "$(grep -c ' 0x' <<<"$tree")" 26
expect_eq "--threshold=0: no sums" "$(grep -c threshold <<<"$tree")" 0
expect_match "small" "$tree" '^   n0: 291 0x[0-9A-F]+: main \(massif_steps\.c:'
massif --threshold=20
expect_eq "what is below" "$(tail -n 1 <<<"$tree")" " n0: 74381 in 3 places, all below massif's threshold (20.00%)"
massif --depth=1
expect_match "depth" "$tree" '^  n0: 266768 0x[0-9A-F]+: grow '
expect_no_match "depth: no more" "$tree" ': main '
massif --alloc-fn='grow(unsigned long)' --threshold=1.5
expect_match "alloc-fn" "$tree" '^ n1: 212899 0x[0-9A-F]+: keep '
expect_match "alloc-fn: the others" "$tree" '^ n0: 53869 0x[0-9A-F]+: main '
massif --max-snapshots=10 --heap-admin=0 --peak-inaccuracy=0 --time-unit=ms --stacks=no --pages-as-heap=no --heap=yes \
	--num-callers=12 --vgdb=no
expect_eq "these are as they are" "$err" ""
massif --stacks=yes --pages-as-heap=yes --heap=no --heap-admin=16 --ignore-fn=keep --time-unit=i
expect_eq "these are ignored" "$err" \
	"seep massif: ignored: --time-unit (times are milliseconds), --stacks, --pages-as-heap, --heap=no, --heap-admin (the number of blocks over time is not recorded), --ignore-fn"
VALGRIND_OPTS='--memcheck:leak-check=full --massif:depth=1' massif --threshold=2
expect_no_match "options of the environment" "$tree" ': main '
if have valgrind; then # the same tree, but for addresses and the order of equal ones
	for options in "--threshold=0" "" "--threshold=5 --depth=2" "--alloc-fn=inner --alloc-fn=grow"; do
		# shellcheck disable=SC2086 # options are words
		massif $options
		# shellcheck disable=SC2086 # options are words
		valgrind --tool=massif $options --massif-out-file=theirs ./your_proc >log 2>&1 || cat log
		expect_eq "massif $options" "$(echo "$tree" | sed 's/0x[0-9A-F]*/0x/' | sort)" \
			"$(sed -n '/^heap_tree=peak$/,/^#/p' theirs | grep '^ *n' | sed 's/0x[0-9A-F]*/0x/' | sort)"
	done
fi
cat >slow.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[150];
int main(void)
{
	for (int i = 0; i < 150; i++) {
		kept[i] = malloc(97);
		usleep(10000);
	}
	return 0;
}
END
"${CC:-gcc}" -g -fno-builtin -o slow slow.c || exit
run "$SEEP" massif -q --massif-out-file=slow.out --max-snapshots=10 ./slow
expect_eq "max-snapshots" "$(grep -c '^snapshot=' slow.out)" 10
expect_match "max-snapshots: with the peak" "$(cat slow.out)" '^heap_tree=peak$'
expect_eq "max-snapshots: numbered" "$(sed -n 's/^snapshot=//p' slow.out | xargs)" "0 1 2 3 4 5 6 7 8 9"

# ---- refused ----
for wrong in --depth=0 --depth=201 --max-snapshots=9 --max-snapshots=1001 --detailed-freq=0 --heap-admin=1025 --threshold=101 \
	--threshold=x --time-unit=s --stacks=maybe --nonsense --tool=memcheck --massif-out-file=%z --massif-out-file=no/where; do
	run "$SEEP" massif $wrong ./your_proc
	expect_eq "$wrong" "$status" 1
	expect_eq "$wrong: the program is not started" "$out" ""
	expect_eq "$wrong: one line" "$(wc -l <<<"$err")" 1
done
run "$SEEP" massif
expect_eq "no program" "$status" 1
run "$SEEP" massif ./nothing
expect_eq "no such program" "$status" 127
"$SEEP" run -o mine.rec --no-leak-check ./your_proc >/dev/null 2>&1
run "$SEEP" massif --massif-out-file=mine.rec ./your_proc
expect_eq "a recording is not overwritten" "$status" 1
run "$SEEP" massif --help
expect_match "help" "$out" '^ +--massif-out-file FILE$'

# ---- processes ----
rm -f massif.out*
run "$SEEP" massif sh -c './your_proc; exit 7'
expect_eq "the program's status" "$status" 7
expect_eq "a shell has a file" "$(cat massif.out.* | grep -c '^cmd: ')" 1
rm -f massif.out*
run "$SEEP" massif --trace-children=yes sh -c './your_proc; ./your_proc x'
expect_eq "and what it starts" "$(cat massif.out.* | grep '^cmd: ' | sort | xargs)" \
	"cmd: ./your_proc cmd: ./your_proc x cmd: sh -c ./your_proc; ./your_proc x"
run "$SEEP" massif --massif-out-file=alone --trace-children=yes sh -c './your_proc; ./your_proc x'
expect_match "one name is one file" "$err" '^seep: 2 child processes are without a file: %p in --massif-out-file '
rm -f massif.out*
run "$SEEP" massif sh -c 'kill -9 $$'
expect_eq "killed" "$status" 137
expect_eq "killed: has a file all the same" "$(cat massif.out.* | grep -c '^heap_tree=peak$')" 1
run "$SEEP" massif -q --massif-out-file=/dev/null ./your_proc
expect_eq "to nowhere" "$status$err" 0
