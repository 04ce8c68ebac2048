#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep convert`: what it writes is read by jeprof, google-pprof, `go tool pprof` and
# speedscope's rules, with seep's own totals to the byte and the right names; what it
# reads of Go comes out the same. It never writes over its input and leaves nothing half
# written.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq perl
python=/usr/bin/python3
export HOME=$TMP PPROF_TMPDIR=$TMP PPROF_BINARY_PATH=/nonexistent
cd "$TMP" || exit

# ---- a program in two modules: 97 blocks of 101 bytes in the library, 53 of 1009 in the
# program, 29 of 613 freed again, all of it through one function each
cat >part.c <<'END'
#include <stdlib.h>
void *part_make(unsigned n);
void *part_make(unsigned n) { void *p = malloc(n); __asm__ volatile("" ::"r"(p)); return p; }
END
cat >whole.c <<'END'
#include <stdlib.h>
void *part_make(unsigned n);
static void *volatile keep;
__attribute__((noinline)) static void *own_make(unsigned n)
{
	void *p = malloc(n);
	__asm__ volatile("" ::"r"(p));
	return p;
}
__attribute__((noinline)) static void scratch(unsigned n)
{
	void *p = malloc(n);
	__asm__ volatile("" ::"r"(p));
	free(p);
}
int main(void)
{
	for (unsigned i = 0; i < 97; i++)
		keep = part_make(101);
	for (unsigned i = 0; i < 53; i++)
		keep = own_make(1009);
	for (unsigned i = 0; i < 29; i++)
		scratch(613);
	return 0;
}
END
${CC:-gcc} -g -O1 -fPIC -shared -o libpart.so part.c || exit
${CC:-gcc} -g -O1 -o whole whole.c -L. -lpart -Wl,-rpath,"$TMP" || exit
expect_status 0 "$SEEP" run -o whole.rec -- ./whole
live_bytes=63274 live_blocks=150 alloc_bytes=81051 allocs=179
part_bytes=9797 own_bytes=53477

totals() { # FILE: live bytes and blocks, allocated bytes and blocks, as seep sees them
	"$SEEP" report --json "$1" 2>&1 | jq -c '.totals | [.live_bytes, .live_blocks, .allocated_bytes, .allocs]' 2>&1
}
wanted="[$live_bytes,$live_blocks,$alloc_bytes,$allocs]"
expect_eq "the recording" "$(totals whole.rec)" "$wanted"

# ---- every format is written, and read again where seep reads it
for ending in pb.gz pb pprof heap folded speedscope.json csv json dot gv copy.rec; do
	expect_status 0 "$SEEP" convert whole.rec "whole.$ending"
	expect_eq "nothing else is said ($ending)" "$out$err" "wrote whole.$ending"
	[ -s "whole.$ending" ] || fail "whole.$ending" "empty"
done
for ending in pb.gz pb pprof heap copy.rec; do
	expect_eq "read back from $ending" "$(totals "whole.$ending")" "$wanted"
done
expect_eq "json is the report's" "$(jq -c '.totals | [.live_bytes, .live_blocks, .allocated_bytes, .allocs]' whole.json)" "$wanted"

# ---- folded and CSV
expect_eq "folded lines" "$(sort whole.folded)" "main;own_make $own_bytes
main;part_make $part_bytes"
expect_status 0 "$SEEP" convert --sample-index allocated-objects whole.rec --to folded -
expect_eq "folded, allocations" "$(sort <<<"$out")" "main;own_make 53
main;part_make 97
main;scratch 29"
expect_status 0 "$SEEP" convert --sample-index alloc_space whole.pb.gz --to folded -
expect_eq "folded, allocated bytes by pprof's name" "$(sort <<<"$out")" "main;own_make $own_bytes
main;part_make $part_bytes
main;scratch 17777"
expect_status 0 "$SEEP" convert --sample-index alloc_objects whole.pb.gz --to folded -
expect_eq "folded, allocations by pprof's name" "$(sort <<<"$out")" "main;own_make 53
main;part_make 97
main;scratch 29"
expect_eq "CSV" "$($python - <<'END'
import csv
rows = list(csv.DictReader(open("whole.csv", newline="")))
print([r["function"] for r in rows], rows[0]["file"].endswith("/whole.c"), rows[1]["module"].endswith("/libpart.so"))
print([sum(int(r[c]) for r in rows) for c in ("live_bytes", "live_blocks", "allocated_bytes", "allocations")])
END
)" "['own_make', 'part_make', 'scratch'] True True
[$live_bytes, $live_blocks, $alloc_bytes, $allocs]"

