#!/bin/bash
# SPDX-License-Identifier: MIT
# seep leaks on processes that nobody recorded, and on their cores: as many blocks are
# lost as LeakSanitizer says of the same program, none in an idle Python, over jemalloc,
# tcmalloc and mimalloc too; and where blocks cannot be read that is said.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
zoo=$(program heap_zoo) || exit
cd "$TMP" || exit

# lost JSON: "definite/indirect" blocks.
lost() { jq -r '.summary.leaks | "\(.definite_blocks)/\(.indirect_blocks)"' "$1"; }

# ---- a program with every sort of block ----
begin "$zoo"
truth=$(sed -n 's,^expect definite=\([0-9]*\) indirect=\([0-9]*\)$,\1/\2,p' "$TMP/said")
expect_eq "the program's own truth" "$truth" 280/103
expect_status 0 "$SEEP" leaks --json "$pid"
expect_eq "lost" "$(lost "$TMP/out")" "$truth"
expect_json "possibly lost" "$TMP/out" .summary.leaks.possible_blocks 0
expect_json "verdict" "$TMP/out" '[.verdict, .severity, .no_verdict_because]' '["LEAK","error",null]'
expect_json "lost objects by class" "$TMP/out" \
	'[.groups[] | select(.type == "class net::Request") | .definite_blocks, .through_them_bytes > 0] | tostring' '[29,true]'
expect_json "and those below them" "$TMP/out" '.groups[] | select(.type == "class Session") | .indirect_blocks, .reachable_blocks' $'29\n211'
expect_json "blocks with mappings of their own" "$TMP/out" .mapped_blocks 7
expect_json "arenas" "$TMP/out" '.arenas | length' 4
expect_json "nothing that made no sense" "$TMP/out" .notes '[]'
cp "$TMP/out" live.json
run "$SEEP" leaks "$pid"
expect_match "in words" "$out" '^LEAK  2\.[0-9]+ MiB in 383 blocks lost, 280 times$'
expect_match "largest first" "$out" '^ 1  888 KiB  [0-9]+ %   3 blocks, definitely lost$'
expect_match "what they look like" "$out" '^    303,088 bytes each: all bytes equal · for example at 0x[0-9a-f]+$'
expect_match "time to stop and pause" "$out" '^stopped [0-9.]+ [a-zµ]+ \+ [0-9.]+ [a-zµ]+.*, 4 threads, [0-9,]+ blocks, 4 arenas(; checked on a copy)?$'
expect_eq "it was let go" "$(sed -n 's/^TracerPid:\t//p' "/proc/$pid/status")" 0
run "$SEEP" leaks --format=memcheck "$pid"
expect_match "in memcheck's words" "$out" '^==[0-9]+==    definitely lost: [0-9,]+ bytes in 280 blocks$'
expect_match "in memcheck's words, a class" "$out" '^==[0-9]+==    (at|by) 0x[0-9A-F]+: 168 bytes each, class net::Request$'
run "$SEEP" leaks --dry-run "$pid"
expect_match "what it would cost" "$out" "^$pid (is copied, and the copy is searched|is stopped while its memory is searched): expect a pause of up to about "
run "$SEEP" leaks --new "$pid"
expect_match "no last look" "$err" "^seep: $pid: not recorded, so it has no last look; see: seep scan --save, --since$"
run "$SEEP" leaks --way=stop --json "$pid"
expect_eq "while it stands still" "$(lost "$TMP/out")" "$truth"
expect_json "while it stands still: said" "$TMP/out" .snapshot false
run "$SEEP" leaks --leak-kinds=indirect,reachable "$pid"
expect_match "indirectly lost: with what" "$out" '^    held by lost blocks: 168 bytes each, class net::Request$|^    held by sessions in heap_zoo$'
expect_match "reachable: from where" "$out" '^    held by held_large in heap_zoo$'
run "$SEEP" leaks --leak-kinds=indirect --json "$pid"
expect_json "indirectly lost: nodes" "$TMP/out" \
	'[.groups[] | select(.size == 72 and .indirect_blocks == 37 and .reachable_blocks == 1) | .held_by] | tostring' \
	'["lost blocks: 72 bytes each: pointer, text, text, text"]'
run "$SEEP" leaks --error-exitcode 7 "$pid"
expect_eq "exit status for CI" "$status" 7
run "$SEEP" leaks --json --error-exitcode 7 "$pid"
expect_eq "exit status with JSON" "$status" 7

# ---- the same from a core ----

