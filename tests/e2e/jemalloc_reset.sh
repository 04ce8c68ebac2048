#!/bin/bash
# SPDX-License-Identifier: MIT
# prof.reset and prof_accum: profiles A, B and C around a reset say what jemalloc's author says
# they must; jeprof's four views of them; folded stacks.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_jemalloc.sh"
need_libseep
need_command jeprof
prog=$(program jem_reset) || exit

profiled "$LIBSEEP" prof:true,prof_accum:true,lg_prof_sample:0 "$prog"
expect_eq "profiles" "$status $out $err $(dumps)" \
	"0   jeprof.PID.0.m0.heap jeprof.PID.1.m1.heap jeprof.PID.2.m2.heap"
expect_eq "A" "$(total '*.m0.heap')" "1: 1048576 [513: 537919488]"
expect_eq "B" "$(total '*.m1.heap')" "0: 0 [0: 0]"
expect_eq "C" "$(total '*.m2.heap')" "0: 0 [511: 535822336]"
expect_eq "A in jeprof" "$(text --alloc_space '*.m0.heap' | head -n 1)" "Total: 537919488 B"
expect_eq "A live in jeprof" "$(text --inuse_objects '*.m0.heap' | head -n 1)" "Total: 1 objects"
expect_eq "C in jeprof" "$(text --alloc_objects '*.m2.heap' | head -n 1)" "Total: 511 objects"
folded=$(cd "$DUMPS" && jeprof --collapsed --alloc_space "$prog" ./*.m2.heap 2>/dev/null)
expect_match "C folded" "$folded" '^main(<[0-9a-f]+>)? 535822336$'

profiled "$LIBSEEP" prof:true,lg_prof_sample:0 "$prog"
expect_eq "without prof_accum" "$(total '*.m0.heap') $(total '*.m2.heap')" \
	"1: 1048576 [0: 0] 0: 0 [0: 0]"

# Sampled, as the recipe has it: 513 and 511 blocks, each caught with p = 0.865.
profiled "$LIBSEEP" prof:true,prof_accum:true "$prog"
expect_between "A sampled" "$(text --alloc_objects '*.m0.heap' | awk 'NR == 1 { print $2 }')" 470 556
expect_eq "B sampled" "$(total '*.m1.heap')" "0: 0 [0: 0]"
expect_between "C sampled" "$(text --alloc_objects '*.m2.heap' | awk 'NR == 1 { print $2 }')" 468 554

# One stack with 199,980 blocks of 64 bytes and 20 of 1 MiB: readers work with the mean size, which
# is wrong by a factor of 2,000 for such a stack unless the profile makes up for it.
cat >"$TMP/mixed.c" <<'END'
#include <stdlib.h>
void *volatile sink;
int main(void) {
	for (int i = 0; i < 200000; i++)
		sink = malloc(i % 10000 == 0 ? 1 << 20 : 64);
	return 0;
}
END
gcc -O1 -g -o "$TMP/mixed" "$TMP/mixed.c" || exit
prog=$TMP/mixed
objects=() bytes=()
for _ in 1 2 3 4 5 6 7 8 9; do
	profiled "$LIBSEEP" prof:true,prof_final:true "$prog"
	objects+=("$(text --inuse_objects '*.f.heap' | awk 'NR == 1 { print $2 }')")
	bytes+=("$(text '*.f.heap' | awk 'NR == 1 { print $2 }')")
done
middle() { printf '%s\n' "$@" | sort -n | sed -n 5p; }
expect_between "mixed: objects (${objects[*]})" "$(middle "${objects[@]}")" 140000 260000
expect_between "mixed: bytes (${bytes[*]})" "$(middle "${bytes[@]}")" 28000000 40000000
profiled "$LIBSEEP" prof:true,prof_final:true,prof_unbias:false "$prog"
expect_between "mixed: told not to make up for it" \
	"$(text --inuse_objects '*.f.heap' | awk 'NR == 1 { print $2 }')" 10 400
