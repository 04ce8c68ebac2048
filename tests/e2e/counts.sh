#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# Every hooked function, known numbers of calls, from eight threads, half of the frees by
# other threads: allocations, frees and bytes equal to the block. Over glibc's malloc and
# over jemalloc, tcmalloc and mimalloc, preloaded by the user and linked.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

# all_of WHAT PROGRAM: C and C++ say the same kind of thing.
besides=
all_of() {
	local what=$1
	shift
	run "$@"
	local alone=$out
	expect_eq "$what: status without seep" "$status" 0
	record "$@"
	expect_eq "$what: status" "$status" 0
	expect_eq "$what: stderr" "$err" ""
	expect_no_match "$what: complaints" "$out" '^[^e]'
	expect_eq "$what: says the same as without seep" "$(sort <<<"$out")" "$(sort <<<"$alone")"
	expect_truth "$what" "$TMP/json" "$out"
	expect_nothing_lost "$what" "$TMP/json" "$besides"
}

c=$(program counts) || exit
cxx=$(program counts_cxx) || exit
all_of "glibc" "$c"
# What is not the program's own is libc's: one block a thread, made by pthread_create.
expect_json "glibc: the rest" "$TMP/json" \
	'.frames as $f | [.sites[] | select([.stack[] | $f[.].function] | any(test("^(with_|resize)")) | not)]
	| [([.[].allocs] | add), (map([.stack[] | $f[.].function] | any(test("pthread_create"))) | all)] | @csv' \
	'8,true'
expect_json "threads" "$TMP/json" '.processes[0].threads' 9
all_of "glibc, C++" "$cxx"

# A form of operator delete that the program replaces is what the other forms come by.
replaced=$(program cxx_replaced) || exit
for options in --exact "--sample 1M"; do
	# shellcheck disable=SC2086 # two words
	run "$SEEP" run $options -o "$TMP/replaced.rec" -- "$replaced"
	expect_eq "replaced delete, $options" "$status $out" "0 plain 4000, aligned 2000"
done
options=()

# With every byte a sample the figures are exact too; but a block of no bytes is never
# hit.
options=(--sample 1)
run "$c"
alone=$out
record "$c"
expect_eq "every byte sampled: says the same" "$status $(sort <<<"$out")" "0 $(sort <<<"$alone")"
expect_truth "every byte sampled" "$TMP/json" "$(grep -v with_zero <<<"$out")"
expect_nothing_lost "every byte sampled" "$TMP/json"
options=()

for name in libjemalloc.so.2 libtcmalloc.so.4 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(find_library $name)
	if [ -z "$path" ]; then
		left_out "no $name here"
		continue
	fi
	c_args=() cxx_args=() # what the allocator cannot do, see the programs
	[ $name != libjemalloc.so.2 ] || c_args=(without)
	[ $name != libmimalloc.so.2 ] || cxx_args=(without)
	export LD_PRELOAD=$path
	all_of "$name preloaded" "$c" "${c_args[@]}"
	expect_match "$name is really there" "$out" "^engine $name"
	all_of "$name preloaded, C++" "$cxx" "${cxx_args[@]}"
	unset LD_PRELOAD
	linked=$(program counts "$name" -O1 -g -pthread -fno-builtin -Wl,--no-as-needed "$path") || exit
	all_of "$name linked" "$linked" "${c_args[@]}"
	expect_match "$name is really linked" "$out" "^engine $name"
	linked=$(program counts_cxx "$name" -O1 -g -pthread -fno-builtin -std=c++17 -Wl,--no-as-needed "$path") || exit
	all_of "$name linked, C++" "$linked" "${cxx_args[@]}"
done

# A wrapper of the user's own, whose functions call each other by name: one request, one
# block.
nested=$(program bump nested -O2 -g -fPIC -shared -fno-builtin -DNESTED) || exit
export LD_PRELOAD=$nested
besides=past # its free does nothing: what libc handed out (posix_memalign) stays in libc's heap
all_of "nested wrapper" "$c"
all_of "nested wrapper, C++" "$cxx"
unset LD_PRELOAD
