#!/bin/bash
# SPDX-License-Identifier: MIT
# seep attach on a process that says what it did: nothing from before, everything since,
# from threads and libraries that came later too; with jumps, by words, and in sampled
# mode. Afterwards its memory is as it was.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq nm

prog=$(program attach_steps) || exit
plugin=$(program plugin attach -O1 -g -fPIC -shared -fno-builtin -DNAME=late) || exit

# exact WHAT ARGS...: two rounds while attached, none before, one after.
exact() {
	local what=$1 before after maps
	shift
	begin "$prog" "$@"
	before=$(entry "$pid" malloc)
	maps=$(wc -l <"/proc/$pid/maps")
	run "$SEEP" attach --stay --exact "$pid"
	expect_eq "$what: attached" "$status" 0
	expect_match "$what: says what comes next" "$err" "next: .*seep detach $pid"
	one_round
	one_round
	run "$SEEP" detach --json "$pid"
	expect_eq "$what: detached" "$status $err" "0 "
	cp "$TMP/out" "$TMP/json"
	after=$(entry "$pid" malloc)
	expect_eq "$what: malloc is as it was" "$after" "$before"
	expect_eq "$what: nothing is left" "$(ours "$pid")" 0
	expect_between "$what: no mapping more" "$(wc -l <"/proc/$pid/maps")" 1 $((maps + 8))
	finish
	expect_eq "$what: it ended well" "$ended" 0
	expect_truth "$what" "$TMP/json" "$(cat "$TMP/said")"
	expect_nothing_lost_but_before "$what" "$TMP/json"
}

# Blocks from before may be freed; nothing else is missing.
expect_nothing_lost_but_before() {
	expect_json "$1: nothing lost" "$2" \
		'[.processes[].lost | del(.frees_unknown) | to_entries[] | select(.value != 0 and .value != false)]' '[]'
}

exact "jumps"
exact "with threads" 3
SEEP_TEST_ATTACH_WORDS=1 exact "by words"
SEEP_TEST_ATTACH_WORDS=1 exact "by words, with threads" 2
unset SEEP_TEST_ATTACH_WORDS

# A library that is loaded while we are attached: its calls are seen, from its constructor
# on, with their names.
late() {
	begin "$prog" 0 "$plugin" plugin_use
	run "$SEEP" attach --stay --exact "$pid"
	one_round
	run "$SEEP" detach --json "$pid"
	expect_eq "plugin: detached" "$status" 0
	finish
	expect_truth "plugin" "$TMP/out" "expect in=late_begin allocs=5 frees=0 allocated_bytes=155
expect in=late_make allocs=4 frees=3 allocated_bytes=67 freed_bytes=54"
}
late

# Sampled, every byte: the same figures, as estimates that cannot be off.
begin "$prog"
run "$SEEP" attach --stay --sample 1 "$pid"
one_round
run "$SEEP" detach --json "$pid"
expect_eq "sampled: detached" "$status" 0
finish
expect_truth "sampled at 1 byte" "$TMP/out" "$(cat "$TMP/said")"

# Again and again on the same process.
begin "$prog"
for _ in 1 2 3; do
	run "$SEEP" attach --stay --exact "$pid"
	one_round
	run "$SEEP" detach --json "$pid"
	expect_json "again: one round" "$TMP/out" '[.sites[] | .allocs] | add' \
		"$(sed -n '1p' "$TMP/rounds" 2>/dev/null || jq '[.sites[] | .allocs] | add' "$TMP/out" | tee "$TMP/rounds")"
done
run "$SEEP" detach "$pid"
expect_eq "nothing to detach" "$status" 3
expect_match "and it says so" "$err" "nothing of seep's is in it"
finish