# huge_core CORE COPY N|count: a copy whose Nth segment that can be written has 67 TB by
# its header; the last N there is.
huge_core() {
	/usr/bin/python3 - "$@" <<-'X'
		import struct, sys
		core = bytearray(open(sys.argv[1], "rb").read())
		at, = struct.unpack_from("<Q", core, 32)
		n, = struct.unpack_from("<H", core, 56)
		heads = [at + 56 * i for i in range(n)]
		mine = [h for h in heads if struct.unpack_from("<II", core, h)[0] == 1 and struct.unpack_from("<II", core, h)[1] & 2]
		if sys.argv[3] == "count":
		    print(len(mine) - 1)
		else:
		    struct.pack_into("<Q", core, mine[int(sys.argv[3])] + 40, 67 * 10**12)
		    open(sys.argv[2], "wb").write(core)
	X
}

if have gcore && gcore -o core "$pid" >gcore.log 2>&1; then
	run "$SEEP" leaks --json "core.$pid"
	expect_eq "core: status" "$status" 0
	same='[.summary, (.groups | map(del(.held_by))), .arenas, .mapped_blocks, .threads]'
	expect_eq "core: the live process's answer" "$(jq -c "$same" "$TMP/out")" "$(jq -c "$same" live.json)"
	run "$SEEP" leaks "core.$pid"
	expect_match "core: in words" "$out" '^LEAK  2\.[0-9]+ MiB in 383 blocks lost, 280 times$'
	bytes=$(stat -c %s "core.$pid")
	head -c $((bytes * 9 / 10)) "core.$pid" >cut.core
	run "$SEEP" leaks cut.core
	expect_match "cut core: said" "$out$err" '^NO VERDICT  the core is cut off: [0-9.]+ [KM]iB of its memory is missing; use a whole core$|glibc'
	expect_no_match "cut core: what is missing may hold it" "$out" 'definitely lost [1-9]|^LEAK'
	# Headers that promise 67 TB do not make it work for longer than the file is
	# large.
	for segment in $(seq 0 "$(huge_core "core.$pid" huge.core count)"); do
		huge_core "core.$pid" huge.core "$segment"
		run timeout 20 "$SEEP" leaks huge.core
		case $status in 0 | 3) pass ;; *) fail "huge segment $segment: status $status" ;; esac
	done
	head -c 300 "core.$pid" >cut.core
	run "$SEEP" leaks cut.core
	expect_eq "no core any more: status" "$status" 3
	expect_eq "no core any more: one line" "$(wc -l <"$TMP/err")" 1
	expect_match "no core any more: why" "$err" '^seep: cut\.core: its [0-9]+ segment headers do not fit into 300 bytes'
fi
finish
expect_eq "it ended as ever" "$ended" 0

# ---- and from one that the kernel wrote ----
if [ "$(cat /proc/sys/kernel/core_pattern)" = core ] && ulimit -c unlimited 2>/dev/null; then
	mkdir died
	(cd died && exec "$zoo" <"$TMP/in" >"$TMP/said") &
	pid=$!
	exec 8>"$TMP/in"
	wait_for 20 grep -q ready "$TMP/said"
	kill -ABRT "$pid"
	exec 8>&-
	wait "$pid" 2>/dev/null
	ulimit -c 0
	for core in died/core*; do
		run "$SEEP" leaks --json "$core"
		expect_eq "kernel's core: lost" "$(lost "$TMP/out")" "$truth"
		expect_json "kernel's core: classes" "$TMP/out" '.groups[] | select(.type == "class Session") | .indirect_blocks' 29
	done
else
	left_out "cores do not go to files here"
fi

# ---- LeakSanitizer's opinion ----
if lsan=$(program heap_zoo lsan -O1 -g -pthread -fsanitize=leak 2>"$TMP/cc"); then
	begin "$lsan"
	one_round
	finish
	if grep -q 'SUMMARY: LeakSanitizer' "$TMP/said.err"; then
		expect_eq "LeakSanitizer" "$(awk '/^Direct leak/ { d += $7 } /^Indirect leak/ { i += $7 } END { print d "/" i }' "$TMP/said.err")" "$truth"
	else
		left_out "LeakSanitizer cannot look here: $(head -n 1 "$TMP/said.err")"
	fi
	begin "$lsan"
	run "$SEEP" leaks "$pid"
	expect_eq "a sanitizer's heap: status" "$status" 3
	expect_match "a sanitizer's heap: said" "$out" "^NO VERDICT  its memory is managed by LeakSanitizer's malloc, whose blocks seep cannot read; use seep attach --for 10m $pid\$"
	finish
else
	left_out "no LeakSanitizer here"
