#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory that grows for as long as a program runs and is freed at its end, before exit or
# by it: valgrind finds no leak there, and whoever runs the program for a month does. A
# table that is loaded at the start and freed at the end is no growth. A cache that
# replaces some of its entries, watched for less than they live, is no leak.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq "${CC:-cc}"

cat >"$TMP/hoard.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
struct entry { struct entry *next; char text[8184]; };
static struct entry *list;
__attribute__((noinline)) static void hoard(void)
{
	struct entry *e = malloc(sizeof *e);
	memset(e->text, 1, sizeof e->text);
	e->next = list;
	list = e;
}
static void give_back(void)
{
	while (list != NULL) {
		struct entry *e = list;
		list = e->next;
		free(e);
	}
}
static double seconds(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}
/* 600 entries in 6 s, by the clock; or all of them at once. */
int main(int argc, char **argv)
{
	char how = argc > 1 ? argv[1][0] : 'm';
	double start = seconds();
	if (how == 'e')
		atexit(give_back);
	for (int i = 0; i < 600 || seconds() - start < 6;) {
		for (; i < 600 && (how == 't' || i < (seconds() - start) * 100); i++)
			hoard();
		usleep(5000);
	}
	if (how != 'e')
		give_back();
	return 0;
}
END
cat >"$TMP/ttl.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
struct entry { struct entry *next; double until; char text[8168]; };
static struct entry *first, **last = &first;
static double seconds(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}
__attribute__((noinline)) static struct entry *load(void)
{
	struct entry *e = malloc(sizeof *e);
	memset(e, 1, sizeof *e);
	e->next = NULL;
	e->until = seconds() + 60;
	return e;
}
/* 100 entries a second for 6 s that live for a minute; each sixth is replaced at once. */
int main(void)
{
	double start = seconds();
	for (int i = 0; seconds() - start < 6;) {
		for (; i < (seconds() - start) * 100; i++) {
			struct entry *e = load();
			if (i % 6 == 5) {
				free(e);
				continue;
			}
			*last = e;
			last = &e->next;
		}
		while (first != NULL && first->until < seconds()) {
			struct entry *e = first;
			first = e->next;
			free(e);
		}
		usleep(5000);
	}
	_exit(0);
}
END
"${CC:-cc}" -g -O1 -o "$TMP/hoard" "$TMP/hoard.c" || exit
"${CC:-cc}" -g -O1 -o "$TMP/ttl" "$TMP/ttl.c" || exit
cd "$TMP" || exit
# setenv never frees a value that was never set before: libc keeps them all, and the
# process grows by them.
cat >"$TMP/environ.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1200;
	char value[4096];
	memset(value, 'x', sizeof value - 1);
	value[sizeof value - 1] = 0;
	for (int i = 0; i < n; i++) {
		for (int k = 0, d = i; k < 6; k++, d /= 10)
			value[k] = (char)('0' + d % 10);
		setenv("STATUS", value, 1);
		usleep(5000);
	}
	return 0;
}
END
"${CC:-cc}" -g -O1 -o environ environ.c || exit 3

"$SEEP" run --log-file environ.log -o environ.rec -- ./environ &
"$SEEP" run --sample 4K --log-file environ_sampled.log -o environ_sampled.rec -- ./environ &
"$SEEP" run --sample 4K --log-file ttl.log -o ttl.rec -- ./ttl &
for how in main exit table; do
	"$SEEP" run --json --log-file $how.json -o $how.rec -- ./hoard $how &
done
wait
for how in main exit; do
	expect_json "$how: what became of it" $how.json '[.sites[].growth | select(.why == "freed-at-exit") | .verdict] | join(" ")' GROWING
	run "$SEEP" report $how.rec
	expect_match "$how: the line of the verdict" "$(sed -n 2p <<<"$out")" '^GROWING +while it ran \([0-9.]+ KiB → 4\.[0-9]+ MiB of live memory\), freed at exit$'
	expect_match "$how: the site" "$out" 'grew in [0-9]+ of (10|20) intervals, from [0-9.]+ KiB to 4\.[0-9]+ MiB; freed at exit'
	expect_match "$how: the line" "$out" 'hoard +hoard\.c:9 '
	expect_no_match "$how: no leak" "$out" 'LEAK'
	expect_golden "$how: all of it" "$out" verdicts/while_it_ran_$how.txt brief \
		's/grew in [0-9]+ of [0-9]+/grew in N of N/; s/[0-9.]+ KiB (→|to) 4\.[0-9]+ MiB/N KiB \1 4.N MiB/'
done
run "$SEEP" report table.rec
expect_match "table: the line of the verdict" "$(sed -n 2p <<<"$out")" '^OK +no leak'
expect_golden "table: all of it" "$out" verdicts/loaded_at_start.txt brief
expect_json "table: none of it" table.json '[.sites[].growth | select(.verdict == "GROWING")] | length' 0
expect_match "a cache, sampled" "$(head -n 1 ttl.log)" '^GROWING  1 site: \+[0-9.]+( ± [0-9.]+)? MiB/min$'
expect_match "a cache, sampled: why" "$(cat ttl.log)" '1[0-9](\.[0-9])? % freed, grew in [0-9]+ of (10|20) intervals, .*a cache that fills looks the same'
expect_match "what libc keeps" "$(head -n 1 environ.log)" '^GROWING  [12] sites?: \+[0-9.]+( ± [0-9.]+)? MiB/min$'
expect_match "what libc keeps: the site" "$(cat environ.log)" 'none freed, grew in [0-9]+ of (10|20) intervals, oldest [0-9.]+ s; kept by libc: environment'
expect_match "what libc keeps, sampled" "$(head -n 1 environ_sampled.log)" '^GROWING  [12] sites?: \+[0-9.]+( ± [0-9.]+)? MiB/min$'
run "$SEEP" run --sample 1K --no-save -- ./environ 100
expect_match "what libc keeps, sampled for a moment" "$(head -n 1 <<<"$err")" '^OK  nothing of [0-9]+ samples is left but what libc keeps; a loss under '
