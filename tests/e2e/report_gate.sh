#!/bin/bash
# SPDX-License-Identifier: MIT
# What makes a run fail: --fail-on, --baseline, --error-exitcode, and JUnit's file about
# it.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq python3
c=$(program leak_report) || exit
cd "$TMP" || exit

"$SEEP" run -o a.rec -- "$c" >/dev/null 2>&1
# fails CONDITIONS STATUS [LINE]
fails() {
	run "$SEEP" leaks --fail-on "$1" a.rec
	expect_eq "$1" "$status" "$2"
	expect_eq "$1: said" "$err" "${3:-}"
}
fails 'definite>17' 0
fails 'definite>16' 1 'seep: --fail-on definite>16: 17 blocks definitely lost'
fails 'definite-bytes >= 3419, possible == 2' 1 'seep: --fail-on definite-bytes>=3419: 3.34 KiB (3,419 bytes) definitely lost'
fails 'lost==25,lost-records==15,errors==13' 1 'seep: --fail-on lost==25: 25 blocks definitely, indirectly or possibly lost
seep: --fail-on lost-records==15: 15 loss records definitely, indirectly or possibly lost
seep: --fail-on errors==13: 13 errors reported'
fails 'indirect-bytes>1K,peak>200M,reachable>4' 0
fails 'left-bytes==4886,allocs==31' 1 'seep: --fail-on left-bytes==4886: 4.77 KiB (4,886 bytes) not freed
seep: --fail-on allocs==31: 31 allocations made'
run "$SEEP" leaks --fail-on 'lots>1' a.rec
expect_eq "no such figure" "$status" 2
expect_match "no such figure: which there are" "$err" '^seep leaks: --fail-on: "lots": no such figure; there are definite, '

"$SEEP" leaks --json --fail-on 'definite>16,peak>1G' a.rec >json 2>/dev/null
expect_json "JSON" json '.fail_on | map([.condition, .value, .met])[0]' '["definite>16",17,true]'
expect_json "JSON: all of them" json '.fail_on | map(.met)' '[true,false]'
run "$SEEP" run --no-save --json --fail-on 'definite>16' -- "$c"
expect_eq "JSON on stderr stays JSON" "$(jq -c '[.fail_on[].met, .suppressions]' <<<"$err")" '[true,null]'

# ---- kinds: report lists the same sites as leaks ----
for kinds in reachable possible,reachable all; do
	want=$("$SEEP" leaks --leak-kinds $kinds a.rec | grep -E '^ *[0-9]+  ')
	expect_eq "report --leak-kinds $kinds" "$("$SEEP" report --leak-kinds $kinds a.rec | sed '/^at the peak/,$d' | grep -E '^ *[0-9]+  ')" "$want"
done
expect_status 2 "$SEEP" report --leak-kinds lots a.rec
expect_status 2 "$SEEP" report --leak-kinds all --tree a.rec

