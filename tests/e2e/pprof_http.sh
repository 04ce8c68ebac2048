#!/bin/bash
# SPDX-License-Identifier: MIT
# pprof -http=[host]:[port]: where it listens, what the paths are, who is answered, how it
# ends.
. "$(dirname "$0")/lib.sh"
need_seep
need_command curl
prof=$ROOT/tests/golden/pprof/go_heap.pb.gz
cd "$TMP" || exit

# Without the library, told by a file of its name that is none: one line, and the package.
mkdir none
echo 'not a library' >none/libmicrohttpd.so.12
run env LD_LIBRARY_PATH="$TMP/none" "$SEEP" pprof -http=:0 "$prof"
expect_eq "no library: status" "$status $out" "3 "
expect_match "no library" "$err" '^seep: -http: .* \(Debian: libmicrohttpd12\)$'
expect_eq "no library: lines" "$(wc -l <<<"$err")" 1
[ -n "$(find_library libmicrohttpd.so.12)" ] || {
	left_out "no libmicrohttpd here: nothing was served"
	exit
}

# serve WORD...: sets $url and $server; what is said goes to the file `said` once it has
# ended.
serve() {
	coproc SERVER { exec "$SEEP" pprof "$@" 2>&1; }
	server=$SERVER_PID
	exec {told}<&"${SERVER[0]}"
	read -r -t 30 first <&"$told"
	url=${first#Serving web UI on }
}
# end SIGNAL: sets $ended to the exit status.
end() {
	kill "-$1" "$server"
	wait "$server"
	ended=$?
	cat <&"$told" >said
	exec {told}<&-
}
get() { curl -s --max-time 30 --noproxy '*' "$@"; }
code() { get -o /dev/null -w '%{http_code}' "$@"; }

serve -http=:0 -no_browser "$prof"
expect_match "pprof's own line" "$first" '^Serving web UI on http://localhost:[1-9][0-9]+$'
port=${url##*:}
# The page, whole, with the profile's figures inside: 104 kB of leakLarge are 106496
# bytes.
get "$url/" >page.html
expect_match "the page" "$(head -c 200 page.html)" '<!DOCTYPE html>'
expect_eq "the page has the profile inside" "$(grep -c 'main\.leakLarge' page.html)" 1
expect_eq "the page has its figures inside" "$(grep -c '\b106496\b' page.html)" 1
expect_eq "/flamegraph is the page" "$(get "$url/flamegraph" | md5sum)" "$(md5sum <page.html)"
expect_eq "/ui/ is the page" "$(get "$url/ui/" | md5sum)" "$(md5sum <page.html)"
expect_eq "/top" "$(get "$url/top")" "$("$SEEP" pprof -top "$prof")"
expect_eq "with a query" "$(get "$url/top?x=1" | md5sum)" "$(get "$url/ui/top" | md5sum)"
get -D headers -o copy.pb.gz "$url/download"
expect_eq "/download" "$("$SEEP" pprof -top -nodefraction=0 -alloc_space copy.pb.gz)" \
	"$("$SEEP" pprof -top -nodefraction=0 -alloc_space "$prof")"
expect_match "/download: name" "$(tr -d '\r' <headers)" '^Content-Disposition: attachment; filename="profile\.pb\.gz"$'
expect_match "no guessing of types" "$(tr -d '\r' <headers)" '^X-Content-Type-Options: nosniff$'
expect_match "no frames" "$(tr -d '\r' <headers)" "^Content-Security-Policy: frame-ancestors 'none'\$"
if have go; then
	expect_match "/download: read by go" "$(HOME=$TMP go tool pprof -top copy.pb.gz 2>/dev/null)" ' main\.leakLarge$'
fi

# What is not there, what is not allowed, and who may not ask.
expect_eq "no such page" "$(code "$url/nosuch")" 404
expect_eq "above the root" "$(code --path-as-is "$url/../../etc/passwd")" 404
expect_eq "POST" "$(code -d a=b "$url/")" 405
expect_eq "PUT of much" "$(head -c 3000000 /dev/zero | code -T - "$url/top")" 405
expect_eq "HEAD" "$(get -I "$url/top" | head -n 1 | tr -d '\r')" "HTTP/1.1 200 OK"
for host in evil.example evil.example:$port localhost.evil.example 127.0.0.1.evil.example '' '[::1' \
	"$(head -c 300 /dev/zero | tr '\0' a)"; do
	expect_between "Host: ${host:0:30}" "$(code -H "Host: $host" "$url/top")" 400 403
done
for host in localhost LOCALHOST:1 127.0.0.1 "127.0.0.1:$port" '[::1]:80' a.localhost 10.1.2.3; do
	expect_eq "Host: $host" "$(code -H "Host: $host" "$url/top")" 200
done
# Only this machine's own address has it.
expect_eq "IPv4 loopback" "$(code "http://127.0.0.1:$port/top")" 200
if have ss; then
	expect_eq "listens nowhere else" "$(ss -Hltn "sport = :$port" | awk '{ print $4 }')" "127.0.0.1:$port"
fi
# Half a request keeps nobody waiting, nor the end.
exec {half}<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /top HTT' >&"$half"
expect_eq "beside half a request" "$(code "$url/top")" 200
run "$SEEP" pprof -http="localhost:$port" "$prof"
expect_eq "port in use: status" "$status" 3
expect_match "port in use" "$err" "^seep: -http: localhost:$port: cannot listen there: "
end INT
exec {half}>&-
expect_eq "SIGINT: status, and not another word" "$ended$(cat said)" 0
expect_eq "gone" "$(code "$url/")" 000

# Options of the command line hold for the page; a base makes it one of differences.
serve -http=localhost: -alloc_objects -focus=leakSmall "$prof"
expect_match "a port of its own" "$first" '^Serving web UI on http://localhost:[1-9][0-9]+$'
expect_eq "/top with a filter" "$(get "$url/top")" "$("$SEEP" pprof -top -alloc_objects -focus=leakSmall "$prof")"
get "$url/" >small.html
expect_eq "the page with a filter" "$(grep -c 'main\.leakLarge' small.html) $(grep -c 'main\.leakSmall' small.html)" "0 1"
end TERM
expect_eq "SIGTERM: status" "$ended" 0
serve -http=127.0.0.1:0 -base="$prof" "$prof"
expect_match "an address" "$first" '^Serving web UI on http://127\.0\.0\.1:'
expect_eq "/top of a difference" "$(get "$url/top" | grep -c 'main\.')" 0
expect_eq "/download of a difference" "$(code "$url/download")" 500
end INT
# All addresses, because it was asked for; that is said.
serve -http=0.0.0.0:0 "$prof"
expect_match "all addresses" "$first" '^Serving web UI on http://0\.0\.0\.0:'
expect_eq "all addresses: served" "$(code "http://127.0.0.1:${url##*:}/top")" 200
end INT
expect_match "all addresses: said" "$(cat said)" '^seep: everyone who can reach .* can read this profile$'

# What cannot be.
for where in 8080 nonsense localhost:http :70000 ::1:80 '[::1]' :-1 ': 1'; do
	run "$SEEP" pprof "-http=$where" "$prof"
	expect_eq "-http=$where" "$status $(wc -l <<<"$err")" "2 1"
done
run "$SEEP" pprof -http=:0 -top "$prof"
expect_match "with a report" "$err" '-http is not compatible with an output format on the command line'
run "$SEEP" pprof -http=:0 "$TMP/nosuch.pb.gz"
expect_eq "no profile: status" "$status" 3
