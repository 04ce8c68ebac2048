#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep diff`: two runs under ASLR, a rebuild with other lines and addresses, marks of one
# process, dumps of other tools, series, samples. Unchanged places are zero, the changed
# one is exact.
. "$(dirname "$0")/lib.sh"
# timeout: 180
need_seep
need_libseep
need_command jq sed
cc=${CC:-gcc}
source=$ROOT/tests/programs/diff_sites.c
flags=(-O1 -g -fno-builtin -fPIE -pie -I"$ROOT/tests/programs")
cd "$TMP" || exit

# Two builds of one program: the second has two lines more in front, and so other
# addresses.
mkdir old new bare
cp "$source" old/
sed 's,^static void \*volatile kept,int in_front(int a);\nint in_front(int a) { return a > 3 ? a * 7 : in_front(a + 1) / 3; }\n&,' \
	"$source" >new/diff_sites.c
expect_eq "lines added" "$(($(wc -l <new/diff_sites.c) - $(wc -l <"$source")))" 2
"$cc" -o old/prog old/diff_sites.c "${flags[@]}" || exit
"$cc" -o new/prog new/diff_sites.c "${flags[@]}" || exit
"$cc" -o new/anew new/diff_sites.c "${flags[@]}" -DANEW || exit
"$cc" -o bare/prog new/diff_sites.c "${flags[@]}" -g0 || exit
"$cc" -o bare/old old/diff_sites.c "${flags[@]}" -g0 || exit

record() { "$SEEP" run --no-names -o "$1" -- "${@:2}" >/dev/null 2>&1; }
record old1.rec old/prog 101
record old2.rec old/prog 1110
record new.rec new/prog 1110
record anew.rec new/anew 1110

# changes FILE: each place's bytes and blocks in "function bytes blocks", those that
# changed first.
changes() {
	jq -r '.places | sort_by(-(.change | fabs), .stack[0].function)[] | select(.kept_by_libc == null) |
		"\(.stack[0].function) \(.change) \(.beside_change)\(if .mark then " " + .mark else "" end)"' "$1" |
		paste -sd, -
}
same="constant 0 0,neighbours 0 0,neighbours 0 0,passing 0 0,removed 0 0,shared 0 0,shared 0 0"

# 1. Two runs of a PIE under ASLR: 1009 blocks of 131 bytes more, and nothing else.
run "$SEEP" diff --json old1.rec old2.rec
expect_eq "two runs: status" "$status $err" "0 "
expect_eq "two runs" "$(changes out)" "growing 132179 1009 LEAK,$same"
expect_json "two runs: in all" out '[.verdict, .total.change, .total.beside_change, .build, .same_process]' \
	'["LEAK",132179,1009,"same",false]'
expect_json "two runs: lost" out '[.severity, .lost_bytes, .lost_blocks]' '["error",132179,1009]'
run "$SEEP" diff old1.rec old2.rec
expect_match "headline" "$out" '^LEAK  live .* → .* KiB \(\+129\.1, \+[0-9]+ %\).*; 129 KiB in 1,009 blocks lost at 1 site$'
expect_match "row" "$out" '^ 1  \+129\.1 KiB +12\.9 → 142\.0 +\+1,009 +0 %  LEAK  growing diff_sites\.c:43 ← grow diff_sites\.c:74$'
expect_match "unchanged" "$out" '^    7 sites unchanged$'
expect_match "last line" "$out" '^exact, another process, same build · next: seep report --peek growing old2\.rec$'
run "$SEEP" diff --bytes --all old1.rec old2.rec
expect_match "bytes" "$out" '^ 1  \+132,179 +13,231 → 145,410 +\+1,009 '
expect_match "all" "$out" '^ [2-8] +0 +5,959 → +5,959 +0 +0 % +constant diff_sites\.c:22 '
expect_eq "all: one line a place" "$(grep -c '^ [0-9] ' <<<"$out")" 8
run "$SEEP" diff old2.rec old1.rec
expect_match "the other way" "$out" '^STEADY  live .*\(−129\.1, −[0-9]+ %\)'
run "$SEEP" diff old1.rec old1.rec
expect_match "with itself" "$out" '^STEADY  live .*\(0 B\)'
expect_match "with itself: the same process" "$out" '^exact, same process, same build'

