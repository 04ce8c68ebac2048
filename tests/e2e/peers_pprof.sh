#!/bin/bash
# SPDX-License-Identifier: MIT
# seep pprof beside go tool pprof on heap profiles of a Go program: the same bytes, option
# by option. And what Go's does not do: jemalloc's and gperftools' files with names, one
# clear line for what is refused.
. "$(dirname "$0")/lib.sh"
# timeout: 300
need_seep
need_command go
export HOME=$TMP/home GOCACHE=$TMP/gocache GOFLAGS=-mod=mod TZ=UTC
mkdir -p "$HOME" "$TMP/src"
cd "$TMP/src" || exit
cat >go.mod <<'END'
module demo

go 1.19
END
cat >main.go <<'END'
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

type node struct {
	next *node
	data [40]byte
}

var keep [][]byte
var nodes []*node
var sink []byte

//go:noinline
func small(n int) {
	for i := 0; i < n; i++ {
		nodes = append(nodes, &node{})
	}
}

//go:noinline
func big(n int) {
	for i := 0; i < n; i++ {
		keep = append(keep, make([]byte, 70000))
	}
}

func both(n int) { small(n * 3); big(n) }

//go:noinline
func recurse(d int) {
	if d > 0 {
		recurse(d - 1)
		return
	}
	both(13)
}

func churn() {
	for i := 0; i < 100; i++ {
		_ = append([]byte(nil), make([]byte, 5000+i)...)
	}
}

func dump(path string) {
	runtime.GC()
	f, _ := os.Create(path)
	pprof.Lookup("heap").WriteTo(f, 0)
	f.Close()
}

func main() {
	// Every allocation from here on: the large one uses up the distance that was drawn before.
	runtime.MemProfileRate = 1
	sink = make([]byte, 64<<20)
	sink = nil
	both(7)
	recurse(3)
	churn()
	dump(os.Args[1])
	big(5)
	small(200)
	dump(os.Args[2])
}
END
if ! go build -o demo . 2>build.log; then
	skip "go cannot build here: $(head -n 1 build.log)"
fi
./demo old.pb.gz new.pb.gz

# same OPTION...: the last word is the profile.
compared=0
same() {
	go tool pprof "$@" >peer 2>/dev/null
	"$SEEP" pprof "$@" >ours 2>ours.err
	compared=$((compared + $(wc -l <ours)))
	if [ -s peer ] && cmp -s peer ours; then
		pass
	else
		fail "pprof $*" "$(diff peer ours | head -n 8)" "$(cat ours.err)"
	fi
}
for index in inuse_space inuse_objects alloc_space alloc_objects; do
	same -top -nodefraction=0 -$index new.pb.gz
	same -top -$index new.pb.gz
	same -tree -$index new.pb.gz
	same -traces -$index new.pb.gz
	same -top -cum -lines -sample_index=$index new.pb.gz
done
same -text old.pb.gz
same -top -files new.pb.gz
same -top -addresses -nodefraction=0 new.pb.gz
same -top -nodecount=5 new.pb.gz
same -tree -nodecount=4 new.pb.gz
same -tree -alloc_space -edgefraction=0.1 new.pb.gz
same -top -trim=false new.pb.gz
same -peek=big new.pb.gz
same '-list=main.big|small' new.pb.gz
same -tags new.pb.gz
same -raw new.pb.gz
same -top -focus=small -alloc_objects new.pb.gz
same -top -ignore=big -relative_percentages new.pb.gz
same -top -hide=main -nodefraction=0 new.pb.gz
same -top -show=main new.pb.gz
same -top -show_from=recurse new.pb.gz
same -top -tagfocus=1kb: new.pb.gz
same -top -tagroot=bytes -nodefraction=0 new.pb.gz
same -tree -tagleaf=bytes new.pb.gz
same -top -lines -tagroot=nosuch,bytes -tagleaf=bytes -alloc_space new.pb.gz
same -traces -tagroot=bytes,nosuch new.pb.gz
same -top -tagroot=bytes -focus='^80$' -base=old.pb.gz new.pb.gz
same -top -unit=kb -divide_by=3 new.pb.gz
same -top -unit=auto new.pb.gz
same -top -base=old.pb.gz new.pb.gz
same -tree -base=old.pb.gz -nodefraction=0 new.pb.gz
same -top -diff_base=old.pb.gz -nodefraction=0 new.pb.gz
same -top -base=old.pb.gz -normalize -nodefraction=0 new.pb.gz
same -top -base=new.pb.gz -nodefraction=0 old.pb.gz
same -top -base=new.pb.gz -drop_negative -nodefraction=0 old.pb.gz
expect_between "lines compared" $compared 1000 100000

