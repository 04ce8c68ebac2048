#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep heaptrack_print`: byte for byte what heaptrack_print prints of files that
# heaptrack records now, with each option; what differs is what docs/differences.md says.
# And the same of a recording of seep's own.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command heaptrack heaptrack_print ms_print python3 zstd
cd "$TMP" || exit

# record NAME PROGRAM ARG...: NAME.zst
record() {
	local name=$1
	shift
	heaptrack -o "$TMP/$name" "$@" >/dev/null 2>&1 || true
	expect_eq "$name: recorded" "$(test -s "$name.zst" && echo yes)" yes
}

record cases "$(program heaptrack_cases)" 100
record again "$(program heaptrack_cases)" 5
record ls ls -lR /usr/lib/ssl
record more ls -lR "$ROOT/src/guest"

# same OPTION... FILE: both print the same
same() {
	heaptrack_print "$@" >theirs 2>theirs.err
	expect_status 0 "$SEEP" heaptrack_print "$@"
	expect_eq "$*" "$(diff "$TMP/out" theirs | head -n 20)" ""
}
for file in cases.zst ls.zst; do
	same "$file"
	same -l 1 -m 0 "$file"
	same --print-leaks=1 -n 1000 -s 1000 "$file"
	same -p 0 -a 0 --print-temporary=0 "$file"
	same -l 1 -n 2 -s 1 -t 0 "$file"
	same --filter-bt-function=main -l 1 "$file"
	same --print-suppressions=1 "$file"
	same --disable-builtin-suppressions --disable-embedded-suppressions -f "$file"
done
expect_eq "temporary allocations are printed" "$("$SEEP" heaptrack_print cases.zst |
	grep -c '^41 temporary allocations of 41 allocations in total (100.00%) from:*$')" 2
expect_match "templates are shortened" "$("$SEEP" heaptrack_print cases.zst)" '^Box<>::make\(\)$'
expect_match "or not" "$("$SEEP" heaptrack_print -t 0 cases.zst)" '^Box<long, 1009>::make\(\)$'

# ---- files
for type in allocations temporary leaked peak; do
	heaptrack_print --flamegraph-cost-type $type -F theirs.folded -H theirs.sizes ls.zst >/dev/null
	expect_status 0 "$SEEP" heaptrack_print --flamegraph-cost-type $type -F ours.folded -H ours.sizes ls.zst
	expect_eq "-F of $type" "$(diff ours.folded theirs.folded)" ""
	expect_eq "-H" "$(diff ours.sizes theirs.sizes)" ""
done

# ---- differences: apart from the addresses of frames without a name, which
# heaptrack_print takes from any stack, and from what is read first
masked() {
	sed '/^Debuggee command was: /d; s/0x[0-9a-f]*/0x/; /^peak RSS/d'
}
for options in "" "-m 0" "-l 1 -n 1000 -s 1000"; do
	for pair in "ls.zst more.zst" "more.zst ls.zst" "cases.zst again.zst"; do
		read -r -a words <<<"$options -d $pair"
		heaptrack_print "${words[@]}" 2>/dev/null | masked >theirs
		"$SEEP" heaptrack_print "${words[@]}" | masked >ours
		expect_eq "${words[*]}" "$(diff ours theirs | head -n 20)" ""
	done
done
expect_eq "two runs of one program are the same" "$("$SEEP" heaptrack_print -d cases.zst again.zst |
	grep -A 1 '^PEAK' | tail -n 1)" ""
# heaptrack_print says 0B
expect_match "the difference of RSS is one" "$("$SEEP" heaptrack_print -d cases.zst more.zst)" \
	'^peak RSS \(including heaptrack overhead\): -?[0-9.]+[KM]$'

# ---- massif: what is live at each time stamp, and trees that ms_print takes
heaptrack_print -M theirs.massif cases.zst >/dev/null
expect_status 0 "$SEEP" heaptrack_print -M ours.massif --massif-threshold 0 --massif-detailed-freq 1 cases.zst
expect_eq "bytes at each time stamp" "$(grep ^mem_heap_B ours.massif)" "$(grep ^mem_heap_B theirs.massif)"
expect_eq "time stamps" "$(sed -n 's/^time=//p' ours.massif)" \
	"$(sed -n 's/^time=//p' theirs.massif | awk '{ printf "%.0f\n", $1 * 1000 }')"
