#!/bin/bash
# SPDX-License-Identifier: MIT
# DHAT's JSON: what valgrind writes now is read figure by figure as it stands there; what
# seep writes of a recording is what the program says it did, and valgrind's own viewer
# shows it, in a browser.
. "$(dirname "$0")/lib.sh"
# timeout: 240
need_seep
need_libseep
need_command valgrind python3
cases=$(program heaptrack_cases)
cd "$TMP" || exit

cat >points.py <<'END'
"""Figures of a file's program points, sorted; or the sums of them."""
import json
import sys
file = json.load(open(sys.argv[2]))
keys = ("tb", "tbk", "mb", "gb", "gbk", "eb", "ebk")
rows = sorted(tuple(p.get(k, 0) for k in keys) for p in file["pps"])
if sys.argv[1] == "all":
    for row in rows:
        print(*row)
else:
    print(*(sum(column) for column in zip(*rows)))
END

# ---- reading
for run in "cases $cases 5" "ls ls -lR $ROOT/src/guest"; do
	read -r name words <<<"$run"
	# shellcheck disable=SC2086 # words of a command
	valgrind -q --tool=dhat --dhat-out-file="$name".json $words >/dev/null 2>&1
	expect_status 0 "$SEEP" convert --no-skip --to dhat "$name".json "$name".again
	expect_eq "$name: every program point" "$(python3 points.py all "$name".again)" "$(python3 points.py all "$name".json)"
	read -r tb tbk _ gb _ eb ebk <<<"$(python3 points.py sums "$name".json)"
	run "$SEEP" report --json "$name".json
	expect_eq "$name: totals" "$(python3 -c 'import json, sys
t = json.load(sys.stdin)["totals"]
print(t["allocated_bytes"], t["allocs"], t["live_bytes"], t["live_blocks"])' <<<"$out")" "$tb $tbk $eb $ebk"
	for figure in "peak $gb" "alloc_space $tb" "alloc_objects $tbk" "inuse_space $eb"; do
		"$SEEP" convert --sample-index "${figure% *}" --no-skip -t folded "$name".json - >now.folded
		expect_eq "$name: $figure" "$(awk '{ n += $NF } END { print n + 0 }' now.folded)" "${figure#* }"
	done
done
expect_status 0 "$SEEP" report cases.json@peak
expect_match "@peak" "$out" '150 KiB .*  Box<long, 1009>::make\(\)$'
expect_status 0 "$SEEP" diff cases.json cases.json@peak
expect_match "diff" "$out" '\+149\.8 KiB .*Box<long, 1009>::make'

# ---- writing: of a recording, what the program says
"$SEEP" run -o cases.rec "$cases" 20 >truth 2>/dev/null
expect_status 0 "$SEEP" convert cases.rec cases.dhat.json
cat >truth.py <<'END'
import json
import sys
file = json.load(open(sys.argv[1]))
assert file["dhatFileVersion"] == 2 and file["mode"] == "heap" and file["tu"] == "µs"
assert file["bklt"] is True and file["bkacc"] is False and file["ftbl"][0] == "[root]"
assert 0 <= file["tg"] <= file["te"]  # in whole milliseconds
for line in open(sys.argv[2]):
    if not line.startswith("expect "):
        continue
    want = dict(word.split("=") for word in line.split()[1:])
    name = {"Large": "Box<long, 1009>::make", "Small": "Box<char, 211>::make"}.get(want["in"], want["in"])
    mine = [p for p in file["pps"] if f": {name} (" in file["ftbl"][p["fs"][0]]]
    got = {key: sum(p[short] for p in mine)
           for key, short in (("calls", "tbk"), ("bytes", "tb"), ("peak", "gb"), ("end", "eb"), ("life", "tl"))}
    print(want["in"], all(str(got[k]) == want[k] for k in ("calls", "bytes", "peak", "end")),
          0 <= got["life"] <= got["calls"] * file["te"])
