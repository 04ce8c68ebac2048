#!/bin/bash
# SPDX-License-Identifier: MIT
# massif.out files that the real massif writes: every figure is the one that ms_print
# prints (lib_massif.py), and every snapshot is a point in time.
. "$(dirname "$0")/lib.sh"
# timeout: 240
need_seep
need_command python3
steps=$(program massif_steps) || exit
golden=$ROOT/tests/golden/heap/massif.out
cd "$TMP" || exit

# ---- the golden: points in time ----
run "$SEEP" report "$golden"
expect_eq "report" "$status" 0
expect_match "the peak is what is shown" "$out" '^# peak: snapshot 6 of 12, at 349,480 B: heap 341,149 \+ extra heap 8,331 \+ stacks 0 bytes$'
expect_match "its largest function" "$out" ' 261 KiB .* grow$'
run "$SEEP" report --bytes --top "$golden@peak"
expect_match "kinds apart" "$out" '^ *8331 .* \[extra heap\]$'
for at in "$golden@peak" "--peak $golden" "$golden@6"; do
	# shellcheck disable=SC2086 # two words
	run "$SEEP" report --bottom-up $at
	expect_eq "report --bottom-up $at" "$status" 0
	expect_match "report --bottom-up $at: the peak" "$out" '^at the (peak|mark)  341 KiB in 12 stacks'
done
run "$SEEP" report "$golden@exit"
expect_match "the last snapshot" "$out" ' 168 KiB .* \[heap without stacks\]$'
run "$SEEP" diff "$golden@peak" "$golden@6"
expect_match "the peak is snapshot 6" "$out" '^STEADY +live 341\.3 → 341\.3 KiB \(0 B\)$'
run "$SEEP" diff --peak "$golden" "$golden"
expect_eq "peaks are compared" "$status" 0
run "$SEEP" report --top "$golden@11"
expect_match "a snapshot without stacks" "$out" ' 168 KiB .* \[heap without stacks\]$'
run "$SEEP" report "$golden@0"
expect_eq "the first snapshot" "$status" 0
run "$SEEP" report "$golden@12"
expect_eq "no such snapshot" "$status" 3
expect_eq "which is said" "$err" "seep: no mark @12 here; there is @peak @exit, and @N for each of the 12 snapshots"
run "$SEEP" diff "$golden@3" "$golden@9"
expect_eq "sums against sums" "$status" 0
expect_match "they grew" "$out" '^ 1 +\+12\.8 KiB +161\.7 → 174\.5 +\[heap without stacks\]'
run "$SEEP" diff "$golden@3" "$golden@6"
expect_eq "sums against stacks" "$status" 3
expect_eq "which is said" "$err" "seep: $golden@3: this snapshot has its sums, but no stacks to compare; those with stacks: @6"
run "$SEEP" timeline --bytes "$golden"
expect_match "timeline: the peak" "$out" '^ +6 +349,480 B +349,480 +341,149 +8,331 +0 .* stacks, peak$'
expect_eq "timeline: every snapshot" "$(grep -cE '^ +[0-9]+ +[0-9,]+ B ' <<<"$out")" 12
run "$SEEP" timeline -n 4 "$golden"
expect_eq "timeline: in groups" "$(grep -cE '^ +[0-9]+ +[0-9,]+ B ' <<<"$out")" 4
expect_match "timeline: which is said" "$out" '^# each row is the largest of up to 3 snapshots '
run "$SEEP" convert "$golden" -t folded -
expect_match "convert" "$out" '^main;keep;grow;inner 212899$'
run "$SEEP" convert "$golden@exit" -t folded -
expect_match "convert the end" "$out" '^\[heap without stacks\] 172069$'
run "$SEEP" report "$golden" "$golden"
expect_match "two files are summed" "$out" ' 683 KiB'
gzip -c "$golden" >packed
run "$SEEP" convert packed -t folded -
expect_match "packed" "$out" '^main;table 60013$'

# ---- damage ----
head -n 70 "$golden" >broken
run "$SEEP" report ./broken
expect_eq "cut: read" "$status" 0
expect_match "cut: counted" "$out" 'trees that break off or do not add up \(it is line [0-9]+\)'
sed 's/^time_unit.*/time_unot: B/' "$golden" >foreign
run "$SEEP" report ./foreign
expect_eq "foreign: refused" "$status" 3
expect_eq "foreign: with the line" "$err" 'seep: ./foreign: massif file: line 3: want "time_unit:", found "time_unot: B"'

# ---- files of the real massif ----
if have valgrind && have ms_print; then
	n=0
	for options in "" "--time-unit=B --detailed-freq=1" "--pages-as-heap=yes" "--stacks=yes --max-snapshots=20" \
		"--time-unit=ms --threshold=0.1" "--time-unit=B --depth=3 --detailed-freq=2"; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # options are words
		valgrind --tool=massif $options --massif-out-file="real.$n" "$steps" >/dev/null 2>log || cat log
		run python3 "$ROOT/tests/e2e/lib_massif.py" "$SEEP" "real.$n"
		expect_match "massif $options" "$out" '^[0-9]+ snapshots, [1-9][0-9]* trees, [1-9][0-9]* frames$'
	done
	run "$SEEP" convert real.2@peak -t folded -
	expect_match "the peak's stacks are the program's" "$out" '^main;keep;grow;inner 212899$'
fi
