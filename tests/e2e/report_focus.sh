#!/bin/bash
# SPDX-License-Identifier: MIT
# A run that starts programs of others: headline, JSON, JUnit, the formats of memcheck and
# LeakSanitizer and the exit status all count the same processes. What the other programs
# lost is one line, and counts with --process all.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
cd "$TMP" || exit
other=$(mktemp -d /tmp/seep-other.XXXXXX) || exit # neither built in the same tree nor of a package
trap 'rm -rf "$other"; lib_end' EXIT
cat >lose.c <<'END2'
#include <stdlib.h>
int main(int argc, char **argv) {
	for (int i = 0; i < argc - 1; i++) {
		void *volatile p = malloc(1009);
		(void)p;
		(void)argv;
	}
	return 0;
}
END2
cat >start.c <<'END2'
#include <stdlib.h>
int main(int argc, char **argv) { void *volatile p = malloc(7); free(p); return argc > 1 && system(argv[1]) != 0; }
END2
${CC:-gcc} -g -O0 -o "$other/lose" lose.c && ${CC:-gcc} -g -O0 -o start start.c || exit
call=(./start "$other/lose 1 2 3")
said='^seep: not counted: 3 blocks lost by other programs \(lose\); --process all counts every program$'

run "$SEEP" run -o a.rec --fail-on leak --junit a.xml -- "${call[@]}"
expect_eq "--fail-on" "$status" 0
expect_match "headline" "$err" '^OK  no leak'
expect_match "the others are named" "$err" '^1 other program leaks: lose '
expect_match "and do not count" "$err" "$said"
expect_no_match "JUnit: no failure" "$(cat a.xml)" '<failure|verdict" value="LEAK'
expect_match "JUnit: verdict" "$(cat a.xml)" 'verdict" value="OK"'
run "$SEEP" run --no-save --json --fail-on leak -- "${call[@]}"
expect_eq "JSON" "$status $(jq -c '[.summary.verdict, .summary.leaks.definite_blocks, .fail_on[0].value]' <<<"$err")" '0 ["OK",0,0]'
for format in memcheck lsan; do
	run "$SEEP" run --no-save --format=$format --error-exitcode=5 -- "${call[@]}"
	expect_eq "$format" "$status" 0
	expect_no_match "$format: no other program" "$err" '1,009|3,027|3027 byte'
	expect_match "$format: the others" "$err" "$said"
done
run "$SEEP" leaks --fail-on leak a.rec
expect_eq "leaks FILE" "$status" 0
expect_match "leaks FILE: headline" "$out" '^OK  no leak'
"$SEEP" run -o empty.rec -- /bin/true 2>/dev/null
expect_status 0 "$SEEP" leaks --baseline empty.rec a.rec

# ---- all of them ----
run "$SEEP" run --no-save --fail-on leak --junit b.xml --process all -- "${call[@]}"
expect_eq "all: --fail-on" "$status" 1
expect_match "all: headline" "$err" '^LEAK.* in 3 blocks'
expect_match "all: said" "$err" '^seep: --fail-on leak>0: 3 blocks definitely or indirectly lost$'
expect_no_match "all: no others" "$err" 'other program'
expect_match "all: JUnit" "$(cat b.xml)" '<failure'
run "$SEEP" run --no-save --json --fail-on leak --process all -- "${call[@]}"
expect_eq "all: JSON" "$status $(jq -c '[.summary.leaks.definite_blocks, .fail_on[0].value]' <<<"$err")" '1 [3,3]'
expect_status 5 "$SEEP" run --no-save --format=memcheck --error-exitcode=5 --process all -- "${call[@]}"
expect_status 5 "$SEEP" run --no-save --format=lsan --error-exitcode=5 --process all -- "${call[@]}"
expect_status 1 "$SEEP" run --no-save --fail-on leak --process lose -- "${call[@]}"
expect_status 1 "$SEEP" leaks --all --fail-on leak a.rec
expect_match "report --process all" "$("$SEEP" report --process all a.rec)" '^LEAK.* in 3 blocks'
# Those that are asked for by name are in the verdict, also when the first of them became
# another program.
if [ -x /bin/bash ]; then
	"$SEEP" run -o became.rec -- /bin/bash -c '/bin/bash -c "x=1; :"; exec /bin/true' >/dev/null 2>&1
	run "$SEEP" report --process bash became.rec
	expect_match "--process NAME: the one that ended" "$out" '^OK  no leak: [0-9,]+ allocs'
	expect_no_match "--process NAME: not its images alone" "$out" 'none of'
fi
