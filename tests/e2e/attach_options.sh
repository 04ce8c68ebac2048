#!/bin/bash
# SPDX-License-Identifier: MIT
# Options of seep attach: reports in between, files, children, a control group, several
# processes, a plan without a touch; and the recorder that switches itself off.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq

prog=$(program attach_busy) || exit
begin "$prog" 2
run "$SEEP" attach --dry-run "$pid"
expect_eq "dry run: status" "$status" 0
expect_match "dry run: the method" "$out" "would attach to $pid \(attach_busy\): [0-9]+ functions of .*libc.*, by a jump"
expect_match "dry run: the bytes" "$out" 'would write .* and change [0-9]+ bytes of the process in [0-9]+ locations'
expect_match "dry run: the stop" "$out" '^would stop it twice, for up to about [0-9]+ ms each \(threads: [0-9]+\), and a third time for the leak check \(--max-stop\)$'
run "$SEEP" attach --dry-run --max-stop 0 "$pid"
expect_match "dry run: no leak check" "$out" '^would stop it twice, for up to about [0-9]+ ms each \(threads: [0-9]+\)$'
expect_match "dry run: nothing happened" "$out" '^nothing was touched$'
expect_eq "dry run: nothing is there" "$(ours "$pid")" 0

# The estimate is a limit as well: each thread takes its time. No process of 200 threads
# is stopped for less than 64 ms, it says.
many=$(program many_threads) || exit
"$many" 200 1 <"$TMP/in" >"$TMP/many" &
threads=$!
wait_for 20 grep -q ready "$TMP/many" || fail "many_threads did not start"
run "$SEEP" attach --dry-run "$threads"
expect_between "200 threads: ms" "$(echo "$out" | sed -n 's/^would stop it twice, for up to about \([0-9]*\) ms.*/\1/p')" 64 2000
run "$SEEP" attach --for 10ms --max-stop 50ms "$threads"
expect_eq "longer than --max-stop: status" "$status" 3
expect_match "longer than --max-stop: why" "$err" "$threads: attaching may stop it for [0-9]+ ms, longer than --max-stop allows \(50 ms\); nothing was touched"
expect_eq "longer than --max-stop: nothing is there" "$(ours "$threads")" 0
run "$SEEP" attach --for 10ms "$threads"
expect_eq "without a limit" "$status $(ours "$threads")" "0 0"
kill "$threads"
wait "$threads" 2>/dev/null

run "$SEEP" attach --every 150ms --count 3 --sample 8K "$pid"
expect_eq "every: status" "$status" 0
expect_match "every: whose memory it is" "$err" '^pid [0-9]+ \(attach_busy\), up [0-9.]+ [a-z]+, (machine has|limit) [0-9.]+ [KMGT]iB · '
expect_eq "every: three reports" "$(grep -c '^pid .*(attach_busy)' <<<"$err")" 3
expect_eq "every: the last one is after detaching" "$(grep -c 'detached, nothing left' <<<"$err")" 1

run "$SEEP" attach --for 200ms --sample 8K -o "$TMP/a.rec" --html "$TMP/a.html" --log-file "$TMP/log" "$pid"
expect_eq "files: status and stderr" "$status $err" "0 wrote $TMP/a.html"
expect_match "files: the report" "$(cat "$TMP/log")" '^    work +attach_busy.c:'
run "$SEEP" report --json "$TMP/a.rec"
expect_json "files: the recording has names" "$TMP/out" '[.frames[] | select(.function == "work")] | length > 0' true
expect_match "files: the page" "$(head -c 200 "$TMP/a.html")" '<!DOCTYPE html>'

# A file that cannot be made is found out before anything is touched, and detach loses
# nothing by it.
for option in -o --html; do
	run timeout 20 "$SEEP" attach --for 60s "$option" "$TMP/none/a" "$pid"
	expect_eq "attach $option: status" "$status" 3
	expect_match "attach $option: why" "$err" '^seep: .*none/a: cannot create: No such file or directory$'
