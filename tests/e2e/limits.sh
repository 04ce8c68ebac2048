#!/bin/bash
# SPDX-License-Identifier: MIT
# The program comes first: full file systems, resource limits, a recording that others cut
# off or delete. Each time the output and the exit status are those of the program alone,
# and the report says in a line what is missing.
. "$(dirname "$0")/lib.sh"
# timeout: 300
need_seep
need_libseep
need_command jq readelf
prog=$(program limits) || exit
cd "$TMP" || exit
count=$(times 30011 300007)
truth=$("$prog" "$count")
truth_100003=$("$prog" 100003)
left=$(sed -n 's/not freed blocks=\([0-9]*\) .*/\1/p' <<<"$truth")

# same WHAT: what the program printed and its status are its own.
same() {
	expect_eq "$1: status" "$status" 23
	expect_eq "$1: output" "$out" "$truth"
}

# whole_or_said WHAT: the right answer, or a reason that is not another one.
whole_or_said() {
	if grep -qF 'exact, nothing missed' <<<"$err"; then
		expect_match "$1: nothing missed, then it is right" "$err" \
			"^LEAK .* in $(sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta' <<<$((left + 1))) blocks lost at 1 site, once"
	else
		expect_match "$1: what is missing is said" "$err" "$2"
	fi
	expect_no_match "$1: no false reason" "$err" 'ended before it allocated|did not load libseep'
	expect_no_match "$1: no false OK" "$err" '^OK '
}

# disturb WHAT COMMAND…: runs the program up to its half, then COMMAND with the path of
# the live recording as its last word, then lets it go on.
disturb() {
	local pid child live what=$1
	shift
	rm -f ready go
	"$SEEP" run -o disturbed.rec -- "$prog" "$count" ready go >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	wait_for 10 test -e ready || fail "$what: does not start"
	child=$(child_of $pid)
	live=$(awk '/\.live/ { print $6; exit }' "/proc/$child/maps")
	"$@" "$live"
	touch go
	wait $pid
	status=$?
	out=$(cat "$TMP/out")
	err=$(cat "$TMP/err")
	same "$what"
}

# ---- someone else at the live recording ----
disturb "truncated to 0" truncate -s 0
whole_or_said "truncated to 0" 'truncated|cut off|cut short|missing at the end'
disturb "truncated to 1 MiB" truncate -s 1M
whole_or_said "truncated to 1 MiB" 'truncated|cut off|cut short|missing at the end'
disturb "deleted" rm -f
whole_or_said "deleted" 'deleted|removed|is gone'
delete_folder() { case "$1" in /*/seep*/*.live) rm -r "${1%/*}" ;; esac; }
disturb "folder deleted" delete_folder
whole_or_said "folder deleted" 'deleted|removed|is gone'
read_only() { chmod 500 "${1%/*}"; }
disturb "folder read-only" read_only
whole_or_said "folder read-only" 'never'

# ---- limits of the process ----
for blocks in 1 100 1500; do # of 1024 bytes; into pipes, because the limit holds for them too
	rm -f "$TMP/err.done"
	bash -c 'ulimit -f "$1"; shift; exec "$@"' - $blocks "$SEEP" run -o "$TMP/fsize.rec" -- \
		"$prog" "$count" 2> >(cat >"$TMP/err"; : >"$TMP/err.done") | cat >"$TMP/out"
	status=${PIPESTATUS[0]}
	wait_for 10 test -e "$TMP/err.done" # the other cat
	out=$(cat "$TMP/out")
	err=$(cat "$TMP/err")
	same "ulimit -f $blocks"
	whole_or_said "ulimit -f $blocks" 'file size|ulimit -f|no room'
