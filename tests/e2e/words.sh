#!/bin/bash
# SPDX-License-Identifier: MIT
# What newcomers type where a command wants a process, a core or a recording: the name or
# the path of a program, of which none, one or two processes run; and a core with its
# program, in either order. And other first attempts: one line says what is wrong and what
# to type, with status 2 for a wrong command line and 3 for a failure.
. "$(dirname "$0")/lib.sh"
need_seep
prog=$(program stumbles) || exit 3
mkdir "$TMP/here" && cd "$TMP/here" || exit 3
server=api-$$ # its own: other tests have processes too
cp "$prog" "./$server"
trap 'kill "${pid:-}" "${pid2:-}" 2>/dev/null; lib_end' EXIT

# start: a process of ./$server that has lost its sessions; its number is in $started.
start() {
	./$server wait >ready.txt &
	started=$!
	wait_for 20 grep -q ready ready.txt
}

not_running="^seep: (\\./)?$server is a program, and no process runs it; to record it: seep run \\./$server\$"
for command in leaks scan report why watch attach; do
	for word in $server ./$server; do
		expect_status 3 "$SEEP" $command "$word"
		expect_match "$command $word: nobody runs it" "$err" "$not_running"
	done
done
expect_status 2 "$SEEP" "./$server"
expect_eq "a program as the command" "$err" "seep: no command \"./$server\"; did you mean \"seep run ./$server\"?"
echo >notes
expect_status 2 "$SEEP" notes
expect_eq "a file as the command" "$err" 'seep: no command "notes"; did you mean "seep report notes"?'
# Another tool by a path, as its documents have it.
echo 'main;leak 10' >folded
expect_status 0 "$SEEP" ./flamegraph.pl folded
expect_match "a tool by its path" "$out" '<svg '
# Names of other tools, and of commands that seep calls differently: one line says what
# works here.
for word in massif-visualizer heaptrack_gui tracemalloc memory_profiler memray asprof go pmap gdb \
	lsan memcheck htop record stop; do
	expect_status 2 "$SEEP" $word -x file
	expect_match "$word: what works instead" "$err" "^seep: no command \"$word\"; use: .*(seep [a-z]+|async-profiler)"
	expect_eq "$word: one line" "$(wc -l <<<"$err")" 1
	expect_status 2 "$SEEP" help $word
	expect_match "help $word" "$err" "^seep: no command \"$word\"; use: "
done
expect_status 2 "$SEEP" ms
expect_match "a part of a name is no name" "$err" '^seep: no command "ms"; (did|see)'
expect_status 3 "$SEEP" leaks nosuch
expect_eq "neither" "$err" "seep: nosuch: neither a recording nor a process"

start; pid=$started
for word in $server ./$server "$PWD/$server" "$pid ./$server" "./$server $pid"; do
	# shellcheck disable=SC2086 # two words
	expect_status 0 "$SEEP" leaks $word
	expect_match "leaks $word: the process" "$out" "^[^ ]+: $server, pid $pid, "
	expect_match "leaks $word: what it lost" "$out" '^LEAK  .* in 286 blocks lost, 286 times$'
done
expect_status 0 "$SEEP" doctor ./$server
expect_match "doctor: the process" "$out" "^ok    process        $pid \($server\)"

if have gcore && gcore -o core "$pid" >gcore.log 2>&1; then
	mv $server moved
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
	expect_match "another program" "$err" "^seep: core\.$pid: $SEEP is another program or build than the core's, $PWD/$server: "
	mv moved $server
	expect_status 2 "$SEEP" leaks "core.$pid" "core.$pid"
	expect_match "two cores" "$err" '^seep leaks: .* at a time; to compare two: seep diff \(seep leaks --help\)$'
fi

rm $server && cp "$prog" $server # as a linker does it
expect_status 0 "$SEEP" scan ./$server
expect_match "built anew meanwhile" "$out" "^\./$server: $server, pid $pid, "

start; pid2=$started
for command in "leaks $server" "scan $server" "report $server" "doctor $server" "dump $server heap" "mark $server"; do
	# shellcheck disable=SC2086 # several words
	expect_status 3 "$SEEP" $command
	expect_match "$command: which of them?" "$err" "^seep: $server: 2 processes have that name, give a PID: ($pid, $pid2|$pid2, $pid)$"
