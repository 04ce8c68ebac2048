#!/bin/bash
# SPDX-License-Identifier: MIT
# What memcheck writes about leaks, seep writes too: same sums, records, numbers, order
# and stacks, as text and as XML, with the same options.
. "$(dirname "$0")/lib.sh"
# timeout: 200
need_seep
need_libseep
need_command valgrind python3
export LC_ALL=C
same=$ROOT/tests/e2e/lib_report.py
c=$(program leak_report) || exit
cxx=$(program leak_report_cxx) || exit
cd "$TMP" || exit

# both NAME PROGRAM OPTION...: the text of both, in NAME.vg and NAME.seep. A run of
# valgrind may differ by chance where there are threads: three tries.
both() {
	local name=$1 program=$2 try
	shift 2
	valgrind "$@" --log-file="$name.theirs" "$program" x >/dev/null 2>&1 </dev/null &
	"$SEEP" valgrind "$@" --log-file="$name.ours" "$program" x >/dev/null 2>"$TMP/err" </dev/null
	/usr/bin/python3 "$same" text "$name.ours" >"$name.seep"
	wait
	for try in 1 2 3; do
		[ "$try" = 1 ] || valgrind "$@" --log-file="$name.theirs" "$program" x >/dev/null 2>&1 </dev/null
		/usr/bin/python3 "$same" text "$name.theirs" >"$name.vg"
		if [ "$try" = 3 ] || cmp -s "$name.vg" "$name.seep"; then break; fi
	done
	expect_file "$name: as valgrind writes it" "$name.seep" "$name.vg"
}

both full "$c" --leak-check=full --show-leak-kinds=all
expect_eq "it has all kinds" "$(grep -c 'in loss record' full.seep)" 17
expect_match "and its sums" "$(cat full.seep)" '^   definitely lost: 3,419 bytes in 17 blocks$'
expect_match "calloc is told from malloc" "$(cat full.seep)" '^   at calloc \(LIBRARY\)$'
expect_match "and realloc" "$(cat full.seep)" '^   at realloc \(LIBRARY\)$'
both usual "$c" --leak-check=yes --errors-for-leak-kinds=all --num-callers=4
both low "$c" --leak-check=full --show-leak-kinds=definite,indirect --leak-resolution=low
both summary "$c"
expect_match "only sums" "$(cat summary.seep)" '^Rerun with --leak-check=full to see details of leaked memory$'

# The loader's memory for a thread is larger where a library more has thread-local data.
sums() { sed -Ei 's/(total heap usage: .* frees), .*/\1/' "$1"; }
"$SEEP" valgrind --leak-check=full --show-leak-kinds=all --log-file=cxx.ours "$cxx" >/dev/null 2>&1
/usr/bin/python3 "$same" text cxx.ours >cxx.seep
sums cxx.seep
for try in 1 2 3; do
	valgrind --leak-check=full --show-leak-kinds=all --log-file=cxx.theirs "$cxx" >/dev/null 2>&1
	/usr/bin/python3 "$same" text cxx.theirs >cxx.vg
	sums cxx.vg
	if [ "$try" = 3 ] || cmp -s cxx.vg cxx.seep; then break; fi
done
expect_file "C++: as valgrind writes it" cxx.seep cxx.vg
expect_match "C++: names as written" "$(cat cxx.seep)" \
	'^   by double\* shop::make<double>\(unsigned int\) \(leak_report_cxx.cpp:[0-9]+\)$'
expect_match "C++: inlined ones too" "$(cat cxx.seep)" '^   by get \(leak_report_cxx.cpp:[0-9]+\)$'
