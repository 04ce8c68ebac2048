#!/bin/bash
# SPDX-License-Identifier: MIT
# Flame graphs and the HTML page: what the files say, and how they behave in a browser
# (tests/ui).
# timeout: 180
# alone
. "$(dirname "$0")/lib.sh"
need_seep

# 200,000 in all; string_new is called from two places, tiny is a fiftieth of a pixel
# wide.
cat >"$TMP/new.folded" <<'END'
main;load;parse;string_new 28560
main;load;parse;array_new 12880
main;load;read_file 26560
main;serve;handle;session_new 90000
main;serve;handle;string_new 20000
main;serve;cache_put 21997
main;serve;tiny 3
END
cat >"$TMP/before.folded" <<'END'
main;load;parse;string_new 40960
main;load;parse;array_new 20480
main;load;read_file 8192
main;load;legacy_index;legacy_grow 30000
main;serve;handle;session_new 20000
main;serve;handle;log 3000
main;serve;cache_put 12000
worker;std::vector<int>::push_back 64000
END
cat >"$TMP/after.folded" <<'END'
main;load;parse;string_new 40960
main;load;parse;array_new 15480
main;load;read_file 8192
main;serve;handle;session_new 90000
main;serve;handle;log 3500
main;serve;handle;json_parse 29000
main;serve;cache_put 12000
worker;std::vector<int>::push_back 64000
END
# flamegraph.pl: broken lines are left out and counted; --total is what the whole width
# stands for.
printf 'main;a 10\nbroken line\nmain;b 20\n\nagain;broken\n' >"$TMP/broken.folded"
run "$SEEP" flamegraph.pl --total 120 "$TMP/broken.folded"
expect_eq "broken lines: status" "$status" 0
expect_eq "broken lines: a remark" "$err" "seep: $TMP/broken.folded: ignored 2 lines that are not folded stacks (first is line 2)"
expect_match "--total: all" "$out" '<title>all \(120 samples, 100\.00%\)'
expect_match "--total: a share" "$out" '<title>main \(30 samples, 25\.00%\)'
run "$SEEP" flamegraph.pl --total 12 "$TMP/broken.folded"
expect_match "a total that is too small" "$err" '^seep: --total 12 is less than the sum of the figures, 30; ignored$'
expect_match "its picture" "$out" '<title>main \(30 samples, 100\.00%\)'
run "$SEEP" flamegraph.pl "$SEEP"
expect_eq "no stack at all: status" "$status" 3

# The same as one file, as difffolded.pl writes it.
awk '{ v = $NF; sub(/ [0-9]+$/, ""); n[$0] = n[$0]; if (FNR == NR) was[$0] = v; else now[$0] = v }
	END { for (s in n) print s, was[s] + 0, now[s] + 0 }' "$TMP/before.folded" "$TMP/after.folded" |
	sort >"$TMP/diff.folded"
{
	printf 'main;</title></text></g><script>window.broken=1</script> 5000\n'
	printf 'main;</script><img src=x onerror="window.broken=1"> 4000\n'
	printf 'main;]]><script>window.broken=1</script> 3000\n'
	printf 'main;"'\''/><rect onload="window.broken=1"> 2000\n'
	printf 'main;a\377\300\274b\355\240\200\357\277\276 1000\n'
	printf 'main;%s 1000\n' "$(head -c 5000 /dev/zero | tr '\0' 'x')"
} >"$TMP/hostile.folded"

draw() { "$SEEP" flamegraph.pl "$@"; }

# ---- as flamegraph.pl ----

expect_status 0 draw --title 'Heap of x' --countname bytes --colors mem "$TMP/new.folded"
cp "$TMP/out" "$TMP/titles.svg"
expect_match "title" "$out" '<text id="heading" [^>]*>Heap of x</text>'
expect_match "a box says what it is" "$out" '<title>session_new \(90,000 bytes, 45\.00%\)</title>'
expect_match "the root" "$out" '<title>all \(200,000 bytes, 100\.00%\)</title>'
expect_match "too small is counted" "$out" '>1 frame too small to draw</text>'
expect_no_match "and not drawn" "$out" '<title>tiny'
expect_status 0 draw --minwidth 0.01 "$TMP/new.folded"
expect_match "a smaller limit draws it" "$out" 'tiny'
expect_no_match "and then nothing is left out" "$out" 'too small to draw</text>'
expect_status 0 draw --reverse "$TMP/new.folded"
expect_match "callers merged" "$out" '<title>string_new \(48,560 samples, 24\.28%\)</title>'
expect_status 0 draw --factor 2 --width 800 "$TMP/new.folded"
expect_match "factor" "$out" '<title>session_new \(180,000 samples, 45\.00%\)</title>'
expect_match "width" "$out" '<svg [^>]* width="800" '
expect_eq "from standard input" "$(draw <"$TMP/new.folded" | md5sum)" "$(draw "$TMP/new.folded" | md5sum)"
expect_eq "the same every time" "$(draw --cp --hash "$TMP/new.folded" | md5sum)" "$(draw "$TMP/new.folded" | md5sum)"
expect_status 0 draw "$TMP/diff.folded"
expect_match "differences" "$out" '<title>session_new \(20,000 samples → 90,000 samples, \+70,000\)</title>'
expect_no_match "what is gone has no width" "$out" '<title>legacy_grow'
expect_status 2 draw --flamechart "$TMP/new.folded"
expect_match "no order in time" "$err" 'flamechart: a heap profile has no order in time'
expect_status 2 draw --colors nosuch "$TMP/new.folded"
expect_status 2 draw --minwidth wide "$TMP/new.folded"
expect_status 3 draw "$TMP/nosuch.folded"