# 2. The rebuild: the same figures although every line and address is another.
run "$SEEP" diff --json old1.rec new.rec
expect_eq "rebuild" "$(changes out)" "growing 132179 1009 LEAK,$same"
expect_json "rebuild is said" out '[.build, .lines_moved, (.rebuilt | length)]' '["rebuilt",8,1]'
expect_json "neighbours keep their sizes" out \
	'[.places[] | select(.stack[0].function == "neighbours") | .after] | sort' '[2573,3293]'
run "$SEEP" diff old1.rec new.rec
expect_match "rebuild, and what was matched how" "$out" '^8 sites matched by function and file'
expect_match "rebuild: last line" "$out" '^exact, another process, rebuilt: prog '
run "$SEEP" diff --flame rebuilt.svg old1.rec new.rec
expect_eq "flame graph: status" "$status $out$err" "0 wrote rebuilt.svg"
titles() { grep -o '<title>[^<]*</title>' "$1" | sed 's/<[^>]*>//g'; }
expect_match "flame graph of a rebuild: the one that grew" "$(titles rebuilt.svg)" \
	'^growing \(12\.9 KiB → 142 KiB, \+129 KiB\)$'
expect_eq "flame graph of a rebuild: nothing new or gone" "$(titles rebuilt.svg | grep -cE '\((0 B →|.* → 0 B)')" 0
expect_match "flame graph of a rebuild: the same" "$(titles rebuilt.svg)" '^constant \(5\.82 KiB → 5\.82 KiB, 0 B\)$'
run "$SEEP" diff --by count --flame counted.svg old1.rec old2.rec
expect_match "flame graph by count" "$(titles counted.svg)" '^passing \(.* → .*, \+1,009'
run "$SEEP" diff --json old1.rec anew.rec
expect_eq "new and gone, under another name" "$(changes out)" \
	"growing 132179 1009 LEAK,removed -19456 -1 GONE,anew 17408 1 LEAK,constant 0 0,neighbours 0 0,neighbours 0 0,passing 0 0,shared 0 0,shared 0 0"
# Without lines the functions are all there is; two calls of one stay two.
record bare1.rec bare/old 101
record bare2.rec bare/prog 1110
run "$SEEP" diff --json bare1.rec bare2.rec
expect_eq "rebuild without -g" "$(changes out)" "growing 132179 1009 LEAK,$same"
# A recording that travels with names, and one without, of a binary that is gone.
"$SEEP" run -o named.rec -- old/prog 101 >/dev/null 2>&1
mv old gone
run "$SEEP" diff --json named.rec old2.rec
expect_eq "names from the other side" "$(changes out)" "growing 132179 1009 LEAK,$same"
mv gone old

# 3. Other figures, other ways to say it.
run "$SEEP" diff --by count --json old1.rec old2.rec
expect_json "by count" out '[.unit, .total.change, (.places[0:2] | map([.stack[0].function, .change]) | sort)]' \
	'["count",2018,[["growing",1009],["passing",1009]]]'
run "$SEEP" diff --json --base old1.rec old2.rec
expect_json "--base" out '.total.change' 132179
run "$SEEP" diff --json --diff_base=old1.rec old2.rec
expect_json "--diff_base" out '.total.change' 132179
run "$SEEP" diff --json --normalize old1.rec old2.rec
expect_json "--normalize: totals" out '((.total.before - .total.after) | fabs) <= 9' true
expect_json "--normalize: what was the same is less" out \
	'[.places[] | select(.stack[0].function == "constant") | .change < -1000] | unique' '[true]'
run "$SEEP" diff -n 1 old1.rec anew.rec
expect_match "rows" "$out" '^    2 more sites of 129 KiB or less, net −2\.0 KiB \(--all\)$'
run env LC_ALL=C "$SEEP" diff old1.rec old2.rec
expect_no_match "ASCII" "$out" '[^ -~]'

