#!/bin/bash
# SPDX-License-Identifier: MIT
# The log of mtrace is whole at every end but SIGKILL, which costs 2 KiB at most; children
# do not write into it; and it never becomes the program's trouble.
. "$(dirname "$0")/lib.sh"
need_libseep
need_command mtrace

prog=$(program peer_ends) || exit
# ends HOW STATUS BLOCKS: how many the log shows as kept.
ends() {
	rm -f "$TMP"/log*
	run env MALLOC_TRACE="$TMP/log" LD_PRELOAD="$LIBSEEP" "$prog" "$1"
	expect_eq "$1: status" "$status $err" "$2 "
	expect_eq "$1: kept" "$(mtrace "$prog" "$TMP/log" | grep -c ' at ')" "$3"
}
ends return 0 7
ends _exit 3 7
ends quick 3 7
ends term 143 7
ends ignored 143 7
ends handled 9 7
ends closed 0 7
expect_eq "one file" "$(ls "$TMP"/log*)" "$TMP/log"
ends vfork 0 6
expect_eq "vfork: one file" "$(ls "$TMP"/log*)" "$TMP/log"
ends failed 0 6
expect_eq "failed: one file" "$(ls "$TMP"/log*)" "$TMP/log"
# The child's log holds what the parent did before, so it can be read by itself.
ends fork 0 6
expect_eq "fork: the child's" "$(mtrace "$prog" "$TMP"/log.* | grep -c ' at ')" 7
expect_no_match "fork: nothing unknown" "$(mtrace "$prog" "$TMP"/log.*)" 'never|duplicate'
expect_eq "fork: one child" "$(find "$TMP" -name 'log.*' | wc -l)" 1

# Killed in the middle: whole lines, and all but the last 2 KiB.
cat >"$TMP/many.c" <<'EOF'
#include <mcheck.h>
#include <signal.h>
#include <stdlib.h>
static void *volatile keep;
int main(void)
{
	mtrace();
	for (int i = 0; i < 10007; i++)
		keep = malloc(31);
	raise(SIGKILL);
}
EOF
gcc -g -o "$TMP/many" "$TMP/many.c" || exit
run env MALLOC_TRACE="$TMP/log" LD_PRELOAD="$LIBSEEP" "$TMP/many"
expect_eq "killed: status" "$status" 137
expect_between "killed: lines" "$(grep -cE '^@ [^ ]+:\[0x[0-9a-f]+\] \+ 0x[0-9a-f]+ 0x1f$' "$TMP/log")" 9930 10007
expect_eq "killed: no other lines" "$(grep -cvE '^@ [^ ]+:\[0x[0-9a-f]+\] \+ 0x[0-9a-f]+ 0x1f$' "$TMP/log")" 1

# Threads: every event once, in an order that a replay can follow.
cat >"$TMP/threads.c" <<'EOF'
#include <mcheck.h>
#include <pthread.h>
#include <stdlib.h>
static void *volatile keep[4];
static void *work(void *arg)
{
	void **mine = arg;
	for (int i = 0; i < 5003; i++) {
		void *volatile p = malloc(24);
		p = realloc(p, 48 + i % 977);
		free(p);
	}
	*mine = malloc(1009);
	return NULL;
}
int main(void)
{
	pthread_t t[4];
	mtrace();
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)&keep[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	muntrace();
	return 0;
}
EOF
gcc -g -O1 -pthread -o "$TMP/threads" "$TMP/threads.c" || exit
for _ in $(seq "$(times 2 50)"); do
	run env MALLOC_TRACE="$TMP/log" LD_PRELOAD="$LIBSEEP" "$TMP/threads"
	expect_eq "threads: status" "$status" 0
	expect_eq "threads: events" "$(grep -c ' [+] .* 0x18$' "$TMP/log") $(grep -c ' < ' "$TMP/log") $(grep -c ' > ' "$TMP/log") $(grep -c ' - ' "$TMP/log")" \
		"20012 20012 20012 20012"
	said=$(mtrace "$TMP/threads" "$TMP/log")
	expect_eq "threads: kept" "$(grep -c ' 0x3f1  at ' <<<"$said")" 4
	expect_no_match "threads: order" "$said" 'duplicate|never'
done

# From the start and without a call in the program; two at once do not share a file.
cd "$TMP" || exit
rm -f log*
run env SEEP=compat=mtrace MALLOC_TRACE=log LD_PRELOAD="$LIBSEEP" sh -c "$prog; $prog"
expect_eq "compat: files" "$(find . -name 'log*' | wc -l)" 3
run env SEEP=compat=mtrace LD_PRELOAD="$LIBSEEP" "$prog"
expect_eq "compat: no name" "$(find . -name 'mtrace.*.log' | wc -l)" 1
# Not asked for, not allowed, not possible.
rm -f log*
run env SEEP=mode=off MALLOC_TRACE=log LD_PRELOAD="$LIBSEEP" "$prog"
expect_eq "SEEP is set" "$status $err$(ls log* 2>/dev/null)" "0 "
run env LD_PRELOAD="$LIBSEEP" "$prog"
expect_eq "no variable" "$status $err" "0 "
run env MALLOC_TRACE="$TMP/missing/log" LD_PRELOAD="$LIBSEEP" "$prog"
expect_eq "missing folder" "$status $err" "0 "
if [ -w /dev/full ]; then
	run env MALLOC_TRACE=/dev/full LD_PRELOAD="$LIBSEEP" "$prog"
	expect_eq "full" "$status $err" "0 <seep>: mtrace: cannot write; the log ends here"
fi
run env MALLOC_TRACE=log LD_PRELOAD="$LIBSEEP" bash -c "ulimit -f 1; exec $TMP/many"
expect_match "file size limit" "$err" '^<seep>: mtrace: limit on file sizes reached; the log ends here$'
expect_eq "file size limit: goes on" "$status" 137
