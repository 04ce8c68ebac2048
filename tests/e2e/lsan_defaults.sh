#!/bin/bash
# SPDX-License-Identifier: MIT
# Reports in LeakSanitizer's format follow its options, in LSAN_OPTIONS and in functions
# of the program.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
prog=$(program lsan_defaults) || exit
cd "$TMP" || exit
unset LSAN_OPTIONS
lsan() { run "$SEEP" run --no-save --format=lsan -- "$prog" "$@"; }

lsan
expect_eq "status" "$status" 23
expect_eq "what is left" "$(grep -E '^(Direct|Indirect|SUMMARY)' <<<"$err")" \
	"Direct leak of 1477 byte(s) in 7 object(s) allocated from:
SUMMARY: LeakSanitizer: 1477 byte(s) leaked in 7 allocation(s)."
expect_match "the program's suppressions" "$err" '^ +13 +1313 known_loss$'
expect_eq "the program's options: addresses" "$(grep -c '^0x[0-9a-f]* (211 bytes)$' <<<"$err")" 7
address=$(sed -n 's/^last lost 0x//p' <<<"$out")
expect_eq "the address is the one that the program got" "$(grep -c "^0x0*$address (211 bytes)" <<<"$err")" 1
lsan exit7
expect_eq "the program's exit status" "$status" 7
LSAN_OPTIONS=exitcode=29 lsan exit7
expect_eq "the variable counts more" "$status" 29
lsan off
expect_eq "turned off: status" "$status" 0
expect_no_match "turned off: report" "$err" 'LeakSanitizer: '
lsan asks
expect_eq "asked for: status" "$status" 23
expect_match "asked for: with the program's suppressions" "$err" '^SUMMARY: LeakSanitizer: 1477 byte\(s\) leaked in 7 allocation'
expect_no_match "asked for: at once" "$out" 'at the end'

# Seep's own report is about everything, and the array of no elements is not lost.
run "$SEEP" run --no-save -- "$prog" off
expect_match "seep's own format" "$err" '^definitely lost 2.72 KiB in 20 blocks'

LSAN_OPTIONS=report_objects=0:print_suppressions=0 lsan
expect_no_match "no addresses" "$err" '^Objects leaked above'
expect_no_match "no uses" "$err" 'Suppressions used'
LSAN_OPTIONS="log_path='$TMP/a log'" lsan
expect_eq "log_path: status" "$status" 23
expect_no_match "log_path: not on stderr" "$err" 'LeakSanitizer'
expect_match "log_path: in the file" "$(cat "$TMP/a log".[0-9]*)" '^SUMMARY: LeakSanitizer: 1477 byte'
LSAN_OPTIONS=leak_check_at_exit=0 lsan
expect_eq "not at exit: status" "$status" 0
LSAN_OPTIONS=leak_check_at_exit=0 lsan asks
expect_eq "not at exit, but asked for: status" "$status" 23
LSAN_OPTIONS=detect_leaks=0 lsan asks
expect_eq "not at all: status" "$status" 0
echo 'leak:loss' >all.supp
LSAN_OPTIONS=suppressions="'$TMP/all.supp'" lsan
expect_eq "a file in quotes: status" "$status" 0
LSAN_OPTIONS=help=1 lsan off
expect_match "help" "$err" '^Available flags for LeakSanitizer:'

# LeakSanitizer knows leaks only: what it has no words for does not set its status.
cat >misuse.c <<'END'
#include <stdlib.h>
int main(int argc, char **argv) {
	void *volatile p = malloc(13);
	p = realloc(p, 0);
	if (argc > 1)
		p = malloc(1013), p = NULL;
	return 0;
}
END
gcc -g -O0 -w -o misuse misuse.c || exit
run "$SEEP" run --no-save --format=lsan -- ./misuse
expect_eq "a wrong use, nothing lost" "$status $err" "0 "
run "$SEEP" run --no-save --format=lsan -- ./misuse lose
expect_eq "a wrong use, and a leak" "$status" 23
expect_match "a wrong use, and a leak: report" "$err" '^SUMMARY: LeakSanitizer: 1013 byte\(s\) leaked in 1 '
run "$SEEP" run --no-save --format=lsan --error-exitcode=37 -- ./misuse
expect_eq "the option counts wrong uses in every format" "$status" 37

# What is lost because of a suppressed block is not reported either, as in LeakSanitizer.
cat >below.c <<'END'
#include <stdlib.h>
struct cell { struct cell *next; };
static struct cell *cell(size_t bytes, struct cell *next) {
	struct cell *c = malloc(bytes);
	c->next = next;
	return c;
}
__attribute__((noinline)) static void hidden(void) { cell(401, cell(211, cell(211, NULL)))->next->next->next = NULL; }
static struct cell *made[3];
__attribute__((noinline)) static void make(void) {
	for (int i = 0; i < 3; i++)
		made[i] = cell(307, NULL);
}
__attribute__((noinline)) static void hides_head(void) {
	struct cell **head = malloc(1009);
	for (int i = 0; i < 3; i++)
		head[i] = made[i], made[i] = NULL;
}
__attribute__((noinline)) static void told(void) { struct cell **head = malloc(2003); head[0] = cell(503, NULL); }
int main(void) { hidden(), make(), hides_head(), told(); return 0; }
END
gcc -g -O0 -w -o below below.c || exit
echo 'leak:hides_head' >below.supp
LSAN_OPTIONS=suppressions=below.supp run "$SEEP" run --no-save --format=lsan -- ./below
expect_match "below a suppressed block: sum" "$err" '^SUMMARY: LeakSanitizer: 3329 byte\(s\) leaked in 5 allocation'
expect_no_match "below a suppressed block: no record" "$err" '(307|921|1009) byte\(s\) in'

"$SEEP" run -o a.rec -- "$prog" >/dev/null 2>&1
LSAN_OPTIONS=max_leaks=1 run "$SEEP" leaks --format=lsan a.rec
expect_match "max_leaks" "$out" '^The 1 top leak\(s\):$'
expect_match "max_leaks: the others" "$out" '^Omitting 1 more leak\(s\)\.$'
expect_match "max_leaks: the sum is of all" "$out" '^SUMMARY: LeakSanitizer: 2790 byte\(s\) leaked in 20 '
