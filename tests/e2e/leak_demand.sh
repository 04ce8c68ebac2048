#!/bin/bash
# SPDX-License-Identifier: MIT
# seep leaks on a program that works: from a copy of it and while it stands still, what
# has changed since the last look, what it would cost. Nothing of it may be noticed: no
# call fails that never fails, no child is seen, no descriptor is left. `make soak` does
# so a hundred times.
# timeout: 60
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program leak_busy) || exit
cd "$TMP" || exit

# begin THREADS BLOCKS [COMMAND...]: starts it recorded, by $folder/seep; sets $tool and
# $child.
folder=$BUILD
begin() {
	local threads=$1 blocks=$2
	shift 2
	mkdir -p ctl
	rm -f ctl/* busy.rec # another user's is not replaced
	"$@" "$folder/seep" run -o busy.rec -- "$prog" "$threads" "$blocks" "$TMP/ctl" >busy.out 2>busy.err &
	tool=$!
	wait_for 30 test -e ctl/ready || fail "does not start"
	child=$(child_of $tool)
}
finish() {
	touch ctl/go
	wait $tool
	expect_eq "$1: ends as ever" "$?" 0
	expect_eq "$1: no call failed" "$(grep ' failed: ' busy.err; grep '^failed ' busy.out)" "failed 0"
}
# Children that have ended and nobody takes in. The program has some of its own, for a
# moment.
zombies() { ps -o stat= -o pid= --ppid "$child" | awk '$1 ~ /^Z/ { print $2 }' | sort; }
all_fresh() { ! comm -12 z1 <(zombies) | grep -q .; }
stale_zombies() {
	zombies >z1
	wait_for 20 all_fresh
	comm -12 z1 <(zombies) | wc -l
}
descriptors() { find "/proc/$child/fd" -mindepth 1 | wc -l; }
leaks_are() { # WHAT BLOCKS BYTES
	expect_json "$1" "$TMP/out" '.summary.leaks | [.done, .definite_blocks, .definite_bytes, .indirect_blocks, .possible_blocks]' \
		"[true,$2,$3,0,0]"
}

# ---- both ways, the same answer ----
begin 6 20011
for way in copy stop copy; do
	run "$SEEP" leaks --way=$way --json "$child"
	leaks_are "$way" 23 4853
done
expect_json "the pause in JSON" "$TMP/out" '.checks | [length, .[0].done, .[0].threads, .[0].stop_ns > 0, .[0].pause_ns > 0]' \
	'[1,true,7,true,true]'
run "$SEEP" leaks --way=stop "$child"
expect_match "stop: says so" "$out" '^stopped [0-9.]+ ms \+ [0-9.]+ ms, 7 threads, 20,04[0-9] blocks; checked while stopped$'
expect_match "changes: nothing" "$out" '^since the last check [0-9.]+ m?s ago: 0 new, 0 increased, 0 decreased, 1 unchanged; \+0 blocks, \+0 bytes$'

# ---- what has changed ----
lose_more() {
	rm -f ctl/lost
	touch ctl/lose
	wait_for 20 test -e ctl/lost || fail "does not lose more"
}
run "$SEEP" leaks --new "$child"
expect_match "--new: nothing" "$out" '^OK '
lose_more
run "$SEEP" leaks --new --json "$child"
leaks_are "--new: the new place alone" 7 2149
run "$SEEP" leaks --new "$child"
expect_match "--new: no longer" "$out" '^OK '
lose_more
run "$SEEP" leaks --new "$child"
expect_match "--new: more of the same is not new" "$out" '^OK '
expect_match "--new: but is told" "$out" ' 0 new, 1 increased, 0 decreased, 1 unchanged; \+7 blocks, \+2149 bytes; shown: new$'
lose_more
run "$SEEP" leaks --increased --json "$child"
leaks_are "--increased: all of a place that has more" 21 6447
lose_more
run "$SEEP" leaks --changed --json "$child"
leaks_are "--changed" 28 8596
run "$SEEP" leaks --new --changed "$child"
expect_eq "two of them" "$status" 2
run "$SEEP" leaks --new busy.rec
expect_eq "--new without a process" "$status" 3

# ---- what it would cost ----
run "$SEEP" leaks --dry-run "$child"
expect_eq "--dry-run: status" "$status" 0
expect_match "--dry-run: the way" "$out" "^$child (is copied, and the copy is searched|is stopped while its memory is searched): expect a pause of up to about [0-9.]+ m?s \("
expect_match "--dry-run: figures" "$out" '^memory of its own [0-9.]+ .* · shared .* · recording .* · free below the limit '
expect_no_match "--dry-run: looks at nothing" "$out" '^(LEAK|OK|stopped)'
run "$SEEP" leaks --dry-run --way=stop --json "$child"
expect_json "--dry-run in JSON" "$TMP/out" '[.way, .expected_pause_ns > .expected_look_ns, .private_bytes > 2000000, .recording_bytes > 500000]' \
	'["stop",true,true,true]'
# The pause that it predicts is right within a factor of two (in soak, on a machine of its
# own); other work on the machine makes it or the pauses longer.
threads=$(program many_threads) || exit
"$threads" 300 1 < <(sleep 60) >"$TMP/threads" &
many=$!
wait_for 20 grep -q ready "$TMP/threads"
"$SEEP" leaks --dry-run --json "$many" >"$TMP/plan"
for _ in 1 2 3 4 5; do
	"$SEEP" leaks --json "$many"
done | jq -s "{want: $(jq .expected_pause_ns "$TMP/plan"), by: $(times 10 2), got: map(.stop_ns + .pause_ns)}" >"$TMP/looks"
expect_json "--dry-run: the pause" "$TMP/looks" '[(.got | min) < .by * .want, (.got | max) > .want / .by]' '[true,true]'
kill $many
wait $many 2>/dev/null
run "$SEEP" leaks --way=fly "$child"
expect_eq "no such way" "$status" 2
expect_eq "no zombie" "$(stale_zombies)" 0
finish "both ways"
expect_match "the end says the same" "$(cat busy.err)" '^LEAK( \(minor\))?  13\.1 KiB in 51 blocks lost at 2 sites, 51 times$'

# ---- it may not fork ----
if is_root "a process that may not fork" && have setpriv; then
	mkdir -p ctl
	chmod 777 "$TMP" ctl
	# As many processes and threads as the tool and the program need by themselves. Of
	# a user who has no others.
	folder=$(for_others "$SEEP" "$LIBSEEP" "$prog")
	prog=$folder/leak_busy begin 1 1009 setpriv --reuid=$((60000 + $$ % 5000)) --clear-groups bash -c 'ulimit -u 3 && exec "$@"' -
	run "$SEEP" leaks "$child"
	expect_match "may not fork: found all the same" "$out" '^LEAK \(minor\)  4\.74 KiB in 23 blocks lost at 1 site'
	expect_match "may not fork: said" "$out" '^could not be copied \([0-9]+: it may not fork: .*\): the process was stopped instead$'
	finish "may not fork"
	folder=$BUILD
fi

# ---- it may not be stopped ----
if have strace; then
	begin 3 1009
	strace -f -o /dev/null -p "$child" 2>/dev/null &
	tracer=$!
	traced() { grep -q '^TracerPid:.[1-9]' "/proc/$child/status"; }
	wait_for 20 traced || fail "strace does not attach"
	sleep 1.2 # what is younger than a second is not judged
	run "$SEEP" leaks "$child"
	expect_match "traced by another: found all the same" "$out" '^LEAK \(minor\)  4\.74 KiB in 23 blocks lost at 1 site, 23 times$'
	expect_match "traced by another: said" "$out" '^could not be stopped \(.*\): checked three times while it ran; '
	kill $tracer
	wait $tracer 2>/dev/null
	touch ctl/go
	wait $tool
	expect_eq "traced by another: ends as ever" "$?" 0
fi

# ---- two at once ----
begin 6 20011
sleep 1.2 # what is younger than a second is not judged by who cannot stop it
for i in 1 2 3 4; do
	"$SEEP" leaks "$child" >one.out 2>&1 &
	one=$!
	"$SEEP" leaks "$child" >two.out 2>&1
	expect_eq "two at once: $i" "$? $(grep -c '^LEAK (minor)  4\.74 KiB in 23 blocks' two.out)" "0 1"
	wait $one
	expect_eq "the other: $i" "$? $(grep -c '^LEAK (minor)  4\.74 KiB in 23 blocks' one.out)" "0 1"
done
expect_eq "two at once: no zombie" "$(stale_zombies)" 0
finish "two at once"

# ---- it is killed meanwhile ----
# What was read by then must not make the rest look lost. Where the look was over before,
# it is the whole answer.
begin 2 600011
"$SEEP" leaks --way=stop "$child" >killed.out 2>killed.err &
look=$!
stands() { [ "$(cut -d ' ' -f 3 "/proc/$child/stat")" = t ] && kill -STOP $look; }
wait_for 20 stands
kill -9 "$child"
kill -CONT $look
wait $look
case $? in
0) expect_match "killed too late: all of it" "$(cat killed.out)" '^LEAK \(minor\)  4\.74 KiB in 23 blocks lost at 1 site, 23 times$' ;;
*) expect_match "killed meanwhile: no answer" "$(cat killed.out killed.err)" '^seep: .*ended' ;;
esac
wait $tool 2>/dev/null

# ---- again and again ----
begin 32 5003
count=$(descriptors)
best="" worst=0 late=0 late_alone=0
looks=2
[ -z "$SOAK" ] || looks=100
# gap: the longest time in ms that a thread made no progress, since the call before
gap() {
	touch ctl/ask
	wait_for 20 test ! -e ctl/ask
	tail -n 1 busy.out | sed -n 's/^gap \([0-9]*\)[0-9][0-9][0-9]$/\1/p'
}
for i in $(seq $looks); do
	gap >/dev/null
	run "$SEEP" leaks "$child"
	expect_match "look $i" "$out" '^LEAK \(minor\)  4\.74 KiB in 23 blocks lost at 1 site, 23 times$'
	pause=$(sed -nE 's/^stopped ([0-9.]+) ms \+ ([0-9.]+) ms, 33 threads, .*/\1 \2/p' <<<"$out")
	# How much longer than it stood still a thread went without progress, at most.
	over=$(awk -v gap="$(gap)" '{ printf "%d", gap - $1 - $2 }' <<<"$pause")
	if [ -z "$best" ] || [ "$over" -lt "$best" ]; then best=$over; fi
	if [ "$over" -gt "$worst" ]; then worst=$over; fi
	[ "$over" -le 20 ] || late=$((late + 1))
	# As long, and as busy, without a look: whether the machine has other things to
	# do.
	[ -z "$SOAK" ] || "$SEEP" leaks --dry-run "$child" >/dev/null
	[ "$(gap)" -le 20 ] || late_alone=$((late_alone + 1))
done
echo "longest gap of a thread beyond the pause that was told: $best to $worst ms; above 20 ms after $late of $looks looks, and $late_alone times without one"
expect_eq "descriptors" "$(descriptors)" "$count"
expect_eq "no zombie after $looks" "$(stale_zombies)" 0
if [ -n "$SOAK" ]; then
	# On a machine that has other things to do a gap may be long without us; a thread
	# that stays behind until the look is over would show in each.
	expect_between "gap beyond the pause" "$best" -1000 20
	expect_between "looks with a gap above 20 ms beyond it" "$late" 0 $((late_alone * 2))
fi
finish "again and again"
