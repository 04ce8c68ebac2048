#!/bin/bash
# SPDX-License-Identifier: MIT
# seep leaks, scan and report on a redis-server that nobody prepared, over jemalloc: it
# has as many bytes as jemalloc itself counts, less what is in the caches of threads;
# nothing is definitely lost, and the keys are held by the server. Golden: redis.txt,
# leaks, scan and why with their figures left out.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq redis-server redis-cli
cd "$TMP" || exit

cli() { redis-cli -s "$TMP/sock" "$@" | tr -d '\r'; }
redis-server --port 0 --unixsocket "$TMP/sock" --dir "$TMP" --save '' --daemonize no --logfile "$TMP/log" \
	>/dev/null 2>&1 &
pid=$!
is_up() { [ "$(cli ping 2>/dev/null)" = PONG ]; }
wait_for 20 is_up || fail "redis-server did not start" "$(cat "$TMP/log")"
grep -q jemalloc "/proc/$pid/maps" || { kill $pid; skip "this redis-server is not over jemalloc"; }
cli eval 'for i = 1, 20011 do redis.call("set", "k" .. i, string.rep("x", i % 200)) end return 1' 0 >/dev/null

# close A B: within 1 %.
close() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; print ((d < 0 ? -d : d) <= b / 100) ? "close" : a " and " b }'; }
allocated() { cli info memory | sed -n 's/^allocator_allocated://p'; }

# It asks jemalloc ten times a second, and counts for itself all the time.
is_counted() { cli info memory | awk -F : '/^used_memory:/ { used = $2 } /^allocator_allocated:/ { exit !($2 >= used) }'; }
wait_for 20 is_counted || fail "jemalloc's own count" "$(cli info memory)"
before=$(allocated)
run "$SEEP" leaks --json "$pid"
expect_eq "status" "$status" 0
expect_eq "bytes in blocks" "$(jq '[.arenas[] | .live_bytes + .cached_bytes] | add' "$TMP/out" |
	{ read -r sum; close "$sum" "$before"; })" close
expect_json "blocks in caches are free" "$TMP/out" '[.arenas[].cached_bytes] | add > 0' true
expect_json "definitely lost" "$TMP/out" '[.summary.leaks | .definite_blocks, .indirect_blocks] | tostring' '[0,0]'
expect_json "several blocks for every key" "$TMP/out" '[.arenas[].live_blocks] | add > 3 * 20011' true
expect_json "notes" "$TMP/out" .notes '[]'
show "$SEEP" scan "$pid"
expect_match "who holds the keys" "$out" '^ +held by server in redis'
show "$SEEP" leaks "$pid"
expect_match "in words" "$out" '^OK  no leak: '
show "$SEEP" why "$pid" --for 1s
expect_match "why: live memory from jemalloc's own tables" "$out" '^RSS [0-9.]+ MiB = live [4-9]\.[0-9]+ \+ free but kept by malloc '
expect_shown "all of it" redis.txt live "s/\\b$pid\\b/PID/g" '/^ *[0-9]+ +SIZE|^ +(held by|SIZE|main|[0-9,]+ more)/d' \
	's/(possibly lost|still reachable) SIZE in [0-9N,]+ blocks?.*/\1 …/; s/0x[0-9a-f]+/ADDRESS/g; s/of jemalloc 5\.[0-9]/of jemalloc 5.N/; s/^(STEADY|NO VERDICT)  (no region grows|N snapshots? cannot|.* grew in N of N intervals, too).*/STEADY, or too few snapshots on a slow machine/; /^ +[0-9N]+ unchanged regions/d'
cli shutdown nosave