# 4. Marks of one process, while it runs and afterwards.
coproc TARGET { "$SEEP" run -o live.rec -- old/prog 101 serve 2>serve.err; }
tool=$TARGET_PID
read -r -t 20 word pid <&"${TARGET[0]}"
expect_eq "serves" "$word" ready
grow() {
	echo "grow $1" >&"${TARGET[1]}"
	read -r -t 20 word <&"${TARGET[0]}"
	expect_eq "grow $1" "$word" "done"
}
grow 5
expect_status 0 "$SEEP" mark "$pid" before
grow 211
expect_status 0 "$SEEP" mark "$pid" after
grow 307
run "$SEEP" diff --json "$pid@before" "$pid@after"
expect_eq "between marks" "$(changes out | cut -d, -f1-2)" "growing 27641 211 GROWING,passing 73 1"
expect_json "one process" out '[.same_process, .build, .ms != null]' '[true,"same",true]'
run "$SEEP" diff --json "$pid@after" "$pid"
expect_eq "from a mark to now" "$(changes out | cut -d, -f1)" "growing 40217 307 GROWING"
run "$SEEP" diff "$pid@before"
expect_match "one target with a point" "$out" '^ 1  \+66\.3 KiB .* \+518 .*GROWING  growing '
expect_match "time and RSS" "$out" '^GROWING  live .* in [0-9.]+ (s|ms)(; RSS .*)?$'
expect_match "next" "$out" "^exact, same process, same build · next: seep report --peek growing $pid\$"
echo quit >&"${TARGET[1]}"
wait "$tool"
run "$SEEP" diff --json live.rec@1 live.rec@2
expect_eq "marks, afterwards" "$(changes out | cut -d, -f1-2)" "growing 27641 211 GROWING,passing 73 1"
run "$SEEP" diff @last@before @last
expect_eq "@last" "$status" 0

# 5. Files of other tools: jemalloc's dumps, a series of them, and pprof's.
jemalloc=$(find_library libjemalloc.so.2)
if [ -n "$jemalloc" ]; then
	conf=prof:true,lg_prof_sample:0,prof_prefix
	LD_PRELOAD=$jemalloc MALLOC_CONF=$conf:je1,prof_final:true,prof_accum:true old/prog 101
	LD_PRELOAD=$jemalloc MALLOC_CONF=$conf:je2,prof_final:true,prof_accum:true old/prog 1110
	LD_PRELOAD=$jemalloc MALLOC_CONF=$conf:series,lg_prof_interval:13 old/prog 1110
	run "$SEEP" diff --json je1.*.heap je2.*.heap
	# 131 bytes take 160 there.
	expect_eq "heap_v2" "$(changes out | cut -d, -f1,4)" "growing 161440 1009 GROWING,neighbours 0 0"
	expect_json "heap_v2: nothing else" out '[.places[] | select(.change != 0)] | length' 1
	run "$SEEP" diff series.*.heap
	count=$(find . -name 'series.*.heap' | wc -l)
	expect_between "dumps" "$count" 12 60
	expect_match "series" "$out" "^$count snapshots of one process: the first against the last, $((count - 2)) lie between\$"
	expect_match "series: growth of all of it" "$out" '^ 1 .* \+1,?[01][0-9][0-9] .* growing '
	expect_match "series: one process" "$out" '^exact, same process, same build'
	# shellcheck disable=SC2012,SC2046 # no odd names here
	run "$SEEP" diff --json $(ls -r series.*.heap)
	expect_json "in any order" out '[.total.change > 100000, .series]' "[true,$count]"
	# A report of them under names that say nothing: told by what they hold, and the
	# last is shown. Of forked children only the names tell that they are others.
	mapfile -t dumps < <(printf '%s\n' series.*.heap | sort -V)
	cp "${dumps[1]}" snap-c.heap && cp "${dumps[7]}" snap-b.heap && cp "${dumps[11]}" snap-a.heap
	bytes() { "$SEEP" report --top --json "$@" 2>/dev/null | jq .total; }
	run "$SEEP" report --top --json snap-b.heap snap-a.heap snap-c.heap
	expect_eq "report of a series" "$(jq .total out)" "$(bytes snap-a.heap)"
	expect_match "report of a series: said" "$err" '^seep: 3 dumps of one process: showing the last, snap-a\.heap$'
	expect_eq "report of two processes" "$(bytes snap-a.heap je1.*.heap)" "$(($(bytes snap-a.heap) + $(bytes je1.*.heap)))"
	expect_eq "report of two and one" "$(bytes snap-a.heap snap-b.heap je1.*.heap)" \
		"$(($(bytes snap-a.heap) + $(bytes snap-b.heap) + $(bytes je1.*.heap)))"
	cp snap-a.heap fork.8.0.i0.heap && cp snap-b.heap fork.9.0.i0.heap
	expect_eq "report of parent and child" "$(bytes fork.8.0.i0.heap fork.9.0.i0.heap)" \
		"$(($(bytes snap-a.heap) + $(bytes snap-b.heap)))"
	run "$SEEP" diff je1.*.heap series.*.heap
	expect_eq "no series: status" "$status" 2
	expect_match "no series" "$err" 'is not of the same process as je1'
	"$SEEP" convert je1.*.heap one.pb.gz 2>/dev/null && "$SEEP" convert je2.*.heap two.pb.gz 2>/dev/null
	run "$SEEP" diff --json one.pb.gz two.pb.gz
	expect_eq "pprof" "$(changes out | cut -d, -f1)" "growing 161440 1009 GROWING"
	run "$SEEP" diff --json old1.rec two.pb.gz
	expect_json "recording against pprof" out \
		'.places[0] | [.stack[0].function, .beside_change]' '["growing",1009]'
	run "$SEEP" diff --by temporary one.pb.gz two.pb.gz
	expect_eq "a figure that is not there" "$status" 3
	expect_match "a figure that is not there" "$err" '^seep: one\.pb\.gz: .* no temporary memory'
