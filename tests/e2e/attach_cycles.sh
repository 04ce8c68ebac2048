#!/bin/bash
# SPDX-License-Identifier: MIT
# Attach and detach, over and over, on threads that allocate all the time and check what
# they get; and on programs of others. No crash, no hang, nothing left. Full counts under
# `make soak`.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command nm

# cycles WHAT PID TIMES OPTIONS...: it lives, its malloc is as it was, and in 19 of 20
# nothing is left.
cycles() {
	local what=$1 pid=$2 n=$3 i bad=0 left=0 before=
	shift 3
	before=$(entry "$pid" malloc)
	for ((i = 0; i < n; i++)); do
		timeout 60 "$SEEP" attach --for 30ms --log-file /dev/null "$@" "$pid" 2>"$TMP/err" || {
			bad=$((bad + 1))
			cat "$TMP/err"
		}
		is_running "$pid" || break
		[ "$(ours "$pid")" = 0 ] || left=$((left + 1))
	done
	expect_eq "$what: cycles" "$i" "$n"
	expect_eq "$what: failures" "$bad" 0
	expect_between "$what: with something left" "$left" 0 $((n / 20))
	expect_eq "$what: malloc is as it was" "$(entry "$pid" malloc)" "$before"
}

# Signals that arrive just when a thread makes system calls for us: their frames lie where
# we would borrow of its stack.
prog=$(program attach_frames) || exit
begin "$prog"
cycles "a thousand signals a second" "$pid" 30
kill -TERM "$pid"
wait "$pid"
expect_eq "a thousand signals a second: no register has changed" "$? $(cat "$TMP/said.err")" "0 "
exec 8>&-

prog=$(program attach_busy) || exit
begin "$prog" 6
cycles "busy threads" "$pid" "$(times 6 200)" --sample 4K
cycles "busy threads, exact" "$pid" "$(times 3 40)" --exact
# Still at work?
kill -USR1 "$pid"
wait_for 10 grep -q '^[0-9]' "$TMP/said"
first=$(grep '^[0-9]' "$TMP/said" | tail -n 1)
sleep 0.2
kill -USR1 "$pid"
more_rounds() { [ "$(grep '^[0-9]' "$TMP/said" | tail -n 1)" -gt "$first" ]; }
if wait_for 10 more_rounds; then pass; else fail "the threads stand still"; fi
kill -TERM "$pid"
wait "$pid"
expect_eq "busy threads: left in good order" "$? $(cat "$TMP/said.err")" "0 "
exec 8>&-

# foreign WHAT PID: as cycles, with fewer.
foreign() { cycles "$1" "$2" "$(times 2 50)"; }

if have python3; then
	python3 -c '
import time
keep = []
while True:
    keep.append(bytearray(3000))
    [bytearray(900) for i in range(100)]
    time.sleep(0.001)
' &
	pid=$!
	sleep 0.5
	foreign python3 $pid
	kill $pid
	wait $pid 2>/dev/null
fi
if have redis-server; then
	redis-server --port 0 --unixsocket "$TMP/redis" --save '' >/dev/null 2>&1 &
	pid=$!
	wait_for 10 test -S "$TMP/redis"
	foreign redis $pid
	have redis-cli && expect_eq "redis answers" "$(redis-cli -s "$TMP/redis" ping)" PONG
	kill $pid
	wait $pid 2>/dev/null
fi
if have node; then
	node -e 'const k = []; setInterval(() => { for (let i = 0; i < 20; i++) k.push(Buffer.allocUnsafeSlow(4000)); k.length > 2000 && k.splice(0, 1000); }, 2)' &
	pid=$!
	sleep 0.7
	foreign node $pid
	kill $pid
	wait $pid 2>/dev/null
fi
if have nginx && have curl; then
	mkdir "$TMP/www"
	head -c 100000 /dev/zero >"$TMP/www/zeros"
	cat >"$TMP/nginx.conf" <<-EOF
		daemon off; master_process off; pid $TMP/nginx.pid; error_log $TMP/nginx.err;
		events { }
		http { access_log off; client_body_temp_path $TMP/b; proxy_temp_path $TMP/p;
		fastcgi_temp_path $TMP/f; uwsgi_temp_path $TMP/u; scgi_temp_path $TMP/s;
		server { listen unix:$TMP/nginx; root $TMP/www; } }
	EOF
	nginx -c "$TMP/nginx.conf" -e "$TMP/nginx.err" >/dev/null 2>&1 &
	pid=$!
	wait_for 10 test -S "$TMP/nginx"
	(while curl -s -o /dev/null --unix-socket "$TMP/nginx" http://x/zeros; do :; done) &
	load=$!
	foreign nginx $pid
	kill $load 2>/dev/null
	wait $load 2>/dev/null
	expect_eq "nginx serves" "$(curl -s --unix-socket "$TMP/nginx" http://x/zeros | wc -c)" 100000
	kill $pid
	wait $pid 2>/dev/null
fi
