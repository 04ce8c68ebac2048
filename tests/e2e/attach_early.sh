#!/bin/bash
# SPDX-License-Identifier: MIT
# A report or a detach a few seconds after `attach --stay`: nobody has looked at the sites
# over time yet, so growth that the ages of the blocks show has no rate, and none is made
# up.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
cd "$TMP" || exit
cat >grow.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept[100000];
int main(void)
{
	for (int n = 0; n < 100000; n++) {
		memset(kept[n] = malloc(2000), 1, 2000);
		usleep(1000);
	}
	return kept[5] == NULL;
}
END
${CC:-gcc} -O1 -g -o grow grow.c || exit
for options in "" --exact; do
	./grow &
	pid=$!
	sleep 0.3
	# shellcheck disable=SC2086 # may be empty
	run "$SEEP" attach $pid --stay $options
	expect_eq "attach --stay $options" "$status" 0
	sleep 3
	run "$SEEP" report $pid
	expect_eq "report $options: status" "$status" 0
	expect_no_match "report $options" "$out" '[+]0 B/min|(^|[ ,])0 (samples|blocks)'
	expect_match "report $options: the site" "$out" 'grow\.c:8 '
	run "$SEEP" detach $pid
	expect_eq "detach $options: status" "$status" 0
	expect_no_match "detach $options" "$out$err" '[+]0 B/min|(^|[ ,])0 (samples|blocks)'
	kill $pid
	wait $pid 2>/dev/null || true
done