else
	left_out "jemalloc's files"
fi
# The same recording twice is one process.
cp old1.rec same.rec
run "$SEEP" report --top --json old1.rec same.rec
expect_eq "a recording and its copy" "$(jq .total out)" "$("$SEEP" report --top --json old1.rec | jq .total)"
printf 'main;parse;leaf 4096 8192\nmain;gone 77 0\nmain;new 0 101\n' >pair.folded
run "$SEEP" diff --json pair.folded@before pair.folded
expect_json "folded pair" out '[.places[] | [.stack[0].function, .change, .mark]]' \
	'[["leaf",4096,null],["new",101,"NEW"],["gone",-77,"GONE"]]'

# Every format with itself: nothing changed. With another: places add up to the total.
for file in "$ROOT"/tests/golden/heap/*.{heap,folded,log} "$ROOT"/tests/golden/pprof/go_{heap,allocs}.pb.gz; do
	run "$SEEP" diff --json "$file" "$file"
	expect_json "${file##*/} with itself" out '[.verdict, ([.places[] | select(.change != 0)] | length)]' '["STEADY",0]'
	run "$SEEP" diff --json --by "$(jq -r .by out)" "$ROOT/tests/golden/heap/je_exact.heap" "$file"
	[ "$status" = 0 ] || { expect_match "${file##*/}: not to be compared" "$err" '^seep: .* has no '; continue; }
	expect_json "${file##*/}: sum" out '([.places[].change] | add) == .total.change' true
done

# 6. Samples: equal runs are steady, growth stands out of the noise, with its error.
for i in 1 2; do "$SEEP" run --sample 1024 -o "s$i.rec" -- old/prog 4001 >/dev/null 2>&1; done
"$SEEP" run --sample 1024 -o s3.rec -- old/prog 16001 >/dev/null 2>&1
run "$SEEP" diff --json s1.rec s3.rec
# 12,000 blocks of 131 bytes: 1,572,000, by six standard errors at most
expect_json "growth within its error" out \
	'.places[0] | [.stack[0].function, .mark, ((.change - 1572000) | fabs) < 6 * .change_error, .change_error > 20000]' \
	'["growing","GROWING",true,true]'
run "$SEEP" diff s1.rec s3.rec
expect_match "error shown" "$out" '^ 1  \+1\.[0-9] ± 0\.[0-9] MiB .* growing '
expect_match "noise folded" "$out" 'site.* within sampling noise, net .* ± .*\(--all\)$'
expect_match "sampled" "$out" '^sampled, one per ~1\.00 KiB, another process, same build'
run "$SEEP" diff --all s1.rec s3.rec
expect_no_match "all: nothing folded" "$out" 'sampling noise'
run "$SEEP" diff --json s1.rec s2.rec
# Of eight places one may be beyond two standard errors now and then, all of them are not.
expect_json "equal runs" out '[.places[] | select(.change != 0 and (.noise | not))] | length < 4' true

