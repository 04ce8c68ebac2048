#!/bin/bash
# SPDX-License-Identifier: MIT
# Suppressions: the same files hide the same from valgrind, from LeakSanitizer and from
# seep, and are used as often.
. "$(dirname "$0")/lib.sh"
# timeout: 120
need_seep
need_libseep
need_command jq
export LC_ALL=C
same=$ROOT/tests/e2e/lib_report.py
c=$(program leak_report) || exit
cxx=$(program leak_report_cxx) || exit
cd "$TMP" || exit
cat >some.supp <<'END'
# comment
{
   all lists
   Memcheck:Leak
   match-leak-kinds: definite,indirect
   fun:calloc
   fun:lose_list
}
{
   deep
   Memcheck:Leak
   fun:malloc
   fun:lose
   ...
   fun:lose_deep
   ...
   fun:main
}
{
   never
   Memcheck:Leak
   fun:nothing
}
{
   another tool's
   Helgrind:Race
   fun:main
}
{
   reach
   Memcheck:Leak
   match-leak-kinds: reachable
   ...
   obj:*/libc.so.6
   fun:main
}
END
cat >more.supp <<'END'
{
   hides the same
   Memcheck:Leak
   fun:c?lloc
   fun:lose_*
}
{
   resized
   Memcheck:Leak
   match-leak-kinds: possible
   fun:realloc
   obj:*leak_report
}
END

if have valgrind && have python3; then
	options=(--leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all -s)
	valgrind "${options[@]}" --suppressions=some.supp --suppressions=more.supp --log-file=theirs "$c" >/dev/null 2>&1
	"$SEEP" valgrind "${options[@]}" --suppressions=some.supp --suppressions=more.supp --log-file=ours "$c" >/dev/null 2>&1
	/usr/bin/python3 "$same" text theirs >vg
	/usr/bin/python3 "$same" text ours >seep
	expect_file "as valgrind has it" seep vg
	expect_match "counts" "$(cat seep)" '^used_suppression:      3 hides the same more.supp:2 suppressed: 865 bytes in 8 blocks$'
	expect_eq "of all that were used" "$(grep -c '^used_suppression' seep)" 3
	# What --gen-suppressions of either prints hides everything from the other.
	for who in theirs ours; do
		tool=(valgrind)
		[ $who = theirs ] || tool=("$SEEP" valgrind)
		program=$cxx
		[ $who = theirs ] || program=$c
		"${tool[@]}" --leak-check=full --show-leak-kinds=all --gen-suppressions=all --log-file=gen "$program" >/dev/null 2>&1
		grep -v '^==' gen >$who.supp
		expect_match "$who: a suppression" "$(cat $who.supp)" '^   match-leak-kinds: definite$'
	done
	"$SEEP" valgrind --leak-check=full --suppressions=theirs.supp --log-file=ours "$cxx" >/dev/null 2>&1
	expect_match "theirs hide all from us" "$(cat ours)" 'ERROR SUMMARY: 0 errors from 0 contexts \(suppressed: [1-9]'
	# But for posix_memalign, below which valgrind has a function of its own.
	valgrind --leak-check=full --suppressions=ours.supp --log-file=theirs "$c" >/dev/null 2>&1
	expect_match "ours hide all from them" "$(cat theirs)" 'ERROR SUMMARY: (0 errors from 0|1 errors from 1) contexts \(suppressed: 1[23] from 1[23]\)'
fi

