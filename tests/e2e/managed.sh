#!/bin/bash
# SPDX-License-Identifier: MIT
# A process whose growth is in the heap of a language's runtime: every command says so,
# with the runtime and what helps. None calls it STEADY or OK, and none calls objects lost
# that a collector looks after. Goldens in tests/golden/managed: RUNTIME.txt has all that
# leaks and doctor print, the headlines and sums of report and scan, and of attach and why
# what does not depend on how far the heap grew in five seconds.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
cd "$TMP" || exit
cat >grow.php <<'END'
<?php $a = []; while (true) { for ($i = 0; $i < 5; $i++) $a[] = str_repeat("x", 1000); usleep(1000); }
END
cat >grow.js <<'END'
a = []; setInterval(() => { for (let i = 0; i < 60; i++) a.push({ x: i, y: "k" + Math.random() + i, z: [i, i] }) }, 1)
END
echo 'a={} for i=1,1e9 do a[#a+1]=string.rep("x",1000)..i; if i%50==0 then os.execute("sleep 0.01") end end' >grow.lua
echo 'a=[]; loop { a << "x"*1000; sleep 0.001 }' >grow.rb

declare -A pids=()
start() {
	local name=$1
	shift
	have "$1" || return
	"$@" >/dev/null 2>&1 &
	pids[$name]=$!
}
start node node grow.js
start ruby ruby grow.rb
start php php -d memory_limit=-1 grow.php
start lua lua grow.lua
[ ${#pids[@]} -gt 0 ] || skip "no runtime here"
sleep 1.5
for command in attach why; do
	asking=()
	for name in "${!pids[@]}"; do
		"$SEEP" $command "${pids[$name]}" --for 5s >"$name.$command" 2>&1 &
		asking+=($!)
	done
	wait "${asking[@]}"
done
# Its heap grows in steps: a short look may find it only larger, which comes after a site
# that grows, and on a busy machine there may have been no step at all.
node_grows="^(GROWING|PARTIAL)  V8's heap (\\+[0-9.]+|grew by [0-9.]+).*see: node --heapsnapshot"
for seconds in 10 20; do
	if [ -z "${pids[node]:-}" ] || grep -qE "$node_grows" node.attach; then break; fi
	"$SEEP" attach "${pids[node]}" --for ${seconds}s >node.attach 2>&1
done
for name in "${!pids[@]}"; do
	for command in report leaks scan doctor; do
		for _ in 1 2 3 4 5; do # a heap that changes just then is not understood
			"$SEEP" $command "${pids[$name]}" >"$name.$command" 2>&1
			grep -q -e 'looks unfamiliar' -e 'make no sense' -e "by malloc's own count" "$name.$command" || break
		done
	done
	kill "${pids[$name]}"
	wait "${pids[$name]}" 2>/dev/null || true
done

managed=('s/\((N|0|[0-9.]+) %\)/(N %)/; s/[0-9,]+ (blocks|threads?|arenas?|mappings|regions)/N \1/g; s/N threads?/N threads/; s/N arenas?/N arenas/; s/N block,/N blocks,/; s/heap \\(PID\\)/heap (N)/; s/shareN/share, N/'
	's/(possibly|definitely|indirectly) lost [^·]*·/\1 lost … ·/g; s/still reachable.*/still reachable …/; s/grew in N of N intervals( in the last N s)?/grew in N of N intervals/'
	's/in about N s/in about …/; s/; under N B.min would not show//; s/SIZE in N blocks without a reference/SIZE in N blocks without a reference/')
# says NAME HEAP HELPS: HEAP is the runtime or its heap, HELPS what is recommended.
says() {
	local name=$1 pid=${pids[$1]:-} command text
	[ -n "$pid" ] || return 0
	for command in attach why report leaks scan; do
		text=$(cat "$name.$command")
		expect_match "$name: seep $command" "$(grep -m 1 -E '^[A-Z]{2,}( |$)' <<<"$text")" '^(PARTIAL|GROWING|NO VERDICT)  '
		expect_no_match "$name: seep $command: nothing else" "$text" '^(STEADY|OK|LEAK)'
		expect_match "$name: seep $command: named" "$text" "$2"
		expect_match "$name: seep $command: what helps" "$text" "$3|seep attach (--for 10m )?$pid"
	done
}
says node "V8's heap" 'node --heapsnapshot-signal=SIGUSR2'
says ruby '[Rr]uby' 'ObjectSpace.dump_all'
says php "PHP's heap|php" 'USE_ZEND_ALLOC=0 seep run'
says lua '[Ll]ua' 'seep leaks'

# Rows of blocks and sites come and go with what the program does just then.
rows='/^ +[0-9.]+ (x|SIZE|[KM]?i?B)|^ *[0-9]+ +(SIZE|N|\+N)|^ +held by|^ +SIZE|^ +(main|arena|mapped|[0-9,]+ more|GROWING|N bytes each|[0-9A-Za-z_:]+ .* in )/d'
for name in "${!pids[@]}"; do
	shown=
	for command in leaks report scan doctor; do
		shown+="\$ seep $command ${pids[$name]}"$'\n'$(cat "$name.$command")$'\n'
	done
	shown+="\$ seep why ${pids[$name]} --for 5s"$'\n'$(grep -E '^(GROWING|coverage|next)' "$name.why")$'\n'
	shown+="\$ seep attach ${pids[$name]} --for 5s"$'\n'$(grep -E '^no leak check' "$name.attach")$'\n'
	expect_shown "$name: all of it" "managed/$name.txt" live "s/\\b${pids[$name]}\\b/PID/g" "$rows" "${managed[@]}"
done

# doctor PID: said once, with what helps.
for name in "${!pids[@]}"; do
	case $name in
	node) hides='use node --heapsnapshot-signal' ;;
	ruby) hides='use ObjectSpace.dump_all' ;;
	php) hides='run: USE_ZEND_ALLOC=0 seep run' ;;
	*) continue ;;
	esac
	expect_eq "$name: seep doctor" "$(grep -cE "^note  coverage .*$hides" "$name.doctor")" 1
done
[ -z "${pids[node]:-}" ] || expect_match "node: the growth of its heap" "$(cat node.attach)" "$node_grows"