# 7. What is refused, and how.
head -c 3000 old1.rec >cut.rec
cp old1.rec odd@name.rec
echo nonsense >bad.rec
for arguments in "old1.rec missing.rec" "bad.rec old1.rec" "old1.rec@nowhere old2.rec" "old1.rec 999999999"; do
	# shellcheck disable=SC2086 # words
	run "$SEEP" diff $arguments
	expect_eq "$arguments: status" "$status" 3
	expect_eq "$arguments: one line" "$(grep -c '^seep: ' <<<"$err") $(wc -l <<<"$err") $out" "1 1 "
done
run "$SEEP" diff cut.rec old1.rec
expect_between "cut off" "$status" 0 3
for arguments in "" "old1.rec" "@last" "--by size old1.rec old2.rec" "--nothing old1.rec old2.rec" "old1.rec old2.rec anew.rec" \
	"odd@name.rec"; do
	# shellcheck disable=SC2086 # words
	run "$SEEP" diff $arguments
	expect_eq "usage: $arguments" "$status $out" "2 "
done

# A small leak beside a cache that grew far more: what is lost comes first, three sites of
# it, and no place is cut.
cp "$(program diff_minor)" minor || exit
"$SEEP" run -o before.rec ./minor >/dev/null 2>&1
"$SEEP" run -o after.rec ./minor more >/dev/null 2>&1
show env COLUMNS=80 "$SEEP" diff before.rec after.rec
expect_shown "a minor leak at 80 columns" diff/minor.txt 's/RSS [0-9.]+ → [0-9.]+ MiB/RSS N → N MiB/'
run "$SEEP" diff --json before.rec after.rec
expect_json "a minor leak: the order" out '[.verdict, [.places[:6][] | .mark]]' \
	'["LEAK (minor)",["LEAK","LEAK","LEAK","LEAK","LEAK","GROWING"]]'
run "$SEEP" diff --all before.rec after.rec
expect_eq "a minor leak: all of it" "$(grep -c ' LEAK  *[a-z_]* diff_minor.c:' <<<"$out")" 5
# Two runs that free all at their ends: the peak says what grew. What is small, or less,
# is not worth a word.
high=$(program high) || exit
for n in 101 103 701; do
	record "high$n.rec" "$high" "$n"
done
run "$SEEP" diff high101.rec high701.rec
expect_match "peaks: headline" "$out" \
	'^GROWING  peak [01]\.[0-9] → 6\.[78] MiB \(\+[0-9]+ %; seep diff high101\.rec@peak high701\.rec@peak\); at the end live 0 → 0 B \(0\)'
expect_no_match "peaks: not steady" "$out" '^STEADY'
run "$SEEP" diff --json high101.rec high701.rec
expect_json "peaks: JSON" out '[.verdict, .peak_bytes[1] - .peak_bytes[0]]' '["GROWING",6004200]'
run "$SEEP" diff high101.rec high103.rec
expect_match "peaks: little" "$out" '^STEADY  live '
run "$SEEP" diff high701.rec high101.rec
expect_match "peaks: the other way" "$out" '^STEADY  live '
run "$SEEP" diff high101.rec@peak high701.rec@peak
points=$(grep -v '^exact' <<<"$out")
run "$SEEP" diff --peak high101.rec high701.rec
expect_eq "--peak is @peak on both sides" "$(grep -v '^exact' <<<"$out")" "$points"
expect_match "--peak: what grew" "$out" '^ 1  \+5\.7 MiB .* \+600  100 % .*fill high\.c:[0-9]+ ← main'
expect_match "--peak: next" "$out" 'next: seep report --peek fill high701\.rec@peak$'
run "$SEEP" diff --peak high101.rec@exit high701.rec
expect_eq "--peak and a point" "$status $err" "2 seep diff: --peak is a point in time, and so is @exit (seep diff --help)"