run ms_print ours.massif
expect_eq "ms_print takes it" "$status" 0
expect_match "the tree at the peak" "$out" '153,368B\) 0x[0-9a-f]+: Box<long, 1009>::make\(\) \(.*heaptrack_cases\.cpp:[0-9]+\)$'
cat >trees.py <<'END'
import re
import sys
trees = 0
for part in open(sys.argv[1]).read().split("#-----------\nsnapshot=")[1:]:
    live = int(re.search(r"^mem_heap_B=(\d+)", part, re.M).group(1))
    rows = [(len(i), int(n), int(b)) for i, n, b in re.findall(r"^( *)n(\d+): (\d+) ", part, re.M)]
    trees += rows != []
    assert not rows or rows[0][2] == live, part
    for at, (depth, n, own) in enumerate(rows):
        below = []
        for row in rows[at + 1:]:
            if row[0] <= depth:
                break
            if row[0] == depth + 1:
                below.append(row[2])
        assert len(below) == n and sum(below) <= own, (part, at)
        assert depth != 0 or sum(below) == own, (part, at)
print(trees)
END
expect_eq "every tree adds up" "$(python3 trees.py ours.massif)" "$(grep -c ^snapshot= ours.massif)"

# ---- suppressions: heaptrack_print 1.4 hides everything then
printf '# a remark\nleak:leave\n\nleak:^Box<char*make()$\nleak:nobody\n' >hide
"$SEEP" heaptrack_print --suppressions hide --print-suppressions cases.zst | tail -n 6 >got
expect_eq "suppressions" "$(cat got)" "total memory leaked: 14.02K
suppressed leaks: 18.95K
Suppressions used:
         matches           leaked pattern
               1          16.21KB leave
               1           2.74KB ^Box<char*make()\$"

# ---- a recording of seep's own, and other profiles
cases=$(program heaptrack_cases)
"$SEEP" run -o own.rec "$cases" >/dev/null 2>&1
expect_status 0 "$SEEP" heaptrack_print -l own.rec
for line in '^41 temporary allocations of 41 allocations in total \(100\.00%\) from$' \
	'^153\.37K peak memory consumed over 19 calls from$' '^16\.21K leaked over 23 calls from$' \
	'^calls to allocation functions: 121 ' '^peak heap memory consumption: 334\.42K$'; do
	expect_match "of a recording" "$out" "$line"
done
expect_status 3 "$SEEP" heaptrack_print -H sizes own.rec
expect_match "sizes are not in a recording" "$err" '^seep: own\.rec: --print-histogram needs a file of heaptrack; '
expect_match "through a pipe" "$("$SEEP" heaptrack_print - <cases.zst)" '^peak heap memory consumption: 334\.42K$'

# ---- wrong words, and files that are not replaced
wrong() {
	expect_status 2 "$SEEP" heaptrack_print "${@:2}"
	expect_match "${*:2}" "$err" "^seep heaptrack_print: $1"
	expect_eq "${*:2}: one line" "$(wc -l <"$TMP/err")" 1
}
wrong 'no file given'
wrong 'one file to print, not cases\.zst and ls\.zst' cases.zst ls.zst
wrong '--print: ambiguous option' --print 1 cases.zst
wrong '--nothing: unknown option' --nothing cases.zst
wrong '-x: unknown option' -x cases.zst
wrong '--print-leaks: "maybe" is neither 0 nor 1' --print-leaks=maybe cases.zst
wrong '--diff: needs a value' cases.zst -d
wrong '--flamegraph-cost-type: allocations, temporary, leaked or peak, not all' --flamegraph-cost-type all cases.zst
echo mine >mine
for option in -F -H -M; do
	expect_status 2 "$SEEP" heaptrack_print $option mine cases.zst
	expect_match "$option over a file" "$err" '^seep: mine: exists and is not '
	expect_eq "it is as it was" "$(cat mine)" mine
	expect_eq "and nothing was printed" "$out" ""
done
zstd -qdc cases.zst | head -n 40 | head -c -2 >cut.text
expect_status 0 "$SEEP" heaptrack_print cut.text
expect_match "cut: says so" "$err" '^seep: cut.text: a last line that breaks off, at byte '"$(wc -c <cut.text)"' unpacked$'