done
rm -f "$TMP/err.done"
(
	ulimit -f 0
	exec "$SEEP" run -o "$TMP/none.rec" -- "$prog" "$count"
) 2> >(cat >"$TMP/err"; : >"$TMP/err.done") | cat >"$TMP/out"
status=${PIPESTATUS[0]}
wait_for 10 test -e "$TMP/err.done"
out=$(cat "$TMP/out")
if [ "$status" != 3 ]; then same "ulimit -f 0"; fi
expect_match "ulimit -f 0: said" "$(cat "$TMP/err")" 'file size|ulimit -f|File too large|no room'

# A small stack: names of functions need more than the program does, which gets the limit
# it was given.
for kib in 64 128; do
	run bash -c 'ulimit -s "$1"; shift; exec "$@"' - $kib "$SEEP" run -o "$TMP/stack.rec" -- "$prog" "$count"
	same "ulimit -s $kib"
	whole_or_said "ulimit -s $kib" never
	run bash -c 'ulimit -s "$1"; shift; exec "$@"' - $kib "$SEEP" run --no-leak-check -o "$TMP/limit.rec" -- bash -c 'ulimit -s'
	expect_eq "ulimit -s $kib: the program's own" "$out" $kib
done

# What it needs: found by halving between 2 MiB and 1 GiB, to 16 KiB.
fits() {
	(ulimit -v "$1" && "$prog" 100003 >/dev/null 2>&1)
	[ $? = 23 ]
}
low=2048 least=1048576
while [ $((least - low)) -gt 16 ]; do
	middle=$(((low + least) / 2))
	if fits $middle; then least=$middle; else low=$middle; fi