# ---- dot: the graph of the report
expect_eq "dot" "$(cat whole.dot)" "$("$SEEP" report --graph whole.rec)"
expect_status 0 "$SEEP" convert --sample-index allocated-objects whole.rec --to dot -
expect_match "dot, allocations" "$out" 'label="scratch\\n29 \('

# ---- speedscope
expect_eq "speedscope" "$($python "$ROOT/tests/e2e/lib_speedscope.py" whole.speedscope.json 2>&1 | grep -v peak)" \
	"live_bytes $live_bytes
live_blocks $live_blocks
allocated_bytes $alloc_bytes
allocations $allocs
temporary_bytes 17777
temporary_allocations 29"
# And by speedscope's own schema, out of its npm package: fetched once, checked, and kept
# in the build folder.
schema=${SPEEDSCOPE_SCHEMA:-$BUILD/fetched/speedscope-1.25.0.schema.json}
fetch_schema() {
	local sum=03d098921294fca54ac1b67ea050138d867e44228c7cb140d958fbdfe345c911 file=package/dist/release/file-format-schema.json
	have npm || return
	mkdir -p fetch "${schema%/*}"
	(cd fetch && HOME=$TMP timeout 40 npm pack --silent --fetch-retries=0 --fetch-timeout=15000 speedscope@1.25.0 &&
		tar xzf speedscope-*.tgz "$file" && echo "$sum  $file" | sha256sum -c) >fetch.log 2>&1 || return
	cp "fetch/$file" "$schema.$$" && mv "$schema.$$" "$schema"
}
[ -e "$schema" ] || fetch_schema
if ! $python -c 'import jsonschema' 2>/dev/null; then
	left_out "no jsonschema for python here: speedscope's schema was not asked, only its rules in lib_speedscope.py"
elif [ ! -e "$schema" ]; then
	left_out "speedscope's schema cannot be fetched here: only its rules in lib_speedscope.py were asked"
else
	validate() {
		$python -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' "$1" "$schema"
	}
	expect_status 0 validate whole.speedscope.json
	sed 's/"unit":"bytes"/"unit":"crumbs"/' whole.speedscope.json >bad.json
	expect_status 1 validate bad.json
fi

# ---- go tool pprof: totals of every type, and the rows
pprof_total() { # FILE TYPE
	go tool pprof -symbolize=none -top -unit=b -nodefraction=0 -sample_index="$2" "$1" 2>&1 |
		sed -n 's/^Showing nodes accounting for [0-9]*[bB][a-z]*, 100% of \([0-9]*\)[bB].* total$/\1/p'
}
pprof_rows() { # FILE TYPE: flat and name
	go tool pprof -symbolize=none -top -unit=b -nodefraction=0 -sample_index="$2" "$1" 2>&1 |
		awk '/flat%/ { rows = 1; next } rows && $1 != "0" { sub(/[bB]$/, "", $1); print $1, $6 }'
}
if have go; then
	for file in whole.pb.gz whole.pb; do
		expect_eq "pprof, $file, inuse_space" "$(pprof_total $file inuse_space)" $live_bytes
		expect_eq "pprof, $file, inuse_objects" "$(pprof_total $file inuse_objects)" $live_blocks
		expect_eq "pprof, $file, alloc_space" "$(pprof_total $file alloc_space)" $alloc_bytes
		expect_eq "pprof, $file, alloc_objects" "$(pprof_total $file alloc_objects)" $allocs
		expect_eq "pprof, $file, temporary_space" "$(pprof_total $file temporary_space)" 17777
		expect_eq "pprof, $file, temporary_objects" "$(pprof_total $file temporary_objects)" 29
	done
	expect_eq "pprof: rows" "$(pprof_rows whole.pb.gz inuse_space)" "$own_bytes own_make
