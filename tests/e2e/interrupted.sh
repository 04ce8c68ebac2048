#!/bin/bash
# SPDX-License-Identifier: MIT
# Ctrl-C on a terminal gives a verdict on what was seen, from every command that takes its
# time; and what takes longer than a second says so on one line, which is gone afterwards.
. "$(dirname "$0")/lib.sh"
need_seep
have python3 || skip "no python3"
prog=$(program stumbles) || exit 3
cd "$TMP" || exit 3
trap 'kill "${pid:-}" 2>/dev/null; lib_end' EXIT

# on_tty.py TEXT COMMAND...: runs it on a terminal of its own, presses Ctrl-C when TEXT
# has come (never, if that is empty), prints what came, and ends with its status: 128 and
# the signal, as a shell has it.
cat >on_tty.py <<'END'
import os, pty, sys
text = sys.argv[1].encode()
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen, pressed = b"", text == b""
while True:
    try:
        got = os.read(fd, 65536)
    except OSError:
        break
    if not got:
        break
    seen += got
    if not pressed and text in seen:
        os.write(fd, b"\x03")
        pressed = True
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(seen.decode(errors="replace").replace("\r\n", "\n").replace("\033", "^["))
sys.exit(status if status >= 0 else 128 - status)
END
export NO_COLOR=1 TERM=xterm
press() { run timeout 120 python3 on_tty.py "$@"; }
verdict='^(.*\^\[\[[KJ])?(LEAK|GROWING|STEADY|NO VERDICT|KILLED|OK|PARTIAL)( |$)'

"$prog" wait >ready.txt &
pid=$!
wait_for 20 grep -q ready ready.txt

press "recording process" "$SEEP" attach --for 100s "$pid"
expect_match "attach: the line" "$out" "seep: recording process $pid for 100 s, Ctrl-C ends it: [0-9]+ s\\^\\[\\[K"
expect_match "attach: a verdict" "$out" "$verdict"
expect_match "attach: out of it" "$out" 'detached, nothing left'
expect_eq "attach: status" "$status" 0

press "examining: 1 of" "$SEEP" why "$pid"
expect_match "why: a verdict" "$out" "$verdict"
expect_match "why: says how long" "$out" 'snapshots? in [0-9.]+ '

press "RSS" "$SEEP" watch --every 200ms "$pid"
expect_match "watch: a verdict" "$out" "$verdict"

press "ready" "$SEEP" run --no-save "$prog" wait
expect_match "run: a verdict" "$out" "$verdict"
expect_match "run: by what" "$out" 'by SIGINT'
kill "$pid"

"$prog" wait 4000000 40 >ready.txt &
pid=$!
wait_for 60 grep -q ready ready.txt
for command in leaks scan; do
	press "scanning the heap" "$SEEP" $command "$pid"
	if grep -q 'scanning the heap' <<<"$out"; then
		expect_match "$command: a verdict" "$out" \
			'seep: NO VERDICT  interrupted before the leak check was complete; the process continues$'
		expect_eq "$command: status" "$status" 3
	else
		echo "left out: $command takes less than a second here"
	fi
	expect_match "$command: the process goes on" "$(cat "/proc/$pid/status")" '^State:.[SR]'
	expect_eq "$command: nobody traces it" "$(awk '/^TracerPid/{print $2}' "/proc/$pid/status")" 0
	expect_eq "$command: no copy is left" "$(pgrep -P "$pid")" ""
done
