#!/bin/bash
# SPDX-License-Identifier: MIT
# A cache whose entries live longer than seep attach looks on keeps all that it is seen to
# allocate, but it is no leak: the entries that go are older than the recording. A leak
# beside it is one. Of the watched program (turnover.c) as much goes as comes, whatever
# the machine does meanwhile.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
prog=$(program turnover) || exit
jemalloc=$(find_library libjemalloc.so.2)

# look NAME PRELOAD OPTIONS -- ARGS: attaches to a turnover for six seconds.
look() {
	local name=$1 preload=$2 pid opts=()
	shift 2
	while [ "$1" != -- ]; do
		opts+=("$1")
		shift
	done
	shift
	: >"$TMP/$name.said"
	LD_PRELOAD=$preload "$prog" "$@" 60 >"$TMP/$name.said" &
	pid=$!
	wait_for 20 grep -q ready "$TMP/$name.said"
	"$SEEP" attach "${opts[@]}" --max-stop 0 --for 6s --json --log-file "$TMP/$name.json" -o "$TMP/$name.rec" "$pid"
	kill "$pid"
	wait "$pid" 2>/dev/null
}
# of NAME FUNCTION: what is said of the place in it.
of() {
	jq -r --arg f "$2" '.frames as $frames | .sites[] | select($frames[.stack[.shown_from]].function == $f)
		| .growth | "\(.verdict) \(.why)"' "$TMP/$1.json"
}
# A machine under load can hold a program up for as long as an interval: what leaks has
# three chances to do so evenly.
for try in 1 2 3; do
	[ $try -gt 1 ] || {
		look cache "" -- 1000 0 &
		look cache_exact "" --exact -- 1000 0 &
		look same "" --exact -- 1000 1000 &
	}
	look leak "" --sample 256 -- 0 2000 &
	look both "" --sample 256 -- 1000 2000 &
	look both_exact "" --exact -- 1000 2000 &
	if [ -n "$jemalloc" ]; then
		look other_cache "$jemalloc" --exact -- 4000 0 &
		look other_leak "$jemalloc" --exact -- 0 8000 &
	fi
	wait
	for name in leak both both_exact ${jemalloc:+other_leak}; do
		[ "$(of "$name" lose)" = "LEAK likely null" ] || continue 2
	done
	break
done

# number NAME FIELD: of the growth of cache_put.
number() {
	jq -r --arg f "$2" '.frames as $frames | .sites[] | select($frames[.stack[.shown_from]].function == "cache_put")
		| .growth[$f] // 0 | round' "$TMP/$1.json"
}

# One that comes and goes unevenly is steady in any case.
for name in cache cache_exact both both_exact; do
	expect_match "$name: the cache" "$(of $name cache_put)" '^(STEADY|GROWING) '
	[[ "$(of $name cache_put)" = *older ]] || continue
	# 250 of 1,008 bytes in a second go, and are counted by some hundred of them.
	expect_between "$name: older blocks freed, bytes a second" "$(number $name older_freed_bytes_per_second)" 60000 600000
done
expect_match "one of them by what is older" "$(of cache cache_put)$(of cache_exact cache_put)$(of both cache_put)$(of both_exact cache_put)" older
for name in leak both both_exact; do
	expect_eq "$name: the leak" "$(of $name lose)" "LEAK likely null"
done
# Of one size, who can tell? One of both grows.
expect_match "a leak of the cache's size" "$(of same lose)" '^(GROWING|STEADY) '

# Saved and asked again.
run "$SEEP" report "$TMP/both_exact.rec"
expect_match "the place that leaks, first" "$(sed -n 2p <<<"$out")" '^LEAK likely  1 site: '
run "$SEEP" report --all "$TMP/both_exact.rec"
expect_match "the cache, in words" "$out" 'keeps [0-9.]+ [KM]iB/min, while [0-9.]+ [KM]iB/min of older blocks of these sizes are freed'
expect_match "its line" "$out" 'cache_put +turnover\.c:'

# Where malloc's lists cannot be read, its resident memory tells.
if [ -n "$jemalloc" ]; then
	expect_match "jemalloc: the cache" "$(of other_cache cache_put)" '^(STEADY|GROWING) '
	expect_eq "jemalloc: the leak" "$(of other_leak lose)" "LEAK likely null"
else
	left_out "no jemalloc here"
fi

# Also without anybody there: --stay, and meanwhile. What there is of resident memory is
# accounted for. stay ARGS: four seconds of a turnover; it goes on, and is $pid.
stay() {
	: >"$TMP/said"
	"$prog" "$@" 60 >"$TMP/said" &
	pid=$!
	wait_for 20 grep -q ready "$TMP/said"
	"$SEEP" attach --stay --exact "$pid" 2>"$TMP/stay.err" || fail "not attached" "$(cat "$TMP/stay.err")"
	sleep 4
}
for _ in 1 2 3; do
	stay 1000 0
	run "$SEEP" report "$pid"
	cp "$TMP/out" "$TMP/meanwhile"
	run "$SEEP" detach --max-stop 0 "$pid"
	kill "$pid"
	grep -q 'older blocks' "$TMP/meanwhile" && grep -q 'older blocks' "$TMP/out" && break
done
expect_match "asked meanwhile" "$(cat "$TMP/meanwhile")" 'older blocks of these sizes are freed'
expect_match "in the end" "$out" 'older blocks of these sizes are freed'
expect_no_match "not a leak" "$out" 'LEAK likely|reached in about'
line=$(grep '^RSS [0-9.]* MiB = ' <<<"$out")
expect_match "where its memory is" "$line" '= live [0-9.]+ \+ free but kept by malloc [0-9.]+ .*stacks [0-9.]+ \+ files [0-9.]+'
expect_eq "all of it" "$(awk '{ sum = -$2; for (i = 4; i <= NF; i++) if ($i ~ /^[0-9.]+$/) sum += $i
	print (sum < 0.06 && sum > -0.06) ? "adds up" : "is off by " sum }' <<<"$line")" "adds up"
for _ in 1 2 3; do
	stay 0 2000
	run "$SEEP" detach --max-stop 0 "$pid"
	kill "$pid"
	grep -q '^LEAK likely' "$TMP/out" && break
done
expect_match "a leak: until when" "$(head -n 1 <<<"$out")" "; (memory limit|the machine's memory) reached in about [0-9]"
