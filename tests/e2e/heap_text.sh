#!/bin/bash
# SPDX-License-Identifier: MIT
# Heap profiles written by Debian's jemalloc and gperftools and by Go: seep's totals are
# those of jeprof, google-pprof and go tool pprof, whichever way the file comes in.
. "$(dirname "$0")/lib.sh"
# timeout: 300
need_seep
need_command jq gzip
prog=$(program heap_text)
jemalloc=$(find_library libjemalloc.so.2)
tcmalloc=$(find_library libtcmalloc.so.4)
cd "$TMP" || exit

# seep_total KIND FILE: live_bytes, live_blocks or allocated_bytes of all sites.
seep_total() { "$SEEP" report --json "$2" | jq ".totals.$1"; }

# perl_total TOOL FILE OPTION...: the number in the first line of its table.
perl_total() {
	local tool=$1 file=$2
	shift 2
	"$tool" --text "$@" "$prog" "$file" 2>/dev/null | sed -n 's/^Total: \([0-9]*\) .*/\1/p'
}

# agree TOOL FILE SLACK: all the figures that both know; whole numbers a stack may differ.
agree() {
	local tool=$1 file=$2 slack=$3 want
	want=$(perl_total "$tool" "$file" --show_bytes)
	expect_between "$tool $file: live bytes" "$(seep_total live_bytes "./$file")" \
		$((want - slack)) "$want"
	want=$(perl_total "$tool" "$file" --inuse_objects)
	expect_between "$tool $file: live blocks" "$(seep_total live_blocks "./$file")" \
		$((want - slack)) "$want"
}

if [ -n "$jemalloc" ] && have jeprof; then
	conf=prof:true,prof_final:true,prof_accum:true,prof_prefix
	LD_PRELOAD=$jemalloc MALLOC_CONF=$conf:exact,lg_prof_sample:0 "$prog" >/dev/null
	LD_PRELOAD=$jemalloc MALLOC_CONF=$conf:sampled,lg_prof_sample:12 "$prog" >/dev/null
	mv exact.*.heap exact.heap && mv sampled.*.heap sampled.heap
	agree jeprof exact.heap 0
	agree jeprof sampled.heap "$(grep -c ^@ sampled.heap)"
	expect_eq "allocated bytes" "$(seep_total allocated_bytes ./exact.heap)" \
		"$(perl_total jeprof exact.heap --show_bytes --alloc_space)"
	# The program's own truth, in size classes of jemalloc: 101 x 32, 13 x 81920, 60 x
	# 112, 37 x 512.
	"$SEEP" report --json ./exact.heap >exact.json
	expect_json "blocks of each place" exact.json \
		'[.sites[] | select(.live_blocks > 1) | .live_blocks] | sort | map(tostring) | join(" ")' "13 37 60 101"

	# The same through everything a file may come through.
	whole=$(seep_total live_bytes ./exact.heap)
	gzip -k exact.heap
	expect_eq "gzip" "$(seep_total live_bytes ./exact.heap.gz)" "$whole"
	if have zstd; then
		zstd -q exact.heap
		expect_eq "zstd" "$(seep_total live_bytes ./exact.heap.zst)" "$whole"
	fi
	expect_eq "pipe" "$(seep_total live_bytes <(cat exact.heap))" "$whole"
	expect_eq "packed pipe" "$(seep_total live_bytes <(cat exact.heap.gz))" "$whole"
	mkfifo fifo
	{ sleep 0.2; cat exact.heap >fifo; } &
	expect_eq "FIFO" "$(seep_total live_bytes ./fifo)" "$whole"
	wait
	if have curl && have python3; then
		python3 -u -m http.server --bind 127.0.0.1 0 >server.log 2>&1 &
		server=$!
		wait_for 10 grep -q 'port [0-9]' server.log
		url=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\) .*/\1/p' server.log | head -n 1)
		expect_eq "URL" "$(seep_total live_bytes "$url/exact.heap.gz")" "$whole"
		run "$SEEP" report "$url/nothing"
		expect_eq "URL that is not there: status" "$status" 3
		expect_match "URL that is not there" "$err" "^seep: $url/nothing: the server answers 404"
		kill $server
		wait $server 2>/dev/null
	fi

	# Cut off in the middle: what was read, and a word about the rest.
	head -c 700 exact.heap >cut.heap
	run "$SEEP" report --json ./cut.heap
	expect_eq "cut off: status" "$status" 0
	expect_match "cut off" "$out" '"damage":\[\{.*(memory map is missing|breaks off)'
else
	left_out "jemalloc's files"
fi

if [ -n "$tcmalloc" ] && have google-pprof; then
	LD_PRELOAD=$tcmalloc HEAPPROFILE=$TMP/gp "$prog" >/dev/null 2>&1
	LD_PRELOAD=$tcmalloc HEAPPROFILE=$TMP/mm HEAP_PROFILE_MMAP=true "$prog" >/dev/null 2>&1
	LD_PRELOAD=$tcmalloc TCMALLOC_SAMPLE_PARAMETER=4096 "$prog" sample sample.heap >/dev/null
	LD_PRELOAD=$tcmalloc "$prog" growth growth.heap >/dev/null
	for file in gp.0001.heap mm.0001.heap growth.heap; do
		agree google-pprof $file 0
	done
	agree google-pprof sample.heap "$(grep -c '\] @ 0x' sample.heap)"
	expect_eq "allocated bytes" "$(seep_total allocated_bytes ./gp.0001.heap)" \
		"$(perl_total google-pprof gp.0001.heap --show_bytes --alloc_space)"
	if have go; then # it truncates as seep's whole numbers do
		for file in gp.0001.heap sample.heap growth.heap; do
			want=$(HOME=$TMP go tool pprof -top -unit=bytes -symbolize=none $file 2>/dev/null |
				sed -n 's/.* of \([0-9]*\)B total$/\1/p')
			expect_eq "go tool pprof $file" "$(seep_total live_bytes ./$file)" "$want"
		done
	fi
else
	left_out "gperftools' files"
fi

if have go; then
	cat >leak.go <<'END'
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var keep [][]byte

// The first sample was drawn at the old rate already: a large one uses that up.
func init() {
	runtime.GOMAXPROCS(1)
	runtime.MemProfileRate = 4096
	keep = [][]byte{make([]byte, 64<<20)}
	keep = nil
}

//go:noinline
func leak(n, bytes int) {
	for i := 0; i < n; i++ {
		keep = append(keep, make([]byte, bytes))
	}
}

func main() {
	leak(13, 70001)
	leak(1009, 48)
	// What one found is told by the next, unless that began by itself meanwhile.
	for i := 0; i < 4; i++ {
		runtime.GC()
	}
	f, _ := os.Create(os.Args[1])
	pprof.Lookup("heap").WriteTo(f, 1)
	f.Close()
}
END
	if HOME=$TMP go build -o leak leak.go 2>go.log && ./leak go.heap; then
		want=$(HOME=$TMP go tool pprof -top -unit=bytes -symbolize=none go.heap 2>/dev/null |
			sed -n 's/.* of \([0-9]*\)B total$/\1/p')
		expect_eq "Go's text" "$(seep_total live_bytes ./go.heap)" "$want"
		run "$SEEP" report --lines ./go.heap
		expect_match "Go's names" "$out" 'main\.leak .*leak\.go:22'
	else
		left_out "go cannot build here: $(head -n 1 go.log)"
	fi
fi

# Where none of the tools is installed there is nothing to compare with.
[ $((lib_passed + lib_failed)) -gt 0 ] || skip "neither jeprof, google-pprof nor go here"
