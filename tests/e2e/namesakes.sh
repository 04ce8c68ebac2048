#!/bin/bash
# SPDX-License-Identifier: MIT
# A C program that is only called like a language's runtime, or has a library with such a
# beginning, is judged like any other. The real ones are still recognised (real_perl.sh,
# real_node.sh, managed.sh).
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_seep
need_libseep
cd "$TMP" || exit
cat >lose.c <<'END2'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void wipe(void) { volatile char below[4096]; memset((char *)below, 0, sizeof below); }
void lose(void) { for (int i = 0; i < 307; i++) { void *volatile p = malloc(1009); (void)p; } wipe(); }
#ifndef LIBRARY
int main(int argc, char **argv) { (void)argv; lose(); while (argc > 1) sleep(1); return 0; }
#endif
END2
echo 'void lose(void); int main(void) { lose(); return 0; }' >calls.c
${CC:-gcc} -g -O0 -o node lose.c || exit
for name in node node2 ruby perl lua luajit5.1 beam.smp java dotnet; do
	[ -e $name ] || cp node $name
	run "$SEEP" run --no-save --fail-on leak -- ./$name
	expect_eq "$name: status" "$status" 1
	expect_match "$name: headline" "$err" '^LEAK  .* in 30[67] blocks'
done
for name in librubyist.so libperlite.so libjvm.so.old-copy; do
	${CC:-gcc} -g -O0 -DLIBRARY -shared -fPIC -Wl,-soname,$name -o $name lose.c || exit
	${CC:-gcc} -g -O0 -o calls calls.c ./$name -Wl,-rpath,"$TMP" || exit
	run "$SEEP" run --no-save --fail-on leak -- ./calls
	expect_eq "$name: status" "$status" 1
	expect_match "$name: headline" "$err" '^LEAK  .* in 30[67] blocks'
done

# ---- running, not recorded ----
"$SEEP" attach --dry-run $$ >/dev/null 2>&1 || exit 0
./node stay &
pid=$!
sleep 0.3
run "$SEEP" leaks $pid
expect_match "seep leaks PID" "$out" '^LEAK  .* in 30[67] blocks'
run "$SEEP" doctor $pid
expect_no_match "seep doctor PID" "$out" 'V8'
kill $pid
wait $pid 2>/dev/null || true
