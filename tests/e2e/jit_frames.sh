#!/bin/bash
# SPDX-License-Identifier: MIT
# Code made at run time with a registered unwind table (__register_frame): stacks lead
# through it without frame records, also when code at the same address changes, and tables
# that go do no harm.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq
[ "$(uname -m)" = x86_64 ] || skip "the code is made for x86-64"
prog=$(program jit_frames) || exit
threads=$(program jit_threads) || exit

run "$prog"
[ "$status" != 77 ] || skip "no memory that is writable and executable here"
expect_eq "alone" "$status" 0
alone=$out
record "$prog"
expect_eq "status" "$status" 0
expect_eq "output" "$out" "$alone"
expect_truth "through code made at run time" "$TMP/json" "$out"
# shellcheck disable=SC2016 # jq has variables of its own
expect_json "and on to main; without a table it cannot be followed" "$TMP/json" '. as $d
	| [.sites[] | [.stack[] | $d.frames[.]] | select(any(.function == "make_block"))
	| [any(.function == "main"), any(.kind == "truncated")]] | sort' \
	'[[false,true],[true,false],[true,false],[true,false]]'
for n in 3 "$(times 101 20011)"; do
	record "$threads" "$n"
	expect_eq "threads, $n pieces of code: status" "$status" 0
	expect_match "threads, $n pieces of code: all made" "$out" "^turns=$n$"
	expect_truth "threads, $n pieces of code" "$TMP/json" "$out"
	# shellcheck disable=SC2016
	expect_json "threads, $n pieces of code: each call" "$TMP/json" '. as $d
		| [.sites[] | select([.stack[] | $d.frames[.].function] | index("turn") and index("make_block")) | .allocs] | add' "$n"
	expect_nothing_lost "threads, $n pieces of code" "$TMP/json"
done

# And a JIT that nobody here wrote.
if have lli && have clang; then
	cat >"$TMP/j.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) void *leaf(int n) { void *volatile p = malloc(n); return p; }
__attribute__((noinline)) int middle(int n) { return leaf(n) != 0; }
int main(void) { int s = 0; for (int i = 1; i <= 61; i++) s += middle(i * 10); return s == 61 ? 23 : 1; }
END
	clang -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -fasynchronous-unwind-tables -emit-llvm -S \
		-o "$TMP/j.ll" "$TMP/j.c"
	record lli "$TMP/j.ll"
	expect_eq "LLVM: status" "$status" 23
	# shellcheck disable=SC2016
	expect_json "LLVM: leaf, middle and main, then lli's own" "$TMP/json" '. as $d
		| [.sites[] | select(.allocs == 61 and .allocated_bytes == 18910) | [.stack[] | $d.frames[.]]
		| [([.[] | select(.kind == "truncated")] | length), .[0:4][].function == null]]' \
		'[[0,true,true,true,false]]'
fi
