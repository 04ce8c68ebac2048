#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# An operator new of somebody else's library that puts a header before what it gives out:
# each block counts once, as what malloc was asked for, and neither its delete nor its
# free is called wrong.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program news) || exit
library=$(program header_new) || exit

# made: blocks, frees and live bytes of what make_new called for, and wrong uses of the
# heap.
made() {
	jq -c '.frames as $f | [.sites[] | select([.stack[] | $f[.].function] | any(. // "" | test("make_new")))]
		| [(map(.allocs) | add), (map(.frees) | add), (map(.live_bytes) | add)]' "$TMP/json"
	jq -c '[.errors[]?.kind]' "$TMP/json"
}
record "$prog"
expect_eq "libstdc++'s: status" "$status $out" "0 blocks 101 left 1"
expect_eq "libstdc++'s: what was made" "$(made | tr '\n' ' ')" "[101,100,40] [] "
LD_PRELOAD=$library record "$prog"
expect_eq "with a header: status" "$status $out" "0 blocks 101 left 1"
expect_eq "with a header: what was made" "$(made | tr '\n' ' ')" "[101,100,56] [] "
