#!/bin/bash
# SPDX-License-Identifier: MIT
# Libraries that are loaded, allocate in constructor, use and destructor, and are unloaded; the
# next comes to lie at the same addresses. Every allocation has its own library's names.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program modules) || exit
flags="-O1 -g -fPIC -shared -fno-builtin"

# loaded WHAT ROUNDS EXTRA_FLAGS...
loaded() {
	local what=$1 rounds=$2 name plugins=()
	shift 2
	for name in alpha gamma omega; do
		# shellcheck disable=SC2086 # flags are words
		plugins+=("$(program plugin "$name.${what// /-}" $flags -DNAME=$name "$@")" "$name") || exit
	done
	record "$prog" "$rounds" "${plugins[@]}"
	expect_eq "$what: status" "$status $err" "0 "
	expect_truth "$what" "$TMP/json" "$out"
	expect_nothing_lost "$what" "$TMP/json"
	expect_between "$what: really at the same addresses" \
		"$(sed -n 's/^same place //p' <<<"$out")" "$rounds" $((3 * rounds))
	# Later, when the libraries are not at hand any more, names come from the recording.
	expect_status 0 "$SEEP" report --json "$TMP/rec"
	expect_truth "$what, from the file" "$TMP/out" "$(grep -v beside < <("$prog" "$rounds" "${plugins[@]}"))"
}

loaded "with build-id" "$(times 3 307)"
loaded "without build-id" "$(times 3 307)" -Wl,--build-id=none
