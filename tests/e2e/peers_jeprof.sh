#!/bin/bash
# SPDX-License-Identifier: MIT
# seep jeprof and seep google-pprof beside Debian's: the same figures in the same order on
# files made by Debian's jemalloc and gperftools of a C program (peers_cxx.sh has C++);
# names differ only where docs/differences.md says so, and then the peer is shown to be
# wrong. And what they do not do: bases of other runs, series, nothing to show.
. "$(dirname "$0")/lib.sh"
# timeout: 300
need_seep
need_command jeprof google-pprof nm
jemalloc=$(find_library libjemalloc.so.2)
tcmalloc=$(find_library libtcmalloc.so.4)
if [ -z "$jemalloc" ] || [ -z "$tcmalloc" ]; then
	skip "no libjemalloc.so.2 or libtcmalloc.so.4 here"
fi
prog=$(program peers_demo)
export SEEP_CACHE=$TMP/cache
cd "$TMP" || exit

# je NAME CONF PROGRAM...: a profile of jemalloc's, NAME.heap.
je() {
	local name=$1 conf=$2
	shift 2
	LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,prof_final:true,prof_prefix:"$name",$conf "$@"
	mv "$name".*.f.heap "$name.heap"
}
je exact lg_prof_sample:0,prof_accum:true "$prog"
je sampled lg_prof_sample:10 "$prog"
je more lg_prof_sample:0 "$prog" 17
LD_PRELOAD=$tcmalloc HEAPPROFILE=$TMP/gp HEAP_PROFILE_INUSE_INTERVAL=1000000 "$prog" 2>/dev/null
last=$(printf '%s\n' gp.*.heap | tail -n 1)

# Rows of the peers' names that are not the program's, as docs/differences.md lists them.
allowed() {
	case $1 in
	"__GI_$2 -> $2" | "__GI___$2 -> $2" | "$2_impl -> $2") true ;;
	*'@@GLIBC'*" -> lib"*.so*+0x*) true ;;
	*) false ;;
	esac
}

# same TOOL FILE OPTION...: run both.
same() {
	local tool=$1 file=$2 n=0 bad='' peer ours
	shift 2
	"$tool" "$@" "$prog" "$file" >peer 2>/dev/null
	"$SEEP" "$tool" "$@" "$prog" "$file" >ours 2>ours.err
	expect_eq "$tool $* $file: figures in order" "$(awk '{ print $1, $2, $3, $4, $5 }' ours)" \
		"$(awk '{ print $1, $2, $3, $4, $5 }' peer)"
	while IFS=$'\t' read -r peer ours; do
		n=$((n + 1))
		[ "$peer" = "$ours" ] || allowed "$peer -> $ours" "$ours" || bad="$bad [$peer -> $ours]"
	done < <(paste <(cut -c40- peer) <(cut -c40- ours))
	expect_eq "$tool $* $file: names" "$bad" ""
	expect_between "$tool $* $file: rows" "$n" 6 100
	expect_eq "$tool $* $file: stderr" "$(head -n 2 ours.err)" "Using local file $prog.
Using local file $file."
}
same jeprof exact.heap --text --show_bytes
same jeprof exact.heap --text --show_bytes --cum
same jeprof exact.heap --text --inuse_objects
same jeprof exact.heap --text --show_bytes --alloc_space
same jeprof exact.heap --text --alloc_objects
same jeprof exact.heap --text --focus=do_something
# A whole name: options like this are matched with the paths of files, too.
same jeprof exact.heap --text --show_bytes --ignore=something_else
same jeprof exact.heap --text --show_bytes --exclude=main
same jeprof sampled.heap --text --show_bytes
same google-pprof "$last" --text --show_bytes
same google-pprof "$last" --text --inuse_objects
same google-pprof "$last" --text --show_bytes --base=gp.0002.heap

# The program's own truth: sizes of blocks as jemalloc has them are what it says they are;
# counts are ours.
run "$SEEP" jeprof --text --inuse_objects "$prog" exact.heap
expect_match "79 blocks" "$out" '^ +79 .* do_something$'
expect_match "41 blocks" "$out" '^ +41 .* do_something_else$'
expect_match "7 inlined blocks" "$out" '^ +7 .* inlined_one \(inline\)$'
expect_match "recursion counts once" "$out" '^ +5 +[0-9.]+% +[0-9.]+% +5 .* recurse$'
run "$SEEP" google-pprof --text --show_bytes "$prog" "$last"
expect_match "bytes of gperftools" "$out" '^ 3235840 .* do_something$'

