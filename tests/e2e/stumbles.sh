#!/bin/bash
# SPDX-License-Identifier: MIT
# Figures and words that newcomers stumbled over: each with the command that showed it.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
prog=$(program stumbles) || exit 3
mkdir "$TMP/here" && cd "$TMP/here" || exit 3
cp "$prog" ./sessions

# ---- --fail-on says what it counted ----
run "$SEEP" run -o many.rec --fail-on leak ./sessions
expect_eq "--fail-on leak: status" "$status" 1
expect_match "--fail-on leak: in blocks" "$err" '^seep: --fail-on leak>0: 286 blocks definitely or indirectly lost$'
run "$SEEP" run --no-save --fail-on 'leak-bytes>1K,peak>1K' ./sessions
expect_match "in bytes" "$err" '^seep: --fail-on leak-bytes>1K: 279 KiB \(286,000 bytes\) definitely or indirectly lost$'
expect_match "the peak" "$err" '^seep: --fail-on peak>1K: 280 KiB \(287,000 bytes\) at the peak$'

# ---- more than 1000 % is a factor ----
"$SEEP" run -o one.rec ./sessions once 1 >/dev/null 2>&1
expect_status 0 "$SEEP" diff one.rec many.rec
expect_match "diff: a factor" "$out" '^LEAK  live 1.0 → 280\.3 KiB \(\+279\.3, ×287\)'
LC_ALL=C expect_status 0 "$SEEP" diff one.rec many.rec
expect_match "diff: in ASCII" "$out" ', x287\)'

# ---- why and watch: what did not change is counted, not listed ----
./sessions wait >ready.txt &
pid=$!
trap 'kill "$pid" 2>/dev/null; lib_end' EXIT
wait_for 20 grep -q ready ready.txt
for command in "why $pid --for 1s" "watch $pid --every 100ms --count 3"; do
	# shellcheck disable=SC2086 # several words
	expect_status 0 "$SEEP" $command
	expect_match "$command: how many there are" "$out" '^  [0-9]+ unchanged regions with [0-9.]+ MiB \(--all\)$'
	expect_no_match "$command: none is listed" "$out" '  0 B +/'
	# shellcheck disable=SC2086 # several words
	expect_status 0 "$SEEP" $command --all
	expect_match "$command --all" "$out" '  0 B +/.*/sessions$'
done

# ---- a short watch has enough snapshots for an answer ----
expect_status 0 "$SEEP" watch "$pid" --for 3s
expect_match "watch --for 3s: an answer" "$out" '^(STEADY|GROWING)  '
expect_match "watch --for 3s: snapshots" "$out" ' · ([3-9]|1[01]) snapshots in '

# ---- 80 columns ----
expect_status 0 "$SEEP" --help
expect_eq "--help: too long" "$(awk 'length > 80' <<<"$out")" ""
expect_eq "--help: five commands, by problem" "$(grep -o '^  seep [a-z]*' <<<"$out" | tr -s ' ' | xargs)" \
	"seep run seep attach seep leaks seep report seep diff"
run "$SEEP"
expect_match "without arguments: the same, and status 2" "$status $err" '^2 seep: where did the memory go'
expect_status 0 "$SEEP" help --all
expect_eq "help --all: too long" "$(awk 'length > 80' <<<"$out")" ""
expect_eq "help --all: what stands in for other tools comes last" \
	"$(sed -n '/^In place of other tools:/,/^$/p' <<<"$out" | awk 'NF && NR > 1 { print $1 }' | xargs)" \
	"jeprof pprof mtrace flamegraph.pl memleak valgrind ms_print massif heaptrack heaptrack_print dhat"
expect_match "help --all: one line each" "$out" '^  leaks +find leaked memory in a process, core or recording$'
if have script; then
	TERM=dumb script -qec "stty cols 80; $SEEP why $pid --for 1s; $SEEP attach $pid --for 1s" /dev/null </dev/null |
		sed 's/\r$//; s/\x1b\[[0-9;]*[mK]//g' | tr '\r' '\n' | grep -v examining >wide.txt
	expect_eq "why, attach: too long" "$(awk 'length > 80' wide.txt)" ""
	expect_eq "why, attach: both" "$(grep -cE "^pid $pid \(sessions\), up " wide.txt)" 2
fi

# ---- next: can be pasted ----
expect_status 0 "$SEEP" scan "$pid"
next=$(grep -E '^next: ' <<<"$out")
expect_match "scan: next" "$next" "^next: seep scan --who 0x[0-9a-f]+ $pid \(what keeps a block reachable\) · seep scan --save heap\.scan $pid, later: seep scan --since heap\.scan $pid \(what grows\)$"
who=$(grep -oE '0x[0-9a-f]+' <<<"$next")
expect_status 0 "$SEEP" scan --who "$who" "$pid"
expect_status 0 "$SEEP" scan --save heap.scan "$pid"
expect_status 0 "$SEEP" scan --since heap.scan "$pid"

# ---- taken out by another seep: that is neither an end nor exec ----
"$SEEP" attach "$pid" >attach.txt 2>&1 &
attach=$!
recorded() { "$SEEP" ps | grep -q "^ *$pid "; }
expect_eq "attached" "$(wait_for 20 recorded && echo yes)" yes
expect_status 0 "$SEEP" detach -q "$pid"
wait "$attach"
expect_match "attach: why it ended" "$(cat attach.txt)" 'taken out by seep detach, it runs on$'
expect_no_match "attach: not by exec, and not gone" "$(cat attach.txt)" '(exec of|gone)'

# ---- without any malloc, attach does not send anyone to seep leaks, which would refuse
# ----
cat >arena.c <<'END'
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 600; i++) {
		*(volatile char *)mmap(0, 1 << 16, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
		if (i == 0 && write(1, "ready\n", 6) != 6)
			return 3;
		usleep(100000);
	}
}
END
${CC:-gcc} -o arena arena.c || exit 3
./arena >arena.txt &
arena=$!
trap 'kill "$pid" "$arena" 2>/dev/null; lib_end' EXIT
wait_for 20 grep -q ready arena.txt
expect_status 0 "$SEEP" attach $arena --for 1s
expect_match "no malloc: next" "$err" "^next: seep why $arena \(which regions grow\) · seep attach --for 10m $arena "
expect_no_match "no malloc: nothing for leaks" "$err" 'seep leaks'
expect_status 0 "$SEEP" why $arena --for 1s

# ---- a pool of the program's own, in the shape of an arena of malloc ----
cat >pool.c <<'END'
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MIB ((uintptr_t)1 << 20)
int main(void)
{
	char *a = mmap(0, 128 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *pool = (char *)(((uintptr_t)a + 64 * MIB - 1) & -(64 * MIB));
	munmap(a, pool - a);
	munmap(pool + 64 * MIB, a + 64 * MIB - pool);
	for (int i = 0; i < 63 * 4; i++) {
		mprotect(pool, (i + 1) * MIB / 4, PROT_READ | PROT_WRITE);
		memset(pool + i * MIB / 4, 3, MIB / 4);
		if (i == 3 && write(1, "ready\n", 6) != 6)
			return 3;
		usleep(100000);
	}
}
END
${CC:-gcc} -o pool pool.c || exit 3
./pool >pool.txt &
pool=$!
trap 'kill "$pid" "$arena" "$pool" 2>/dev/null; lib_end' EXIT
wait_for 20 grep -q ready pool.txt
expect_status 0 "$SEEP" why $pool --for 2s
expect_match "a pool: it is a mapping" "$out" '^GROWING  mapping@[0-9a-f]+000000 '
expect_no_match "a pool: not malloc's" "$out" 'arena@'