# ---- of a run: the program's own status counts if it failed itself ----
expect_status 1 "$SEEP" run --no-save --fail-on 'definite>0' -- "$c"
expect_status 7 "$SEEP" run --no-save --fail-on 'definite>0' -- "$c" x 7
expect_status 99 "$SEEP" run --no-save --fail-on 'definite>0' --error-exitcode=99 -- "$c" x 7
expect_status 0 "$SEEP" run --no-save --fail-on 'peak>1G' --error-exitcode=99 -- "$c"
expect_status 1 "$SEEP" run --no-save --sample=1 --fail-on 'peak>1K' -- "$c"
expect_status 1 "$SEEP" run --no-save --no-leak-check --fail-on 'allocs>30' -- "$c"
expect_status 2 "$SEEP" run --no-save --no-leak-check --fail-on 'allocs>30,lost>0' -- "$c"
LSAN_OPTIONS=exitcode=29 expect_status 29 "$SEEP" leaks --format=lsan a.rec
expect_status 23 "$SEEP" leaks --format=lsan a.rec
LSAN_OPTIONS=exitcode=0 expect_status 0 "$SEEP" leaks --format=lsan a.rec
LSAN_OPTIONS=exitcode=23 expect_status 0 "$SEEP" leaks a.rec
expect_status 98 "$SEEP" run --no-save --error-exitcode=98 -- "$c"
expect_status 0 "$SEEP" run --no-save --error-exitcode=98 --errors-for-leak-kinds=none -- "$c"
expect_eq "--no-save saves nothing" "$(find . -path ./state -prune -o -name '*.rec' -print)" ./a.rec
expect_status 2 "$SEEP" run --no-save -o b.rec -- "$c"
run "$SEEP" run --no-save --fail-on 'definite>0,peak>1G' --junit killed.xml -- /bin/sh -c 'kill -9 $$'
expect_eq "killed" "$status" 137
expect_match "killed: nothing passes in JUnit" "$(cat killed.xml)" 'name="definite&gt;0"><skipped message="no leak check"/></testcase>'
expect_match "killed: what is known does" "$(cat killed.xml)" 'name="peak&gt;1G"/>'
expect_match "killed: nothing passes" "$err" 'no process was checked for leaks, so it cannot be judged'

# ---- while a process of the run goes on ----
mkfifo hold
run "$SEEP" run -o on.rec --fail-on 'leak,peak>1G' --junit on.xml -- /bin/sh -c 'read -r x <hold & exit 0'
expect_eq "goes on: status" "$status" 3
expect_match "goes on: no all-clear" "$err" '^NO VERDICT  nothing is lost so far, but 1 process of the run goes on \(seep ps\)'
expect_match "goes on: why" "$err" 'fail-on: the verdict is NO VERDICT, so it cannot be judged'
expect_match "goes on: JUnit" "$(cat on.xml)" 'name="leak&gt;0"><skipped message='
expect_match "goes on: what is known passes" "$(cat on.xml)" 'name="peak&gt;1G"/>'
run "$SEEP" report on.rec
expect_match "goes on: the file says the same" "$out" '^NO VERDICT  nothing is lost so far, but 1 process'
expect_eq "goes on: its JSON, too" "$("$SEEP" report --json on.rec | jq -r .summary.verdict)" "NO VERDICT"
echo go >hold

# ---- only what is new ----
"$SEEP" leaks --json a.rec >a.json
for base in a.rec a.json; do
	expect_status 0 "$SEEP" leaks --baseline $base a.rec
	expect_status 0 "$SEEP" leaks --baseline $base --fail-on 'lost>0,reachable>0,peak>0,allocs>0' a.rec
done
# Lines may move, one leak more and one less does not add up to nothing.
sed 's/lose(61);/for (int i = 0; i < 3; i++) lose_deep(0, 5);/; s/^static void \*kept/\n\n&/' \
	"$ROOT/tests/programs/leak_report.c" >other.c
${CC:-gcc} -O0 -g -o other other.c || exit
"$SEEP" run -o b.rec -- ./other >/dev/null 2>&1
"$SEEP" leaks --json b.rec >b.json
for base in a.rec a.json; do
	run "$SEEP" leaks --baseline $base --fail-on 'lost>0,lost-bytes>15,definite-records>1' b.rec
	expect_eq "$base: one more" "$status" 1
	expect_eq "$base: said" "$err" 'seep: --fail-on lost>0: +3 blocks definitely, indirectly or possibly lost since the baseline'