END
expect_eq "each function" "$(python3 truth.py cases.dhat.json truth | sort)" "Large True True
Small True True
at_once True True
deeper True True
grow True True
leave True True"
expect_status 0 "$SEEP" report cases.dhat.json
expect_match "read back" "$out" '^dhat · live .* · peak 327 KiB in 60 blocks · allocated 344 KiB in 121 blocks$'
# Without lifetimes: they are left out, not 0.
"$SEEP" convert "$ROOT/tests/golden/heaptrack/cases.zst" from.dhat 2>/dev/null
expect_eq "heaptrack's files have no lifetimes" "$(grep -c '"tl"' from.dhat)" 0
# Without what is allocated there is nothing to write; without a peak, less.
echo 'main;f 7' >live.folded
expect_status 3 "$SEEP" convert live.folded live.dhat
expect_match "folded stacks have no allocations" "$err" "^seep: .*DHAT's format is about allocated memory, "
expect_eq "nothing was written" "$([ -e live.dhat ] || echo nothing)" nothing

# ---- seep dhat
expect_status 0 "$SEEP" dhat --dhat-out-file=mine.dhat "$cases" 5
expect_match "the program's own output" "$out" '^expect in=grow '
expect_match "says what is written" "$err" "^wrote mine\.dhat\$"
expect_eq "and how to look at it" "$(tail -n 1 "$TMP/err")" \
	"seep: open mine.dhat in valgrind's dh_view.html, or: seep report mine.dhat"
expect_eq "the figures" "$(python3 truth.py mine.dhat truth | grep -c 'True True$')" 6
expect_status 0 "$SEEP" report mine.dhat.rec
expect_status 7 "$SEEP" dhat sh -c 'exit 7'
expect_eq "without a name" "$(find . -name 'dhat.out.*' ! -name '*.rec' | wc -l)" 1
expect_status 127 "$SEEP" dhat --dhat-out-file=none ./nosuch
expect_eq "nothing written" "$(find . -name 'none*') $(wc -l <"$TMP/err")" " 1"
echo mine >kept
expect_status 2 "$SEEP" dhat --dhat-out-file=kept "$cases" 5
expect_eq "a file that is not seep's, and no run" "$(cat kept) $out" "mine "

# ---- valgrind's own viewer
viewer=
for folder in /usr/libexec/valgrind /usr/lib/valgrind /usr/lib/x86_64-linux-gnu/valgrind; do
	[ -e $folder/dh_view.js ] && viewer=$folder
done
if [ -z "$viewer" ]; then
	left_out "no dh_view.html here"
elif { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then
	for file in cases.dhat.json from.dhat; do
		read -r tb tbk _ gb gbk eb ebk <<<"$(python3 points.py sums $file)"
		python3 "$ROOT/tests/ui/dhat.py" $viewer $file >shown
		text=$(sed 's/,//g' shown)
		expect_match "$file: command" "$text" '^  Command: .*heaptrack_cases'
		expect_match "$file: total" "$text" "^    Total: +$tb bytes \\(100%.* in $tbk blocks \\(100%"
		expect_match "$file: at the peak" "$text" "^    At t-gmax: +$gb bytes \\(100%\\) in $gbk blocks "
		expect_match "$file: at the end" "$text" "^    At t-end: +$eb bytes \\(100%\\) in $ebk blocks "
		expect_match "$file: a frame" "$text" '#1: .*Box<long 1009>::make.* \(.*heaptrack_cases\.cpp:[0-9]+\)$'
	done
else
	left_out "no chromium here: dh_view.html was not tried"
fi

# ---- what cannot be read
refused() {
	expect_status 3 "$SEEP" report "$2"
	expect_match "$1" "$err" "^seep: $2: $3"
	expect_eq "$1: one line" "$(wc -l <"$TMP/err")" 1
}
head -c 700 cases.json >cut.json
refused "cut" cut.json 'a file of DHAT that cannot be read: byte [0-9]+: '
sed 's/"dhatFileVersion":2/"dhatFileVersion":3/' cases.json >later.json
refused "later" later.json 'a file of DHAT of version 3, seep reads 2; open it in '
sed 's/"mode":"heap"/"mode":"copy"/' cases.json >copy.json
refused "copies" copy.json 'a file of DHAT, but not of the heap: mode "copy"; '
sed 's/"fs":\[1,/"fs":[1,9999,"x",/; s/"ebk":0/"ebk":99999999/' cases.json >odd.json
expect_status 0 "$SEEP" report odd.json
expect_match "frames" "$out" 'damaged file: frames that are not in the file \([0-9]+ times\)$'
expect_match "points" "$out" 'damaged file: program points that make no sense \([0-9]+ times\)$'
