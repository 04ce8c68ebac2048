#!/bin/bash
# SPDX-License-Identifier: MIT
# Several processes that grow at the same site: all of them stand behind the headline, in
# words and in JSON, and what a limit leaves is used up by all of them together. One
# without a finding is not said to have freed everything.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_seep
need_libseep
need_command jq
cd "$TMP" || exit
cat >crowd.c <<'END2'
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
void *volatile kept;
static void lose(void) { void *volatile p = malloc(3001); (void)p; }
int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 300;

	for (int i = 0; i < 20; i++)
		kept = malloc(9001);
	for (int i = 0; i < children; i++) {
		if (fork() != 0)
			continue;
		for (int k = 0; k < rounds; k++, usleep(10000))
			lose();
		_exit(0);
	}
	while (children > 0 && wait(NULL) > 0)
		;
	while (children == 0) {
		lose();
		usleep(10000);
	}
	return 0;
}
END2
${CC:-gcc} -g -O1 -fno-builtin -o crowd crowd.c || exit

# A machine under load may hold up one of them for as long as an interval.
for _ in 1 2 3; do
	run "$SEEP" run --growth-interval 0.1 --sample 1K -o crowd.rec ./crowd 3
	[[ $err != *' in 3 of 4 processes'* ]] || break
done
expect_match "forked: the headline" "$(head -n 1 <<<"$err")" '^GROWING  1 site: \+[0-9.]+ ± [0-9.]+ MiB/min, in 3 of 4 processes$'
expect_match "forked: the site" "$(tr -s '\n ' ' ' <<<"$err")" ', in 3 processes; a cache that fills looks the same'
expect_match "forked: the one without a finding" "$err" '^1 process: no finding, [0-9]+ (± [0-9]+ )?KiB not freed$'
expect_no_match "forked: no other word for it" "$err" 'everything freed'
expect_match "forked: of none there is a leak check" "$err" '^no leak check: it needs an exact recording \(seep run --exact\)$'
run "$SEEP" report --json crowd.rec
expect_json "forked: JSON" out '[.summary.processes_with_verdict, ([.processes[].verdict] | sort | join(" "))]' \
	'[3,"GROWING GROWING GROWING STEADY"]'

# One that only waits has no sample: that is no finding, and takes no answer away.
cat >waits.c <<'END2'
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
int main(void)
{
	if (fork() == 0) {
		for (int i = 0; i < 20000; i++)
			free(malloc(3001));
		_exit(0);
	}
	wait(NULL);
	return 0;
}
END2
${CC:-gcc} -g -O1 -fno-builtin -o waits waits.c || exit
run "$SEEP" run --sample 4K -o waits.rec ./waits
expect_match "idle beside busy" "$(head -n 1 <<<"$err")" '^OK  nothing of [0-9,]+ samples is left; a loss under 12\.0 KiB may not show; '

"$SEEP" attach --dry-run $$ >/dev/null 2>&1 || { left_out "not allowed to trace processes here"; exit 0; }
cp crowd crowd.$$ # a name that no other process has
./crowd.$$ &
first=$!
./crowd.$$ &
second=$!
sleep 0.5
for _ in 1 2 3; do
	run "$SEEP" attach --for 5s --max-stop 0 -o both.rec crowd.$$
	[[ $err != *' in 2 of 2 processes'* ]] || break
done
expect_match "by name: the headline" "$(grep -m 1 -E '^[A-Z]' <<<"$err")" '^(GROWING|LEAK likely)  1 site: .*, in 2 of 2 processes$'
# Both are the growth that uses up the limit, so that a good part of it is explained.
share=$(sed -n 's/^[A-Z].*(\([0-9]*\) % of the growth).*/\1/p' <<<"$err")
if [ -n "$share" ]; then
	expect_between "by name: share of the growth" "$share" 60 100
else
	left_out "by name: no limit in sight"
fi
kill $first $second
wait $first $second 2>/dev/null || true
