#!/bin/bash
# SPDX-License-Identifier: MIT
# Without root's rights the file that `seep attach` maps cannot be opened, as it has no
# name: report, ps and doctor read a copy of it, pause and mark say what they take. Run as
# root, the tool gives its rights away.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
plain=()
if [ "$(id -u)" = 0 ]; then
	need_command setpriv
	plain=(setpriv --bounding-set=-all --inh-caps=-all)
	setpriv --bounding-set=-all --inh-caps=-all true 2>/dev/null || skip "rights cannot be given away here"
fi
cd "$TMP" || exit
cat >grow.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[5000];
int main(void)
{
	char c;
	write(1, "ready\n", 6);
	while (read(0, &c, 1) == 1) {
		for (int n = 0; n < 3001; n++)
			kept[n] = malloc(211);
		write(1, "done\n", 5);
	}
	return kept[5] == NULL;
}
END
${CC:-gcc} -O1 -g -o grow grow.c 2>/dev/null || exit
begin "${plain[@]}" ./grow
expect_status 0 "${plain[@]}" "$SEEP" attach --stay --exact "$pid"
one_round
run "${plain[@]}" "$SEEP" report "$pid"
expect_match "report: the site" "$out" '3,001 blocks'
expect_match "report: its line" "$out" ' grow\.c:10 '
expect_match "ps lists it" "$("${plain[@]}" "$SEEP" ps)" "^ *$pid "
run "${plain[@]}" "$SEEP" mark "$pid" here
expect_match "a mark is made, or what it takes is said" "$status $err$out" "^(0 mark 1 here|3 seep: $pid: .* only root can write to it; try sudo$)"
run "${plain[@]}" "$SEEP" detach "$pid"
expect_match "detach: the site" "$out" '3,001 blocks'
expect_eq "nothing is left" "$(ours "$pid")" 0
run "${plain[@]}" "$SEEP" attach 2
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	expect_match "a kernel thread is none of another user's processes" "$err" 'kthreadd\) is a kernel thread'
fi
finish