# ---- in seep's own report, and in JSON ----
run "$SEEP" run -o a.rec --suppressions some.supp -- "$c"
expect_match "the line about the rest" "$err" ' suppressed 855 B in 9 blocks '
expect_no_match "places are gone" "$err" 'lose_list'
"$SEEP" leaks --json --suppressions some.supp a.rec >json
expect_json "JSON" json '.summary.leaks | [.suppressed_blocks, .suppressed_bytes]' '[9,855]'
expect_json "JSON: uses" json '.suppressions | map([.name, .line, .records, .blocks])[0]' '["all lists",3,2,7]'
"$SEEP" leaks --json a.rec >json
expect_json "the recording still has all" json '.summary.leaks | [.definite_blocks, .suppressed_blocks]' '[17,0]'
run "$SEEP" leaks -v --suppressions some.supp a.rec
expect_match "uses" "$out" '^suppressed by all lists \(some.supp:3\): 336 B in 7 blocks$'
run "$SEEP" leaks --gen-suppressions=yes a.rec
expect_eq "generated" "$(grep -cx '   Memcheck:Leak' <<<"$out")" 15
# What it prints silences those leaks and nothing else: also those in libraries that have
# no names, whose paths are links.
for program in "$c" "$cxx"; do
	"$SEEP" run -o g.rec --log-file gen.txt --gen-suppressions=all -- "$program" >/dev/null 2>&1
	sed -n '/^{$/,/^}$/p' gen.txt >gen.supp
	"$SEEP" leaks --json g.rec >before.json
	"$SEEP" leaks --json --suppressions gen.supp g.rec >json
	expect_json "${program##*/}: all silenced" json '.summary | [.verdict, .leaks.definite_blocks, .leaks.indirect_blocks, .leaks.possible_blocks]' '["OK",0,0,0]'
	expect_eq "${program##*/}: nothing else" "$(jq -c '.summary.leaks | [.suppressed_blocks, .reachable_blocks]' json)" \
		"$(jq -c '.summary.leaks | [.definite_blocks + .indirect_blocks + .possible_blocks, .reachable_blocks]' before.json)"
	expect_status 0 "$SEEP" leaks --fail-on lost --suppressions gen.supp g.rec
done

# ---- LeakSanitizer's ----
printf '# c\nleak:lose_list\nleak:^lose_r*d$\nleak:not_there\n' >lsan.supp
LSAN_OPTIONS=max_leaks=0:suppressions=lsan.supp run "$SEEP" leaks --format=lsan a.rec
expect_match "summary" "$out" '^SUMMARY: LeakSanitizer: 3257 byte\(s\) leaked in 16 allocation\(s\)\.$'
expect_match "uses" "$out" '^      7        336 lose_list$'
expect_match "and of the other" "$out" '^      1        211 \^lose_r\*d\$$'
expect_no_match "not of what was not used" "$out" 'not_there'
# It cannot look where ptrace is forbidden.
if ${CC:-gcc} -fsanitize=leak -O0 -g -o lsan "$ROOT/tests/programs/leak_report.c" 2>/dev/null &&
	./lsan 2>&1 | grep -q '^SUMMARY: LeakSanitizer'; then
	# Same leaks, largest first, but for the ring (all of it is indirect there), for
	# what it cannot unwind, and frames of libc.
	leaks() { sed -nE 's/^(Direct|Indirect) leak of ([0-9]+) byte\(s\) in ([0-9]+).*/\1 \2 \3/p
		s/^    #[0-9]+ 0x[0-9a-f]+ in (__interceptor_)?(\S+).*/  \2/p' "$1" |
		grep -vE '^  (__libc_start|_start)' | uniq | awk '/^[DI]/ { if (text !~ /lose_ring|strdup/) printf "%s", text; text = "" }
			{ text = text $0 "\n" } END { if (text !~ /lose_ring|strdup/) printf "%s", text }'; }
	LSAN_OPTIONS=suppressions=lsan.supp ./lsan >theirs 2>&1
	LSAN_OPTIONS=suppressions=lsan.supp "$SEEP" leaks --format=lsan a.rec >ours
	leaks theirs >theirs.txt
	leaks ours >ours.txt
	expect_file "as LeakSanitizer has it" ours.txt theirs.txt
	expect_match "there are leaks in it" "$(cat ours.txt)" '^Direct 1009 1$'
	expect_eq "the same summary" "$(grep SUMMARY ours)" "$(grep SUMMARY theirs)"
	expect_eq "the same uses" "$(grep -A5 '^Suppr' ours)" "$(grep -A5 '^Suppr' theirs)"
else
	left_out "no LeakSanitizer that works here"
fi

# ---- files that cannot be read ----
printf '{\n   x\n   Memcheck:Leak\n   fn:main\n}\n' >bad.supp
for command in "run --no-save --suppressions=bad.supp -- $c" 'leaks --suppressions bad.supp a.rec'; do
	# shellcheck disable=SC2086 # words
	run "$SEEP" $command
	expect_eq "$command: status" "$status" 2
	expect_eq "$command: message" "$err" "seep ${command%% *}: bad.supp:4: \"fn:main\": want fun:, obj:, src:, ... or }"
	expect_eq "$command: nothing else" "$out" ''
done
run "$SEEP" leaks --suppressions nowhere a.rec
expect_eq "no such file" "$err" 'seep leaks: nowhere: cannot open: No such file or directory'
