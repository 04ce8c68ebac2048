#!/bin/bash
# SPDX-License-Identifier: MIT
# seep convert REC massif.out: the real ms_print reads it, the peak is the recording's to
# the byte, and the trees are those of the report, at the peak, at marks and at the end.
. "$(dirname "$0")/lib.sh"
# timeout: 120
need_seep
need_libseep
need_command python3
steps=$(program massif_steps) || exit
cd "$TMP" || exit

# numbers FILE: n, time, total, useful heap of every snapshot.
numbers() { "$SEEP" timeline --json "$1" | python3 -c '
import json, sys
for s in json.load(sys.stdin)["rows"][0]["snapshots"]:
    print(s["number"], s["time"], s["heap_bytes"], s["extra_heap_bytes"], s["stacks_bytes"], s["tree"])'; }

# ---- the peak ----
expect_status 0 "$SEEP" run --no-leak-check -o steps.rec "$steps"
expect_match "the program's own truth" "$out" '^expect peak bytes=341149 '
expect_status 0 "$SEEP" convert steps.rec massif.out.17
expect_eq "by its name" "$err" "wrote massif.out.17"
expect_eq "the peak, to the byte" "$(numbers massif.out.17 | awk '$6 == "peak" { print $3, $4, $5 }')" "341149 0 0"
expect_eq "the first is empty" "$(numbers massif.out.17 | head -n 1)" "0 0 0 0 0 empty"
expect_match "the last has stacks" "$(numbers massif.out.17 | tail -n 1)" ' detailed$'
expect_eq "the end" "$(numbers massif.out.17 | tail -n 1 | cut -d' ' -f3)" \
	"$("$SEEP" report --json steps.rec | python3 -c 'import json, sys; print(json.load(sys.stdin)["processes"][0]["live_bytes"])')"
"$SEEP" convert --sample-index peak steps.rec -t folded - | sort >wanted
"$SEEP" convert massif.out.17@peak -t folded - | sort >got
small=$(awk '!/^main;(keep|grow|table)/ { n += $NF } END { print n }' wanted)
expect_eq "stacks of 1 % and more" "$(grep -E '^main;(keep|grow|table)' got)" "$(grep -E '^main;(keep|grow|table)' wanted)"
expect_eq "no byte is lost" "$(awk '{ n += $NF } END { print n }' got)" 341149
expect_eq "what is small" "$small" "$((7 * 2011 + 97 * 3))"
for name in x.massif massif.out x/massif.out.1; do
	mkdir -p x
	expect_status 0 "$SEEP" convert steps.rec $name
	expect_eq "$name: format" "$(head -n 1 $name)" "desc: (none)"
done
expect_status 0 "$SEEP" convert --format massif steps.rec -
expect_match "on standard output" "$out" '^heap_tree=peak$'
echo mine >theirs.massif
run "$SEEP" convert steps.rec theirs.massif
expect_eq "a file of somebody else stays" "$status $(cat theirs.massif)" "2 mine"
cp "$ROOT/tests/golden/heap/massif.out" theirs.massif
run "$SEEP" convert steps.rec theirs.massif
expect_eq "and one of the real massif" "$status" 2
run "$SEEP" convert massif.out.17 again.massif
expect_eq "a massif file is one already" "$status:$err" "3:seep: again.massif: it is a massif file already"

# ---- marks, and a run with points ----
cat >marked.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "seep/seep.h"
static void *volatile kept[400];
__attribute__((noinline)) static void *rise(size_t n) { return malloc(n); }
__attribute__((noinline)) static void *more(size_t n) { return malloc(n); }
int main(void)
{
	for (int i = 0; i < 200; i++) {
		kept[i] = rise(1009);
		usleep(500);
	}
	seep_mark("half");
	for (int i = 200; i < 300; i++)
		kept[i] = more(523);
	usleep(30000);
	for (int i = 0; i < 150; i++)
		free(kept[i]);
	usleep(30000);
	kept[300] = more(5);
	return 0;
}
END
"${CC:-gcc}" -g -O1 -fno-builtin -fno-optimize-sibling-calls -I"$ROOT/include" -o marked marked.c || exit
expect_status 0 "$SEEP" run --no-leak-check -o marked.rec ./marked
expect_status 0 "$SEEP" convert marked.rec marked.massif
expect_eq "the peak" "$(numbers marked.massif | awk '$6 == "peak" { print $3 }')" "$((200 * 1009 + 100 * 523))"
expect_match "the mark has its sum and stacks" "$(numbers marked.massif)" "^[0-9]+ [0-9]+ $((200 * 1009)) 0 0 detailed\$"
mark=$(numbers marked.massif | awk '$6 == "detailed" && $3 == 200 * 1009 { print $1; exit }')
run "$SEEP" convert "marked.massif@$mark" -t folded -
expect_eq "only what was there at the mark" "$out" "main;rise $((200 * 1009))"
run "$SEEP" convert marked.massif@exit -t folded -
expect_eq "the end" "$(sort <<<"$out")" "[below massif's threshold];more 5
main;more $((100 * 523))
main;rise $((50 * 1009))"
expect_eq "times do not fall" "$(numbers marked.massif | awk '$2 < t { print "falls" } { t = $2 }')" ""
expect_between "points" "$(numbers marked.massif | wc -l)" 4 100

# Every tenth point has stacks, or as many as are asked for; they are all that there was.
run "$SEEP" massif -q --massif-out-file=often.massif --detailed-freq=1 --threshold=0 ./marked
# The start has none, and a point that the timeline had when none was due.
expect_between "stacks nearly everywhere" "$(numbers often.massif | grep -c ' empty$')" 1 50
expect_between "at many points" "$(numbers often.massif | wc -l)" 4 100
wrong=
while read -r n _ heap _ _ kind; do
	[ "$kind" != empty ] || continue
	"$SEEP" convert "often.massif@$n" -t folded - >stacks
	[ "$(awk '{ n += $NF } END { print n + 0 }' stacks)" = "$heap" ] || wrong+=" $n"
	rise=$(awk '$1 == "main;rise" { print $2 }' stacks) more=$(awk '$1 == "main;more" { print $2 }' stacks)
	# more() begins when all of rise() is there.
	[ $((${rise:-0} % 1009)) = 0 ] && { [ -z "$more" ] || [ "$more" -gt 0 ]; } || wrong+=" $n"
	[ -z "$more" ] || [ "$more" -eq 52305 ] || [ $((more % 523)) -eq 0 ] || wrong+=" $n"
done < <(numbers often.massif)
expect_eq "the stacks of every snapshot" "$wrong" ""
numbers marked.massif | awk '$6 == "detailed"' >detailed
expect_between "every tenth" "$(wc -l <detailed)" 2 "$(($(numbers marked.massif | wc -l) / 10 + 2))"

# ---- what ms_print says of them ----
if have ms_print; then
	for file in massif.out.17 marked.massif; do
		run ms_print $file
		expect_eq "ms_print $file" "$status$err" 0
		cp "$TMP/out" theirs
		run "$SEEP" ms_print $file
		if cmp -s "$TMP/out" theirs; then pass; else fail "seep ms_print $file" "$(diff "$TMP/out" theirs)"; fi
		run python3 "$ROOT/tests/e2e/lib_massif.py" "$SEEP" $file
		expect_match "$file: as ms_print reads it" "$out" '^[0-9]+ snapshots, [1-9][0-9]* trees, [1-9][0-9]* frames$'
	done
	run ms_print massif.out.17
	expect_match "the peak" "$out" '^ +[0-9]+ +[0-9]+ +341,149 +341,149 +0 +0$'
	expect_match "its largest stack" "$out" '->62\.41% \(212,899B\) 0x[0-9A-F]+: keep \(massif_steps\.c:39\)$'
fi