$part_bytes part_make"
	expect_eq "pprof shows what is live without being told" \
		"$(go tool pprof -top -symbolize=none whole.pb.gz 2>&1 | sed -n 's/^Type: //p')" inuse_space
	expect_status 0 "$SEEP" convert --sample-index allocated whole.rec alloc.pb.gz
	expect_eq "pprof shows what was asked for" \
		"$(go tool pprof -top -symbolize=none alloc.pb.gz 2>&1 | sed -n 's/^Type: //p')" alloc_space
	run go tool pprof -raw -symbolize=none whole.pb.gz
	expect_match "pprof: the program is the first mapping" "$out" "^1: .*$TMP/whole [0-9a-f]{40} "
	expect_match "pprof: block sizes" "$out" '^ *bytes:\[1009\]'
	expect_match "pprof: lines" "$out" "own_make $TMP/whole.c:6"
	expect_eq "pprof, heap text, inuse_space" "$(pprof_total whole.heap inuse_space)" $live_bytes
	expect_eq "pprof, heap text, inuse_objects" "$(pprof_total whole.heap inuse_objects)" $live_blocks
	expect_eq "pprof, heap text, alloc_space" "$(pprof_total whole.heap alloc_space)" $alloc_bytes
	expect_eq "pprof, heap text, alloc_objects" "$(pprof_total whole.heap alloc_objects)" $allocs
fi

# ---- jeprof and google-pprof: totals, and names through the map, of the program and the
# library
perl_total() { # TOOL OPTION
	"$1" --text --show_bytes "$2" ./whole whole.heap 2>/dev/null | sed -n 's/^Total: \([0-9]*\)\( B\| objects\|\)$/\1/p'
}
for tool in jeprof google-pprof; do
	have $tool || continue
	expect_eq "$tool, inuse_space" "$(perl_total $tool --inuse_space)" $live_bytes
	expect_eq "$tool, inuse_objects" "$(perl_total $tool --inuse_objects)" $live_blocks
	expect_eq "$tool, alloc_space" "$(perl_total $tool --alloc_space)" $alloc_bytes
	expect_eq "$tool, alloc_objects" "$(perl_total $tool --alloc_objects)" $allocs
	expect_eq "$tool: names" "$($tool --text --show_bytes ./whole whole.heap 2>/dev/null |
		awk '$1 > 0 && $NF ~ /make/ { print $1, $NF }')" "$own_bytes own_make
$part_bytes part_make"
done

# ---- profiles of Go: pprof's own table of what seep made of them is the same
golden=$ROOT/tests/golden/pprof
if have go; then
	for name in go_heap go_allocs; do
		expect_status 0 "$SEEP" convert "$golden/$name.pb.gz" "$name.pb.gz"
		for type in inuse_space inuse_objects alloc_space alloc_objects; do
			for file in "$golden/$name.pb.gz" "$name.pb.gz"; do
				go tool pprof -symbolize=none -top -unit=b -nodefraction=0 -sample_index=$type "$file" 2>&1
			done >both
			expect_eq "$name, $type: both halves" "$(head -n $(($(wc -l <both) / 2)) both)" \
				"$(tail -n $(($(wc -l <both) / 2)) both)"
		done
	done
fi
expect_status 3 "$SEEP" convert "$golden/go_cpu.pb.gz" cpu.folded
expect_match "a profile of time is refused by name" "$err" \
	'go_cpu.pb.gz: pprof profile, but not of memory: it has samples/count, cpu/nanoseconds$'

# ---- dumps of jemalloc and gperftools: as many bytes for pprof as for seep, in both
# formats
for file in "$ROOT"/tests/golden/heap/*.heap; do
	if [ ! -e "$file" ] || ! have go; then continue; fi
	name=${file##*/}
	rm -f dump.pb.gz dump.heap
	expect_status 0 "$SEEP" convert "$file" dump.pb.gz
	expect_status 0 "$SEEP" convert "$file" dump.heap
	seen=$("$SEEP" report --json "$file" | jq .totals.live_bytes)
	expect_eq "$name as pprof" "$(pprof_total dump.pb.gz inuse_space)" "$seen"
	type=$(sed -n '1s/.*: *\([0-9]*\) \[ *\([0-9]*\): .*/\2/p' dump.heap)
	if [ "$type" = 0 ]; then type=space; else type=inuse_space; fi
	expect_eq "$name as heap text" "$(pprof_total dump.heap "$type")" "$seen"
done

