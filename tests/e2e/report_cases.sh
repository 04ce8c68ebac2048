#!/bin/bash
# SPDX-License-Identifier: MIT
# Some of the cases of leak_*.sh once more, with all that memcheck writes about them: the
# sums there, records, stacks and heuristics here.
. "$(dirname "$0")/lib.sh"
# timeout: 200
need_seep
need_libseep
need_command valgrind python3
export LC_ALL=C
cd "$TMP" || exit
options=(--leak-check=full --show-leak-kinds=all --num-callers=30)

one() {
	valgrind "${options[@]}" --log-file="$2.theirs" "$1" "$2" >/dev/null 2>&1 </dev/null
	/usr/bin/python3 "$ROOT/tests/e2e/lib_report.py" text "$2.theirs" >"$2.vg"
}

# cases PROGRAM NAME...
cases() {
	local prog name
	prog=$(program "$1") || exit
	shift
	for name; do
		one "$prog" "$name" &
		"$SEEP" valgrind "${options[@]}" --log-file="$name.ours" "$prog" "$name" >/dev/null 2>&1 </dev/null
		/usr/bin/python3 "$ROOT/tests/e2e/lib_report.py" text "$name.ours" >"$name.seep"
		wait
		expect_match "$name: it says something" "$(cat "$name.vg")" '^HEAP SUMMARY:$'
		expect_file "$name: as valgrind has it" "$name.seep" "$name.vg"
	done
}

cases leak_cxx further_base new_array_with_count shared_text
expect_match "a heuristic" "$(cat shared_text.seep)" '^                        stdstring          : 126 bytes in 1 blocks$'
cases leak_life leaked_by_atexit
expect_match "below main" "$(cat leaked_by_atexit.seep)" '^   by \(below main\) '
