#!/bin/bash
# SPDX-License-Identifier: MIT
# pprof -http beside clients that are slow on purpose: hundreds that send a byte now and
# then, hundreds that ask and never read. Whoever behaves is answered, and none of them is
# kept for ever.
. "$(dirname "$0")/lib.sh"
need_seep
need_command curl python3
[ -n "$(find_library libmicrohttpd.so.12)" ] || skip "no libmicrohttpd here"
cd "$TMP" || exit

# A page of a megabyte: several do not fit between two sockets.
python3 - >big.folded <<'END'
for i in range(20000):
    print("main;" + ";".join(f"function_{d}_{i % (50 * (d + 1))}" for d in range(12)), 1000 + i)
END
"$SEEP" pprof -top big.folded >top.txt

coproc SERVER { exec "$SEEP" pprof -http=:0 big.folded 2>&1; }
server=$SERVER_PID
read -r -t 30 first <&"${SERVER[0]}"
url=${first#Serving web UI on }
port=${url##*:}
get() { curl -s --max-time 30 --noproxy '*' "$@"; }
get -o page.html "$url/"
expect_more() { expect_between "$1" "$2" "$3" 1000000000; }
expect_more "the page is large" "$(stat -c %s page.html)" 1000000

# slow.py PORT COUNT: tells "ready" when all of them are connected, then drips until its
# input ends. Each line that it reads asks how many of those that drip are still
# connected.
cat >slow.py <<'END'
import select, socket, sys, threading, time
port, count = int(sys.argv[1]), int(sys.argv[2])
drips, deaf = [], []
ask = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
for n in range(count):
    for kind in (drips, deaf):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(30)
        try:
            s.connect(("127.0.0.1", port))
            s.sendall(b"GET /" if kind is drips else ask * 8)
        except OSError:
            pass # hung up on already, as it should be
        kind.append(s)
def drip():
    while True:
        for s in drips:
            try:
                s.send(b"x")
            except OSError:
                pass
        time.sleep(1)
threading.Thread(target=drip, daemon=True).start()
def alive(s):
    try:
        s.setblocking(False)
        return s.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
print("ready", flush=True)
for line in sys.stdin:
    print(sum(map(alive, drips)), flush=True)
END
mkfifo asked told
python3 slow.py "$port" 100 <asked >told &
slow=$!
exec {asked}>asked {told}<told
read -r -t 60 said <&"$told"
expect_eq "200 slow clients are there" "$said" ready
for _ in $(seq "$(times 20 200)"); do
	expect_eq "answered beside them" "$(get "$url/top" | cmp - top.txt && echo same)" same
done
expect_eq "the page beside them" "$(get "$url/" | cmp - page.html && echo same)" same
expect_eq "few descriptors are held" "$(($(find "/proc/$server/fd" | wc -l) <= 160))" 1
echo how many >&"$asked"
read -r -t 30 left <&"$told"
expect_between "most were hung up on" "$left" 0 64
if [ -n "$SOAK" ]; then
	# All that drip have had their 20 seconds, whoever else comes.
	sleep 30
	echo how many >&"$asked"
	read -r -t 30 left <&"$told"
	expect_eq "none drips on" "$left" 0
fi
# A head without end is refused, not read.
expect_between "a head of 100 kB" \
	"$(get -o /dev/null -w '%{http_code}' -H "$(head -c 100000 /dev/zero | tr '\0' a): b" "$url/top")" 400 499
kill -INT "$server"
wait "$server"
expect_eq "ends at once beside them" $? 0
kill "$slow"
wait "$slow" 2>/dev/null || true
