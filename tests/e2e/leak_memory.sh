#!/bin/bash
# SPDX-License-Identifier: MIT
# What the leak check at the end takes for itself, with 300 MB in many blocks to look at:
# whatever the allocator, and whether they are lost or reachable.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_leak.sh"
need_seep
need_libseep
prog=$(program many_blocks) || exit
cd "$TMP" || exit

# check_with NAME LIBRARY WHAT MOST ARGS...: the most memory of its own that seep was seen
# to hold is up to MOST MiB.
check_with() {
	local pid kib most=0
	env LD_PRELOAD="$2" "$SEEP" run -o "$1.rec" -- "$prog" "${@:5}" >"$1.out" 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		kib=$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null)
		[ "${kib:-0}" -le "$most" ] || most=$kib
		sleep 0.005
	done
	wait $pid
	expect_eq "$1: exit status" $? 0
	"$SEEP" report --json "$1.rec" >"$1.json"
	expect_match "$1: what is lost" "$(seep_says "$1.json")" "$3=300000000/300000( |$)"
	expect_between "$1: MiB that the tool holds" $((most / 1024)) 1 "$4"
	rm -f "$1.rec"
}

check_with glibc "" definite 64
check_with reachable "" reachable 96 each_through_another
for name in jemalloc.so.2 tcmalloc_minimal.so.4 mimalloc.so.2; do
	path=$(find_library "lib$name")
	if [ -n "$path" ]; then
		check_with "${name%%.*}" "$path" definite 64
	else
		left_out "no lib$name here"
	fi
done
