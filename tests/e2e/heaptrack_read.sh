#!/bin/bash
# SPDX-License-Identifier: MIT
# Data files of heaptrack: what a program says it did is what seep reads of a file that
# heaptrack records now, and the sums are those of heaptrack_print, to the byte. Every
# view that can be had of such a file works; raw and spoiled files get one line.
. "$(dirname "$0")/lib.sh"
need_seep
need_command heaptrack heaptrack_print zstd python3
cd "$TMP" || exit

# record NAME PROGRAM ARG...: NAME.zst
record() {
	local name=$1
	shift
	heaptrack -o "$TMP/$name" "$@" >"$name.out" 2>"$name.err" || true
	expect_eq "$name: recorded" "$(test -s "$name.zst" && echo yes)" yes
}

# sums_of NAME: allocations, temporary ones, leaked bytes, bytes at the peak, as
# heaptrack_print and as seep have them.
sums_of() {
	local name=$1 type theirs ours
	for type in allocations temporary leaked peak; do
		heaptrack_print --flamegraph-cost-type $type -F "$name.folded" -p 0 -a 0 -T 0 \
			--disable-builtin-suppressions --disable-embedded-suppressions "$name.zst" >"$name.text"
		theirs=$(awk '{ n += $NF } END { print n + 0 }' "$name.folded")
		case $type in
		allocations) set -- --sample-index alloc_objects ;;
		temporary) set -- --sample-index temporary_objects ;;
		leaked) set -- --sample-index inuse_space ;;
		peak) set -- --sample-index peak ;;
		esac
		"$SEEP" convert "$@" -t folded "$name.zst" - >"$name.seep"
		ours=$(awk '{ n += $NF } END { print n + 0 }' "$name.seep")
		expect_eq "$name: $type as heaptrack_print has it" "$ours" "$theirs"
	done
}

record cases "$(program heaptrack_cases)"
record ten "$(program tensites)"
record python python3 -c 'import json; print(json.dumps(list(range(1000)))[:20])'
for name in cases ten python; do
	sums_of "$name"
done

# ---- what the program says of each function
truth=0
while read -r _ in calls bytes peak end temporary; do
	in=${in#in=}
	case $in in
	Large) in='Box<long' ;;
	Small) in='Box<char' ;;
	esac
	for figure in "alloc_objects ${calls#*=}" "alloc_space ${bytes#*=}" "peak ${peak#*=}" \
		"inuse_space ${end#*=}" "temporary-objects ${temporary#*=}"; do
		"$SEEP" convert --sample-index "${figure% *}" -t folded cases.zst - >one.folded
		expect_eq "$in: $figure" "$(awk -v in_="$in" 'index($0, in_) { n += $NF } END { print n + 0 }' one.folded)" \
			"${figure#* }"
	done
	truth=$((truth + 1))
done < <(grep '^expect ' cases.out)
expect_eq "functions that were compared" $truth 6

# ---- views
run "$SEEP" report cases.zst
expect_match "what it is" "$out" '^heaptrack · live '
run "$SEEP" report cases.zst@peak
expect_match "@peak" "$out" '^at the peak  '
expect_match "@peak: the largest" "$out" '150 KiB .*Box<long, 1009>::make\(\)'
run "$SEEP" timeline --all cases.zst
expect_match "timeline: the peak" "$out" ' 327 KiB '
expect_match "timeline: RSS" "$out" ' [0-9.]+ MiB '
run "$SEEP" churn cases.zst
expect_match "churn: lines" "$out" '^ *41 allocs +1.48 KiB  at_once heaptrack_cases\.cpp:[0-9]+ ← main '
run "$SEEP" report --json cases.zst
expect_eq "json" "$(python3 -c 'import json,sys
d = json.load(sys.stdin)
print(d["format"], d["summary"]["allocs"], d["summary"]["temporary_allocs"])' <<<"$out")" "heaptrack 121 41"
record more "$(program heaptrack_cases)" 30
run "$SEEP" diff cases.zst more.zst
expect_match "diff of two runs with other addresses" "$out" '^STEADY .*\(0 B\)'
run "$SEEP" diff cases.zst more.zst@peak
expect_match "diff with the peak" "$out" '\+149\.8 KiB .*Box<long, 1009>::make\(\)'

# ---- packed otherwise, or not, or through a pipe
zstd -qdc cases.zst >cases.text
gzip -c cases.text >cases.gz
"$SEEP" report cases.zst@peak | tail -n +2 >want
for other in cases.text cases.gz; do
	"$SEEP" report $other@peak | tail -n +2 >got
	expect_eq "$other" "$(cat got)" "$(cat want)"
done
"$SEEP" report --sample-index peak - <cases.zst | tail -n +2 >got
expect_eq "through a pipe" "$(cat got)" "$(tail -n +2 want)"

# ---- large: 10 million events, memory for its tables only
python3 - cases.text <<'END' >large.text
import sys
text = open(sys.argv[1]).read()
sys.stdout.write(text)
for _ in range(50):
    sys.stdout.write("+ 1\n- 1\n" * 100000)
END
zstd -q --rm -o large.zst large.text
(ulimit -v 400000; "$SEEP" report --json large.zst) >large.json
expect_eq "all of its events" "$(python3 -c 'import json; print(json.load(open("large.json"))["summary"]["allocs"])')" 5000121

# ---- what cannot be read
# refused WHAT REGEX COMMAND...
refused() {
	local what=$1 regex=$2
	shift 2
	run "$@"
	expect_eq "$what: status" "$status" 3
	expect_eq "$what: one line" "$(printf '%s\n' "$err" | wc -l)" 1
	expect_match "$what: says why" "$err" "$regex"
}
heaptrack --raw -o "$TMP/raw" "$(program heaptrack_cases)" >/dev/null 2>&1
refused "raw" ': a raw file of heaptrack .* heaptrack_interpret < RAW \| gzip > x\.gz; seep report x\.gz$' "$SEEP" report raw.raw.zst
sed 's/^v \([0-9]*\) 3/v \1 4/' cases.text >later
refused "later version" ': a file of heaptrack of version 4, seep reads 1 to 3; ' "$SEEP" report ./later
head -c 300 cases.zst >short.zst
refused "one block, cut" ': nothing in it can be unpacked$' "$SEEP" report ./short.zst
head -n 40 cases.text | head -c -2 >short
run "$SEEP" report ./short
expect_eq "cut: status" "$status" 0
expect_match "cut: says where" "$out" 'damaged file: a last line that breaks off \(at byte '"$(wc -c <short)"' unpacked\)$'
at=$(grep -n '^+ 1$' cases.text | head -n 1 | cut -d: -f1)
sed "$((at + 1))s/.*/+ zzz/; $((at + 2))s/.*/?/" cases.text >spoiled
run "$SEEP" report ./spoiled
expect_match "spoiled: how many and where" "$out" "damaged file: lines that are not heaptrack's \\(first is line $((at + 1)), at byte [0-9]+ unpacked\\) \\(2 times\\)"