done
# What libseep.so itself takes cannot be given back: with less the program would not fit
# beside it.
read -r at bytes <<<"$(readelf -lW "$LIBSEEP" | awk '$1 == "LOAD" { at = $3; n = $6 } END { print at, n }')"
own=$(((at + bytes) / 1024 + 4)) # whole pages
for more in $((own + 32)) 1000 3000 8000 16000 40000; do
	run bash -c 'ulimit -v "$1"; shift; exec "$@"' - $((least + more)) \
		env LD_PRELOAD="$LIBSEEP" SEEP=mode=exact,dir="$TMP" "$prog" 100003
	expect_eq "ulimit -v $more KiB over what it needs: status" "$status" 23
	expect_eq "ulimit -v $more KiB over what it needs: output" "$out" "$truth_100003"
	rm -f "$TMP"/*.live
done

# A call that is refused, and then succeeds because the recorder gave back what it held,
# leaves errno alone as all that succeed do.
asks=$(program errno_kept) || exit
for kind in malloc calloc new realloc grow memalign posix; do
	run bash -c 'ulimit -v 400000; exec "$@"' - "$asks" $kind
	alone=$out
	expect_match "errno, $kind: alone" "$alone" '^calls=1[0-9]{3} changed=0$'
	run bash -c 'ulimit -v 400000; exec "$@"' - \
		env LD_PRELOAD="$LIBSEEP" SEEP=mode=exact,dir="$TMP" "$asks" $kind
	expect_eq "errno, $kind: status" "$status" 23
	expect_match "errno, $kind: kept by what succeeds" "$out" '^calls=1[0-9]{3} changed=0$'
	expect_match "errno, $kind: set by what fails" "$out" '^refused errno=12$'
	"$SEEP" report --json "$TMP"/*.live >"$TMP/errno.json"
	case $kind in malloc | calloc | new)
		# What comes after is only counted: at least the call that was refused at
		# first.
		expect_json "errno, $kind: room was given back, once" "$TMP/errno.json" \
			'[.processes[].lost.space > 0]' '[true]'
		expect_between "errno, $kind: calls" "$(sed -n 's/calls=\([0-9]*\) .*/\1/p' <<<"$out")" \
			$(($(sed -n 's/calls=\([0-9]*\) .*/\1/p' <<<"$alone") - 7)) 1999
		;;
	esac
	rm -f "$TMP"/*.live
done

# A limit that the program sets itself, 64 MiB over what it has without us; then it takes
# 32 MiB.
cat >"$TMP/itself.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
static void *volatile kept[64];
static void *nothing(void *arg) { return arg; }
int main(int argc, char **argv) {
	unsigned long pages = 0, limit = strtoul(argv[1], NULL, 10);
	FILE *f = fopen("/proc/self/statm", "r");
	int got = 0;
	pthread_t t;
	if (f == NULL || fscanf(f, "%lu", &pages) != 1)
		return 1;
	fclose(f);
	if (argc > 2 && pthread_create(&t, NULL, nothing, NULL) == 0)
		pthread_join(t, NULL);
	if (limit == 0)
		return printf("%lu\n", pages * 4096) < 0;
	setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit});
	kept[0] = malloc(1ul << 46); /* more than the limit: nothing that we hold would help */
	for (int i = 0; i < 32; i++) {
		kept[i] = i % 2 == 0 ? malloc(1 << 20) : calloc(1, 1 << 20);
		if (kept[i] != NULL)
			got += memset(kept[i], 1, 1 << 20) != NULL;
	}
	printf("%d MiB\n", got);
	return 0;
}
END
gcc -O1 -g -fno-builtin -pthread -o itself itself.c || exit
alone=$(./itself 0)
for more in "" threads; do
	# A thread has a stack and a heap, of 8 and 64 MiB of address space.
	limit=$((alone + (64 + (${#more} > 0 ? 80 : 0)) * 1048576))
	# shellcheck disable=SC2086 # a word or none
	run ./itself $limit $more
	expect_eq "a limit of its own $more: alone" "$status $out" "0 32 MiB"
	# shellcheck disable=SC2086
	run "$SEEP" run --log-file "$TMP/itself.log" -o itself.rec -- ./itself $limit $more
	expect_eq "a limit of its own $more" "$status $out" "0 32 MiB"
done

# ---- small recordings ----
run "$SEEP" run --max-size 2M -o small.rec -- "$prog" 100003
expect_eq "--max-size 2M: status" "$status" 23
expect_eq "--max-size 2M: output" "$out" "$truth_100003"
whole_or_said "--max-size 2M" '^not recorded: [0-9,]+ allocations \(no room: raise --max-size\)'
expect_no_match "--max-size 2M: memory is from malloc" "$err" 'did not come from malloc'
run "$SEEP" run --max-size 1M -o small.rec -- "$prog" "$count"
same "--max-size 1M"
whole_or_said "--max-size 1M" 'no room'

# ---- places that cannot be written ----
mkdir read_only
chmod 500 read_only
if [ "$(id -u)" != 0 ]; then
	expect_status 3 "$SEEP" run --dir read_only -- "$prog" "$count"
	expect_match "read-only folder" "$err" '^seep: .*read_only: cannot save the recording there'
	expect_eq "read-only folder: not started" "$out" ""
else
	left_out "root may write everywhere: a read-only folder"
fi
expect_status 3 "$SEEP" run --dir missing -- "$prog" "$count"
expect_match "missing folder" "$err" '^seep: missing: cannot save'
expect_eq "missing folder: not started" "$out" ""
expect_status 3 "$SEEP" run -o / -- "$prog" "$count"
expect_status 23 "$SEEP" run --log-file missing/log -o log.rec -- "$prog" "$count"
expect_match "log file that cannot be made" "$err" '^seep: missing/log: '
run "$SEEP" run -o /dev/full -- "$prog" "$count"
same "-o /dev/full"
expect_match "-o /dev/full: said" "$err" '^seep: /dev/full: .*No space left'
mkfifo fifo # nobody reads it
run timeout -k 2 5 "$SEEP" run -o fifo -- "$prog" "$count"
if [ "$status" = 3 ]; then
	expect_match "-o FIFO: refused with a line" "$err" '^seep: .*fifo'
	expect_eq "-o FIFO: not started" "$out" ""
else
	same "-o FIFO"
fi

if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=2M none small 2>/dev/null; then
	run env LD_PRELOAD="$LIBSEEP" SEEP=mode=exact,dir="$TMP/small" "$prog" 100003
	expect_eq "full tmpfs: status" "$status" 23
	expect_eq "full tmpfs: output" "$out" "$truth_100003"
	run "$SEEP" report small/*.live
	expect_eq "full tmpfs: report" "$status" 0
	expect_match "full tmpfs: loss said" "$out" '^not recorded: [0-9,]+ allocations \(no room'
	rm -f small/*
	head -c 3M /dev/zero >small/full 2>/dev/null
	run "$SEEP" run --dir small -- "$prog" "$count"
	same "full disk as --dir"
	expect_match "full disk as --dir: said" "$err" '^seep: .*No space left.*; the recording stays in /'
	stays=$(sed -n 's/^seep: .*; the recording stays in //p' <<<"$err")
	expect_eq "full disk: it does stay" "$(find "$stays" -name '*.live' | wc -l)" 1
	run "$SEEP" report "$stays"/*.live
	expect_match "full disk: and can be read" "$out" '^NO VERDICT '
	case "$stays" in /*/seep*) rm -r "$stays" ;; esac
	expect_eq "full disk: no half recording" "$(ls small)" full
	rm -f ready go # and while it runs
	(sleep 0.5 && touch go) &
	run "$SEEP" run --checkpoint 50ms --dir small -- "$prog" "$count" ready go
	same "full disk at checkpoints"
	expect_eq "full disk at checkpoints: one line about it" "$(grep -c 'No space left' <<<"$err")" 1
	stays=$(sed -n 's/^seep: .*; the recording stays in //p' <<<"$err")
	case "$stays" in /*/seep*) rm -r "$stays" ;; esac
	umount small
	# A shared-memory file system that others fill while the program runs.
	cat >filled.sh <<'END'
mount -t tmpfs -o size=300M none /dev/shm || exit 77
"$1" run -o filled.rec -- "$2" 300007 ready go &
until [ -e ready ]; do sleep 0.05; done
head -c 400M /dev/zero >/dev/shm/full 2>/dev/null
touch go
wait $!
END
	rm -f ready go
	if unshare -m true 2>/dev/null; then
		XDG_RUNTIME_DIR='' run unshare -m bash filled.sh "$SEEP" "$prog"
		expect_eq "filled meanwhile: status" "$status" 23
		expect_eq "filled meanwhile: output" "$out" "$("$prog" 300007)"
		expect_match "filled meanwhile: loss said" "$err" '^not recorded: [0-9,]+ allocations \(no room'
	else
		left_out "no mounts of one's own here: a file system filled meanwhile"
	fi
else
	left_out "no mount here: full file systems"
fi

# ---- a memory limit 32 MiB over what the program needs by itself ----
group=
if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
	group=/sys/fs/cgroup/memory/seep-test-$$
	limit_file=memory.limit_in_bytes
elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && [ -w /sys/fs/cgroup ]; then
	group=/sys/fs/cgroup/seep-test-$$
	limit_file=memory.max
fi
if [ -n "$group" ] && mkdir "$group" 2>/dev/null; then
	# 300,007 blocks hold 158 MB; with malloc's own overhead it needs less than 172
	# MB.
	echo $(((172 + 32) * 1000 * 1000)) >"$group/$limit_file"
	run bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$group" "$prog" 300007
	expect_eq "memory limit: fits alone" "$status" 23
	run bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$group" \
		"$SEEP" run -o group.rec -- "$prog" 300007
	expect_eq "memory limit: status" "$status" 23
	expect_eq "memory limit: output" "$out" "$("$prog" 300007)"
	expect_match "memory limit: report" "$err" '^(LEAK|NO VERDICT|PARTIAL) '
	rmdir "$group"
else
	left_out "no memory controller to write to: a memory limit"
fi
