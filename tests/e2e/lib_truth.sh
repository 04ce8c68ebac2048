# shellcheck shell=bash disable=SC2016,SC2013 # jq has variables of its own; pids are words
# SPDX-License-Identifier: MIT
# What programs say about themselves (tests/programs/truth.h), compared with what seep
# saw.

# The figures of one JSON report in the words of the program's own lines:
# `expect in=FUNCTION KEY=N…` is about all sites with FUNCTION on their stack, `in=*`
# about the whole of it, `lost=REASON` about what is missing. Prints
# `LINE<TAB>GOT<TAB>WANTED`.
truth_filter='
. as $all | .frames as $frames
| [.sites[] | . + {names: ([.stack[] | $frames[.].function] | unique)}] as $sites
| $lines | split("\n")[] | select(startswith("expect "))
| [.[7:] | split(" ")[] | select(. != "") | split("=") | {key: .[0], value: .[1]}] as $words
| (if $words[0].value == "*" then [$all.totals]
   else [$sites[] | select(.names | index($words[0].value))] end) as $rows
| [$words[1:][] | .key as $key
   | {want: "\($key)=\(.value)",
      got: "\($key)=\([$rows[] | .[$key]] | add // 0)"}] as $cmp
| "in \($words[0].value)\t\([$cmp[].got] | join(" "))\t\([$cmp[].want] | join(" "))"'

# expect_truth WHAT JSON TEXT: every `expect` line of TEXT agrees with the report in JSON;
# there must be one.
expect_truth() {
	local what=$1 line got want any=
	while IFS=$'\t' read -r line got want; do
		any=yes
		expect_eq "$what: $line" "$got" "$want"
	done < <(jq -r --arg lines "$3" "$truth_filter" "$2" 2>&1)
	[ -n "$any" ] || fail "$what" "the program said nothing, or no JSON came:" "$3" "$(head -c 2000 "$2")"
}

# expect_nothing_lost WHAT JSON [KEY]: no process of the report misses anything, but for
# what is counted under KEY.
expect_nothing_lost() {
	expect_json "$1: nothing lost" "$2" \
		"[.processes[].lost | to_entries[] | select(.value != 0 and .value != false and .key != \"${3:-}\")]" '[]'
}

# record PROGRAM ARGS...: records it (options of `seep run` in the array $options), with
# the report in $TMP/json, the recording in $TMP/rec, the rest as `run` leaves it.
options=()
record() {
	rm -f "$TMP/json" "$TMP/rec"
	run "$SEEP" run --json --log-file "$TMP/json" -o "$TMP/rec" "${options[@]}" -- "$@"
	# Any run may come upon what somebody else's left behind, and says so.
	err=$(grep -v '^seep: saved .* left behind by' <<<"$err")
}

# expect_processes WHAT TEXT: the same for each process apart, from lines `at PID expect
# …` and `at PID inherited N|any`, with the recording in $TMP/rec.
expect_processes() {
	local what=$1 pid said
	for pid in $(sed -n 's/^at \([0-9]*\) .*/\1/p' <<<"$2" | sort -un); do
		said=$(sed -n "s/^at $pid //p" <<<"$2")
		"$SEEP" report --all --json --process "$pid" "$TMP/rec" >"$TMP/json.$pid" 2>&1
		expect_truth "$what, process" "$TMP/json.$pid" "$said"
		grep -q '^inherited any' <<<"$said" || expect_json "$what, process: inherited" \
			"$TMP/json.$pid" '[.processes[].lost.frees_inherited] | add' \
			"$(sed -n 's/^inherited //p' <<<"$said" | grep . || echo 0)"
		expect_json "$what, process: lost" "$TMP/json.$pid" \
			'[.processes[].lost | del(.frees_inherited) | to_entries[]
			| select(.value != 0 and .value != false)]' '[]'
	done
}