done
"$SEEP" attach --stay --sample 8K "$pid" 2>/dev/null
run "$SEEP" detach -o "$TMP/none/a" "$pid"
expect_eq "detach -o: status" "$status $out" "3 "
expect_match "detach -o: why" "$err" '^seep: .*none/a: cannot create: No such file or directory$'
expect_eq "detach -o: the recording is still there" "$(ours "$pid")" 1
expect_eq "no files are left" "$(find "$TMP" -name '.a*')" ""
run "$SEEP" detach -q -o "$TMP/quiet.rec" "$pid"
expect_eq "detach -q -o: status, and no report" "$status $out" "0 pid $pid (attach_busy): detached, nothing left"
run "$SEEP" report --json "$TMP/quiet.rec"
expect_json "detach -q -o: the recording" "$TMP/out" '[.frames[] | select(.function == "work")] | length > 0' true

# One that cannot be read, here of another version.
version_at() { echo $((0x$(awk -F - '/memfd:seep.live/ { print $1; exit }' "/proc/$pid/maps") + 8)); }
"$SEEP" attach --stay --sample 8K "$pid" 2>/dev/null
printf '\377' | dd of="/proc/$pid/mem" bs=1 seek="$(version_at)" conv=notrunc 2>/dev/null
run "$SEEP" detach -o "$TMP/unread.rec" "$pid"
expect_eq "not readable, -o: status" "$status $out" "3 "
expect_match "not readable, -o: what helps" "$err" "another version.*nothing was changed; .*seep detach -q $pid$"
expect_eq "not readable, -o: it is still there" "$(ours "$pid")" 1
run "$SEEP" detach "$pid"
expect_eq "not readable: it is taken out, and said" "$status $out" "3 pid $pid (attach_busy): detached, nothing left"
expect_match "not readable: why" "$err" 'another version'

# A limit on the size of files is an error, and not the end of us while the process stands
# still.
run bash -c 'ulimit -f 100000; exec timeout 20 "$@"' - "$SEEP" attach --for 100ms "$pid"
expect_eq "RLIMIT_FSIZE: status" "$status" 3
expect_match "RLIMIT_FSIZE: why" "$err" 'no room for a recording: File too large'
expect_eq "RLIMIT_FSIZE: nothing is left" "$(ours "$pid")" 0

run "$SEEP" attach --for 200ms --budget 0.01% "$pid"
expect_eq "budget: status" "$status" 0
expect_match "budget: as coarse as it gets" "$err" 'one per ~1.00 MiB'

# Two at once, by name.
: >"$TMP/second"
"$prog" 1 >"$TMP/second" &
second=$!
wait_for 10 grep -q ready "$TMP/second"
run "$SEEP" attach --for 200ms --sample 8K --json "$pid" "$second"
cp "$TMP/err" "$TMP/json"
expect_json "two: both are there" "$TMP/json" '.processes | length' 2
expect_eq "two: nothing is left" "$(ours "$pid") $(ours "$second")" "0 0"
# By their name: it says which before it begins.
same=same$$
ln "$prog" "$TMP/$same" 2>/dev/null || cp "$prog" "$TMP/$same"
"$TMP/$same" 1 >"$TMP/third" &
third=$!
"$TMP/$same" 1 >"$TMP/fourth" &
fourth=$!
wait_for 10 grep -q ready "$TMP/third"
wait_for 10 grep -q ready "$TMP/fourth"
run "$SEEP" attach --for 200ms --log-file "$TMP/log" "$same"
expect_eq "by name: status" "$status" 0
expect_match "by name: says which" "$err" \
	"^seep: 2 processes are called $same, all of them are attached to: ($third, $fourth|$fourth, $third)\$"
run "$SEEP" attach --for 200ms --json "$same"
expect_json "by name: JSON is JSON" "$TMP/err" '[.processes[].pid] | length' 2
kill -TERM "$third" "$fourth"
wait "$third" "$fourth"
kill -TERM "$second"
wait "$second"
expect_eq "two: the second left in good order" $? 0

