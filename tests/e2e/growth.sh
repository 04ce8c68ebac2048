#!/bin/bash
# SPDX-License-Identifier: MIT
# Which sites grow: programs that leak slowly among a dozen sites that go up and down, and
# programs that only look like it (lib_growth.py writes them). A leak that frees most of
# its blocks must be `LEAK likely` at its own file and line, one that never freed any
# `GROWING`, and nothing else may be `LEAK likely`; exact, and sampled where 60 samples
# are expected of it. `make soak` takes 26 of each kind and counts; else six and four, and
# a program that came out wrong gets two more chances: a machine under load can hold one
# up for as long as an interval.
. "$(dirname "$0")/lib.sh"
# timeout: 600
need_seep
need_libseep
need_command jq python3 xargs
mkdir "$TMP/gen"
python3 "$ROOT/tests/e2e/lib_growth.py" "$TMP/gen" 26 || exit
cd "$TMP/gen" || exit
if [ -n "$SOAK" ]; then
	cp list chosen
else
	grep -E '^(leak_(01|04|06|10|11|12)|quiet_(00|01|05|10)) ' list >chosen
fi
cut -d ' ' -f 1 chosen | xargs -P 2 -I NAME "${CC:-gcc}" -g -O1 -fno-builtin -o NAME NAME.c -pthread ||
	{ echo "cannot build the programs"; exit 3; }

# record_all MODE: all in `todo`, twelve at a time: they mostly sleep.
record_all() {
	# shellcheck disable=SC2016 # for the shell of xargs
	MODE=$1 SEEP=$SEEP xargs -P 12 -L 1 sh -c '
		if [ "$MODE" = sampled ]; then set -- "$@" --sample "$4"; fi
		shift 4
		"$SEEP" run --growth-interval 0.1 "$@" --json --log-file "$0.$MODE.json" -o "$0.$MODE.rec" "./$0" \
			>/dev/null 2>"$0.$MODE.err"' <todo
}

# lines NAME MODE WORD: the lines of the program at which a site has this word. Two frames
# may show no line of the program's own before the one that does, as those of strdup.
lines() {
	jq -r --arg file "$1.c" --arg word "$3" '.frames as $f | .sites[]
		| select(.growth.verdict == $word)
		| first(.stack[.shown_from:][] | $f[.] | select(.line != null)
			| select(.file | endswith("/" + $file)) | .line), "nowhere"' "$1.$2.json" 2>/dev/null |
		grep -v nowhere | sort -u | tr '\n' ' '
}

# judge MODE: a line for each in `todo`: NAME, and what is wrong or "right".
judge() {
	local name truth line leaks grows
	while read -r name truth _ line _; do
		leaks=$(lines "$name" "$1" "LEAK likely")
		grows=$(lines "$name" "$1" GROWING)
		case $truth in
		frees) [ "$leaks" = "$line " ] ;;
		keeps) [ -z "$leaks" ] && [[ " $grows" = *" $line "* ]] ;;
		quiet) [ -z "$leaks" ] && [ -s "$name.$1.json" ] ;;
		esac && echo "$name right" ||
			echo "$name wrong: $truth at $line, LEAK likely ${leaks:-nowhere}, GROWING ${grows:-nowhere}"
	done <todo
}

for mode in exact sampled; do
	cp chosen todo
	for try in 1 2 3; do
		record_all $mode
		judge $mode >"verdicts.$mode.$try"
		[ -z "$SOAK" ] || break
		grep -v 'right$' "verdicts.$mode.$try" | cut -d ' ' -f 1 >wrong
		[ -s wrong ] || break
		grep -w -F -f wrong chosen >todo
	done
	if [ -n "$SOAK" ]; then
		grep wrong "verdicts.$mode.1"
		missed=$(grep -c '^leak.*wrong' "verdicts.$mode.1")
		false=$(grep -c '^quiet.*wrong' "verdicts.$mode.1")
		expect_between "$mode: leaks found, of 26" $((26 - missed)) 24 26
		expect_between "$mode: programs falsely accused, of 26" "$false" 0 1
	else
		expect_eq "$mode: wrong after $try tries" "$(cat wrong)" ""
	fi
done

# What else is said. leak_06 forgets a free on a rare path, leak_01 leaks by chance,
# quiet_00 is a cache that is full after half the time, and quiet_10 frees everything at
# exit.
line=$(awk '$1 == "leak_06" { print $4 }' list)
run "$SEEP" report --all leak_06.exact.rec
expect_match "the site" "$out" "subject +leak_06\.c:$line"
expect_match "the evidence" "$out" \
	'^    LEAK  \+[0-9.]+( ± [0-9.]+)? [KM]iB/min, most blocks are freed right away; of [0-9]+ blocks that lived longer than [0-9.]+ (ms|s) none was freed \(oldest: [0-9.]+ s\)$'
line=$(awk '$1 == "leak_01" { print $4 }' list)
run "$SEEP" report --all leak_01.exact.rec
expect_match "how it grew" "$out" \
	'^    LEAK  .*, [0-9]+ blocks, none freed, grew in [0-9]+ of (10|20) intervals, oldest [0-9.]+ s$'
expect_match "lost, so it is a leak and no mere growth" "$out" '^LEAK.* [0-9.]+ KiB in [0-9]+ blocks lost at 1 site, '
expect_match "with its line" "$out" "subject +leak_01\.c:$line"
run "$SEEP" report --all leak_01.sampled.rec
expect_match "why it is only growing" "$out" \
	'^    [0-9]+ samples, none freed, grew in [0-9]+ of (10|20) intervals, oldest [0-9.]+ s; a cache that fills looks the same$'
# A leak of which most blocks are freed, by its samples. What else is live is chance.
run "$SEEP" report leak_06.sampled.rec
expect_golden "all that is said" "$out" verdicts/likely.txt live brief \
	'/^other live memory/,/^(    [0-9]+ more site|exited)/{/^exited/!d}; s/N of N samples|of [0-9]+ samples/of N samples/'
expect_json "the reason" leak_01.exact.json '[.sites[].growth | select(.why == "never-freed")] | length' 1
run "$SEEP" report --json leak_06.exact.rec
cp "$TMP/out" again.json
expect_eq "saved and read again" "$(jq -c .summary.growth again.json)" "$(jq -c .summary.growth leak_06.exact.json)"
expect_json "the limit: 27 samples in that time" quiet_00.sampled.json \
	'.summary.growth | .limit_bytes_per_second * .ms / 1000 / 27 | round' 1000
run "$SEEP" report quiet_10.exact.rec
expect_no_match "freed at exit: no leak" "$out" 'LEAK likely'

# Not looked at, or not for long: nothing is said of growth.
expect_status 0 "$SEEP" run --growth-interval 0 --json --log-file none.json -o none.rec -- ./quiet_00
expect_json "never looked at" none.json '.summary.growth.judged // false' false
expect_status 0 "$SEEP" run -o short.rec -- /bin/true
expect_no_match "too short to say" "$err" 'growth|GROWTH'
