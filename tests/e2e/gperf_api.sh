#!/bin/bash
# SPDX-License-Identifier: MIT
# The C functions of gperftools' heap profiler, beside the real library; and started at
# run time with threads that were there before: exact all the same.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_gperf.sh"
need_libseep

cp "$ROOT/tests/programs/gperf_api.c" "$TMP/api.c"
cd "$TMP" || exit
gcc -g -O1 -pthread api.c -o api -L"$BUILD/compat" -ltcmalloc -Wl,-rpath,"$BUILD/compat" || exit
mkdir ours
run ./api ours/x
expect_eq "status" "$status" 0
expect_eq "answers" "$out" 'before: running 0, profile ""
started: running 1, profile "heap profile:      7:      707 [     7:      707] @"
stopped: running 0, profile ""'
expect_eq "messages" "$err" "Starting tracking the heap
Dumping heap profile to ours/x.0001.heap (my reason)
Starting tracking the heap
Dumping heap profile to ours/x.0002.heap (second)
Dumping heap profile to ours/x.0003.heap (Exiting, 7 bytes in use)"
expect_eq "first" "$(header ours/x.0001.heap)" "7 707 7 707"
expect_eq "second: only what came after the second start" "$(header ours/x.0002.heap)" "1 7 1 7"
expect_eq "second: one stack" "$(buckets ours/x.0002.heap)" "1 7 1 7"
run ./api ours/y stop
expect_eq "stopped: no file at exit" "$(find ours -name 'y*' | wc -l)" 2

if [ -n "$TCMALLOC" ]; then
	gcc -g -O1 -pthread api.c -o theirs "$TCMALLOC" || exit
	mkdir real
	run ./theirs real/x
	expect_eq "real: messages" "$(tr -d '\0' <"$TMP/err" | sed s,real/,ours/,g)" "Starting tracking the heap
Dumping heap profile to ours/x.0001.heap (my reason)
Starting tracking the heap
Dumping heap profile to ours/x.0002.heap (second)
Dumping heap profile to ours/x.0003.heap (Exiting, 7 bytes in use)"
	expect_eq "real: files" "$(heaps real)" "$(heaps ours | grep '^x')"
	for n in 1 2 3; do
		expect_eq "real: stacks of $n" "$(buckets real/x.000$n.heap)" "$(buckets ours/x.000$n.heap)"
	done
	# Ours in front of it: its own functions are called.
	run env LD_PRELOAD="$LIBSEEP" ./theirs real/z
	expect_match "passed on" "$(sed -n 2p real/z.0001.heap)" '( 0x[0-9a-f]+){4}$'
	expect_eq "passed on: files" "$(find real -name 'z*' | wc -l)" 3
fi

for _ in $(seq "$(times 3 100)"); do
	run ./api ours/t threads
	expect_eq "threads: status" "$status" 0
	file=$(find ours -name 't.*.heap')
	expect_eq "threads: sums" "$(header "$file")" "404 407636 200488 5209652"
	expect_eq "threads: stacks" "$(buckets "$file")" "404 407636 404 407636
0 0 200084 4802016"
	rm -f "$file"
done

# A word of our own in the environment: the functions do nothing.
run env SEEP=mode=off ./api ours/n
expect_eq "SEEP is set" "$status $err$(ls ours/n* 2>/dev/null)" "0 "
expect_eq "SEEP is set: answers" "$(grep -c 'running 0, profile ""' <<<"$out")" 3

cat >ext.cpp <<'EOF'
#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>
#include <cstdio>
int main()
{
	size_t bytes = 0;
	std::string text;
	HeapProfilerStart("ours/c");
	char *volatile p = new char[1009];
	MallocExtension *m = MallocExtension::instance();
	m->GetHeapSample(&text);
	bool known = m->GetNumericProperty("generic.heap_size", &bytes);
	std::printf("%.40s|%d|%d|%d\n", text.c_str(), known, bytes > 1009, m->GetAllocatedSize(p) >= 1009);
	HeapProfilerStop();
	delete[] p;
}
EOF
if have g++; then
	g++ -Wall -Wextra -Werror -I"$BUILD/compat/include" ext.cpp -o ext -L"$BUILD/compat" -ltcmalloc -Wl,-rpath,"$BUILD/compat"
	run ./ext
	expect_eq "C++ header" "$out" "heap profile:      1:     1009 [     1: |1|1|1"
fi
