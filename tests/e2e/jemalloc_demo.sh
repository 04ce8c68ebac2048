#!/bin/bash
# SPDX-License-Identifier: MIT
# The recipe of leak summary, final profile and jeprof, as it is typed: libseep.so in
# place of libjemalloc.so, no other change. Both by preloading and by linking with
# -ljemalloc.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_jemalloc.sh"
need_libseep
need_command jeprof

prog=$(program jem_demo) || exit
cp "$prog" "$TMP/jemalloc-demo"
prog=$TMP/jemalloc-demo

export MALLOC_CONF=prof_leak:true,lg_prof_sample:0,prof_final:true
export LD_PRELOAD=$LIBSEEP
(cd "$DUMPS" && exec "$prog") 2>"$TMP/err"
status=$?
unset LD_PRELOAD MALLOC_CONF
expect_eq "status" "$status" 0
expect_eq "leak summary" "$(cat "$TMP/err")" \
"<seep>: Leak approximation summary: ~6430720 bytes, ~120 objects, >= 2 contexts
<seep>: Run jeprof on dump output for leak detail"
expect_eq "one profile" "$(dumps)" "jeprof.PID.0.f.heap"
expect_eq "its total" "$(total '*.f.heap')" "120: 6430720 [0: 0]"
expect_eq "jeprof's view" "$(text '*.f.heap')" \
"Total: 6430720 B
 3235840  50.3%  50.3%  3235840  50.3% do_something
 3194880  49.7% 100.0%  3194880  49.7% do_something_else
       0   0.0% 100.0%  6430720 100.0% main"
expect_eq "and by objects" "$(text --inuse_objects '*.f.heap' | sed -n 1,3p)" \
"Total: 120 objects
      80  66.7%  66.7%       80  66.7% do_something
      40  33.3% 100.0%       40  33.3% do_something_else"
expect_match "lines of the calls, not those behind them" "$(text --lines '*.f.heap')" \
	' 3235840 .* do_something .*jem_demo\.c:17'

# prof_leak alone gives no profile, and no summary either.
profiled "$LIBSEEP" prof_leak:true,lg_prof_sample:0 "$prog"
expect_eq "without prof_final" "$status $(dumps) $err" "0  "
# A leak may be made an error.
profiled "$LIBSEEP" prof_leak_error:true,prof_final:true,lg_prof_sample:0 "$prog"
expect_eq "prof_leak_error" "$status $(dumps)" "1 jeprof.PID.0.f.heap"
expect_match "prof_leak_error says so" "$err" \
	'^<seep>: Exiting with error code because memory leaks were detected$'
profiled "$LIBSEEP" prof_leak_error:true,prof_final:true,lg_prof_sample:0 /bin/true
expect_eq "no leak, no error" "$status $err" "0 "

# ---- linked, and told by mallctl ----

compat=$BUILD/compat
[ -e "$compat/libjemalloc.so" ] || skip "no compat libraries in this build"
prog=$(program jem_demo manual -g -w -DMANUAL -I"$ROOT/compat/include" -L"$compat" \
	-Wl,-rpath,"$compat" -ljemalloc) || exit
profiled "" prof:true,lg_prof_sample:0,prof_active:false "$prog"
expect_eq "linked: off until it is switched on" "$status $err $(dumps) $(total '*.m0.heap')" \
	"0  jeprof.PID.0.m0.heap 40: 3194880 [0: 0]"
profiled "" prof:true,lg_prof_sample:0 "$prog"
expect_eq "linked: all of it" "$(text '*.m0.heap' | sed -n 1,3p)" \
"Total: 6430720 B
 3235840  50.3%  50.3%  3235840  50.3% do_something
 3194880  49.7% 100.0%  3194880  49.7% do_something_else"
profiled "" "" "$prog"
expect_eq "linked: nothing asked, nothing done" "$status $err $(dumps)" "0  "

# Two profiles of one process, compared.
cat >"$TMP/two.c" <<'END'
#include <jemalloc/jemalloc.h>
const char *malloc_conf = "prof:true,lg_prof_sample:0,prof_prefix:mine";
static void first(void) { malloc(1 << 20); }
static void second(void) { malloc(3000017); }
int main(void) {
	first();
	mallctl("prof.dump", NULL, NULL, NULL, 0);
	second();
	mallctl("prof.dump", NULL, NULL, NULL, 0);
	return 0;
}
END
gcc -g -O0 -w -I"$ROOT/compat/include" -o "$TMP/two" "$TMP/two.c" -L"$compat" \
	-Wl,-rpath,"$compat" -ljemalloc || exit
prog=$TMP/two
profiled "" "" "$prog"
expect_eq "options of the program itself" "$(dumps)" "mine.PID.0.m0.heap mine.PID.1.m1.heap"
expect_eq "what came between" "$(cd "$DUMPS" && jeprof --text --show_bytes "$prog" \
	--base="$(echo mine.*.0.m0.heap)" mine.*.1.m1.heap 2>/dev/null | sed -n 1,2p)" \
"Total: 3000017 B
 3000017 100.0% 100.0%  3000017 100.0% second"
profiled "" prof_prefix:env "$prog"
expect_eq "the environment wins over the program" "$(dumps)" \
	"env.PID.0.m0.heap env.PID.1.m1.heap"
