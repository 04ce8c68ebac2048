#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory that grows beside what malloc has handed out is GROWING with its kind, from seep
# run, attach, why and the saved recording. A thread pool and a program that maps much
# when it starts are not. Mappings that make most of the memory at one moment, or of what
# came meanwhile, are PARTIAL, whatever malloc had at another moment.
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
prog=$(program outside) || exit

for what in threads mappings pool start early kept holes fill static; do
	"$SEEP" run -o "$TMP/$what.rec" --log-file "$TMP/$what.log" "$prog" "$what" 8 >/dev/null &
done
wait
# 30 times 168 KiB a second are 295 MiB/min; 64 times 64 KiB are 240.
expect_match "threads" "$(head -n 1 "$TMP/threads.log")" '^GROWING  thread stacks \+[0-9.]+( ± [0-9.]+)? MiB/min'
expect_between "threads: MiB/min" "$(sed -n '1s/.*stacks +\([0-9]*\).*/\1/p' "$TMP/threads.log")" 200 380
expect_match "mappings" "$(head -n 1 "$TMP/mappings.log")" '^GROWING  mappings \+[0-9.]+( ± [0-9.]+)? MiB/min'
expect_between "mappings: MiB/min" "$(sed -n '1s/.*mappings +\([0-9]*\).*/\1/p' "$TMP/mappings.log")" 150 320
for what in threads mappings holes pool start early; do
	# What the loader keeps for each thread grows as well; whether it does so evenly
	# enough is chance.
	less=()
	[ $what != threads ] || less=('s/; 1 site: \+[^;]*$//; /^ 1 .*GROWING  live/,/^    main +outside\.c/d')
	expect_golden "$what: all of it" "$(cat "$TMP/$what.log")" "verdicts/outside_$what.txt" live "${less[@]}"
done
for what in pool start; do
	expect_no_match "$what" "$(cat "$TMP/$what.log")" 'GROWING|LEAK'
done
# 200 MiB of malloc that are gone do not cover 150 MiB that were mapped later.
expect_eq "early" "$(head -n 1 "$TMP/early.log")" \
	'PARTIAL  mappings grew by 150 MiB, which is not recorded; to record them: seep run --mmap'
expect_no_match "early: no other line says that all was seen" "$(cat "$TMP/early.log")" '100 %|99 %|nothing missed|^OK'
run "$SEEP" report "$TMP/early.rec"
expect_match "early, read again" "$out" '^PARTIAL  mappings grew by 150 MiB, which is not recorded'
# A block that is filled little by little: malloc keeps nothing of it.
expect_no_match "fill: nothing grows" "$(cat "$TMP/fill.log")" 'GROWING|kept by malloc|fragmentation'
expect_match "fill" "$(head -n 1 "$TMP/fill.log")" '^OK  no leak: '
# So is an array of the program's, whose size is fixed.
expect_match "static" "$(head -n 1 "$TMP/static.log")" '^OK  no leak: '
expect_no_match "static: nothing grows" "$(cat "$TMP/static.log")" 'GROWING|PARTIAL'
expect_match "kept" "$(head -n 1 "$TMP/kept.log")" '^OK  no leak'
run "$SEEP" report --json "$TMP/early.rec"
expect_json "early, in JSON" "$TMP/out" '[.summary.verdict, (.processes[0].outside[0] | .kind, .grows, ((.last_bytes - .first_bytes) / 1048576 | round))]' \
	'["PARTIAL","mappings",false,150]'
run "$SEEP" report --json "$TMP/threads.rec"
expect_json "threads, in JSON" "$TMP/out" '[.processes[0].outside[0] | .kind, .grows, .grew <= .intervals, .bytes_per_second > 3000000]' \
	'["thread stacks",true,true,true]'
run "$SEEP" report "$TMP/threads.rec"
expect_match "saved and read again" "$out" '^GROWING  thread stacks \+'

