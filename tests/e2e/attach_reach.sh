#!/bin/bash
# SPDX-License-Identifier: MIT
# seep attach tells what grows and is lost from what grows and is in use: before it
# detaches it looks through a copy of the process, and says who holds what is reachable.
# So does seep detach. Not if that would stop the process for too long.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
prog=$(program reach) || exit
jemalloc=$(find_library libjemalloc.so.2)

# attached NAME PRELOAD WHAT OPTIONS: attaches for four seconds.
attached() {
	local name=$1 preload=$2 what=$3 pid
	shift 3
	: >"$TMP/$name.said"
	LD_PRELOAD=$preload "$prog" "$what" 1000 >"$TMP/$name.said" &
	pid=$!
	wait_for 20 grep -q ready "$TMP/$name.said"
	"$SEEP" attach "$@" --for 4s --log-file "$TMP/$name.log" -o "$TMP/$name.rec" "$pid" || fail "$name: attach fails"
	grep -c memfd:seep "/proc/$pid/maps" >"$TMP/$name.left"
	kill "$pid"
	wait "$pid" 2>/dev/null
}
attached kept "" kc &
attached lost "" lc &
wait
attached both "" klc --exact &
attached unasked "" lc --max-stop 0 &
# As if it could be attached to in no time, so that only the leak check takes too long.
SEEP_TEST_EXPECT_NS=0 attached short "" lc --max-stop 1us &
[ -z "$jemalloc" ] || attached other "$jemalloc" lc &
wait

first() { head -n 1 "$TMP/$1.log"; }

# Whether the newest block of a leak is in a register still is chance, and whether a block
# that lives for a moment is there.
moment='/^other live memory, largest first:$/,/^    main  reach\.c:79$/d'
for name in kept lost both unasked short ${jemalloc:+other}; do
	expect_golden "$name: all of it" "$(cat "$TMP/$name.log")" "verdicts/attach_$name.txt" live pace \
		's/, [0-9]+ more still reachable//' '/^definitely lost SIZE/s/still reachable (0|SIZE in N blocks?)/still reachable FEW/' "$moment"
done

# A cache that fills is reachable: who has it is said.
expect_match "kept: the first line" "$(first kept)" '^GROWING  1 site: \+[0-9.]+ (± [0-9.]+ )?MiB/min'
expect_match "kept: who holds it" "$(cat "$TMP/kept.log")" '^    [0-9,]+ samples, none freed, .*; held by cache in reach$'
expect_match "kept: rate, word and what it has" "$(cat "$TMP/kept.log")" '^ 1  \+[0-9.]+ (± [0-9.]+ )?MiB/min   GROWING   live [0-9.]+ (± [0-9.]+ )?MiB in [0-9,]+ (± [0-9,]+ )?blocks$'
for log in kept unasked; do
	expect_eq "$log: the site is listed once" "$(grep -cE '^    (cache_put|lose) ' "$TMP/$log.log")" 1
done
expect_match "kept: all of it" "$(cat "$TMP/kept.log")" '^definitely lost 0 · possibly lost 0 · still reachable about [0-9.]+ MiB in '
expect_no_match "kept: no leak anywhere" "$(cat "$TMP/kept.log")" LEAK
expect_match "kept: how long it stood" "$(cat "$TMP/kept.log")" 'stopped [0-9.]+ \+ [0-9.]+ \(leak check\) \+ [0-9.]+ ms'
# 1,000 blocks of 1,000 bytes a second are 57.2 MiB/min.
expect_match "lost: the first line" "$(first lost)" '^LEAK  about [0-9.]+ MiB in [0-9,]+ blocks lost at 1 site, \+[0-9.]+( ± [0-9.]+)? MiB/min'
expect_between "lost: MiB/min" "$(first lost | sed 's/.*+\([0-9]*\).*/\1/')" 35 65
rate='\+[0-9.]+( ± [0-9.]+)? MiB/min'
expect_eq "lost: one rate" "$(first lost | grep -oE "$rate" | head -n 1)" "$(grep -E '^    LEAK ' "$TMP/lost.log" | grep -oE "$rate")"
expect_match "lost: the place" "$(cat "$TMP/lost.log")" '^    lose +reach\.c:'
expect_no_match "lost: it is certain" "$(cat "$TMP/lost.log")" 'LEAK likely'
# Exact: to the byte.
expect_match "both: the leak first" "$(first both)" '^LEAK  [0-9.]+ MiB in [0-9,]+ blocks lost at 1 site'
expect_match "both: then what grows" "$(sed -n 2p "$TMP/both.log")" '^GROWING  1 site: '
run "$SEEP" report --json "$TMP/both.rec"
expect_eq "both: bytes a block" "$(jq -r '[.sites[] | select(.leaks.definite_blocks > 0) | .leaks | .definite_bytes / .definite_blocks] | @csv' "$TMP/out")" 1000
expect_eq "both: words and holders" "$(jq -r '.frames as $f | [.sites[] | select(.growth.grew > 5) | "\($f[.stack[.shown_from]].function) \(.verdict)\(if .verdict == "LEAK" then "" else " " + .held_by end)"] | sort | join(", ")' "$TMP/out")" \
	"cache_put GROWING cache in reach, lose LEAK"
