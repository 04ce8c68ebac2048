#!/bin/bash
# SPDX-License-Identifier: MIT
# C++ in files of Debian's jemalloc and gperftools: the tables of jeprof, google-pprof and
# seep, every row. What they show adds up from the profile's own stacks, and where names
# differ it is of a kind that docs/differences.md lists, proven by nm, addr2line and
# objdump (lib_peers.py). With little and with much inlined.
. "$(dirname "$0")/lib.sh"
# timeout: 300
need_seep
need_command jeprof google-pprof nm addr2line objdump /usr/bin/python3 g++
jemalloc=$(find_library libjemalloc.so.2)
tcmalloc=$(find_library libtcmalloc.so.4)
if [ -z "$jemalloc" ] || [ -z "$tcmalloc" ]; then
	skip "no libjemalloc.so.2 or libtcmalloc.so.4 here"
fi
export SEEP_CACHE=$TMP/cache CXX=g++
cd "$TMP" || exit

check() { /usr/bin/python3 "$ROOT/tests/e2e/lib_peers.py" "$@"; }
# compare TOOL PROGRAM FILE: leaves the tables in peer, peer.addr, ours, ours.addr.
compare() {
	local tool=$1 prog=$2 file=$3 who=$4
	"$tool" --text --show_bytes "$prog" "$file" >peer 2>/dev/null
	"$tool" --text --show_bytes --addresses "$prog" "$file" >peer.addr 2>/dev/null
	"$SEEP" "$tool" --text --show_bytes "$prog" "$file" >ours 2>/dev/null
	"$SEEP" "$tool" --text --show_bytes --addresses "$prog" "$file" >ours.addr 2>/dev/null
	expect_eq "$who: total" "$(head -n 1 ours)" "$(head -n 1 peer)"
	check "$file" "$prog" peer peer.addr ours ours.addr >checked
	expect_eq "$who: every row adds up, every difference is explained" "$(sed -n 's/^wrong: //p' checked)" ""
	expect_between "$who: rows of the script" "$(awk '$1 == "rows" { print $2 }' checked)" 40 200
	expect_between "$who: rows of seep" "$(awk '$1 == "rows" { print $3 }' checked)" 40 200
	expect_between "$who: rows with the same figures" "$(awk '$1 == "same" { print $2 }' checked)" 15 200
	sed -n 's/^kind [0-9]* //p' checked >>kinds
}
for level in 1 2; do
	prog=$(program peers_cxx "o$level" "-O$level" -g -fno-optimize-sibling-calls -pthread)
	LD_PRELOAD=$tcmalloc HEAPPROFILE=$TMP/gp$level "$prog" 2>/dev/null
	# The program's own truth: 11 + 13 boxes with their vectors, 53 nodes with their
	# strings.
	run "$SEEP" google-pprof --text --inuse_objects "$prog" gp$level.0001.heap
	expect_match "-O$level: two templates" "$out" ' +48 +[0-9.]+% app::make$'
	expect_match "-O$level: a chain" "$out" ' +106 +[0-9.]+% app::chain$'
	compare google-pprof "$prog" gp$level.0001.heap "google-pprof -O$level"
done
LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:je "$prog"
compare jeprof "$prog" je.*.f.heap jeprof
run "$SEEP" jeprof --text --inuse_objects "$prog" je.*.f.heap
expect_match "two templates" "$out" ' +48 +[0-9.]+% app::make$'
expect_match "a chain" "$out" ' +106 +[0-9.]+% app::chain$'

# Each kind that was met is in the list, with what makes it so; and some have to be met.
sort -u kinds >met
while read -r kind; do
	expect_eq "docs/differences.md has: $kind" "$(grep -c "^| $kind |" "$ROOT/docs/differences.md")" 1
done <met
expect_between "kinds that were met" "$(wc -l <met)" 4 9

# What the check must not let pass: another figure, another order, a name that nothing
# explains.
tampered() {
	check je.*.f.heap "$prog" peer peer.addr "$2" "$3" >checked
	expect_match "$1" "$(cat checked)" '^wrong: '
}
awk '$6 == "plain" { sub($1, $1 + 1) } { print }' ours >other
expect_eq "one figure was changed" "$(cmp -s ours other; echo $?)" 1
tampered "another figure" other ours.addr
awk 'NR == 4 { held = $0; next } { print } NR == 5 { print held }' ours >other
tampered "another order" other ours.addr
sed 's/ app::chain/ app::chained/' ours >other
sed 's/ app::chain / app::chained /' ours.addr >other.addr
tampered "another name" other other.addr
sed 's/ std::__invoke (inline) / odd::__invoke2 (inline) /' ours.addr >other.addr
sed 's/ std::__invoke (inline)$/ odd::__invoke2 (inline)/' ours >other
tampered "another last word" other other.addr
