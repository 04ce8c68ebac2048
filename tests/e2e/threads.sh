#!/bin/bash
# SPDX-License-Identifier: MIT
# Threads by the thousand, each with known counts: short ones, all at once, cancelled,
# outliving main, with destructors that go on allocating. No event is lost, ended threads
# leave no room taken in the recording, and there are as many threads as there were.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program threads) || exit
ends=$(program thread_ends) || exit

# threads WHAT COUNT COMMAND...
threads() {
	local what=$1 count=$2
	shift 2
	record "$@"
	expect_eq "$what: status" "$status $err" "0 "
	expect_truth "$what" "$TMP/json" "$out"
	expect_nothing_lost "$what" "$TMP/json"
	expect_json "$what: threads" "$TMP/json" '.processes[0].threads' "$((count + 1))"
	expect_json "$what: end" "$TMP/json" '.processes[0].end' exited
}

n=$(times 2003 100003)
threads "short" "$n" "$prog" short "$n"
read -r _ early late < <(grep '^room ' <<<"$out")
expect_between "room after a tenth of them, KiB" "$early" 256 8192
expect_between "room after all of them, KiB" "$late" "$early" $((early + 256))
options=(--sample 97)
record "$prog" short 211
expect_eq "short, sampled: status" "$status $err" "0 "
expect_nothing_lost "short, sampled" "$TMP/json"
options=()

n=$(times 199 997)
threads "many" "$n" "$prog" many "$n"
threads "cancelled" 101 "$prog" cancel 101
threads "outliving main" 13 "$prog" main 13
threads "destructors" 53 "$ends" 53
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	[ -n "$(find_library $name)" ] || { left_out "no $name here"; continue; }
	export LD_PRELOAD=$name
	threads "destructors over $name" 17 "$ends" 17
	threads "short over $name" 307 "$prog" short 307
	unset LD_PRELOAD
done