# A profile that jemalloc wrote while libseep.so was loaded too: of libseep.so, the hooks
# are the allocator's, the function that calls main is not. The figures are those of a run
# without libseep.so.
LD_PRELOAD="$LIBSEEP $jemalloc" MALLOC_CONF=prof:true,prof_final:true,prof_prefix:both,lg_prof_sample:0 "$prog"
mv both.*.f.heap both.heap
table() { "$SEEP" "$@" 2>/dev/null | awk '$NF ~ /^(main|do_something|do_something_else|recurse)$/ { print $1, $4, $NF }' | sort; }
for form in "jeprof --text --show_bytes" "pprof -top -unit=b -nodefraction=0" "google-pprof --text --show_bytes"; do
	# shellcheck disable=SC2086 # words
	expect_eq "$form: with libseep.so loaded" "$(table $form "$prog" both.heap)" "$(table $form "$prog" exact.heap)"
done
expect_eq "rows compared" "$(table jeprof --text --show_bytes "$prog" both.heap | wc -l)" 4

# Where a name differs, the peer's is wrong: the symbol it names ends before the address.
off=$("$SEEP" jeprof --text "$prog" exact.heap 2>/dev/null | sed -n 's/.*libstdc++\.so[.0-9]*+0x\([0-9a-f]*\)$/\1/p' | head -n 1)
wrong=$(jeprof --text "$prog" exact.heap 2>/dev/null | sed -n 's/.* \(std::[a-z_]*\)@@GLIBCXX.*/\1/p' | head -n 1)
if [ -n "$off" ] && [ -n "$wrong" ]; then
	read -r start size < <(nm -DCS "$(find_library libstdc++.so.6)" | awk -v n="$wrong(" 'index($0, n) { print $1, $2; exit }')
	expect_eq "$wrong does not reach +0x$off" "$((0x$off >= 0x$start + 0x$size))" 1