done
expect_status 3 "$SEEP" leaks ./$server
expect_match "which of them?" "$err" "^seep: \\./$server: 2 processes run it, give a PID: "

expect_status 0 "$SEEP" run -o a.rec ./$server
expect_status 0 "$SEEP" leaks a.rec ./$server
expect_match "a recording and its program" "$out" '^LEAK  279 KiB in 286 blocks lost at 1 site, 286 times$'

# ---- several recordings in the folder: the last one, and the report says which ----
expect_status 3 "$SEEP" report nosuch
for i in 1 2 3; do
	"$SEEP" run ./$server once $i >/dev/null 2>&1
done
run "$SEEP" report
expect_match "the last of three" "$(head -n 1 <<<"$out")" "^$PWD/seep\\.$server\\.[0-9]+\\.rec: \\./$server once 3, pid [0-9]+, "

# ---- one line, and what to do ----
printf 'echo started\n' >script
chmod +x script
expect_status 0 "$SEEP" run -o script.rec ./script
expect_eq "a script without #!: runs as in a shell" "$out" started
expect_status 2 "$SEEP" diff
expect_eq "diff of nothing" "$err" "seep diff: two recordings or profiles are needed: seep diff OLD NEW (seep diff --help)"
expect_status 2 "$SEEP" diff a.rec
expect_eq "diff of one" "$err" "seep diff: OLD and NEW are needed; to compare its peak with its end: seep diff a.rec@peak (seep diff --help)"
expect_status 0 "$SEEP" diff a.rec@peak # as it says

if is_root "another's process" && have setpriv && have env; then
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups env "XDG_STATE_HOME=$TMP/nobody" "SEEP_CACHE=$TMP/nobody")
	chmod 755 "$TMP" . $server # not to be written to by others
	others=$(for_others "$SEEP" "$LIBSEEP")
	expect_status 3 "${nobody[@]}" "$others/seep" leaks "$pid"
	expect_eq "another's process" "$err" "seep: $pid ($server): its memory cannot be read; try sudo, or see: seep doctor $pid"
	expect_status 3 "${nobody[@]}" "$others/seep" run ./$server
	expect_eq "a read-only folder" "$err" "seep: $PWD: cannot save the recording there (Permission denied); use -o or --dir"
	expect_eq "a read-only folder: not started" "$out" ""
fi

# ---- spaces and a line feed in names ----
strange=$'a b\nc'
mkdir "$strange" && cp $server "$strange/d e" && cd "$strange" || exit 3
expect_status 0 "$SEEP" run "./d e"
expect_match "one line says where it is" "$err" '^saved seep\.d e\.[0-9]+\.rec \(names inside\)     next: seep report$'
expect_status 0 "$SEEP" report
expect_match "found again" "$(head -n 1 <<<"$out")" '/a b\?c/seep\.d e\.[0-9]+\.rec: \./d e, pid'
cd ..

# ---- colours only where they are wanted ----
if have script; then
	coloured() { env -u NO_COLOR TERM=xterm "$@" script -qec "$SEEP leaks a.rec" /dev/null </dev/null | grep -c $'\033'; }
	expect_eq "a terminal" "$(($(coloured) > 0))" 1
	expect_eq "NO_COLOR=1" "$(coloured NO_COLOR=1)" 0
	expect_eq "--color=never" "$(env -u NO_COLOR TERM=xterm script -qec "$SEEP leaks --color=never a.rec" \
		/dev/null </dev/null | grep -c $'\033')" 0
	expect_eq "TERM=dumb" "$(coloured TERM=dumb)" 0
fi
for command in leaks report "run --no-save"; do
	words=a.rec
	[ "${command%% *}" != run ] || words=/bin/true
	# shellcheck disable=SC2086 # several words
	run "$SEEP" $command --color=always $words
	expect_match "$command --color=always, in a pipe" "$out$err" $'\033\[[0-9;]*m'
	# shellcheck disable=SC2086 # several words
	run "$SEEP" $command $words
	expect_no_match "$command, in a pipe" "$out$err" $'\033'
done
expect_status 2 "$SEEP" leaks --color=sometimes a.rec
expect_match "--color=sometimes" "$err" '^seep leaks: --color: sometimes: must be auto, always or never'
