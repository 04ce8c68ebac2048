#!/bin/bash
# SPDX-License-Identifier: MIT
# The recipe for mtrace: gcc -g, the library preloaded, MALLOC_TRACE set, then mtrace on
# the log. Beside glibc's own libc_malloc_debug.so the logs have the same lines but for
# addresses, and the script says the same about both; `seep mtrace` says what the script
# says.
. "$(dirname "$0")/lib.sh"
need_libseep
need_seep
need_command mtrace addr2line

# The one of this machine's own architecture.
GLIBC=$(${CC:-gcc} -print-file-name=libc_malloc_debug.so.0)
[ -e "$GLIBC" ] || GLIBC=
cp "$ROOT/tests/programs/sort_c.c" "$TMP/sort-c.c"
cp "$ROOT/tests/programs/mtrace_ops.c" "$TMP/ops.c"
cd "$TMP" || exit
gcc -g -o sort-c sort-c.c || exit
seq 997 | awk '{ print $1, 997 - $1 }' >num

# trace LIBRARY LOG COMMAND...
trace() {
	run env LD_PRELOAD="$1" MALLOC_TRACE="$2" "${@:3}"
}
# Without addresses of blocks: whether a realloc moves is the heap's business.
plain() { sed -E 's/ ([-+<>!]) 0x[0-9a-f]+/ \1 A/' "$1"; }
# What mtrace prints, without addresses.
said() { sed -E 's/0x[0-9a-f]{16}/0xA/' "$1"; }

LD_PRELOAD=$LIBSEEP MALLOC_TRACE="./mtrace.out" ./sort-c num >said 2>&1
expect_eq "sort-c: the program is as ever" "$(tail -n 1 said)" "sorted 997, first 0"
line=$(($(sed -n 's/^expect line=//p' said) + 0))
run mtrace sort-c mtrace.out
expect_eq "sort-c: status" "$status" 1
expect_match "sort-c: the array" "$out" "^0x[0-9a-f]{16} 0xf42400  at .*/sort-c\.c:$line\$"
expect_match "sort-c: the file" "$out" '^0x[0-9a-f]{16}    0x1d8  at '
expect_eq "sort-c: nothing else" "$(grep -c ' at ' <<<"$out")" 2
expect_eq "sort-c: columns" "$(sed -n 1,4p <<<"$out")" "
Memory not freed:
-----------------
           Address     Size     Caller"

for flags in -no-pie "-pie -rdynamic"; do
	# shellcheck disable=SC2086 # words
	gcc -g $flags -o ops ops.c 2>/dev/null || exit
	for again in "" again; do
		trace "$LIBSEEP" ours.log ./ops $again
		expect_eq "ops: status" "$status $out$err" "0 "
		if [ -z "$again" ]; then
			expect_eq "ops: begins and ends" "$(sed -n '1p;$p' ours.log | tr '\n' ' ')" "= Start = End "
			expect_match "ops: failed malloc" "$(cat ours.log)" '^@ \./ops:.*\[0x[0-9a-f]+\] \+ \(nil\) 0xfffffffffffffc17$'
			expect_match "ops: failed realloc" "$(cat ours.log)" '^@ \./ops:.*\] ! 0x[0-9a-f]+ 0xfffffffffffffc17$'
			expect_match "ops: no bytes" "$(cat ours.log)" '\] \+ 0x[0-9a-f]+ 0$'
		else
			expect_match "ops: begun again" "$(sed -n 2p ours.log)" '^@ \./ops:.*\] \+ 0x[0-9a-f]+ 0x4d$'
		fi
		if [ -n "$GLIBC" ]; then
			trace "$GLIBC" theirs.log ./ops $again
			plain theirs.log >theirs.plain
			plain ours.log >ours.plain
			expect_file "ops $flags $again: the same lines as glibc's" ours.plain theirs.plain
			mtrace ops theirs.log >theirs.said
			mtrace ops ours.log >ours.said
			expect_eq "ops $flags $again: mtrace says the same" "$(said ours.said | sort)" "$(said theirs.said | sort)"
		fi
		for log in ours theirs; do
			[ -e $log.log ] || continue
			for words in "ops $log.log" $log.log; do
				# shellcheck disable=SC2086 # words
				mtrace $words >script.said
				wanted=$?
				# shellcheck disable=SC2086
				run "$SEEP" mtrace $words
				expect_eq "seep mtrace $words: status" "$status" $wanted
				# binutils keeps ./ inside of paths
				expect_eq "seep mtrace $words" "$out" "$(sed 's,/\./,/,g' script.said)"
			done
		done
	done
done

# What a replay finds wrong, and how it is said.
printf '%s\n' '= Start' '@ ./ops:[0x11] + 0x1000 0x10' '@ ./ops:(f+2)[0x12] + 0x1000 0x20' '@ ./ops:[0x13] - 0x2000' \
	'@ ./ops:[0x14] < 0x3000' '@ ./ops:[0x15] > 0x1000 0x30' '@ [0x16] + 0x20 0x0' '+ 0x400 0x7' '@ odd + 0x500 0x8' \
	'' '@' '@ x' 'nonsense here' '@ ./ops:[0x17] ! 0x9 0x1' '= End' >wrong.log
mtrace wrong.log >script.said
run "$SEEP" mtrace wrong.log
expect_eq "wrong: the same" "$out" "$(cat script.said)"
expect_match "wrong: twice" "$out" '^\+ 0x0000000000001000 Alloc 3 duplicate: 0x11 \./ops:\(f\+2\)\[0x12\]$'
expect_eq "wrong: left" "$(grep -c ' at ' <<<"$out")" 4
printf '= Start\n@ ./ops:[0x11] + 0x1000 0x10\n@ ./ops:[0x11] - 0x1000\n' | gzip >clean.gz
run "$SEEP" mtrace clean.gz
expect_eq "clean, and packed" "$status $out" "0 No memory leaks."
run "$SEEP" mtrace ./ops missing.log
expect_eq "missing log" "$status $err" "3 seep: missing.log: cannot open: No such file or directory"

# A delete before mtrace() says nothing about those after it.
cat >early.cpp <<'END'
#include <cstdlib>
#include <mcheck.h>
static void use(void *p) { __asm__ volatile("" ::"r"(p) : "memory"); }
struct early {
	early() { once(); }
	static void once() {
		char *one = new char, *many = new char[31];
		use(one), use(many);
		delete one;
		delete[] many;
	}
} now;
int main(int argc, char **argv) {
	if (argc > 1)
		setenv("MALLOC_TRACE", argv[1], 1);
	mtrace();
	for (int i = 0; i < 7; i++)
		early::once();
	muntrace();
	early::once();
	return 0;
}
END
g++ -g -O1 -o early early.cpp || exit
trace "$LIBSEEP" early.log ./early
expect_eq "delete before mtrace: lines" "$status $(grep -c '\] + ' early.log) $(grep -c '\] - ' early.log)" "0 14 14"
expect_eq "delete before mtrace: mtrace" "$(mtrace early early.log)" "No memory leaks."
expect_eq "delete before mtrace: seep mtrace" "$("$SEEP" mtrace early early.log)" "No memory leaks."
run env LD_PRELOAD="$LIBSEEP" ./early told.log
expect_eq "delete before mtrace, which the program itself asks for" \
	"$status $(mtrace early told.log)" "0 No memory leaks."
