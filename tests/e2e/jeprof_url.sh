#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep jeprof` on a server: URLs, host:port and host:port/path; names by /pprof/symbol; a
# server without it.
. "$(dirname "$0")/lib.sh"
need_seep
cd "$TMP" || exit
cat >server.py <<'EOF'
import http.server, os, sys
HEAP = ("heap profile: 2: 300 [2: 300] @ heapprofile\n 1: 100 [1: 100] @ 0x4012aa 0x4013bb\n"
        " 1: 200 [1: 200] @ 0x4015cc 0x4013bb\n\nMAPPED_LIBRARIES:\n")
class Server(http.server.BaseHTTPRequestHandler):
    def answer(self, text, status=200):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())
    def do_GET(self):
        self.answer(HEAP)
    def do_POST(self):
        words = self.rfile.read(int(self.headers["content-length"])).decode().split("+")
        if self.path.startswith("/dumb/"):
            return self.answer("no such thing", 404)
        with open("asked", "a") as f:
            f.write(self.path + " " + " ".join(words) + "\n")
        self.answer("".join(f"{w}\tplace_{int(w, 16) // 256:x}\n" for w in words))
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Server)
with open("port.new", "w") as f:
    f.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
EOF
timeout 300 /usr/bin/python3 server.py &
server=$!
wait_for 20 test -e port
at=127.0.0.1:$(cat port)
run "$SEEP" jeprof --text --show_bytes "http://$at/pprof/heap"
case $err in *"need libcurl"*)
	kill $server
	skip "no libcurl here"
	;;
esac
for word in "http://$at/pprof/heap" "$at/pprof/heap" "$at" "$at/" "$at/behind/a/proxy/pprof/heap"; do
	run "$SEEP" jeprof --text --show_bytes "$word"
	expect_eq "${word#"$at"}: names" "$(awk '{print $1, $NF}' <<<"$out" | tr '\n' ' ')" "Total: B 200 place_4015 100 place_4012 0 place_4013 "
done
expect_match "addresses inside calls are asked for, beside the profile" "$(tail -n 1 asked)" \
	'^/behind/a/proxy/pprof/symbol 0x4012a9 0x4013ba 0x4015cb$'
run "$SEEP" jeprof --text --show_bytes "$at/dumb/pprof/heap"
expect_match "a server without names: addresses" "$out" ' 0x0*4015cb$'
expect_match "a server without names: said" "$err" 'no names from the server: .* answers 404'
run "$SEEP" jeprof --text "127.0.0.1:1/pprof/heap"
expect_match "no server: said as it is" "$err" '127\.0\.0\.1:1/pprof/heap'
expect_no_match "no server: not called a file" "$err" 'local file|No such file'
kill $server
