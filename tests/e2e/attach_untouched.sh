#!/bin/bash
# SPDX-License-Identifier: MIT
# A leak of blocks that are only partly touched: resident memory grows by less than a
# third of it. That must not clear the site, whatever the allocator and however much
# memory was there before.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq "${CC:-cc}"
cat >"$TMP/untouched.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *before[400];
int main(void)
{
	for (int i = 0; i < 400; i++)
		memset(before[i] = malloc(1000000), 1, 1000000);
	puts("ready");
	fflush(stdout);
	for(;;){char*p=malloc(65536); memset(p,1,20000); usleep(5000);}
}
END
"${CC:-cc}" -g -O0 -o "$TMP/untouched" "$TMP/untouched.c" || exit
jemalloc=$(find_library libjemalloc.so.2)

# look NAME PRELOAD OPTIONS
look() {
	local name=$1 preload=$2 pid
	shift 2
	: >"$TMP/$name.said"
	LD_PRELOAD=$preload "$TMP/untouched" >"$TMP/$name.said" &
	pid=$!
	wait_for 20 grep -q ready "$TMP/$name.said"
	"$SEEP" attach "$@" --for 6s --log-file "$TMP/$name.txt" -o "$TMP/$name.rec" "$pid"
	kill "$pid"
	wait "$pid" 2>/dev/null
}
look glibc "" &
look glibc_exact "" --exact &
if [ -n "$jemalloc" ]; then
	look jemalloc "$jemalloc" &
	look jemalloc_exact "$jemalloc" --exact &
fi
wait
for name in glibc glibc_exact ${jemalloc:+jemalloc jemalloc_exact}; do
	run "$SEEP" report --json "$TMP/$name.rec"
	cp "$TMP/out" "$TMP/$name.json"
	# Evenness may fail on a machine under load, growth may not.
	expect_match "$name: the site grows" \
		"$(jq -r '.sites[] | .growth | "\(.verdict) \(.why)"' "$TMP/$name.json" | sort -u)" '^(GROWING|LEAK likely)'
	expect_golden "$name: all of it" "$(cat "$TMP/$name.txt")" "verdicts/untouched_$name.txt" live pace
	expect_no_match "$name: no all-clear" "$(cat "$TMP/$name.txt")" 'NO GROWTH|^OK|^STEADY|no leak:'
done
[ -n "$jemalloc" ] || left_out "no jemalloc here"
