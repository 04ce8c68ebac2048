#!/bin/bash
# SPDX-License-Identifier: MIT
# Recording without the tool: SEEP=dir= with name= and keep=. Names are what the pattern
# says and nothing is ever overwritten; of dead processes' recordings the newest N stay,
# and nothing else is touched.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq perl
limits=$(program limits) || exit
forker=$(program fork) || exit
cd "$TMP" || exit
mkdir live
# Its name is its own: someone else may run this test too.
name=limits-$$
prog=$TMP/$name
cp "$limits" "$prog" || exit

# on SETTINGS COMMAND...: recorded by LD_PRELOAD and SEEP alone. on_exec: in place of this
# shell, so that `( on_exec ... ) &` has the program's pid.
on_exec() {
	local settings=$1
	shift
	exec env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP/live,$settings" "$@"
}
on() { (on_exec "$@"); }

# files: what is in the folder, one name after another.
files() { (cd live && printf '%s\n' * | LC_ALL=C sort | tr '\n' ' '); }

# once SETTINGS: run the program to its end, with its pid in $pid.
once() {
	(on_exec "$1" "$prog" 1009) >out &
	pid=$!
	wait $pid
	expect_eq "$1: status" $? 23
}

# begin SETTINGS: one that runs until `end` is called, with its pid in $pid.
begin() {
	rm -f ready go
	(on_exec "$1" "$prog" 1009 ready go) >out &
	pid=$!
	wait_for 10 test -e ready || fail "$1: does not start"
}
end() {
	touch go
	wait "$pid"
}

# ---- names ----
begin name=%e.%p
expect_eq "name and pid" "$(files)" "$name.$pid.live "
run "$SEEP" ps
expect_match "ps finds it" "$out" "^ *$pid +$name +exact .* $TMP/live\$"
"$SEEP" report --json $pid >json
expect_json "report PID" json '.totals | "\(.allocs) \(.frees)"' '505 0'
"$SEEP" report --json "live/$name.$pid.live" >json
expect_json "report FILE of one that runs" json '.totals | "\(.allocs) \(.frees)"' '505 0'
"$SEEP" report --json "$name" >json
expect_json "report NAME" json '.processes[0].pid' "$pid"
run "$SEEP" mark $pid half
expect_eq "mark" "$status" 0
end
"$SEEP" report --json "live/$name.$pid.live" >json
expect_json "report FILE at its end" json '.totals | "\(.allocs) \(.frees)"' '1011 672'
"$SEEP" report --json "live/$name.$pid.live@half" >json
expect_json "report FILE@MARK" json '.totals.live_blocks' 505
rm -f live/*

once name=a.live
once name=a
once name=a
expect_eq "the ending once; taken names get a number" "$(files)" "a.1.live a.2.live a.live "
rm -f live/*
once name=b.%n.x%%
once name=b.%n.x%%
expect_eq "%n and %%" "$(files)" "b.0.x%.live b.1.x%.live "
rm -f live/*
cp "$prog" 'with space'
expect_status 23 on name=%e './with space' 1009
expect_eq "a name with a space" "$(files)" "with space.live "
rm -f live/* ready go
(on_exec name=%e './with space' 1009 ready go) >out &
pid=$!
wait_for 10 test -e ready
"$SEEP" report --json $pid >json
expect_json "a name with a space: found" json '.processes[0].pid' "$pid"
end
rm -f live/*
for bad in name= name=.live name=a/b name=%x name=a% keep= keep=-1 keep=x name=%; do
	once $bad
	expect_eq "$bad: nothing is recorded" "$(files)" "* "
done
once "name=$(printf '%%e%.0s' {1..50})"
expect_eq "longer than a name can be" "$(files)" "* "

# A forked child has a name of its own, by its own pid.
run on name=%e.%p "$forker" tree
expect_eq "fork: status" "$status" 0
expect_eq "fork: one for each pid" \
	"$(for f in live/*; do "$SEEP" report --json "$f" | jq -r '.processes[0].pid'; done |
		sed 's/.*/fork.&.live/' | LC_ALL=C sort | tr '\n' ' ')" "$(files)"