fi

# ---- nothing lost ----
begin "$zoo" nothing
run "$SEEP" leaks "$pid"
expect_match "clean" "$out" '^OK  no leak: 1\.[0-9]+ MiB in 1,[0-9]+ blocks'
finish
if have python3; then
	begin python3 -c '
import sqlite3, sys
db = sqlite3.connect(":memory:")
db.execute("create table t (a, b)")
db.executemany("insert into t values (?, ?)", [(i, str(i)) for i in range(5000)])
rows = db.execute("select * from t order by b").fetchall()
print("ready", flush=True)
sys.stdin.readline()'
	run "$SEEP" leaks --json "$pid"
	expect_eq "idle Python with sqlite" "$(lost "$TMP/out")" 0/0
	finish
	begin python3 -c '
import sys
kept = [str(i) for i in range(400000)]
print("ready", flush=True)
sys.stdin.readline()'
	run "$SEEP" leaks "$pid"
	expect_match "memory that is not malloc's" "$(sed -n 2p "$TMP/out")" \
		'^PARTIAL  malloc has [0-9.]+ MiB of [0-9.]+ MiB anonymous memory \([0-9.]+ %\), nothing of it lost: python keeps its objects in pymalloc'
	expect_no_match "and no verdict then" "$out" '^OK'
	finish
fi

# ---- where the heap begins in the middle of a page, next to the program's own data ----
if have setarch && setarch -R true 2>/dev/null; then
	begin setarch -R "$zoo"
	run "$SEEP" leaks --json "$pid"
	expect_eq "addresses that are not random" "$(lost "$TMP/out")" "$truth"
	finish
fi

# ---- other allocators ----
if have musl-gcc && musl-gcc -O1 -static -o musl "$ROOT/tests/programs/heap_grow.c" 2>musl.log; then
	begin ./musl
	run "$SEEP" leaks "$pid"
	expect_eq "musl: status" "$status" 3
	expect_match "musl: said" "$out" "^NO VERDICT  its memory is managed by .*, whose blocks seep cannot read; use seep attach --for 10m $pid\$"
	finish
fi
for name in libjemalloc.so.2:jemalloc libtcmalloc_minimal.so.4:tcmalloc libmimalloc.so.2:mimalloc; do
	lib=$(find_library "${name%:*}")
	[ -n "$lib" ] || { left_out "no ${name%:*} here"; continue; }
	begin env LD_PRELOAD="$lib" "$zoo"
	expect_status 0 "$SEEP" leaks --json "$pid"
	expect_eq "${name#*:}: lost" "$(lost "$TMP/out")" "$truth"
	expect_json "${name#*:}: possibly lost" "$TMP/out" .summary.leaks.possible_blocks 0
	expect_json "${name#*:}: nothing that made no sense" "$TMP/out" .notes '[]'
	run "$SEEP" leaks --way=stop --json "$pid"
	expect_eq "${name#*:}: while it stands still" "$(lost "$TMP/out")" "$truth"
	if have gcore && gcore -o core "$pid" >gcore.log 2>&1; then
		run "$SEEP" leaks --json "core.$pid"
		expect_eq "${name#*:}: from a core" "$(lost "$TMP/out")" "$truth"
	fi
	finish
	begin env LD_PRELOAD="$lib" "$zoo" nothing
	run "$SEEP" leaks "$pid"
	expect_match "${name#*:}: clean" "$out" '^OK  no leak: 1\.[0-9]+ MiB in 1,[0-9]+ blocks'
	finish
done
lib=$(find_library libtcmalloc_debug.so.4)
if [ -n "$lib" ]; then
	begin env LD_PRELOAD="$lib" "$zoo"
	run "$SEEP" leaks "$pid"
	expect_eq "tcmalloc for debugging: status" "$status" 3
	expect_match "tcmalloc for debugging: said" "$out" \
		"^NO VERDICT  seep cannot read its blocks: the debugging version of tcmalloc puts headers of its own into the blocks; use libtcmalloc.so.4; use seep attach --for 10m $pid\$"
	for command in leaks scan; do
		run "$SEEP" $command --json "$pid"
		expect_eq "tcmalloc for debugging: $command --json: status" "$status" 3
		expect_json "tcmalloc for debugging: $command --json" "$TMP/out" '[.verdict, .severity, .no_verdict_because]' \
			'["NO VERDICT","unknown","heap-not-read"]'
	done
	run "$SEEP" leaks --fail-on leak "$pid"
	expect_eq "tcmalloc for debugging: a gate does not pass" "$status" 3
	finish
fi
