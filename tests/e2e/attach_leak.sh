#!/bin/bash
# SPDX-License-Identifier: MIT
# A slow leak at one of 500 places in a large heap: seep attach names function, file and
# line. A call that loses one block in five is `LEAK likely`; one that never frees any is
# `GROWING`, because a cache that fills looks the same. Under `make soak` as it is meant:
# 2 GB, 1 MiB a minute, a minute's look, 50 times; else a small one, leaking twenty times
# as fast, looked at for five seconds.
# timeout: 1800
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq "${CC:-cc}"

# Every place is a function on a line of its own.
{
	cat <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static uint64_t state = 88172645463325252u;
static uint64_t below(uint64_t n) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state % n; }
END
	for i in $(seq 0 499); do
		echo "__attribute__((noinline)) static void *place_$i(size_t n) { char *p = malloc(n); memset(p, $((i % 250 + 1)), n); return p; }"
	done
	echo 'static void *(*const places[])(size_t) = {'
	seq -f 'place_%g,' 0 499
	cat <<'END'
};
enum { MOST = 1 << 18 };
static struct { void *p; size_t n; unsigned at; } blocks[MOST];
/* MIB PLACE LEAKED-BYTES-A-SECOND FREED: for each block that is lost, so many others are freed */
int main(int argc, char **argv)
{
	uint64_t heap = strtoull(argv[1], NULL, 10) << 20, have = 0, n = 0;
	unsigned leak = (unsigned)atoi(argv[2]), rate = (unsigned)atoi(argv[3]), owed = 0, made = 0;
	unsigned one_in = (unsigned)atoi(argv[4]) + 1;
	state += (uint64_t)getpid() * 7919;
	for (; have < heap && n < MOST && argc == 5; n++) {
		blocks[n].n = 256 + below(2 * heap / MOST * 8);
		blocks[n].at = (unsigned)below(500);
		blocks[n].p = places[blocks[n].at](blocks[n].n);
		have += blocks[n].n;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		for (unsigned i = 0; i < 20; i++) {
			uint64_t k = below(n < 400 ? n : 400); /* the others stay */
			free(blocks[k].p);
			blocks[k].p = places[blocks[k].at](blocks[k].n);
		}
		for (owed += rate / 100 * one_in; owed >= 1024; owed -= 1024) {
			void *p = places[leak](1024);
			if (made++ % one_in != 0)
				free(p);
		}
		usleep(10000);
	}
}
END
} >"$TMP/places.c"
if ! "${CC:-cc}" -O2 -g -o "$TMP/places" "$TMP/places.c" 2>"$TMP/cc"; then
	fail "the program is not compiled" "$(head -n 5 "$TMP/cc")"
fi

heap=$(times 64 2048)
rate=$(times 350000 17476)
long=$(times 5s 60s)
runs=$(times 2 50)
at_once=$(times 2 5)
chances=$(times 3 1)

# words PLACE: the words of sites that grow, with their function and line, fastest first.
words() {
	jq -r '.frames as $f | [.sites[] | select(.growth.verdict == "LEAK likely" or .growth.verdict == "GROWING")]
		| sort_by(-.growth.bytes_per_second)[]
		| "\(.growth.verdict) \($f[.stack[.shown_from]] | "\(.function) \(.line)")"' "$TMP/log.$1"
}

# right PLACE LINE FREED: whether the report says what it should.
right() {
	local leaks grows
	leaks=$(words "$1" | grep '^LEAK likely')
	grows=$(words "$1" | head -n 1)
	if [ "$3" -gt 0 ]; then
		[ "$leaks" = "LEAK likely place_$1 $2" ]
	else
		[ -z "$leaks" ] && [ "$grows" = "GROWING place_$1 $2" ]
	fi
}

# one PLACE FREED
one() {
	local place=$1 freed=$2 pid line try
	line=$(grep -n "void \*place_$place(" "$TMP/places.c" | cut -d: -f1)
	: >"$TMP/ready.$place"
	"$TMP/places" "$heap" "$place" "$rate" "$freed" >"$TMP/ready.$place" &
	pid=$!
	wait_for 60 grep -q ready "$TMP/ready.$place"
	# For five seconds only, a machine under load can hold it up for an interval or
	# two: it has three chances then.
	for ((try = 0; try < chances; try++)); do
		"$SEEP" attach --for "$long" --max-stop 0 --json --log-file "$TMP/log.$place" "$pid"
		right "$place" "$line" "$freed" && break
	done
	kill "$pid"
	wait "$pid" 2>/dev/null
	if right "$place" "$line" "$freed"; then
		echo found
	else
		echo "place_$place, line $line, $freed freed:"
		words "$place" | head -n 12
	fi >"$TMP/verdict.$place"
}
for ((i = 0; i < runs; i++)); do
	one $((i * 37 % 500)) $((i % 2 * 4)) &
	while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do
		wait -n
	done
done
wait
expect_eq "named" "$(cat "$TMP"/verdict.* | sort | uniq -c | sort -rn | head -n 20)" "$(printf '%7d found' "$runs")"
