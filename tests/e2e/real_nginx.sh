#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: nginx with two workers under load, a reload in the middle,
# and a graceful stop. Over loopback, on a port that the test finds free.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
PATH=$PATH:/usr/sbin
need_command nginx ab curl

requests=$(times 2003 20011)
# shellcheck disable=SC2016 # expanded later
cat >"$TMP/drive" <<'END'
# In a new folder: start, load, reload under load, stop. Says what came back, and nginx's
# end. Below the range from which the kernel takes the clients' own.
for port in $(shuf -i 10007-32003 -n 20); do
	(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null || break
done
mkdir logs html
seq 1 5003 >html/file
cat >conf <<CONF
worker_processes 2; daemon off; pid $PWD/pid; error_log $PWD/logs/error warn;
$([ "$(id -u)" != 0 ] || echo "user root;")
events { worker_connections 512; }
http {
	access_log $PWD/logs/access; client_body_temp_path $PWD/body; proxy_temp_path $PWD/proxy;
	fastcgi_temp_path $PWD/f; uwsgi_temp_path $PWD/u; scgi_temp_path $PWD/s; gzip on; gzip_min_length 1; gzip_types *;
	server { listen 127.0.0.1:$port; root $PWD/html; location /p/ { proxy_pass http://127.0.0.1:$port/; } }
}
CONF
"$@" nginx -c "$PWD/conf" -e "$PWD/logs/error" &
boss=$!
for ((i = 0; i < 200; i++)); do [ -s pid ] && curl -s -o /dev/null "http://127.0.0.1:$port/file" && break; sleep 0.05; done
curl -s "http://127.0.0.1:$port/file" | md5sum
curl -s --compressed "http://127.0.0.1:$port/p/file" | md5sum
curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$port/none"
ab -q -n "$REQUESTS" -c 8 "http://127.0.0.1:$port/file" 2>&1 | grep -E '^(Complete|Failed) requests'
# Kept-open connections may be closed by a worker that is told to go: no matter whose.
ab -q -k -r -l -n "$REQUESTS" -c 8 "http://127.0.0.1:$port/p/file" 2>&1 | grep -E '^Complete requests' &
load=$!
sleep 0.1
kill -HUP "$(cat pid)"
wait $load
kill -USR1 "$(cat pid)"
ab -q -n 101 -c 2 -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/file" 2>&1 | grep -E '^(Complete|Failed) requests'
kill -QUIT "$(cat pid)"
wait $boss
echo "end $?"
[ "$(grep -c . logs/access)" -gt "$REQUESTS" ] && echo "access is logged"
sed -E 's/^[^[]*//; s/[0-9]+#[0-9]+: \*[0-9]+ //; s/127.0.0.1:[0-9]+/PORT/' logs/error
END
export REQUESTS=$requests
# The tool is put in front of nginx itself, not of its driver.
real_wrap() {
	local way=$1 base=$TMP/nginx.$1
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
expect_match "nginx itself works" "$(cat "$TMP/nginx.bare.out")" "^Complete requests: +$requests"
for ((round = 1; round <= real_rounds; round++)); do
	for way in exact sample preload; do
		real_wrap $way
		real_compare nginx $way
		[ $way = preload ] || real_sums nginx $way
	done
	expect_json "master, two generations of two workers" "$TMP/nginx.exact.json" \
		'[.processes[] | select(.name == "nginx")] | length == 5' true
done