# A report that nobody reads for longer than the recorder waits for a sign of us: it goes
# on all the same.
cat >"$TMP/slow.py" <<-'EOF'
	import os, sys, time
	fd = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK)
	try:
	    while True:
	        os.write(fd, b" " * 4096)
	except BlockingIOError:
	    pass
	print("full", flush=True)
	while not os.path.exists(sys.argv[2]):
	    time.sleep(0.01)
	time.sleep(11.5)
	os.set_blocking(fd, True)
	while True:
	    sys.stdout.buffer.write(os.read(fd, 65536))
	    sys.stdout.flush()
EOF
if have /usr/bin/python3; then
	mkfifo "$TMP/fifo"
	: >"$TMP/read"
	/usr/bin/python3 "$TMP/slow.py" "$TMP/fifo" "$TMP/begun" >"$TMP/read" &
	reader=$!
	wait_for 20 grep -q full "$TMP/read"
	"$SEEP" attach --every 100ms --count 3 --sample 8K --log-file "$TMP/fifo" "$pid" &
	attacher=$!
	there() { [ "$(ours "$pid")" = 1 ]; }
	wait_for 20 there || fail "a slow reader: nothing is recorded"
	: >"$TMP/begun"
	wait $attacher
	expect_eq "a slow reader: status" $? 0
	wait_for 20 grep -aq 'detached, nothing left' "$TMP/read"
	expect_eq "a slow reader: all reports" "$(grep -ac '^ *pid .*(attach_busy)' "$TMP/read")" 3
	expect_eq "a slow reader: it was never off" "$(grep -ac 'switched itself off' "$TMP/read")" 0
	kill $reader
	wait $reader 2>/dev/null
fi

# Nobody is there for ten seconds: it switches itself off, and passes everything on.
if [ -n "$SOAK" ]; then
	"$SEEP" attach --for 60s "$pid" 2>/dev/null &
	attacher=$!
	sleep 1
	kill -KILL $attacher
	wait $attacher 2>/dev/null
	sleep 12
	"$SEEP" report --json "$pid" >"$TMP/one" 2>&1
	sleep 1
	"$SEEP" report --json "$pid" >"$TMP/two" 2>&1
	expect_json "silence: nothing more is recorded" "$TMP/two" '.totals.allocs' "$(jq .totals.allocs "$TMP/one")"
	run "$SEEP" detach -q "$pid"
	expect_eq "silence: detached" "$status" 0
fi
kill -TERM "$pid"
wait "$pid"
expect_eq "it left in good order" "$? $(cat "$TMP/said.err")" "0 "
exec 8>&-

# What it forks while attached: recorded with --children, untouched in the end without.
cat >"$TMP/forks.py" <<-'EOF'
	import os, sys, time
	keep = []
	def child():
	    for i in range(200):
	        keep.append(bytearray(20011))
	        time.sleep(0.005)
	    os._exit(7)
	bad = 0
	sys.stdout.write("ready\n")
	sys.stdout.flush()
	for n in range(3):
	    pid = os.fork()
	    if pid == 0:
	        child()
	    if os.waitpid(pid, 0)[1] >> 8 != 7:
	        bad += 1
	sys.exit(bad)
EOF
if have /usr/bin/python3; then
	begin /usr/bin/python3 "$TMP/forks.py"
	run "$SEEP" attach --for 1500ms --children --sample 4K --json "$pid"
	cp "$TMP/err" "$TMP/json"
	expect_json "children: they are there" "$TMP/json" '[.processes[].pid] | unique | length >= 2' true
	finish
	expect_eq "children: all ended as they should" "$ended" 0
	begin /usr/bin/python3 "$TMP/forks.py"
	run "$SEEP" attach --for 500ms --sample 4K --max-stop 20s "$pid"
	expect_eq "no children: status" "$status" 0
	# A leak check that could not judge any site is not made: nothing is stopped for
	# it.
	expect_match "python: no leak check" "$err" \
		"^no leak check: python keeps its objects in pymalloc; run: PYTHONMALLOC=malloc seep run …; or, without sites: seep leaks $pid\$"
	expect_no_match "python: not stopped for one" "$err" '\(leak check\)'
	for child in $(child_of "$pid"); do
		expect_eq "no children: nothing is left in them" "$(ours "$child")" 0
	done
	finish
	expect_eq "no children: all ended as they should" "$ended" 0
fi
