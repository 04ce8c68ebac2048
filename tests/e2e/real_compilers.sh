#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 300
# Programs nobody here wrote: compiler drivers with cc1, as and ld as children, make -j2, and
# what compilers of other languages produce.
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
#include <regex>
#include <string>
int main() { std::map<std::string, int> m; m["x"] = 19; std::regex r("x+");
	for (auto &p : m) std::cout << p.first << p.second << std::regex_match(p.first, r) << "\n"; }
END
real_setup() { cp "$TMP"/a.c "$TMP"/a.cpp .; }
# Rust names the thread's id, gcc its temporary files.
# shellcheck disable=SC2034 # of lib_real.sh
real_sed="s,thread 'main' \([0-9]+\),thread 'main',; s,/tmp/cc[A-Za-z0-9]+,/tmp/ccTMP,g"

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

# Other languages' programs: built once, run each way.
mkdir -p "$TMP/built"
unset -f real_setup
if command -v gfortran >/dev/null; then
	cat >"$TMP/h.f90" <<'END'
program h
  integer, allocatable :: a(:), b(:)
  integer :: i
  character(len=:), allocatable :: s
  do i = 1, 101
    allocate(a(i * 13))
    a = i
    b = [a, a]
    s = repeat('x', i)
    deallocate(a)
  end do
  print *, sum(b), len(s)
  stop 3
end program
END
	gfortran -g -o "$TMP/built/h_f" "$TMP/h.f90" && real_same fortran -- "$TMP/built/h_f" &&
		real_valgrind fortran "$TMP/built/h_f"
fi
if command -v gnatmake >/dev/null; then
	cat >"$TMP/built/hada.adb" <<'END'
with Ada.Text_IO; use Ada.Text_IO;
procedure Hada is
   type P is access String;
   task type T;
   task body T is
      X : P;
   begin
      for I in 1 .. 101 loop
         X := new String (1 .. I * 7);
      end loop;
      raise Constraint_Error;
   exception
      when Constraint_Error => null;
   end T;
begin
   declare
      A, B : T;
   begin
      null;
   end;
   Put_Line ("done");
end Hada;
END
	(cd "$TMP/built" && gnatmake -q -g hada.adb) && real_same ada -- "$TMP/built/hada"
fi
rustc=$(command -v rustc || ls "${HOME:-/nonexistent}/.cargo/bin/rustc" 2>/dev/null)
if [ -n "$rustc" ] && "$rustc" --version >/dev/null 2>&1; then
	cat >"$TMP/h.rs" <<'END'
use std::collections::HashMap;
fn main() {
    let t: Vec<_> = (0..5u64).map(|n| std::thread::spawn(move || {
        let mut m = HashMap::new();
        for i in 0..1009u64 { m.insert(format!("key {}", i * n), vec![i; 7]); }
        m.len()
    })).collect();
    let n: usize = t.into_iter().map(|t| t.join().unwrap()).sum();
    let r = std::panic::catch_unwind(|| { panic!("on purpose") });
    println!("{} {}", n, r.is_err());
    std::process::exit(29);
}
END
	"$rustc" -g -o "$TMP/built/h_rs" "$TMP/h.rs" && real_same rust -- "$TMP/built/h_rs"
	real_limit=120
	real_same rustc --reentry 100 -- "$rustc" --crate-type rlib -o "$TMP/built/librlib.rlib" "$TMP/h.rs"
fi
