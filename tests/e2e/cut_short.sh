#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings that are not of the whole program: one that ended because the program needed
# the address space, one that had little room from the start, and one whose hooks do not
# see all calls. Each says so, with the reason, and what is missing is counted where that
# is possible.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq prlimit
cd "$TMP" || exit

prog=$(program address_limit) || exit
ln -s "$prog" address_limit

# counted WHAT FILE: of the 200,002 blocks none is without trace. The program's own calls
# of libc may add a few.
counted() {
	local n
	n=$(jq -r '.processes[] | select(.exe | endswith("/address_limit")) | .allocs + .lost.space' "$2")
	expect_between "$1: recorded and missed" "$n" 200002 200010
}

# ---- it ends in the middle ----
expect_status 0 "$SEEP" run -o ended.rec ./address_limit 100000
expect_match "ended: said" "$err" \
	'^the recording of address_limit ended early, after [0-9.]+ m?s: the program ran out of address space \(ulimit -v\), so seep gave its own back; raise the limit$'
expect_match "ended: what is missing" "$err" '^not recorded: 1[0-9]{2},[0-9]{3} allocations \(after the recording ended\)$'
expect_match "ended: no verdict" "$(head -n 1 <<<"$err")" '^NO VERDICT  recorded [0-9]+,[0-9]{3} of 200,00[0-9] allocations \([0-9.]+ %\); the program ran out of address space'
# How much was recorded depends on the libraries: these numbers have four digits or more.
expect_golden "ended: all of it" "$err" verdicts/ended_early.txt sizes shares 's/200,00[0-9]/ALL/; s/[0-9]+,[0-9]{3}\b/N/g'
expect_no_match "ended: not as if nothing were missed" "$err" '^OK |nothing missed'
expect_status 0 "$SEEP" report --json ended.rec
counted "ended" "$TMP/out"
run "$SEEP" report ended.rec
expect_match "ended: in the saved recording, too" "$out" '^the recording of address_limit ended early'

# ---- as a user does it ----
expect_status 0 "$SEEP" run -o limited.rec prlimit --as=20000000 ./address_limit
limited=$err
if grep -qE 'address_limit.*not recorded|became another program by exec' <<<"$err"; then
	left_out "20,000,000 bytes leave no room for a recording here"
else
	expect_match "prlimit: why" "$err" \
		'\(no room within the address space limit \(ulimit -v\); raise it\)|ended early|nothing missed'
	expect_status 0 "$SEEP" report --json limited.rec
	counted "prlimit" "$TMP/out"
	if [[ $limited == *nothing\ missed* ]]; then # how much room is left depends on the libraries
		expect_golden "prlimit: all of it" "$limited" verdicts/prlimit.txt \
			's/2[0-9]{2},[0-9]{3} allocs, [0-9,]+ frees, [0-9,]+ bytes/N allocs, N frees, N bytes/'
	fi
fi

# ---- calls that no hook sees ----
own=$(program own_malloc_direct) || exit
ln -s "$own" own_malloc_direct
expect_status 0 "$SEEP" run -o own.rec ./own_malloc_direct
expect_match "own malloc: said" "$err" \
	'^not recorded: calls of own_malloc_direct: the program has a malloc of its own and calls it directly, where seep cannot hook it; '
expect_match "own malloc: no verdict" "$(head -n 1 <<<"$err")" '^NO VERDICT  the program has a malloc of its own and calls it directly'
expect_golden "own malloc: all of it" "$err" verdicts/own_malloc.txt
run "$SEEP" report own.rec
expect_match "own malloc: in the saved recording, too" "$out" '^not recorded: calls of own_malloc_direct: '

# A few blocks that found no room may be those that leak: whatever their number, there is
# no all-clear. The recording is as large as it gets after some number of blocks, which is
# looked for.
cat >few.c <<'END'
#include <stdlib.h>
static void *kept[200000];
int main(int argc, char **argv) {
	int n = atoi(argv[argc - 1]);
	for (int i = 0; i < n; i++) kept[i] = malloc(16);
	for (int i = 0; i < 50; i++) { void *volatile lost = malloc(1000000); lost = NULL; }
	for (int i = 0; i < n; i++) free(kept[i]);
}
END
gcc -O1 -g -o few few.c || exit
run "$SEEP" run --json --max-size 2M -o few.rec -- ./few 200000
most=$(jq '.totals.allocs' "$TMP/err")
run "$SEEP" run --max-size 2M -o few.rec -- ./few "$most"
expect_match "50 blocks of many found no room" "$err" "^NO VERDICT  recorded [0-9,]+ of [0-9,]+ allocations \\(99 %\\); no room: raise --max-size\$"
expect_match "as many as were lost" "$err" 'exact but for 50 events missed'
