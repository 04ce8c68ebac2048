#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs whose compilers, and so whose runtimes, are not C's: Fortran, Ada with tasks,
# Rust with threads and a panic, Java; each is left out where its compiler is missing.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command gcc

# Rust names the thread's id.
# shellcheck disable=SC2034 # of lib_real.sh
real_sed="s,thread 'main' \([0-9]+\),thread 'main',"

# Built once, run each way.
mkdir -p "$TMP/built"
if have gfortran; then
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
if have gnatmake; then
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
	# shellcheck disable=SC2034 # of lib_real.sh
	real_limit=120
	real_same rustc --reentry 100 -- "$rustc" --crate-type rlib -o "$TMP/built/librlib.rlib" "$TMP/h.rs"
else
	left_out "no rustc here"
fi
if have javac; then
	cat >"$TMP/built/H.java" <<'END'
import java.util.*;
import java.util.concurrent.*;
public class H {
	public static void main(String[] a) throws Exception {
		ExecutorService e = Executors.newFixedThreadPool(3);
		List<Future<Integer>> f = new ArrayList<>();
		for (int i = 0; i < 17; i++) { final int n = i; f.add(e.submit(() -> { Map<Integer, String> m = new HashMap<>();
			for (int k = 0; k < 5003; k++) m.put(k * n, "v" + k); return m.size(); })); }
		int s = 0; for (Future<Integer> x : f) s += x.get();
		e.shutdown();
		try { Object o = null; o.hashCode(); } catch (NullPointerException x) { s++; }
		java.nio.ByteBuffer.allocateDirect(1000003);
		System.out.println(s);
		System.exit(31);
	}
}
END
	javac -d "$TMP/built" "$TMP/built/H.java" &&
		real_same java --reentry 1000 --truncated 1 -- java -Xmx64m -cp "$TMP/built" H
fi
