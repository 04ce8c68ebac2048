#!/bin/bash
# SPDX-License-Identifier: MIT
# Where resident memory is: each part within 2 % of the RSS of what the program says it
# holds, and at most 2 % unexplained, over glibc, jemalloc, with a recording, with 300
# threads, and of real programs.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_watch.sh"
need_seep
need_libseep
need_command jq
prog=$(program watch_parts) || exit

# account: of $pid, into $TMP/a.json.
account() {
	run "$SEEP" why "$pid" --for 100ms --json
	jq -c '.processes[0].account' "$TMP/out" >"$TMP/a.json"
}

# part NAME BYTES: that part is BYTES, give or take 2 % of the RSS.
part() {
	local rss
	rss=$(jq .rss_bytes "$TMP/a.json")
	expect_between "$what: $1" "$(jq ".$1_bytes" "$TMP/a.json")" \
		$(($2 - rss / 50)) $(($2 + rss / 50))
}

# sound: the parts add up, and little is not explained.
sound() {
	expect_json "$what: adds up" "$TMP/a.json" \
		'.rss_bytes == ([to_entries[] | select((.key | endswith("_bytes")) and .key != "rss_bytes") | .value] | add)' true
	expect_between "$what: unexplained" "$(jq '.unexplained_bytes * 100 / .rss_bytes' "$TMP/a.json")" 0 2
}

expected() { sed -n "s/.* $1=\([0-9]*\).*/\1/p" <<<"$said"; }

what=glibc
target "$prog" 3
account
sound
part live "$(expected live)"
part free_kept "$(expected freed)"
part mappings "$(expected mappings)"
part shared "$(expected shared)"
expect_json "told by" "$TMP/a.json" .told_by malloc
expect_status 0 "$SEEP" why "$pid" --for 100ms
expect_match "in words" "$out" '^RSS [0-9.]+ MiB = live [0-9.]+ \+ free but kept by malloc [0-9.]+ \+ mappings '
expect_match "from where" "$out" "^live and freed are from malloc's own lists: [0-9]+ arenas?"
expect_match "coverage" "$out" '^not recorded by seep$'
expect_no_match "$what: not most of it is free" "$out" 'free memory that malloc keeps'
end_target

what='mostly freed'
target "$(program mostly_freed)"
run "$SEEP" why "$pid" --for 100ms
expect_match "$what: no leak, and what helps" "$out" \
	'^[89][0-9] % of it is free memory that malloc keeps, not a leak: try malloc_trim\(0\), MALLOC_ARENA_MAX=2 or jemalloc$'
end_target

what='300 threads'
target "$prog" 300
account
sound
part live "$(expected live)"
part stacks "$(expected stacks)"
end_target

what=recorded
target env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP" "$prog" 3
account
sound
part live "$(expected live)"
part free_kept "$(expected freed)"
expect_match "it is recorded" "$(jq -r '.processes[0].recorded' "$TMP/out")" '^every allocation, 14\.[0-9] MiB live$'
end_target

jemalloc=$(find_library libjemalloc.so.2)
if [ -n "$jemalloc" ]; then
	what=jemalloc
	target env LD_PRELOAD="$jemalloc" "$prog" 3
	account
	sound
	expect_json "told by" "$TMP/a.json" .told_by malloc
	part live "$(expected live)"
	expect_status 0 "$SEEP" why "$pid" --for 100ms
	expect_match "and says so" "$out" "^live and freed are from malloc's own lists"
	end_target
	what='jemalloc, recorded'
	target env LD_PRELOAD="$LIBSEEP:$jemalloc" SEEP="mode=exact,dir=$TMP" "$prog" 3
	account
	sound
	expect_json "told by" "$TMP/a.json" .told_by malloc
	part live "$(expected live)"
	end_target
else
	left_out "no jemalloc here"
fi

# ---- programs of others ----

if have python3; then
	what=python
	target python3 -c '
import sys, time
kept = [str(i) for i in range(200000)]
print("ready", flush=True)
time.sleep(100)'
	account
	sound
	expect_between "pymalloc" "$(jq .runtime_bytes "$TMP/a.json")" 10000000 60000000
	expect_match "coverage" "$(jq -r '.processes[0].coverage' "$TMP/out")" 'pymalloc'
	end_target
fi
if have redis-server; then
	what=redis
	mkdir "$TMP/redis"
	redis-server --port 0 --unixsocket "$TMP/redis/s" --save '' --dir "$TMP/redis" >/dev/null &
	pid=$!
	lib_watch_pids+=("$pid")
	wait_for 10 test -S "$TMP/redis/s"
	account
	sound
	end_target
fi
