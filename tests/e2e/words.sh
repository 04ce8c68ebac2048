#!/bin/bash
# SPDX-License-Identifier: MIT
# What newcomers type where a command wants a process, a core or a recording: the name or the path of a
# program, of which none, one or two processes run; and a core with its program, in either order.
. "$(dirname "$0")/lib.sh"
need_seep
prog=$(program stumbles) || exit 3
mkdir "$TMP/here" && cd "$TMP/here" || exit 3
cp "$prog" ./api-server
trap 'kill "${pid:-}" "${pid2:-}" 2>/dev/null; lib_end' EXIT

# start: a process of ./api-server that has lost its sessions; its number is in $started.
start() {
	./api-server wait >ready.txt &
	started=$!
	wait_for 20 grep -q ready ready.txt
}

not_running='^seep: (\./)?api-server is a program, and no process runs it; to record it: seep run \./api-server$'
for command in leaks scan report; do
	for word in api-server ./api-server; do
		expect_status 3 "$SEEP" $command $word
		expect_match "$command $word: nobody runs it" "$err" "$not_running"
	done
done
expect_status 3 "$SEEP" leaks nosuch
expect_eq "neither" "$err" "seep: nosuch: neither a recording nor a process"

start; pid=$started
for word in api-server ./api-server "$PWD/api-server" "$pid ./api-server" "./api-server $pid"; do
	# shellcheck disable=SC2086 # two words
	expect_status 0 "$SEEP" leaks $word
	expect_match "leaks $word: the process" "$out" "^[^ ]+: api-server, pid $pid, "
	expect_match "leaks $word: what it lost" "$out" '^LEAK  .* in 286 blocks lost, 286 times$'
done
expect_status 0 "$SEEP" doctor ./api-server
expect_match "doctor: the process" "$out" "^ok    process        $pid \(api-server\)"

if have gcore && gcore -o core "$pid" >gcore.log 2>&1; then
	mv api-server moved
	for words in "core.$pid ./moved" "./moved core.$pid"; do
		# shellcheck disable=SC2086 # two words
		expect_status 0 "$SEEP" leaks $words
		expect_match "leaks $words" "$out" '^LEAK  .* in 286 blocks lost, 286 times$'
		for command in scan report; do
			# shellcheck disable=SC2086 # two words
			expect_status 0 "$SEEP" $command $words
			expect_match "$command $words: names" "$out" 'held by last_session in moved'
		done
	done
	expect_status 3 "$SEEP" leaks "core.$pid" "$SEEP"
	expect_match "another program" "$err" "^seep: core\.$pid: $SEEP is another program or build than the core's, $PWD/api-server: "
	mv moved api-server
	expect_status 2 "$SEEP" leaks "core.$pid" "core.$pid"
	expect_match "two cores" "$err" '^seep leaks: .* at a time; to compare two: seep diff \(seep leaks --help\)$'
fi

rm api-server && cp "$prog" api-server # as a linker does it
expect_status 0 "$SEEP" scan ./api-server
expect_match "built anew meanwhile" "$out" "^\./api-server: api-server, pid $pid, "

start; pid2=$started
for command in "leaks api-server" "scan api-server" "report api-server" "doctor api-server" "dump api-server heap" "mark api-server"; do
	# shellcheck disable=SC2086 # several words
	expect_status 3 "$SEEP" $command
	expect_match "$command: which of them?" "$err" "^seep: api-server: 2 processes have that name, give a PID: ($pid, $pid2|$pid2, $pid)$"
done
expect_status 3 "$SEEP" leaks ./api-server
expect_match "which of them?" "$err" '^seep: \./api-server: 2 processes run it, give a PID: '

expect_status 0 "$SEEP" run -o a.rec ./api-server
expect_status 0 "$SEEP" leaks a.rec ./api-server
expect_match "a recording and its program" "$out" '^LEAK  279 KiB in 286 blocks lost at 1 site, 286 times$'
