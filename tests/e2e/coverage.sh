#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that keep their memory where malloc's hooks do not see it: the report begins
# with how much it covers and where the rest is, and gives no verdict: never "OK", never
# "no leak".
. "$(dirname "$0")/lib.sh"
# timeout: 300
need_seep
need_libseep
need_command jq
cd "$TMP" || exit

# partial WHAT REGEX PROGRAM…: first line PARTIAL with the place, no verdict; in JSON too.
partial() {
	local what=$1 regex=$2
	shift 2
	run "$@" # alone: its output is the truth
	local alone=$out
	# On a busy machine a short program is gone before anybody has looked at its
	# memory.
	local try
	for try in 1 2 3 4; do
		run "$SEEP" run -o partial.rec -- "$@"
		case $err in PARTIAL*) break ;; esac
		sleep "$try"
	done
	expect_eq "$what: status" "$status" 0
	expect_eq "$what: output" "$out" "$alone"
	expect_match "$what: coverage first" "$(head -n 1 <<<"$err")" \
		'^PARTIAL +recorded [0-9.]+ ([KMG]i)?B of [0-9.]+ [KMG]iB anonymous memory \([0-9.<]+ %\): '
	expect_match "$what: where the rest is" "$(head -n 1 <<<"$err")" "$regex"
	expect_no_match "$what: no verdict" "$err" '^(OK|STEADY|LEAK)|[Nn]o leak'
	run "$SEEP" report partial.rec
	expect_match "$what: report says the same" "$(sed -n 2p <<<"$out")" '^PARTIAL .*'"$regex"
	run "$SEEP" report --json partial.rec
	expect_json "$what: in JSON" "$TMP/out" '[.summary.verdict, .coverage.partial]' '["PARTIAL",true]'
}

# More than was ever live at one time, and all of it malloc's: several arenas that keep
# what was freed, and blocks that begin at a page each.
kept=$(program arenas_kept) || exit
partial "mapped beside arenas" 'the rest did not come from malloc' "$kept" mapped
expect_between "mapped beside arenas: what arenas keep is malloc's" \
	"$(jq '.coverage | .recorded_bytes / .anonymous_bytes' "$TMP/out")" 0.1 0.2
for what in arenas padding; do
	run "$SEEP" run -o kept.rec "$kept" $what
	expect_match "$what: all is malloc's" "$err" '^OK  no leak: '
	expect_match "$what: malloc keeps it" "$err" '^recorded .* anonymous memory \((9[5-9]|100) %\), [0-9.]+ MiB of it freed or padding that malloc keeps$'
	run "$SEEP" report --json kept.rec
	expect_json "$what: in JSON" "$TMP/out" '.coverage | [.partial, .kept_by_malloc_bytes > 30000000] | tostring' '[false,true]'
done

python=/usr/bin/python3
if [ -x $python ]; then
	script='rows = [(i, i + 1) for i in range(1000003)]
print(len(rows))'
	PYTHONMALLOC='' partial "python" 'pymalloc.*PYTHONMALLOC=malloc' env -u PYTHONMALLOC $python -c "$script"
	partial "python itself" 'pymalloc.*PYTHONMALLOC=malloc' $python -c "$script"
	# With what the line advises, it is all there.
	PYTHONMALLOC=malloc run "$SEEP" run --json --log-file all.json -o all.rec -- $python -c "$script"
	expect_json "python with malloc: covered" all.json '.coverage.partial' false
	# The recorder's own tables are not the program's: 13 MiB of them beside 15 MiB
	# once made this 54 %.
	PYTHONMALLOC=malloc run "$SEEP" run --json --log-file all.json --no-save $python -c 'import glob
for f in sorted(glob.glob("/usr/lib/python3*/*.py"))[:200]: compile(open(f).read(), f, "exec")'
	expect_between "python compiling: covered" \
		"$(jq '.coverage.recorded_bytes / .coverage.anonymous_bytes' all.json)" 0.8 1
	PYTHONMALLOC=malloc run "$SEEP" run --json --log-file all.json -o all.rec -- $python -c "$script"
	expect_between "python with malloc: allocations" "$(jq .totals.allocs all.json)" 2000000 4000000
fi

library=$(find /usr/lib /usr/local/lib -name libjemalloc.a 2>/dev/null | head -n 1)
if [ -n "$library" ]; then
	mkdir jemalloc
	(cd jemalloc && ar x "$library") || exit
	nm -g --defined-only jemalloc/*.o | awk 'NF == 3 { print $3, "je_" $3 }' | sort -u >prefix
	for object in jemalloc/*.o; do objcopy --redefine-syms=prefix "$object" || exit; done
	if ${CC:-gcc} -O2 -g -o own_heap "$ROOT/tests/programs/own_heap.c" jemalloc/*.o -lm -lpthread -ldl -lstdc++ 2>ld.log; then
		run "$SEEP" run -o own_heap.rec -- ./own_heap
		expect_match "jemalloc under another name: seen" "$err" '^NO VERDICT .* in 50,021 blocks'
		strip -o stripped own_heap
		for again in 1 2 3 4 5; do # it is gone before one has looked twice
			partial "the same, stripped, $again" 'jemalloc|did not come from malloc' ./stripped
		done
	else
		fail "cannot link a prefixed jemalloc" "$(cat ld.log)"
	fi
	# Under its own names it is the malloc.
	echo '#include <stdlib.h>
#include <stdio.h>
#include <string.h>
int main(void) { for (int i = 0; i < 50021; i++) memset(malloc(1009), 1, 1009); puts("done"); return 0; }' >plain.c
	if ${CC:-gcc} -O0 -g -o plain plain.c "$library" -lm -lpthread -ldl -lstdc++ 2>ld.log; then
		run "$SEEP" run -o plain.rec -- ./plain
		expect_eq "jemalloc as malloc: status" "$status" 0
		expect_match "jemalloc as malloc: seen" "$err" '^NO VERDICT .* in 50,021 blocks'
	fi
fi

if have go; then
	cat >hold.go <<'END'
package main

import "fmt"

var rows [][]byte

func main() {
	for i := 0; i < 50021; i++ {
		rows = append(rows, make([]byte, 1009))
	}
	fmt.Println("expect hidden", len(rows)*1009)
}
END
	cat >with_c.go <<'END'
package main

// #include <stdlib.h>
import "C"
import "fmt"

var rows [][]byte

func main() {
	C.malloc(61)
	for i := 0; i < 50021; i++ {
		rows = append(rows, make([]byte, 1009))
	}
	fmt.Println("expect hidden", len(rows)*1009)
}
END
	export GOCACHE=$TMP/gocache GOFLAGS=-mod=mod GO111MODULE=off
	if go build -o hold hold.go 2>go.log; then
		# A pure Go program is static: refused with the reason, not reported as
		# clean.
		run "$SEEP" run -o hold.rec -- ./hold
		expect_eq "pure Go: refused" "$status" 3
		expect_match "pure Go: why" "$err" '^seep: \./hold: (statically linked|.*Go)'
	fi
	if go build -o with_c with_c.go 2>go.log; then
		partial "Go with C" 'Go keeps its objects in a heap of its own' ./with_c
	fi
fi
