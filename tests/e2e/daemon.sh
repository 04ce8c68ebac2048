#!/bin/bash
# SPDX-License-Identifier: MIT
# A daemon outlives its `seep run`: that is said, it can be asked by its pid, and when it
# has ended the next `seep ps` or `seep run`, or whoever reads the file, puts its figures
# into it.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program daemon) || exit
mkfifo "$TMP/fifo"
cd "$TMP" || exit
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; lib_end' EXIT

# start [late]: leaves its pid in $pid.
start() {
	"$SEEP" run -o "$TMP/rec" -- "$prog" "$TMP/fifo" "$@" >"$TMP/run.out" 2>"$TMP/run.err" </dev/null &
	local tool=$!
	read -r word pid <<<"$(timeout 20 cat "$TMP/fifo")"
	expect_eq "daemon: word" "$word" ready
	wait $tool
	expect_eq "daemon: status of run" "$?" 0
	expect_match "daemon: said" "$(cat "$TMP/run.err")" '^still running: [12] '
}

gone() { [ ! -e "/proc/$1" ]; }

end() {
	kill "$pid"
	wait_for 10 gone "$pid"
}

in_file() {
	run "$SEEP" report --json "$TMP/rec"
	jq -r '.frames as $f | [.sites[] | select(any(.stack[]; $f[.].function == "make_as_daemon"))] | "\([.[].allocs] | add) \([.[].frees] | add)"' "$TMP/out"
}

# packed FIGURES: whoever did it. Any seep on this machine that comes upon the folder
# first packs it, and the one that is asked here then does not wait for it.
is_packed() { [ "$(in_file)" = "$1" ]; }
packed() { wait_for 20 is_packed "$1"; in_file; }

start
run "$SEEP" ps
expect_match "ps lists it" "$out" "^ *$pid +daemon "
expect_status 0 "$SEEP" report --json "$pid"
expect_truth "by pid" "$TMP/out" "expect in=make_as_daemon allocs=46 frees=0 live_bytes=46414"
expect_json "by pid: end" "$TMP/out" '.processes[0].end' running
kill -USR1 "$pid"
read -r word _ <<<"$(timeout 20 cat "$TMP/fifo")"
expect_eq "daemon: goes on" "$word" freed
expect_status 0 "$SEEP" report --json "$pid"
expect_truth "by pid, later" "$TMP/out" "expect in=make_as_daemon allocs=46 frees=23 live_bytes=23207"
end
run "$SEEP" ps
expect_no_match "ps does not list it any more" "$out" "^ *$pid "
expect_eq "packed by ps" "$(packed "46 23")" "46 23"

rm -f "$TMP/rec"
start
end
run "$SEEP" run --json --log-file "$TMP/other.json" -o "$TMP/other.rec" -- true
expect_eq "what it says about that is not mixed with its JSON" \
	"$(jq -s length "$TMP/other.json" 2>&1)" 1
expect_eq "packed by the next run" "$(packed "46 0")" "46 0"

# One that has not allocated anything when its run ends, nor when others clean up.
rm -f "$TMP/rec"
start late
run "$SEEP" run -o "$TMP/other.rec" -- true
run "$SEEP" ps
kill -USR1 "$pid"
read -r word _ <<<"$(timeout 20 cat "$TMP/fifo")"
expect_eq "late: allocates" "$word" made
expect_status 0 "$SEEP" report --json "$pid"
expect_truth "late, by pid" "$TMP/out" "expect in=make_as_daemon allocs=46 frees=0 live_bytes=46414"
end
run "$SEEP" ps
expect_eq "late: packed" "$(packed "46 0")" "46 0"
pid=