# ---- the program has moved: --exe, or the program among the inputs, says where to
mkdir moved
mv whole moved/now
expect_status 0 "$SEEP" convert whole.heap -t folded -
expect_no_match "gone" "$out" own_make
expect_status 0 "$SEEP" convert --exe moved/now whole.heap -t folded -
expect_match "--exe" "$out" "^main;own_make $own_bytes$"
expect_status 0 "$SEEP" convert moved/now whole.heap -t folded -
expect_match "the program among the inputs" "$out" "^main;own_make $own_bytes$"
mv moved/now whole

# ---- several inputs are summed, and told apart; of one process each holds all
expect_status 0 "$SEEP" convert whole.rec whole.rec once.pb.gz
expect_eq "one process" "$(totals once.pb.gz)" "[$live_bytes,$live_blocks,$alloc_bytes,$allocs]"
expect_status 0 "$SEEP" run -o other.rec -- ./whole
expect_status 0 "$SEEP" convert whole.rec other.rec twice.pb.gz
expect_eq "twice" "$(totals twice.pb.gz)" "[$((2 * live_bytes)),$((2 * live_blocks)),$((2 * alloc_bytes)),$((2 * allocs))]"
if have go; then
	expect_eq "twice, pprof" "$(pprof_total twice.pb.gz inuse_space)" $((2 * live_bytes))
	expect_match "the process is a label" "$(go tool pprof -tags twice.pb.gz 2>&1)" 'whole [0-9]+'
fi

# ---- pipes
expect_eq "through pipes" "$("$SEEP" convert whole.rec -t pprof - | "$SEEP" convert - -t folded - | sort)" \
	"$(sort whole.folded)"
expect_status 0 "$SEEP" convert --no-skip whole.rec -t folded -
expect_match "all frames" "$out" 'main;.*;malloc|;main;'

# ---- what it does not do
cp whole.pb.gz same.pb.gz
ln -s same.pb.gz link.pb.gz
for file in same.pb.gz link.pb.gz; do
	expect_status 2 "$SEEP" convert same.pb.gz $file
	expect_match "over its input ($file)" "$err" 'is an input and would be overwritten'
done
expect_eq "the input is untouched" "$(cmp whole.pb.gz same.pb.gz && echo same)" same
expect_status 2 "$SEEP" convert whole.rec whole.what
expect_match "no ending" "$err" '^seep convert: --to FORMAT is needed for "whole.what"; there are pprof, '
expect_status 2 "$SEEP" convert -t what whole.rec whole.pb.gz
expect_match "no such format" "$err" 'no format "what"; there are pprof, '
expect_status 2 "$SEEP" convert --sample-index whatever whole.rec x.folded
expect_status 2 "$SEEP" convert whole.rec
expect_status 3 "$SEEP" convert nowhere.pb.gz x.folded
expect_match "no such input" "$err" 'nowhere.pb.gz: neither a recording nor a process'
expect_status 3 "$SEEP" convert whole.rec /nonexistent/x.pb.gz
expect_status 3 "$SEEP" convert --sample-index peak "$golden/go_heap.pb.gz" x.folded
expect_match "a figure that is not there" "$err" 'has no peak'
expect_status 3 "$SEEP" convert "$golden/go_heap.pb.gz" x.rec
expect_status 3 "$SEEP" convert whole.folded x.heap
expect_match "names alone" "$err" 'heap text holds addresses, and this profile has only names'
expect_eq "nothing is left half written" "$(ls x.* 2>&1)" "ls: cannot access 'x.*': No such file or directory"
expect_eq "no temporary files" "$(find . -maxdepth 1 -name '.*' -type f)" ""
head -c $(($(wc -c <whole.pb.gz) / 2)) whole.pb.gz >cut.pb.gz
run "$SEEP" convert cut.pb.gz cut.folded
expect_match "cut off: read as far as it goes, or refused, and said" "$err" 'breaks off|cut|end|damaged'
if [ -e /dev/full ]; then
	run "$SEEP" convert whole.rec -t folded - >/dev/null
	"$SEEP" convert whole.rec -t folded - >/dev/full 2>full.err
	expect_eq "a full disk" "$?" 3
fi
# A folder like any other, though it is below /dev.
if [ -w /dev/shm ]; then
	shm=/dev/shm/seep-convert.$$.folded
	: >"$shm"
	expect_status 0 "$SEEP" convert whole.rec "$shm"
	"$SEEP" convert whole.rec shm.folded
	expect_eq "/dev/shm: all of it is new" "$(cmp shm.folded "$shm" && echo same)" same
	rm -f "$shm"
fi
