#!/bin/bash
# SPDX-License-Identifier: MIT
# After seep detach a process is what it was: the same mappings, line by line, and the
# same bytes in all of its code and constants, so its timing cannot be another. Where
# words were changed and somebody may have copied one, jumps to the real functions stay,
# and are said to.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command python3

# bytes PID: a line for each mapping that is not written to: where, and a sum of its
# bytes.
bytes() {
	python3 - "$1" <<'EOF'
import hashlib, sys
pid = sys.argv[1]
mem = open(f"/proc/{pid}/mem", "rb")
for line in open(f"/proc/{pid}/maps"):
    where, perms = line.split()[:2]
    if perms[:2] != "r-" or "[v" in line:
        continue
    start, end = (int(x, 16) for x in where.split("-"))
    mem.seek(start)
    print(where, perms, hashlib.sha1(mem.read(end - start)).hexdigest())
EOF
}

# back WHAT OPTIONS: attached and left again, with work in between only where that is part
# of it.
back() {
	local what=$1 maps before
	shift
	begin "$prog" 2
	one_round
	maps=$(grep -v '\[heap\]' "/proc/$pid/maps")
	before=$(bytes "$pid")
	run "$SEEP" attach --stay "$@" "$pid"
	expect_eq "$what: attached" "$status" 0
	[ "$(bytes "$pid")" != "$before" ] || fail "$what: nothing was changed"
	run "$SEEP" detach "$pid"
	expect_match "$what: it says so" "$out" 'detached, nothing left$'
	expect_eq "$what: mappings" "$(grep -v '\[heap\]' "/proc/$pid/maps")" "$maps"
	expect_eq "$what: bytes" "$(bytes "$pid")" "$before"
	run "$SEEP" attach --stay "$@" "$pid"
	one_round
	run "$SEEP" detach "$pid"
	expect_eq "$what, with work: bytes" "$(bytes "$pid")" "$before"
	finish
	expect_eq "$what: it ended well" "$ended" 0
}
prog=$(program attach_steps) || exit
back "sampled"
back "exact" --exact
prog=$(program attach_steps static -O2 -g -static 2>/dev/null) && back "static" --exact

# Addresses of malloc and free that are taken while attached, and used afterwards.
prog=$(program takes_address) || exit
taken() {
	local what=$1 regex=$2 before
	begin "$prog"
	before=$(bytes "$pid")
	run "$SEEP" attach --stay --exact "$pid"
	expect_eq "$what: attached" "$status" 0
	one_round
	run "$SEEP" detach "$pid"
	expect_match "$what: what stays" "$out" "$regex"
	expect_match "$what: it was seen" "$out" '1,008 allocs, 1,008 frees'
	expect_eq "$what: bytes" "$(bytes "$pid" | grep -F "${before%% *}")" "$(head -n 1 <<<"$before")"
	for _ in 1 2 3; do
		one_round
	done
	finish
	expect_eq "$what: it ended well" "$ended" 0
}
taken "jumps" 'detached, nothing left$'
SEEP_TEST_ATTACH_WORDS=1 taken "words" "detached; 4\.00 KiB of jumps to the real functions stay: the program may have stored malloc's address"