# The kinds, and what is too young for them, are all that is live.
for name in kept lost both; do
	run "$SEEP" report --json "$TMP/$name.rec"
	expect_json "$name: nothing is left out" "$TMP/out" '.summary | .left_blocks - (.leaks | .definite_blocks + .indirect_blocks + .possible_blocks +
		.reachable_blocks + .younger_blocks)' 0
done

# Without the check: as before, and the command that would tell.
for name in unasked short; do
	expect_no_match "$name: nothing is certain" "$(cat "$TMP/$name.log")" '^LEAK  |definitely lost'
	expect_match "$name: next" "$(cat "$TMP/$name.log")" '^next: seep leaks [0-9]+ \(leaks so far, and owners of memory\)'
done
expect_match "short: why" "$(cat "$TMP/short.log")" '^no leak check: it would stop the process for about .*, more than --max-stop allows \(1 (us|µs)\)'
if [ -n "$jemalloc" ]; then
	expect_match "another allocator" "$(first other)" '^LEAK  about [0-9.]+ MiB in [0-9,]+ blocks lost at 1 site'
else
	left_out "no jemalloc here"
fi
expect_eq "nothing stays" "$(cat "$TMP"/*.left | sort -u)" 0

# The same in two commands.
: >"$TMP/said"
"$prog" lc 1000 >"$TMP/said" &
pid=$!
wait_for 20 grep -q ready "$TMP/said"
run "$SEEP" attach --stay "$pid"
sleep 3
expect_status 3 "$SEEP" leaks --max-stop 1us "$pid"
expect_match "why" "$err" 'it would stop the process for about .*, more than --max-stop allows'
run "$SEEP" detach "$pid"
kill "$pid"
# Looked at once, so that only ages tell how fast it is: on a slow machine they do not.
expect_golden "detach: all of it" "$out" verdicts/detach.txt live pace '1s/, ([0-9,]+ times|\+N MiB\/min)(; LIMIT reached in about N s)?$/, PACE/; /^    LEAK  /d' \
	's/, [0-9]+ more still reachable//' '/^definitely lost SIZE/s/still reachable (0|SIZE in N blocks?)/still reachable FEW/' "$moment"
expect_match "detach" "$(head -n 1 "$TMP/out")" '^LEAK  about [0-9.]+ MiB in [0-9,]+ blocks lost at 1 site'
expect_match "its figures" "$out" '^definitely lost about [0-9.]+ MiB'

# What hangs on lost blocks is lost through them: a fifth of all, sampled as well.
begin "$(program lost_pairs)"
run "$SEEP" attach --for 3s --max-stop 20s --json "$pid"
expect_json "through: JSON" "$TMP/err" \
	'[.sites[] | select(.leaks.definite_bytes > 0) | .lost_through_bytes / (.leaks.definite_bytes + .lost_through_bytes) | . > 0.12 and . < 0.3] | unique' '[true]'
run "$SEEP" attach --for 3s --max-stop 20s "$pid"
expect_match "through: in words" "$err" '^ 1  [0-9.]+ [KM]iB \+ [0-9.]+ [KM]iB through it  100 % '
kill "$pid"
wait "$pid" 2>/dev/null || true
