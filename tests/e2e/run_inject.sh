#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# seep run on programs that libseep.so cannot be loaded into, or that it would not see:
# static ones, linked with musl, with a jemalloc under names of its own, with a malloc of
# their own. All say what they did. What seep run promises of others holds for them:
# status, signals, environment, standard streams, nothing left behind.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq

# ran WHAT PROGRAM: two rounds, from its beginning on.
ran() {
	printf '\n\n' | "$SEEP" run --json --log-file "$TMP/json" -o "$TMP/rec" -- "$2" 2 >"$TMP/said" 2>"$TMP/err"
	expect_eq "$1: status" "$? $(cat "$TMP/err")" "0 "
	expect_truth "$1" "$TMP/json" "$(grep -v 'in=\*' "$TMP/said")"
	expect_json "$1: nothing was missed" "$TMP/json" '[.processes[].lost | .space, .reentry, .lock, .address, .thread, .module, .boot] | add' 0
}

# kind WHAT TAG FLAGS...
kind() {
	local prog
	prog=$(program attach_steps "${@:2}" 2>"$TMP/build") || {
		left_out "$1: cannot be built here"
		return
	}
	ran "$1" "$prog"
}
kind "static" static -O2 -g -static
kind "static PIE" static-pie -O2 -g -static-pie
if have musl-gcc; then
	CC=musl-gcc kind "musl" musl -O2 -g
	CC=musl-gcc kind "musl, static" musl-static -O2 -g -static
fi
if prefixed attach_steps; then
	ran "a jemalloc with a prefix" "$TMP/prefixed"
else
	left_out "a jemalloc with a prefix"
fi

# 307 blocks of a malloc that the program brings itself.
prog=$(program own_malloc O0 -O0 -g -fno-builtin) || exit
expect_status 0 "$SEEP" run --json --log-file "$TMP/json" -o "$TMP/own.rec" -- "$prog"
expect_json "a malloc of its own" "$TMP/json" .totals.allocs 307
run "$SEEP" run --redzone --keep-going -o "$TMP/own.rec" -- "$prog"
expect_eq "what has no effect is told" "$(grep -o -- '--[a-z-]* has no effect$' <<<"$err")" '--redzone has no effect
--keep-going has no effect'

cat >"$TMP/part.c" <<'EOF'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
void *keep[64];
__attribute__((noinline)) static void lose(int n) { for (int i = 0; i < n; i++) keep[i] = malloc(1009); }
static void stop(int sig) { (void)sig; _exit(9); }
int main(int argc, char **argv)
{
	int death = -1, n;
	char line[64];
	lose(43);
	if (argc > 1 && strcmp(argv[1], "die") == 0) raise(SIGSEGV);
	if (argc > 1 && strcmp(argv[1], "wait") == 0) { signal(SIGTERM, stop); puts("ready"); fflush(stdout); for (;;) pause(); }
	if (argc > 1 && strcmp(argv[1], "fork") == 0 && fork() == 0) { sleep(2); lose(17); usleep(100000); _exit(0); }
	prctl(PR_GET_PDEATHSIG, &death);
	n = fgets(line, sizeof line, stdin) != NULL ? atoi(line) : 0;
	printf("%s %s %s %d %d\n", argc > 1 ? argv[1] : "-", getenv("LD_PRELOAD") ? "preload" : "-", getenv("WORD"), death, n);
	while (wait(NULL) > 0) ;
	return n;
}
EOF
gcc -static -O1 -g -o "$TMP/part" "$TMP/part.c" || { left_out "no static libc"; exit; }
expect_eq "arguments, environment, input, status" \
	"$(echo 5 | WORD=green "$SEEP" run -o "$TMP/a.rec" --log-file "$TMP/log" -- "$TMP/part" one; echo $?)" "one - green 0 5
5"
expect_match "the report" "$(cat "$TMP/log")" '^NO VERDICT  [45][0-9.]+ KiB in [45][0-9] blocks'
expect_match "whole stacks" "$(grep -A 2 '^    lose ' "$TMP/log")" '^    main +part\.c:1[0-9]'
expect_match "the line" "$(cat "$TMP/log")" '^    lose +part\.c:9 '
expect_match "how it ended" "$(cat "$TMP/log")" '^exited 5 after '

# Death by a signal, and a signal that somebody sends to seep.
run "$SEEP" run -o "$TMP/b.rec" -- "$TMP/part" die
expect_eq "died of a signal: status" "$status" 139
expect_match "and what there was" "$err" '^    lose +part\.c:9 '
: >"$TMP/out"
"$SEEP" run -o "$TMP/c.rec" --log-file "$TMP/log" -- "$TMP/part" wait >"$TMP/out" &
seep=$!
wait_for 20 grep -q ready "$TMP/out"
kill -TERM $seep
wait $seep
expect_eq "SIGTERM is passed on" $? 9
expect_match "and what there was then" "$(cat "$TMP/log")" '^    lose +part\.c:9 '

# A child that is forked is attached to on its own.
echo 0 | "$SEEP" run --json --log-file "$TMP/json" -o "$TMP/d.rec" -- "$TMP/part" fork >/dev/null
expect_json "parent and child" "$TMP/json" '.frames as $f | [.sites[] | select($f[.stack[.shown_from]].function == "lose")
	| .allocs] | sort' '[17,43]'
echo 0 | "$SEEP" run --no-children --json --log-file "$TMP/json" -o "$TMP/d.rec" -- "$TMP/part" fork >/dev/null
expect_json "the parent alone" "$TMP/json" '.processes | length' 1

# Sampled; nothing that could be hooked; nothing that could be started.
echo 0 | "$SEEP" run --sample 64 --json --log-file "$TMP/json" -o "$TMP/e.rec" -- "$TMP/part" >/dev/null
expect_json "sampled" "$TMP/json" '.processes[0].mode' sampled
run "$SEEP" run --error-exitcode 9 -o "$TMP/f.rec" -- "$TMP/part" one </dev/null
expect_match "no leak check: said before it starts" "$status $out$err" '^3 seep: .*no leak check; leave --format, --leak-kinds and --error-exitcode out'
# One that the kernel kills while it starts it: its first part cannot be mapped where it
# says.
cat >"$TMP/nowhere.py" <<-'EOF'
	import struct, sys
	b = bytearray(open(sys.argv[1], "rb").read())
	at, size, n = struct.unpack_from("<Q", b, 32)[0], *struct.unpack_from("<HH", b, 54)
	for i in range(n):
	    if struct.unpack_from("<I", b, at + i * size)[0] == 1:
	        struct.pack_into("<Q", b, at + i * size + 16, 0x7ffffffff000)
	        break
	open(sys.argv[2], "wb").write(b)
EOF
if have /usr/bin/python3; then
	/usr/bin/python3 "$TMP/nowhere.py" "$TMP/part" "$TMP/nowhere"
	chmod +x "$TMP/nowhere"
	(exec "$TMP/nowhere") 2>/dev/null
	plain=$?
	run "$SEEP" run -o "$TMP/f.rec" -- "$TMP/nowhere" one
	expect_eq "killed before it began: the status" "$status" "$plain"
	expect_match "killed before it began: why nothing is there" "$err" '^NO VERDICT .*: it ended before its first instruction$'
fi
strip -o "$TMP/stripped" "$TMP/part"
run "$SEEP" run -o "$TMP/f.rec" -- "$TMP/stripped" one </dev/null
expect_eq "without symbols: not started" "$status $out" "3 "
expect_match "why" "$err" '^seep( run)?: .*stripped: not started: .*no malloc was found'
expect_eq "nothing runs" "$(pgrep -f "^$TMP/")" ""
