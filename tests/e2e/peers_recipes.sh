#!/bin/bash
# SPDX-License-Identifier: MIT
# Every line of docs/from-other-tools.md, both columns, typed as it stands there.
. "$(dirname "$0")/lib.sh"
# timeout: 300
need_seep
need_libseep
need_command dot
prog=$(program peers_demo)
page=$ROOT/docs/from-other-tools.md
mkdir "$TMP/bin" "$TMP/work"
for name in jeprof google-pprof pprof mtrace ms_print flamegraph.pl valgrind seep; do
	ln -s "$SEEP" "$TMP/bin/$name"
done
export PATH=$TMP/bin:$PATH LD_LIBRARY_PATH=$BUILD XDG_DATA_HOME=$TMP/data
cd "$TMP/work" || exit
cp "$prog" demo

cp "$ROOT/tests/golden/heap/massif.out" real.massif.out # of the real massif

# What the lines read: two profiles, of which the second has 17 blocks more.
for run in a:0 b:17; do
	LD_PRELOAD=$LIBSEEP MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:${run%:*} ./demo "${run#*:}"
	mv "${run%:*}".*.f.heap "${run%:*}.heap"
done
seep convert --exe ./demo ./a.heap old.pb.gz
seep convert --exe ./demo ./b.heap heap.pb.gz

# type_it COMMAND: it does what it should, with something to show for it.
type_it() {
	local after word
	for word in $1; do # seep does not draw over what another tool has drawn
		case $word in *.pdf | *.gif | *.svg) rm -f "$word" ;; esac
	done
	touch stamp
	run timeout 60 bash -c "$1"
	after=$(find . -type f -size +0 -newer stamp | wc -l)
	expect_eq "$1: status" "$status" 0
	[ "$status" = 0 ] || printf '    %s\n' "$err"
	if [ -n "$out$err" ] || [ "$after" -gt 0 ]; then pass; else fail "$1: nothing to show"; fi
	typed=$((typed + 1))
}
typed=0
while IFS= read -r line; do
	# shellcheck disable=SC2016 # backquotes of Markdown
	left=$(sed -n 's/^| `\(.*\)` | `.*` |$/\1/p' <<<"$line")
	# shellcheck disable=SC2016
	right=$(sed -n 's/^| `.*` | `\(.*\)` |$/\1/p' <<<"$line")
	if [ -z "$left" ] || [ -z "$right" ]; then
		fail "a line that cannot be read" "$line"
		continue
	fi
	type_it "$left"
	type_it "$right"
done < <(grep '^| `' "$page")
expect_eq "lines of the page" "$typed" $((2 * $(grep -c '^| `' "$page")))
expect_between "lines of the page" "$typed" 50 100

# And they say what they should: 79 blocks from do_something, 17 more from grow.
expect_match "jeprof" "$(jeprof --inuse_objects ./demo a.heap 2>/dev/null)" '^ +79 .* do_something$'
expect_match "jeprof --base" "$(jeprof --inuse_objects ./demo --base=a.heap b.heap 2>/dev/null)" '^ +17 +100.0% +100.0% +17 +100.0% grow$'
expect_match "pprof --text" "$(pprof --text -inuse_objects ./demo heapprof.0001.heap)" '^ +79 .*  do_something$'
expect_match "google-pprof" "$(google-pprof --text --inuse_objects ./demo heapprof.0001.heap 2>/dev/null)" '^ +79 .* do_something$'
expect_match "pprof -diff_base" "$(pprof -top -inuse_objects -diff_base=old.pb.gz heap.pb.gz)" '^ +17 .*  grow$'
expect_eq "flame graph" "$(grep -c '<svg' flamegraph.svg)" 1
for picture in profile.pdf:%PDF memleak.gif:GIF8 tc.svg:'<?xm' all.svg:'<?xm'; do
	expect_eq "${picture%:*}" "$(head -c 4 "${picture%:*}")" "${picture#*:}"
done
