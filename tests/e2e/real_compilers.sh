#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: compiler drivers with cc1, as and ld as children, and make
# -j2.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command gcc g++ make jq

cat >"$TMP/a.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
int main(int argc, char **argv) { printf("%d\n", f(argc > 1 ? atoi(argv[1]) : 17)); return 0; }
END
cat >"$TMP/a.cpp" <<'END'
#include <iostream>
#include <map>
#include <string>
int main() { std::map<std::string, int> m; m["x"] = 19;
	for (auto &p : m) std::cout << p.first << p.second << "\n"; }
END
real_setup() { cp "$TMP"/a.c "$TMP"/a.cpp .; }
# shellcheck disable=SC2034 # of lib_real.sh
real_sed='s,/tmp/cc[A-Za-z0-9]+,/tmp/ccTMP,g'

# children NAME: what a recording has, by name and number.
children() {
	jq -r '[.processes[] | select(.end != "exec") | .exe // "none" | split("/") | last] | unique | join(" ")' \
		"$TMP/$1.exact.json"
}

# shellcheck disable=SC2016 # expanded by the shell under test
real_same gcc -- sh -c 'gcc -O2 -c a.c && md5sum <a.o'
expect_match "cc1 in the same recording" "$(children gcc)" '(^| )cc1( |$)'
expect_match "as in the same recording" "$(children gcc)" 'as( |$)'
real_same g++ -- sh -c 'g++ -std=c++17 -c a.cpp && md5sum <a.o'
real_estimate g++
expect_match "cc1plus in the same recording" "$(children g++)" '(^| )cc1plus( |$)'
real_same wrong -- gcc -Wall -c a.c -DMAIN -fno-such-option
real_same link -- sh -c 'gcc -g -flto -o a a.c && ./a 23'

cat >"$TMP/Makefile" <<'END'
OBJS = $(patsubst %,o%.o,1 2 3 4 5 6 7)
prog: $(OBJS) main.o
	gcc -o $@ $^
o%.o: o%.c
	gcc -O -c -o $@ $<
main.o: main.c
	gcc -O -c -o $@ $<
END
cat >"$TMP/main.c" <<'END'
int f1(int), f7(int), printf(const char *, ...);
int main(void) { return printf("%d\n", f1(11) + f7(13)) != 4; }
END
# shellcheck disable=SC2317 # called by real_once
real_setup() {
	cp "$TMP/Makefile" "$TMP/main.c" .
	for n in 1 2 3 4 5 6 7; do echo "int f$n(int x) { return x * $n + 3; }" >"o$n.c"; done
}
real_same make -- sh -c 'make -s -j2 --output-sync && ./prog; echo $?; make -s nothing'