fi
# glibc's inner names are aliases: where its debug symbols are installed, they have one
# address.
id=$(readelf -n "$(ldd "$prog" | awk '$1 == "libc.so.6" { print $3 }')" 2>/dev/null | sed -n 's/.*Build ID: //p')
debug=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
if [ -e "$debug" ]; then
	for pair in __GI___strdup:strdup __libc_start_main_impl:__libc_start_main; do
		expect_eq "$pair" "$(nm "$debug" | sed 's/@.*//' | awk -v n="${pair%:*}" '$3 == n { print $1; exit }')" \
			"$(nm "$debug" | sed 's/@.*//' | awk -v n="${pair#*:}" '$3 == n { print $1; exit }')"
	done
fi
# Other outputs.
plain() { sed 's/<[0-9a-f]*>//g; s/std::__throw[^;]* \([0-9]*\)$/X \1/; s/libstdc++[^; ]*/X/; s/__GI___//; s/_impl;/;/' "$1" | sort; }
jeprof --collapsed "$prog" exact.heap 2>/dev/null >peer
"$SEEP" jeprof --collapsed "$prog" exact.heap 2>/dev/null >ours
expect_eq "--collapsed" "$(plain ours)" "$(plain peer)"
expect_eq "--list" "$("$SEEP" jeprof --list=do_something "$prog" exact.heap 2>/dev/null)" \
	"$(jeprof --list=do_something "$prog" exact.heap 2>/dev/null)"
expect_match "--list finds ends of names" "$("$SEEP" jeprof --list='do_something$' "$prog" exact.heap 2>/dev/null)" '^ROUTINE =+ do_something in '
dots() { sed -n 's/^N[0-9]* \[/[/p' "$1" | grep -v GLIBC | grep -v 'libstdc++' | sed 's/_impl\\n/\\n/; s/__GI___//' | sort; }
jeprof --dot "$prog" exact.heap 2>/dev/null >peer
"$SEEP" jeprof --dot "$prog" exact.heap 2>/dev/null >ours
expect_eq "--dot: nodes" "$(dots ours)" "$(dots peer)"
expect_eq "--dot: edges" "$(sed -n 's/.* -> N[0-9]* //p' ours | sort)" "$(sed -n 's/.* -> N[0-9]* //p' peer | sort)"
"$SEEP" jeprof --callgrind "$prog" exact.heap >ours 2>/dev/null
expect_match "--callgrind" "$(cat ours)" '^fn=\([0-9]+\) do_something_else$'
"$SEEP" jeprof --raw "$prog" exact.heap >raw.heap 2>/dev/null
expect_match "--raw is read by jeprof" "$(jeprof --text --inuse_objects raw.heap 2>/dev/null)" '^ +79 .* do_something$'
expect_eq "--raw again" "$("$SEEP" jeprof --text --inuse_objects raw.heap 2>/dev/null | awk '{ print $1, $4 }')" \
	"$("$SEEP" jeprof --text --inuse_objects "$prog" exact.heap 2>/dev/null | awk '{ print $1, $4 }')"
addr=$(sed -n 's/^@ .*\(0x5[0-9a-f]*\) 0x7.*/\1/p' exact.heap | head -n 1)
expect_eq "--symbols" "$({ sed -n '/^MAPPED/,$p' exact.heap | tail -n +2; echo "$addr"; echo 0x1; } | "$SEEP" jeprof --symbols "$prog")" "main
??"

# Words in any order, short, with one dash, turned off, as a link.
want=$("$SEEP" jeprof --text --show_bytes "$prog" exact.heap 2>/dev/null)
expect_eq "order" "$("$SEEP" jeprof exact.heap --show_bytes "$prog" --text 2>/dev/null)" "$want"
expect_eq "short" "$("$SEEP" jeprof -tex --show_b --cum --nocum "$prog" exact.heap 2>/dev/null)" "$want"
ln -s "$SEEP" jeprof
expect_eq "link" "$(./jeprof --show_bytes "$prog" exact.heap 2>/dev/null)" "$want"
run "$SEEP" jeprof --f "$prog" exact.heap
expect_eq "two beginnings: status" "$status" 2
expect_match "two beginnings" "$err" '--f could be --'

# A base of another run, under ASLR: 17 blocks of 1000 bytes more, and nothing else.
run "$SEEP" jeprof --inuse_objects "$prog" --base=exact.heap more.heap
expect_eq "--base" "$(sed -n '1,2p' <<<"$out" | tr -s ' ')" "Total: 17 objects
 17 100.0% 100.0% 17 100.0% grow"
expect_eq "--base: nothing shrank" "$(grep -c ' -' <<<"$out")" 0
# Snapshots of one process are added up as asked, with a word about it.
run "$SEEP" google-pprof --text --show_bytes "$prog" gp.0001.heap gp.0002.heap
expect_match "snapshots" "$err" '^seep: 2 of the profiles have the same memory map'
expect_eq "snapshots: sum" "$(head -n 1 <<<"$out")" "$(google-pprof --text --show_bytes "$prog" gp.0001.heap gp.0002.heap 2>/dev/null | head -n 1)"
run "$SEEP" jeprof --text "$prog" exact.heap more.heap
expect_eq "two runs: no word" "$(grep -c 'memory map' <<<"$err")" 0

# Threads, and nothing that is silent.
expect_match "--thread" "$("$SEEP" jeprof --text --show_bytes --thread=0 "$prog" exact.heap 2>/dev/null)" '^Total \(t0\): [0-9]+ B$'
run "$SEEP" jeprof --thread=77 "$prog" exact.heap
expect_eq "no such thread: status" "$status" 3
expect_match "no such thread" "$err" '^seep: --thread 77: no such thread'
run "$SEEP" jeprof --alloc_space "$prog" sampled.heap
expect_match "no such figure" "$err" 'prof_accum:true'
run "$SEEP" jeprof --list=nothing_like_it "$prog" exact.heap
expect_match "--list of nothing" "$err" 'no function like that'
run env PATH=/nonexistent "$SEEP" jeprof --svg "$prog" exact.heap
expect_eq "no graphviz: status" "$status" 3
expect_match "no graphviz" "$err" '^seep: --svg needs dot of graphviz, .*\(Debian: graphviz\); --dot prints'
run "$SEEP" jeprof --web "$prog" exact.heap
expect_eq "--web: status" "$status" 2

# The prompt.
printf 'top2\nlist recurse\ntop1 --cum -do_something\nfrob\nquit\ntop\n' >commands
"$SEEP" jeprof --interactive --inuse_objects "$prog" exact.heap <commands >out 2>err
expect_match "prompt" "$(cat err)" '^\(jeprof\) '
expect_eq "top2" "$(sed -n '2,3p' out | awk '{ print $1, $6 }')" "79 do_something
41 do_something_else"
expect_match "list" "$(cat out)" '^ROUTINE =+ recurse in '
expect_match "unknown" "$(cat err)" "Unknown command: try 'help'"
expect_eq "quit" "$(grep -c '^Total' out)" 2
