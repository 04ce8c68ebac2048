#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: redis-server, which has jemalloc underneath on some systems:
# under its own benchmark, with a snapshot by a forked child, saved data read again, and
# shut down.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command redis-server redis-benchmark redis-cli

export REQUESTS
REQUESTS=$(times 5003 50021)
cat >"$TMP/drive" <<'END'
cli() { redis-cli -s "$PWD/sock" "$@"; }
start() {
	"$@" redis-server --port 0 --unixsocket "$PWD/sock" --dir "$PWD" --save '' --appendonly no \
		--daemonize no --activedefrag no --logfile "$PWD/log" &
	boss=$!
	for ((i = 0; i < 200; i++)); do [ "$(cli ping 2>/dev/null)" = PONG ] && break; sleep 0.05; done
}
start "$@"
redis-benchmark -s "$PWD/sock" -n "$REQUESTS" -c 8 -r 1009 -d 101 -q -t set,get,lpush,lrange_100,sadd,hset,zadd,mset >bench 2>&1
echo "benchmark $? $(tr '\r' '\n' <bench | grep -c 'requests per second, p50')"
cli flushall
cli eval 'for i = 1, 2003 do redis.call("set", "k" .. i, string.rep("x", i)) end return redis.call("dbsize")' 0
cli bgsave
for ((i = 0; i < 200; i++)); do cli info persistence | grep -q 'rdb_bgsave_in_progress:0' && break; sleep 0.05; done
cli info persistence | tr -d '\r' | grep -E '^rdb_last_bgsave_status'
cli bgrewriteaof >/dev/null
for ((i = 0; i < 200; i++)); do cli info persistence | grep -q 'aof_rewrite_in_progress:0' && break; sleep 0.05; done
cli debug sleep 0
cli memory doctor >/dev/null
cli shutdown nosave
wait $boss
echo "end $?"
# The second start, to read the snapshot, is plain.
start
cli dbsize
cli strlen k1999
cli shutdown nosave
wait $boss
END
real_wrap() {
	local way=$1 base=$TMP/redis.$1
	rm -rf "$TMP/in" && mkdir "$TMP/in" && cd "$TMP/in" || return
	case $way in
	bare) set -- ;;
	exact) set -- "$SEEP" run --exact -o "$base.rec" --log-file "$base.log" -- ;;
	sample) set -- "$SEEP" run --sample -o "$base.rec" --log-file "$base.log" -- ;;
	preload) set -- env LD_PRELOAD="$LIBSEEP" ;;
	esac
	timeout -k 5 "$real_limit" bash "$TMP/drive" "$@" >"$base.out" 2>"$base.err"
	echo $? >"$base.status"
}
real_wrap bare
expect_match "redis itself works" "$(cat "$TMP/redis.bare.out")" "^benchmark 0"
for ((round = 1; round <= real_rounds; round++)); do
	for way in exact sample preload; do
		real_wrap $way
		real_compare redis $way
		[ $way = preload ] || real_sums redis $way
	done
done
