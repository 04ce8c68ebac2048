#!/bin/bash
# SPDX-License-Identifier: MIT
# prof.reset and prof_accum: profiles A, B and C around a reset say what jemalloc's author
# says they must; jeprof's four views of them; folded stacks.
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

# From exact to sampled and back: what is live by then was counted in the other way.
# Blocks of 64 MiB are sampled with certainty; the first after a turn to exact is a small
# one.
cat >"$TMP/turns.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static void *old[29], *new[31];
static void *nothing(void *arg) { return arg; }
static void make(void **to, int n, size_t first) {
	for (int i = 0; i < n; i++)
		to[i] = malloc(i == 0 ? first : 64 << 20);
}
int main(int argc, char **argv) {
	int (*ctl)(const char *, void *, size_t *, void *, size_t) = dlsym(RTLD_DEFAULT, "mallctl");
	size_t lg = (size_t)atoi(argv[1]);
	pthread_t t;
	if (argc > 2 && pthread_create(&t, NULL, nothing, NULL) == 0)
		pthread_join(t, NULL);
	make(old, 29, 64 << 20);
	for (int i = 0; i < 7; i++)
		free(old[i]);
	if (ctl("prof.reset", NULL, NULL, &lg, sizeof(lg)) != 0 ||
	    ctl("prof.dump", NULL, NULL, NULL, 0) != 0)
		return 1;
	make(new, 31, lg == 0 ? 61 : 64 << 20);
	for (int i = 7; i < 29; i++)
		free(old[i]);
	for (int i = 1; i < 12; i++)
		free(new[i]);
	return ctl("prof.dump", NULL, NULL, NULL, 0);
}
END
gcc -O1 -g -o "$TMP/turns" "$TMP/turns.c" || exit
for more in "" threads; do
	# shellcheck disable=SC2086 # a word or none
	profiled "$LIBSEEP" prof:true,prof_accum:true,lg_prof_sample:0 "$TMP/turns" 19 $more
	expect_eq "exact, then sampled $more" "$status $(total '*.m0.heap') $(total '*.m1.heap')" \
		"0 0: 0 [0: 0] 20: $((20 << 26)) [31: $((31 << 26))]"
	# shellcheck disable=SC2086
	profiled "$LIBSEEP" prof:true,prof_accum:true,lg_prof_sample:19 "$TMP/turns" 0 $more
	expect_eq "sampled, then exact $more" "$status $(total '*.m0.heap') $(total '*.m1.heap')" \
		"0 0: 0 [0: 0] 20: $(((19 << 26) + 61)) [31: $(((30 << 26) + 61))]"
done

# One stack with 199,980 blocks of 64 bytes and 20 of 1 MiB: readers work with the mean
# size, which is wrong by a factor of 2,000 for such a stack unless the profile makes up
# for it.
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
expect_between "mixed: objects (${objects[*]})" "$(middle "${objects[@]}")" 110000 300000
expect_between "mixed: bytes (${bytes[*]})" "$(middle "${bytes[@]}")" 28000000 40000000
profiled "$LIBSEEP" prof:true,prof_final:true,prof_unbias:false "$prog"
expect_between "mixed: told not to make up for it" \
	"$(text --inuse_objects '*.f.heap' | awk 'NR == 1 { print $2 }')" 10 400
