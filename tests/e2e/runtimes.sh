#!/bin/bash
# SPDX-License-Identifier: MIT
# Language runtimes: every command says the same about where their memory is, and objects that a collector frees are
# never called lost.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq objcopy
cc=${CC:-gcc}
cd "$TMP" || exit

# ---- Go without C ----
# A static program with Go's build information; no Go compiler is needed for that.
cat >go.c <<'END'
static long call(long n, long a, const void *b, long c)
{
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return n;
}
void _start(void)
{
	static char c;
	call(1, 1, "ready\n", 6);
	call(0, 0, &c, 1);
	call(231, 0, 0, 0);
}
END
if [ "$(uname -m)" = x86_64 ] && "$cc" -static -nostdlib -fno-stack-protector -O1 -o plain go.c; then
	echo "go1.22" >info
	objcopy --add-section .go.buildinfo=info plain server
	says='written in Go and has no malloc; use its net/http/pprof, or seep watch'
	run "$SEEP" run -o go.rec -- ./server </dev/null
	expect_match "run" "$err" "server.*$says"
	mkfifo in
	./server <in >ready &
	pid=$!
	exec 7>in
	wait_for 5 grep -q ready ready
	for command in leaks attach scan; do
		run "$SEEP" $command "$pid"
		expect_match "$command" "$err" "$pid \(server\) is $says $pid$"
		expect_eq "$command: status" "$status" 3
	done
	run "$SEEP" doctor "$pid"
	expect_match "doctor" "$out" "server: $says $pid$"
	exec 7>&-
	wait $pid
else
	left_out "Go: another processor"
fi

