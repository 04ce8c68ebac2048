#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote that work on programs: gdb, strace, valgrind, java, env,
# timeout; and programs that confine themselves.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command gcc gdb

cat >"$TMP/a.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int work(int n) { char *p = malloc(n); strcpy(p, "x"); int r = p[0]; free(p); return r; }
int main(void) { int s = 0; for (int i = 2; i < 103; i++) s += work(i); printf("%d\n", s); return 7; }
END
gcc -g -O0 -o "$TMP/a" "$TMP/a.c" || exit
# shellcheck disable=SC2034 # of lib_real.sh
real_sed='s/==[0-9]+==/==PID==/g; s/process [0-9]+/process PID/g; s/0x[0-9a-f]+/ADDR/g'
# gdb starts the program through a shell with its own environment, which is ours.
real_same gdb --reentry 100 -- gdb -nx -batch -ex 'break work if n == 53' -ex run -ex 'bt -frame-arguments all' \
	-ex 'print n * 2' -ex finish -ex continue "$TMP/a"
expect_match "gdb saw the breakpoint" "$(cat "$TMP/gdb.exact.out")" 'work .*n=53'
expect_match "gdb saw the end" "$(cat "$TMP/gdb.exact.out")" 'exited with code 07'
real_same timeout -- timeout 5 env -u NOTHING nice -n 1 "$TMP/a"
real_killed=yes
real_same stopped --running -- timeout -s KILL 0.3 sleep 5
real_killed=no
if have strace; then
	real_same strace -- strace -f -e trace=exit_group -o trace "$TMP/a"
fi
# valgrind replaces malloc itself: it must work as ever, and seep must say what it did not
# see.
if have valgrind; then
	real_sane='--unrecorded memcheck-amd64-linux,valgrind,valgrind.bin,memcheck-amd64-,a'
	real_same valgrind -- valgrind -q --leak-check=full "$TMP/a"
	expect_eq "valgrind passes 7 on" "$(cat "$TMP/valgrind.exact.status")" 7
fi
real_sane='--reentry 1000'
if have java; then
	real_same java -- java -Xint -version
fi
# These confine themselves by seccomp filters, in which our system calls are not foreseen.
if have man && man -w ls >/dev/null 2>&1; then
	real_same man --sealed --unrecorded col,ldconfig -- man -P cat ls
fi
if have file; then
	real_same file --sealed -- file -L "$TMP/a" /etc/passwd "$(type -P ls)"
fi
