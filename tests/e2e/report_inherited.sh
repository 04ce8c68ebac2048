#!/bin/bash
# SPDX-License-Identifier: MIT
# What forked children have from before their fork: memcheck's format counts and lists it
# in each process, as valgrind does; everywhere else it is judged in the process that
# allocated it.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program inherit_lists -O2 -g -fno-builtin) || exit
cd "$TMP" || exit

# reports FILE: what is said of each process, a line each: records with functions and
# lines, and sums. What was freed before a fork is in valgrind's sum of all calls only.
reports() {
	local pid
	sed -nE 's/^==([0-9]+)==.*HEAP SUMMARY.*/\1/p' "$1" | while read -r pid; do
		sed -nE "s/^==$pid== *//p" "$1" | sed '1,/^HEAP SUMMARY/d' | grep -vE '^(total heap usage|suppressed: 0 |For |$)' |
			sed -E 's/0x[0-9A-F]+: //; s/ \(in [^)]*\)//; s/ \((vg_replace_malloc|strdup)\.c:[0-9]+\)//' | paste -sd'|'
	done | sort
}

"$SEEP" valgrind --leak-check=full --show-leak-kinds=all "$prog" >/dev/null 2>seep.log
reports seep.log >seep.txt
expect_eq "three processes" "$(wc -l <seep.txt)" 3
expect_eq "in use" "$(grep -oE 'in use at exit: [^|]*' seep.txt | sort)" "in use at exit: 1,304 bytes in 13 blocks
in use at exit: 1,777 bytes in 17 blocks
in use at exit: 1,893 bytes in 18 blocks"
expect_eq "definitely lost" "$(grep -oE 'definitely lost: [^|]*' seep.txt | sort)" "definitely lost: 104 bytes in 1 blocks
definitely lost: 321 bytes in 3 blocks
definitely lost: 559 bytes in 6 blocks"
if have valgrind; then
	valgrind --leak-check=full --show-leak-kinds=all "$prog" >/dev/null 2>valgrind.log
	reports valgrind.log >valgrind.txt
	expect_eq "as valgrind has it" "$(diff valgrind.txt seep.txt)" ""
else
	left_out "no valgrind here"
fi

# The exit status is about what the program itself lost.
cat >child.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept;
int main(void)
{
	kept = malloc(211);
	if (fork() == 0) {
		kept = NULL;
		exit(0);
	}
	wait(NULL);
	return 0;
}
END
${CC:-gcc} -O0 -g -o child child.c || exit
run "$SEEP" valgrind --leak-check=full --error-exitcode=9 ./child
expect_eq "a child's loss: status" "$status" 0
expect_match "a child's loss: listed" "$err" '^==[0-9]+== 211 bytes in 1 blocks are definitely lost in loss record 1 of 1$'

# Nothing of it is in the recording, nor in a gate.
run "$SEEP" run --format=memcheck -o a.rec -- "$prog"
run "$SEEP" report --json a.rec
expect_json "the recording: own blocks only" "$TMP/out" '[.processes[].leaks | .definite_blocks] | sort' '[0,1,1]'
run "$SEEP" run --no-save --format=memcheck --fail-on 'definite>3' -- "$prog"
expect_eq "a gate: status" "$status" 0
