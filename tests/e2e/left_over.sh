#!/bin/bash
# SPDX-License-Identifier: MIT
# What a run has left behind: a daemon that ended later is in the recording for whoever
# reads it next, a recording that could not be saved is read, saved and discarded by its
# name, and no command talks about the runs of others.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq

# Any seep of this user saves what it finds left over: where possible, nobody else sees
# ours.
if [ -z "${LEFT_OVER_ALONE:-}" ] && unshare -m mount -t tmpfs none /dev/shm 2>/dev/null; then
	rm -rf "$TMP"
	LEFT_OVER_ALONE=yes exec unshare -m bash -c 'mount -t tmpfs none /dev/shm && exec "$@"' - "$0"
fi

prog=$(program daemon) || exit
mkfifo "$TMP/fifo"
cd "$TMP" || exit
pid='' mounted='' names=()
# What this test leaves of its own is its own to remove.
tidy() {
	local code=$? name
	[ -z "$pid" ] || kill "$pid" 2>/dev/null
	[ -z "$mounted" ] || umount "$TMP/small"
	for name in "${names[@]}"; do
		"$SEEP" ps --discard "$name" >/dev/null 2>&1
	done
	(exit $code)
	lib_end
}
trap tidy EXIT
gone() { [ ! -e "/proc/$1" ]; }
cat >leaky.c <<'END'
#include <stdlib.h>
static void *volatile last;
int main(void) { for (int i = 0; i < 23; i++) last = malloc(1000); return 0; }
END
cat >then.c <<'END'
/* ./then DIR PROGRAM ARGS...: removes DIR, runs leaky if it was not there, becomes PROGRAM. Allocates nothing itself. */
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (rmdir(argv[1]) < 0 && fork() == 0)
		return execl("./leaky", "./leaky", (char *)0);
	wait(NULL);
	return argc > 2 ? execv(argv[2], argv + 2) : 0;
}
END
"${CC:-gcc}" -g -O1 -fno-builtin -o leaky leaky.c && "${CC:-gcc}" -o "then" then.c || exit
cp "$prog" ./daemon
# What differs from run to run: names of folders and files with a number in them, and what
# else is recorded on this machine.
varies=('s/seep-[0-9]+-[0-9a-f]{16}/NAME/g; s/(seep\.[a-z]+)\.[0-9]+\.rec/\1.PID.rec/'
	'/^ +PID  NAME|^ *[0-9]+  [a-z]|^nothing is being recorded/d')