expect_between "fork: several" "$(find live -name 'fork.*.live' | wc -l)" 2 999
rm -f live/*

# ---- keep ----
# Five dead, one alive, and what only looks like recordings; the oldest is number 1.
for i in 1 2 3 4 5; do
	once "name=dead.$i"
	touch -d "2026-01-0$i 12:00" "live/dead.$i.live"
done
begin name=alive
touch -d "2025-01-01" live/alive.live
alive=$pid
echo 'not a recording' >live/foreign.live
head -c 300000 /dev/zero >live/zeros.live
cp --sparse=always live/dead.1.live outside
ln -s ../outside live/link.live
mkdir live/folder.live
mkfifo live/fifo.live
cp --sparse=always live/dead.1.live live/no-ending
cp --sparse=always live/dead.1.live live/version.live # of another version of seep
printf '\377' | dd of=live/version.live bs=1 seek=8 conv=notrunc status=none
touch -d 2025-01-01 live/foreign.live live/zeros.live live/no-ending live/version.live outside
others="fifo.live folder.live foreign.live"
rest="link.live no-ending version.live zeros.live "
expect_eq "before" "$(files)" \
	"alive.live dead.1.live dead.2.live dead.3.live dead.4.live dead.5.live $others $rest"
on keep=5,name=six "$prog" 1009 >out
expect_eq "keep=5 of five" "$(files)" \
	"alive.live dead.1.live dead.2.live dead.3.live dead.4.live dead.5.live $others link.live no-ending six.live version.live zeros.live "
rm live/six.live
on keep=3,name=six "$prog" 1009 >out
expect_eq "keep=3 of five: the two oldest are gone" "$(files)" \
	"alive.live dead.3.live dead.4.live dead.5.live $others link.live no-ending six.live version.live zeros.live "
expect_eq "the link's file is there" "$(head -c 8 outside)" SEEPLIVE
"$SEEP" report --json live/dead.3.live >json
expect_json "what stays is whole" json '.totals | "\(.allocs) \(.frees)"' '1011 672'

# Its pid is a living process's, but the start time is not: dead. (process_ticks is at
# 64.)
cp --sparse=always live/dead.3.live live/recycled.live
perl -e 'open F, "+<", shift; seek F, 32, 0; print F pack("L", shift)' live/recycled.live $$
touch -d 2025-06-01 live/recycled.live
cp --sparse=always live/recycled.live live/unknown.live # no start time: it may be that process's
perl -e 'open F, "+<", shift; seek F, 64, 0; print F pack("Q", 0)' live/unknown.live
touch -d 2025-06-01 live/unknown.live
on keep=0,name=seven "$prog" 1009 >out
expect_eq "keep=0: all dead ones are gone" "$(files)" \
	"alive.live $others link.live no-ending seven.live unknown.live version.live zeros.live "
pid=$alive
"$SEEP" report --json $alive >json
expect_json "the living one is recorded as ever" json '.totals | "\(.allocs) \(.frees)"' '505 0'
end
on keep=0,name=eight "$prog" 1009 >out
expect_eq "and goes when it is dead" "$(files)" \
	"eight.live $others link.live no-ending unknown.live version.live zeros.live "
rm -rf live/*

# Another user's is not touched, though root could.
if is_root "another user's recordings"; then
	once name=other
	chown 4711 live/other.live
	on keep=0,name=mine "$prog" 1009 >out
	expect_eq "another user's" "$(files)" "mine.live other.live "
	rm -f live/*
fi

# A process of another pid namespace has a pid that means nothing here.
if unshare -pf true 2>/dev/null; then
	rm -f ready go
	(on_exec name=elsewhere unshare -pf "$prog" 1009 ready go) >out &
	pid=$!
	wait_for 10 test -e ready
	on keep=0,name=here "$prog" 1009 >out
	expect_match "alive elsewhere" "$(files)" '^(elsewhere[.0-9]*live )+here.live $'
	expect_match "alive elsewhere: its file" \
		"$(awk '/\.live/ { print $6 $7 }' "/proc/$(child_of $pid)/maps" | sort -u)" "^$TMP/live/elsewhere[.0-9]*live\$"
	end
	rm -f live/*
else
	left_out "no pid namespaces here: a process elsewhere"
fi

# Without /proc nobody can be told to be dead.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	once name=unsure
	unshare -m bash -c 'mount -t tmpfs none /proc && exec "$@"' - \
		env LD_PRELOAD="$LIBSEEP" SEEP="mode=exact,dir=$TMP/live,keep=0,name=blind" "$prog" 1009 >out
	expect_eq "without /proc" "$(files)" "blind.live unsure.live "
	rm -f live/*
else
	left_out "no mounts of one's own here: no /proc"
fi

# Many at once, all by one name: each has a file of its own, which nobody removes while it
# runs.
rm -f ready go
pids=()
for i in {1..24}; do
	(on_exec keep=1,name=crowd "$prog" 1009 "ready.$i" go) >"out.$i" &
	pids+=($!)
	[ $((i % 6)) != 0 ] || on keep=1,name=crowd "$prog" 1009 >out # and some that end
done
for i in {1..24}; do wait_for 20 test -e "ready.$i" || fail "crowd: $i does not start"; done
expect_eq "crowd: each its own file" "$(for i in "${pids[@]}"; do
	awk '/crowd/ { print $6, $7 }' "/proc/$i/maps" | sort -u
done | sort -u | grep -vc deleted)" 24
touch go
wait
on keep=1,name=last "$prog" 1009 >out
expect_eq "crowd: one is kept" "$(find live -type f | wc -l)" 2
rm -f live/*

# 4,096 entries are looked at and no more: what could go stays, what should stay is never
# gone.
mkdir many && (cd many && seq 5003 | sed 's/$/.live/' | xargs touch)
settings="mode=exact,dir=$TMP/many,keep=0,name=one"
env LD_PRELOAD="$LIBSEEP" SEEP="$settings" "$prog" 1009 >out
env LD_PRELOAD="$LIBSEEP" SEEP="$settings" "$prog" 1009 >out
expect_between "a large folder" "$(find many -type f | wc -l)" 5004 5005
expect_eq "and its 5,003 files" "$(find many -name '[0-9]*.live' | wc -l)" 5003