done
run "$SEEP" run --no-save --baseline b.json -- "$c"
expect_eq "the other way round" "$status" 1
expect_match "the other way round: said" "$err" '--fail-on leak>0: \+1 block definitely or indirectly lost since the baseline$'
# As many blocks, but larger ones.
cat >size.c <<'END'
#include <stdlib.h>
int main(int argc, char **argv) {
	for (int i = 0; i < 11; i++) { void *volatile p = malloc((size_t)atoi(argv[argc - 1])); (void)p; }
	return 0;
}
END
${CC:-gcc} -O0 -g -o size size.c || exit
"$SEEP" run -o small.rec -- ./size 1009 >/dev/null 2>&1
"$SEEP" run -o large.rec -- ./size 100003 >/dev/null 2>&1
"$SEEP" leaks --json small.rec >small.json
for base in small.rec small.json; do
	expect_status 0 "$SEEP" leaks --baseline $base small.rec
	run "$SEEP" leaks --baseline $base --junit large.xml large.rec
	expect_eq "$base: larger" "$status" 1
	expect_match "$base: larger: headline" "$out" '^LEAK  1\.0[0-9] MiB in 1[01] blocks lost'
	expect_match "$base: larger: said" "$err" '--fail-on leak>0: \+1[01] blocks definitely or indirectly lost since the baseline$'
	expect_match "$base: larger: JUnit" "$(cat large.xml)" '<failure'
	expect_status 0 "$SEEP" leaks --baseline large.rec small.rec
done
run "$SEEP" diff small.rec large.rec
expect_match "diff: larger" "$out" '^LEAK  '
run "$SEEP" diff large.rec small.rec
expect_no_match "diff: smaller" "$out" '^LEAK  '
printf '{"seep_json": 1' >bad.json
run "$SEEP" leaks --baseline bad.json a.rec
expect_eq "not JSON" "$status" 2
expect_eq "not JSON: where" "$err" \
	'seep leaks: --baseline: bad.json: no recording, and no JSON either: byte 16: want , or }'
echo '{"other": 1}' >bad.json
run "$SEEP" leaks --baseline bad.json a.rec
expect_eq "another's JSON" "$err" "seep leaks: --baseline: bad.json: not a JSON report of seep's (--json)"
expect_eq "another's JSON: status" "$status" 2