# ended [COMMAND...]: a daemon that outlived its run, freed 23 of its 46 blocks and has
# ended by now. before.rec is what the run saved.
ended() {
	[ $# -gt 0 ] || set -- "$prog" "$TMP/fifo"
	"$SEEP" run -o "$TMP/rec" "$@" >run.out 2>run.err </dev/null &
	local tool=$! word
	read -r word pid <<<"$(timeout 20 cat "$TMP/fifo")"
	expect_eq "daemon: word" "$word" ready
	wait $tool
	cp rec before.rec
	kill -USR1 "$pid"
	read -r word _ <<<"$(timeout 20 cat "$TMP/fifo")"
	expect_eq "daemon: goes on" "$word" freed
	kill "$pid"
	wait_for 10 gone "$pid"
}
# shellcheck disable=SC2016 # jq's
frees='.frames as $f | [.sites[] | select(any(.stack[]; $f[.].function == "make_as_daemon")).frees] | add // 0'

# ---- the next command that reads it ----
ended
expect_status 0 "$SEEP" report --json before.rec
expect_json "as the run saved it" "$TMP/out" "$frees" 0
expect_status 0 "$SEEP" report --json "$TMP/rec"
expect_json "report: the daemon is in it" "$TMP/out" "$frees" 23
expect_eq "report: nothing is said of that" "$err" ""
rm -f rec
ended
expect_status 0 "$SEEP" convert "$TMP/rec" rec.json
expect_json "convert: the daemon is in it" rec.json "$frees" 23
rm -f rec
# What the run has found stays: a leak of another process, which had ended before.
ended ./then no-folder ./daemon "$TMP/fifo"
leak='LEAK (minor)  21.5 KiB in 23 blocks lost at 2 sites, 23 times, in 2 of ' # 2 or 3: the daemon may have begun
expect_eq "the run itself" "$(head -n 1 run.err | cut -c -${#leak})" "$leak"
expect_match "diff: what the daemon did since" "$("$SEEP" diff before.rec rec)" '→ 22\.7 .*make_as_daemon'
show "$SEEP" leaks rec
expect_eq "the same verdict as before" "$(sed -n 2p <<<"$out" | cut -c -${#leak})" "$leak"
# Whether libc frees one more block before the daemon ends depends on when it is looked
# at.
expect_shown "when the daemon has ended" left_over/daemon_ended.txt 's/ 2[45] frees/ N frees/; s/temporary [0-9.]+ %/temporary N %/'
pid=

# ---- others do not talk about it ----
rm -f rec
ended
pid=
show "$SEEP" run -o other.rec -- true
expect_no_match "an unrelated run" "$err" 'left behind|cannot save|seep-[0-9]+-[0-9a-f]{16}'
expect_shown "an unrelated run, all of it" left_over/unrelated.txt

# ---- one that cannot be saved ----
# The folder is removed while the program runs, and there is no other place.
export XDG_STATE_HOME=/dev/null
# stays: a run that could not be saved; leaves the name of its folder in $name.
stays() {
	mkdir -p away
	show "$SEEP" run --dir away ./then away ./leaky
	expect_eq "not saved: status" "$status" 3
	expect_match "not saved: said" "$err" '^seep: .*away/.*; the recording stays in /'
	name=$(sed -n 's,^seep: .*; the recording stays in .*/,,p' <<<"$err")
	names+=("$name")
	expect_match "not saved: what can be done" "$err" "^seep: read it: seep report $name; save or discard it: seep ps$"
}
stays
show "$SEEP" ps
expect_match "ps lists it" "$out" "^  $name  ./then away ./leaky$"
expect_match "ps says what can be done" "$out" '^next: seep report NAME \(read it\) · seep ps --save NAME -o FILE · seep ps --discard NAME$'
show "$SEEP" run -o other.rec -- true
expect_no_match "an unrelated run does not mention it" "$err" "$name"
show "$SEEP" report other.rec
expect_no_match "nor does a report of another" "$err" "$name"
run "$SEEP" doctor
expect_match "doctor does" "$out$err" "$name: could not be saved; seep ps says what can be done"
show "$SEEP" report "$name"
expect_match "read by its name" "$out" '^    main +leaky\.c:3 '
expect_match "with what the leak check found" "$out" '^LEAK \(minor\)  21\.5 KiB in 22 blocks lost at 1 site'
expect_status 0 "$SEEP" report --json "$name"
expect_json "read by its name, as JSON" "$TMP/out" '[.processes[].allocs] | add >= 23' true
echo mine >mine.txt
show "$SEEP" ps --save "$name" -o mine.txt
expect_eq "saving over another file: status" "$status" 2
expect_eq "saving does not overwrite" "$(cat mine.txt)" mine
show "$SEEP" ps --save "$name" -o saved.rec
expect_match "saved: said" "$err" '^seep: saved .*/saved\.rec, left behind by: \./then away \./leaky$'
show "$SEEP" report saved.rec
expect_match "saved: it is there" "$out" '^    main +leaky\.c:3 '
show "$SEEP" report "$name"
expect_match "saved: the folder is gone" "$err" 'neither a recording nor a process'
show "$SEEP" ps --save "$name" -o again.rec
expect_match "saved: not twice" "$err" "^seep: $name: no left-over recording of that name$"

expect_shown "not saved, all of it" left_over/not_saved.txt "${varies[@]}"

stays
# shellcheck disable=SC2034 # lib.sh's
shown= # the run is in not_saved.txt already
show "$SEEP" ps --discard "$name"
show "$SEEP" ps
expect_no_match "discarded" "$out" "$name"
show "$SEEP" ps --discard "$name"
show "$SEEP" ps --discard "$name" --save "$name"
show "$SEEP" ps -o x.rec
expect_shown "discarded, all of it" left_over/discarded.txt "${varies[@]}"

# ---- a full disk ----
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=64K none small 2>/dev/null; then
	mounted=yes
	head -c 64K /dev/zero >small/full 2>/dev/null
	show "$SEEP" run --dir small ./leaky
	name=$(sed -n 's,^seep: .*No space left.*; the recording stays in .*/,,p' <<<"$err")
	names+=("$name")
	expect_match "full disk: it stays" "$name" '^seep-[0-9]+-[0-9a-f]{16}$'
	show "$SEEP" report "$name"
	expect_match "full disk: read" "$out" '^    main +leaky\.c:3 '
	show "$SEEP" ps --save "$name" -o elsewhere.rec
	show "$SEEP" report elsewhere.rec
	expect_shown "full disk, all of it" left_over/full_disk.txt "${varies[@]}"
else
	left_out "no small file system here"
fi