# ---- well-formed, whatever the names are ----

draw "$TMP/new.folded" >"$TMP/flame.svg"
draw "$TMP/diff.folded" >"$TMP/diff.svg"
draw --title '<script>window.broken=1</script>' --notes ']]>"' --countname '"<b>' "$TMP/hostile.folded" >"$TMP/hostile.svg"
for name in flame diff hostile titles; do
	expect_status 0 /usr/bin/python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$TMP/$name.svg"
done
expect_eq "two scripts, both ours" "$(grep -o '<script' "$TMP/hostile.svg" | wc -l)" 2

# ---- from reports ----

run "$SEEP" report --html "$TMP/page.html" "$TMP/new.folded"
expect_eq "report --html" "$status $out$err" "0 wrote $TMP/page.html"
"$SEEP" report --html "$TMP/page.html" "$TMP/new.folded" 2>/dev/null || fail "report --html"
"$SEEP" report --html "$TMP/hostile.html" "$TMP/hostile.folded" || fail "report --html of hostile names"
"$SEEP" report --flame "$TMP/report.svg" "$TMP/new.folded" || fail "report --flame"
expect_match "a report's flame graph" "$(cat "$TMP/report.svg")" '<title>session_new \(87\.9 KiB, 45\.00%\)</title>'
expect_status 0 "$SEEP" diff --html "$TMP/diff.html" --flame "$TMP/two.svg" "$TMP/before.folded" "$TMP/after.folded"
expect_eq "files are all there is" "$out$err" "wrote $TMP/two.svg
wrote $TMP/diff.html"
titles() { grep -o '<title>[^<]*</title>' "$1" | sed 's/<[^>]*>//g'; }
expect_match "two profiles: grew" "$(titles "$TMP/two.svg")" '^session_new \(19\.5 KiB → 87\.9 KiB, \+68\.4 KiB\)$'
expect_match "two profiles: gone, and drawn" "$(titles "$TMP/two.svg")" '^legacy_grow \(29\.3 KiB → 0 B, −29\.3 KiB\)$'
expect_match "two profiles: the same" "$(titles "$TMP/two.svg")" '^string_new \(40\.0 KiB → 40\.0 KiB, 0 B\)$'
expect_match "two profiles: title" "$(titles "$TMP/two.svg")" "before.folded → $TMP/after.folded\$"
expect_status 0 /usr/bin/python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$TMP/two.svg"
# 263132 now are 198632 before: what only stayed is a smaller part of it.
"$SEEP" diff --normalize --flame - "$TMP/before.folded" "$TMP/after.folded" >"$TMP/scaled.svg"
expect_match "to one size" "$(titles "$TMP/scaled.svg")" '^all \(194 KiB → 194 KiB, 0 B\)$'
expect_match "to one size: less of it" "$(titles "$TMP/scaled.svg")" '^string_new \(40\.0 KiB → 30\.2 KiB, −9\.8'
expect_status 2 "$SEEP" diff --json --flame "$TMP/x.svg" "$TMP/before.folded" "$TMP/after.folded"
expect_status 3 "$SEEP" diff --flame "$TMP/nosuch/x.svg" "$TMP/before.folded" "$TMP/after.folded"
expect_match "cannot be written" "$err" '^seep: .*nosuch/x\.svg'

# ---- in a browser ----

if have node && { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then
	"$ROOT/tests/ui/many.py" 100000 40 >"$TMP/many.folded"
	draw "$TMP/many.folded" >"$TMP/many.svg"
	"$SEEP" report --html "$TMP/many.html" "$TMP/many.folded"
	"$SEEP" run -o "$TMP/run.rec" -- /bin/true >/dev/null 2>&1
	"$SEEP" report --html "$TMP/run.html" "$TMP/run.rec" 2>/dev/null
	"$SEEP" report "$TMP/run.rec" | sed -n 2p >"$TMP/run.verdict"
	run node "$ROOT/tests/ui/check.mjs" "$TMP" ${SEEP_SHOTS:+"$SEEP_SHOTS"}
	grep -v 'passed' <<<"$out"
	counts=$(grep -Eo '^[0-9]+ passed, [0-9]+ failed$' <<<"$out")
	if [ -n "$counts" ]; then
		read -r good _ bad _ <<<"$counts"
		lib_passed=$((lib_passed + good))
		lib_failed=$((lib_failed + bad))
	else
		fail "tests/ui/check.mjs ended with $status" "$out" "$err"
	fi
else
	left_out "no chromium or no node here: nothing was tried in a browser"
fi