# from_outside WHAT: attach, why and watch at the same time.
from_outside() {
	local what=$1 pid
	: >"$TMP/$what.said"
	"$prog" "$what" 60 >"$TMP/$what.said" &
	pid=$!
	wait_for 20 grep -q ready "$TMP/$what.said"
	"$SEEP" why --for 4s "$pid" >"$TMP/$what.why" &
	"$SEEP" watch --every 400ms --count 11 "$pid" >"$TMP/$what.watch" &
	"$SEEP" attach --for 6s --max-stop 10s --log-file "$TMP/$what.attach" "$pid"
	# A pool's arenas come when its threads first run, which takes some time on a busy
	# machine.
	if [ "$what" = pool ] && grep -q ^GROWING "$TMP/pool.why"; then
		"$SEEP" why --for 4s "$pid" >"$TMP/pool.why"
	fi
	eval "set -- $(sed -n 's/^next: seep //p' "$TMP/$what.why")"
	"$SEEP" "$@" >"$TMP/$what.next" 2>&1
	echo "status $?" >>"$TMP/$what.next"
	kill "$pid"
	wait
}
for what in threads holes pool step fill static little; do from_outside $what & done 2>/dev/null
wait
# Which other regions grow by a page or two is chance, and so is how many of the
# recorder's are seen to come. Which of the small blocks are sampled, too, and whether
# any.
for what in threads holes; do
	expect_golden "attach $what" "$(cat "$TMP/$what.attach")" "verdicts/outside_attach_$what.txt" live \
		'/^ [0-9]  |^    /d; s/still reachable (0|SIZE in .* blocks?)/still reachable FEW/' \
		'/^running for/s/, [0-9N]+ samples? · .*//; s/ · temporary N % of allocations//'
	for from in why watch; do
		expect_golden "$from $what" "$(cat "$TMP/$what.$from")" "verdicts/outside_${from}_$what.txt" live \
			'/^  \+N .*  (mapping@|thread@|\/|BUILD|\[|stack)/d; s/  most: .*//; s/samples, 0 B live/samples, SIZE live/'
	done
done
expect_match "next can be pasted" "$(cat "$TMP/threads.next")" '^status 0$'
expect_golden "attach: a pool" "$(cat "$TMP/pool.attach")" verdicts/outside_attach_pool.txt live
expect_no_match "attach: a pool does not grow" "$(cat "$TMP/pool.attach")" 'GROWING|LEAK'
expect_no_match "why: a pool" "$(head -n 1 "$TMP/pool.why")" 'GROWING|LEAK'
expect_match "attach: a step" "$(head -n 1 "$TMP/step.attach")" \
	'^PARTIAL  mappings grew by 2[23](\.[0-9]+)? MiB, which is not recorded; see: seep watch [0-9]+$'

expect_no_match "attach: a block that is filled" "$(cat "$TMP/fill.attach")" 'GROWING|kept by malloc|fragmentation'
expect_between "attach: a block that is filled: MiB" \
	"$(sed -n 's/^RSS [0-9.]* MiB = live \([0-9]*\).*/\1/p' "$TMP/fill.attach")" 4 60

expect_match "why: static data" "$(cat "$TMP/static.why")" '^RSS [0-9.]+ MiB = .* static data [1-9][0-9]*\.[0-9]+( |$)'
expect_match "why: static data does not grow" "$(sed -n 2p "$TMP/static.why")" '^STEADY  '
expect_no_match "attach: static data" "$(cat "$TMP/static.attach")" 'GROWING|PARTIAL'

# 192 KiB a second, 1.1 MiB in six seconds: steady, but too little to be named.
expect_match "attach: little" "$(head -n 1 "$TMP/little.attach")" \
	'^NO VERDICT  mappings \+[0-9.]+ MiB/min, which is too little yet to call it growth; use seep attach --for [1-9]m [0-9]+$'

# Mappings of the program's own over another allocator, whose memory is told from them by
# its own tables alone.
over_other() {
	local library=$1 pid
	: >"$TMP/$library.said"
	LD_PRELOAD=$(find_library "$library") "$prog" mappings 60 >"$TMP/$library.said" &
	pid=$!
	wait_for 20 grep -q ready "$TMP/$library.said"
	"$SEEP" why --for 4s "$pid" >"$TMP/$library.why" &
	"$SEEP" why --for 4s --json "$pid" >"$TMP/$library.json" &
	"$SEEP" attach --for 5s --max-stop 10s --log-file "$TMP/$library.attach" "$pid"
	kill "$pid"
	wait
}
others=()
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	if [ -n "$(find_library $library)" ]; then others+=("$library"); else left_out "no $library here"; fi
done
for library in "${others[@]}"; do over_other "$library" & done 2>/dev/null
wait
for library in "${others[@]}"; do
	expect_match "$library: attach" "$(head -n 1 "$TMP/$library.attach")" '^GROWING  mappings \+[0-9.]+ (± [0-9.]+ )?MiB/min'
	expect_match "$library: why" "$(sed -n 2p "$TMP/$library.why")" '^GROWING  mappings \+[0-9.]+ (± [0-9.]+ )?MiB/min'
	expect_json "$library: why in JSON" "$TMP/$library.json" '.processes[0].verdict | [.word, .kind]' '["GROWING","mapping"]'
	expect_no_match "$library: malloc keeps nothing" "$(cat "$TMP/$library.attach" "$TMP/$library.why")" 'fragmentation'
done
