#!/bin/bash
# SPDX-License-Identifier: MIT
# Which places grow: programs that leak slowly among a dozen places that go up and down, and programs
# that only look like it (lib_growth.py writes them). Each leak must be called `LEAK likely` at its
# own file and line and nothing else may be; exact, and sampled where 60 samples are expected of it.
# `make soak` takes 24 of each kind and counts; else four of each, and a program that came out
# wrong gets two more chances: a machine under load can hold one up for as long as an interval.
. "$(dirname "$0")/lib.sh"
# timeout: 600
need_seep
need_libseep
need_command jq python3 xargs
mkdir "$TMP/gen"
python3 "$ROOT/tests/e2e/lib_growth.py" "$TMP/gen" 24 || exit
cd "$TMP/gen" || exit
if [ -n "$SOAK" ]; then
	cp list chosen
else
	grep -E '^(leak_0[1469]|quiet_(00|01|05|10)) ' list >chosen
fi
cut -d ' ' -f 1 chosen | xargs -P 2 -I NAME "${CC:-gcc}" -g -O1 -fno-builtin -o NAME NAME.c -pthread ||
	{ echo "cannot build the programs"; exit 3; }

# record_all MODE: all in `todo`, eight at a time: they mostly sleep.
record_all() {
	# shellcheck disable=SC2016 # for the shell of xargs
	MODE=$1 SEEP=$SEEP xargs -P 8 -L 1 sh -c '
		if [ "$MODE" = sampled ]; then set -- "$@" --sample "$4"; fi
		shift 4
		"$SEEP" run --every 0.1 "$@" --json --log-file "$0.$MODE.json" -o "$0.$MODE.rec" "./$0" \
			>/dev/null 2>"$0.$MODE.err"' <todo
}

# judge MODE: a line for each in `todo`: NAME, and what is wrong or "right". Two frames may show
# no line of the program's own before the one that does, as those of strdup.
judge() {
	local name truth line leaks
	while read -r name truth _ line _; do
		leaks=$(jq -r --arg file "$name.c" '.frames as $f | .sites[]
			| select(.growth.verdict == "LEAK likely")
			| first(.stack[.shown_from:][] | $f[.] | select(.line != null)
				| select(.file | endswith("/" + $file)) | .line), "nowhere"' "$name.$1.json" 2>/dev/null |
			grep -v nowhere | sort -u | tr '\n' ' ')
		if [ "$truth" = leak ] && [ "$leaks" = "$line " ]; then
			echo "$name right"
		elif [ "$truth" = quiet ] && [ -z "$leaks" ] && [ -s "$name.$1.json" ]; then
			echo "$name right"
		else
			echo "$name wrong: $truth at $line, found ${leaks:-nothing}"
		fi
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
		expect_between "$mode: leaks found, of 24" $((24 - missed)) 23 24
		expect_between "$mode: programs falsely accused, of 24" "$false" 0 1
	else
		expect_eq "$mode: wrong after $try tries" "$(cat wrong)" ""
	fi
done

# What else is said. leak_01 leaks by chance; quiet_00 is a cache that is full after half the time.
line=$(awk '$1 == "leak_01" { print $4 }' list)
run "$SEEP" report --all leak_01.exact.rec
expect_match "the place" "$out" "subject +leak_01\.c:$line"
expect_match "the evidence" "$out" \
	'^    LEAK likely  \+[0-9.]+( ± [0-9.]+)? [KM]iB/min, [0-9]+ blocks, none freed, grew in (9|10) of 10 intervals, oldest [0-9.]+ s$'
expect_match "lost, so it is a leak and no mere growth" "$out" '^LEAK  [0-9.]+ KiB in [0-9]+ blocks lost at 1 site, '
run "$SEEP" report --json leak_01.exact.rec
cp "$TMP/out" again.json
expect_eq "saved and read again" "$(jq -c .summary.growth again.json)" "$(jq -c .summary.growth leak_01.exact.json)"
run "$SEEP" report quiet_00.sampled.rec
expect_match "the limit when sampled" "$out" 'a leak slower than [0-9.]+ [KM]iB/min would not show in [0-9.]+ s$'
expect_json "the limit: 13 samples in that time" quiet_00.sampled.json \
	'.summary.growth | .limit_bytes_per_second * .ms / 1000 / 13 | round' 1000
run "$SEEP" report quiet_10.exact.rec
expect_no_match "freed at exit: no leak" "$out" 'LEAK likely'
expect_json "but held" quiet_10.exact.json '[.sites[] | select(.growth.verdict == "HELD")] | length' 1

# Not looked at, or not for long: nothing is said of growth.
expect_status 0 "$SEEP" run --every 0 --json --log-file none.json -o none.rec -- ./quiet_00
expect_json "never looked at" none.json '.summary.growth.judged // false' false
expect_status 0 "$SEEP" run -o short.rec -- /bin/true
expect_no_match "too short to say" "$err" 'growth|GROWTH'
