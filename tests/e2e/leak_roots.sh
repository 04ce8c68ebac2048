#!/bin/bash
# SPDX-License-Identifier: MIT
# Where pointers are kept: seep and valgrind find the same, but for memory that the
# program has closed; that is also looked through in a process that runs, with a recording
# and without.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_leak.sh"

leak_area leak_roots

# 37 blocks of 307 bytes in a page that is read-only, 41 of 311 in one that is closed, 43
# of 313 in a closed block of 4,096, 47 of 317 in closed shared memory, 53 of 331 in
# read-only shared memory.
prog=$(program leak_sealed)
mkfifo "$TMP/in"
check_running() { # NAME COMMAND...
	local name=$1 job pid
	shift
	: >"$TMP/pid"
	"$@" "$prog" <"$TMP/in" >"$TMP/pid" 2>/dev/null &
	job=$!
	exec 3>"$TMP/in"
	for _ in $(seq 600); do
		[ ! -s "$TMP/pid" ] || break
		sleep 0.1
	done
	read -r pid <"$TMP/pid"
	run "$SEEP" leaks --fail-on leak "$pid"
	expect_eq "$name: nothing is lost" "$status $(grep -o 'definitely lost 0 ' <<<"$out")" "0 definitely lost 0 "
	expect_match "$name: all are held" "$out" 'still reachable .* in 222 blocks'
	exec 3>&-
	wait "$job"
	expect_eq "$name: its end" "$?" 0
}
check_running "running, unrecorded"
check_running "running, recorded" "$SEEP" run --no-save --fail-on leak --