# A picture of a difference shows the difference, too.
total() { "$SEEP" pprof -dot -nodefraction=0 "$@" 2>/dev/null | sed -n 's/.*\\l\([^\\]*\) of \([^\\]*\)\\l[0-9]* of [0-9]* functions drawn.*/\1/p'; }
expect_eq "-dot, against itself" "$(total -base=new.pb.gz new.pb.gz)" "0 B"
go tool pprof -top -base=old.pb.gz -nodefraction=0 -unit=kb new.pb.gz >kb.txt 2>/dev/null
# Go has two decimals of it, here it is rounded.
kb=$(sed -n 's/^Showing nodes accounting for \([0-9]*\)\..*kB, .*/\1/p' kb.txt)
expect_between "-dot -base" "$(total -base=old.pb.gz new.pb.gz | sed -n 's/^\([0-9]*\) KiB$/\1/p')" "$kb" $((kb + 1))
for view in -traces -tags -raw; do
	run "$SEEP" pprof $view -base=old.pb.gz new.pb.gz
	expect_eq "$view with a base: refused" "$status $(wc -l <<<"$err")" "2 1"
done

# The program's own truth: 7 + 13 + 5 blocks of 70000 bytes and the array of them are live
# at the end.
run "$SEEP" pprof -top -inuse_objects -nodefraction=0 new.pb.gz
expect_match "what big keeps" "$out" '^ +26 +[0-9.]+% +[0-9.]+% +26 +[0-9.]+%  main\.big$'

# Written and read again.
"$SEEP" pprof -proto new.pb.gz >copy.pb.gz
expect_eq "-proto" "$(go tool pprof -top -nodefraction=0 copy.pb.gz 2>/dev/null | tail -n +4)" \
	"$(go tool pprof -top -nodefraction=0 new.pb.gz 2>/dev/null | tail -n +4)"
run "$SEEP" pprof -top -output="$TMP/top.txt" new.pb.gz
expect_match "-output" "$err" "^Generating report in $TMP/top.txt$"
expect_eq "-output: text" "$(cat "$TMP/top.txt")" "$("$SEEP" pprof -top new.pb.gz)"
expect_match "-dot" "$("$SEEP" pprof -dot new.pb.gz)" '^digraph '
expect_match "-callgrind" "$("$SEEP" pprof -callgrind new.pb.gz)" '^fn=\([0-9]+\) main\.big$'

for picture in svg ps; do
	run env PATH=/nonexistent "$SEEP" pprof -$picture new.pb.gz
	expect_match "-$picture without graphviz" "$status $err" "^3 seep: -$picture needs dot of graphviz, .*; -dot prints"
done

# The prompt says what Go's says.
printf 'top3\npeek big\nalloc_objects\ntop5 -cum\nfocus=small\ntop\nquit\n' >commands
go tool pprof new.pb.gz <commands 2>/dev/null >peer
"$SEEP" pprof new.pb.gz <commands >ours 2>/dev/null
tables() { grep -E '^ |^Showing|^Dropped|\(pprof\) (Showing|Active)' "$1" | sed 's/^(pprof) *//; s/(pprof) //g'; }
expect_eq "prompt" "$(tables ours)" "$(tables peer)"
printf 'web\nbogus\n:\no\nhelp\n' >commands
"$SEEP" pprof new.pb.gz <commands >ours 2>err
expect_match "web" "$(cat err)" 'opens no viewer'
expect_match "unknown" "$(cat err)" 'unrecognized command: "bogus"'
expect_match "options" "$(cat ours)" 'nodefraction += 0.005'

# Refused in one line.
refused() {
	run "$SEEP" pprof "$@"
	expect_eq "$1: status" "$status" 2
	expect_eq "$1: lines" "$(wc -l <<<"$err")" 1
}
refused -http=:8080 -top new.pb.gz
refused -http=8080 new.pb.gz
expect_match "-http says what to do" "$err" '\[host\]:\[port\]'
refused -web new.pb.gz
refused -disasm=x new.pb.gz
refused -top -tree new.pb.gz
refused -base=old.pb.gz -diff_base=old.pb.gz -top new.pb.gz
refused -nosuch new.pb.gz
refused -top
run "$SEEP" pprof -peek=nothing_like_it new.pb.gz
expect_eq "no match: status" "$status" 3
expect_match "no match" "$err" 'no matches found for regexp'
run "$SEEP" pprof -top ./nosuch.pb.gz
expect_eq "no file: status" "$status" 3

# Files that Go's pprof cannot read or name: jemalloc's, with the program's names.
jemalloc=$(find_library libjemalloc.so.2)
if [ -n "$jemalloc" ]; then
	prog=$(program peers_demo)
	LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:je "$prog"
	run "$SEEP" pprof -top -inuse_objects "$prog" je.*.heap
	expect_match "jemalloc's profile" "$out" '^ +79 .*  do_something$'
	ln -s "$SEEP" pprof
	expect_eq "link" "$(./pprof -top -inuse_objects "$prog" je.*.heap)" "$out"
fi