# ---- JUnit ----
junit() { /usr/bin/python3 -c 'import sys, xml.etree.ElementTree as E
top = E.parse(sys.argv[1]).getroot()
cases = top.findall("testsuite/testcase")
print(top.get("tests"), top.get("failures"), len(cases), sum(c.find("failure") is not None for c in cases))
print(*(c.get("name") for c in cases if c.find("failure") is not None), sep="\n")' "$1"; }
"$SEEP" leaks --junit all.xml a.rec >/dev/null
expect_match "each error is a failure" "$(junit all.xml)" '^12 12 12 12$'
verdicts() { sed -n 's,.*<property name="\(.*\)" value="\(.*\)"/>,\1=\2,p' "$1" | paste -sd' ' -; }
expect_eq "its verdict" "$(verdicts all.xml)" "verdict=LEAK (minor) severity=warning"
"$SEEP" leaks --junit all.xml --errors-for-leak-kinds definite,possible a.rec >/dev/null
expect_match "possibly lost ones on request" "$(junit all.xml)" '^13 13 13 13$'
"$SEEP" report --html page.html a.rec 2>/dev/null
# What the page opens with: label and text, one a line.
opening() { /usr/bin/python3 -c 'import html, re, sys
part = open(sys.argv[1]).read().split("<dl id=\"opening\">")[1].split("</dl>")[0]
label = ""
for term, text in re.findall("<dt>(.*?)</dt>|<dd>(.*?)</dd>", part):
    label = term or label
    if text: print(label + ": " + html.unescape(text))' "$1"; }
text=$("$SEEP" report a.rec 2>/dev/null)
page=$(opening page.html)
expect_eq "the page: its verdict is the report's" "$(sed -n 's/^Verdict: //p' <<<"$page")" "$(sed -n 2p <<<"$text")"
expect_match "the page: leak figures" "$page" '^Leaks: definitely lost 3\.34 KiB in 17 blocks · indirectly lost 385 B in 7 blocks · '
expect_match "the page: as in the report" "$text" "^$(sed -n 's/^Leaks: //p' <<<"$page")"
expect_match "the page: how it ended" "$text" "^$(sed -n 's/^Exit: //p' <<<"$page") · "
expect_match "the page: exit status" "$page" '^Exit: exited 0 after '
expect_eq "the page: command" "$(sed -n 's/^Command: //p' <<<"$page")" "$c"
expect_eq "the page: date" "$(sed -n 's/^Date: //p' <<<"$page")" "$(sed -n '1s/.*, //p' <<<"$text")"
cat >kept.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile lost;
int main(int argc, char **argv)
{
	lost = malloc(70001);
	lost = NULL;
	printf("%s <&> %d\n", argv[0], argc);
	fflush(stdout);
	_exit(3);
}
END
${CC:-gcc} -O0 -g -o kept kept.c || exit
"$SEEP" run -o kept.rec -- ./kept '<b>&' >/dev/null 2>&1
"$SEEP" report --html kept.html kept.rec 2>/dev/null
page=$(opening kept.html)
text=$("$SEEP" report --all kept.rec 2>/dev/null)
expect_match "libc's own memory" "$page" '^libc: .* kept by libc itself \('
expect_match "libc's own memory: as in the report" "$text" "^$(sed -n 's/^libc: //p' <<<"$page" | sed 's/[()]/\\&/g')\$"
expect_match "exit status 3" "$page" '^Exit: exited 3 after '
expect_match "marks in the command" "$page" '^Command: ./kept <b>&$'
expect_no_match "and none in the page" "$(cat kept.html)" '<b>'
expect_match "with its place" "$(junit all.xml)" '^definitely lost in lose_ring leak_report.c:[0-9]+$'
"$SEEP" leaks --junit some.xml --fail-on 'lost>0,peak>1G' a.rec >/dev/null 2>&1
expect_match "with conditions, what they are about" "$(junit some.xml | head -n 2 | paste -sd' ')" '^14 13 14 13 lost>0$'
expect_match "with conditions: its place" "$(junit some.xml)" '^definitely lost in lose_ring leak_report.c:[0-9]+$'
"$SEEP" leaks --junit some.xml --fail-on 'possible>0' --errors-for-leak-kinds definite,possible a.rec >/dev/null 2>&1
expect_match "a condition on another kind" "$(junit some.xml | paste -sd' ')" '^14 2 14 2 possible>0 possibly lost in [a-z_]+ [a-z_]+\.c:[0-9]+$'
"$SEEP" leaks --junit some.xml --fail-on 'lost>1000' a.rec >/dev/null 2>&1
expect_eq "a condition that is not met" "$(junit some.xml)" '13 0 13 0'
"$SEEP" run --no-save --junit 'none.%p.xml' -- /bin/true 2>/dev/null
expect_eq "nothing lost" "$(junit none.*.xml)" '1 0 1 0'
expect_eq "nothing lost: its verdict" "$(verdicts none.*.xml)" "verdict=OK severity=ok"

# ---- files that cannot be written ----
run "$SEEP" run --no-save --junit nowhere/x.xml -- "$c"
expect_eq "no such folder" "$status" 3
expect_eq "no such folder: said" "$err" 'seep run: nowhere/x.xml: cannot be written: No such file or directory'
expect_eq "no such folder: nothing was run" "$out" ''
run "$SEEP" leaks --xml-file nowhere/x.xml a.rec
expect_eq "nor looked at" "$status" 3

# ---- as docs/howto/ci.md has it ----
"$SEEP" run --json --log-file known.json --no-save -- "$c" >/dev/null 2>&1
expect_status 0 "$SEEP" run --no-save --baseline known.json --junit leaks.xml -- "$c"
expect_eq "nothing new: no case for what is known" "$(junit leaks.xml)" '1 0 1 0'
expect_match "nothing new: the headline" "$err" '^OK  no new leak: known 3\.71 KiB, new 0; 31 allocs, '
expect_no_match "nothing new: no site" "$err" 'lose_'
expect_match "nothing new: in the figures" "$err" '^definitely lost 0 .* known 3\.71 KiB in 24 blocks'
expect_status 1 "$SEEP" run --no-save --baseline known.json --junit leaks.xml -- ./other
expect_match "new: the headline" "$err" '^LEAK \(minor\)  15 B in 3 blocks lost at 1 site, 3 times; known 3\.66 KiB, new 15 B$'
expect_eq "new: only the new site" "$(grep -cE '^ +[0-9]+ +[0-9.]+ (B|KiB) ' <<<"$err")" 1
expect_match "new: JUnit fails the new leak alone" "$(junit leaks.xml | paste -sd' ' -)" \
	'^1 1 1 1 definitely lost in lose other\.c:[0-9]+$'
# A condition that is given is a case of its own; one that is not met fails nothing.
"$SEEP" run --no-save --baseline known.json --fail-on leak --junit leaks.xml -- ./other >/dev/null 2>&1
expect_eq "a condition" "$(junit leaks.xml | sed -n 1,2p | paste -sd' ' -)" '2 2 2 2 leak>0'
"$SEEP" run --no-save --baseline known.json --fail-on 'leak>3' --junit leaks.xml -- ./other >/dev/null 2>&1
expect_eq "a condition that is not met" "$(junit leaks.xml)" '2 0 2 0'
# A report made with a baseline is one itself.
"$SEEP" run --json --log-file again.json --no-save --baseline known.json -- "$c" >/dev/null 2>&1
expect_json "JSON" again.json '.summary | [.verdict, .leaks.known_bytes, .leaks.known_blocks, .leaks.definite_bytes]' \
	'["OK",3804,24,0]'
expect_status 0 "$SEEP" run --no-save --baseline again.json -- "$c"
# The frame of the program, not of the library that allocates for it.
cat >dup.c <<'END'
#include <string.h>
void *volatile last;
int main(void) { for (int i = 0; i < 7; i++) { last = strdup("seventeen letters"); last = 0; } }
END
${CC:-gcc} -O0 -g -o dup dup.c || exit
"$SEEP" run --no-save --junit dup.xml -- ./dup >/dev/null 2>&1
expect_match "the program's frame" "$(junit dup.xml)" '^definitely lost in main dup\.c:3$'
run "$SEEP" leaks --leak-kinds=none a.rec
expect_no_match "no kinds: no places" "$out" '^ 1 '
# Lines of one function are one place: so many blocks of each are known that their bytes
# are the baseline's.
cat >chain.c <<'END_C'
#include <stdlib.h>
struct n { struct n *next; void *body; };
int main(int c, char **v)
{
	struct n *h = 0;
	for (int i = 0; i < atoi(v[1]); i++) {
		struct n *x = malloc(sizeof *x);
		x->body = malloc(1000);
		x->next = h;
		h = x;
	}
	h = 0;
	return 0;
}
END_C
${CC:-gcc} -O0 -g -o chain chain.c || exit
"$SEEP" run -o chain.rec -- ./chain 101 >/dev/null 2>&1
for n in 503 111; do
	new=$((n - 101))
	expect_status 1 "$SEEP" run --no-save --baseline chain.rec --fail-on 'leak>0' --json --log-file chain.json -- ./chain $n
	expect_json "a chain of $n: what is known" chain.json '.summary.leaks | [.known_blocks, .known_bytes]' "[202,$((101 * 1016))]"
	expect_json "a chain of $n: each line has its new blocks" chain.json \
		'[.sites[].leaks | select(.indirect_blocks > 0) | [.indirect_blocks, .indirect_bytes]] | sort' \
		"[[$new,$((new * 16))],[$new,$((new * 1000))]]"
done
