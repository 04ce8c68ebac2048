#!/bin/bash
# SPDX-License-Identifier: MIT
# A process that nobody records, with a jemalloc linked into it under the names that
# Rust's tikv-jemallocator uses: its blocks are found by their shape. Where its tables are
# of a kind that nobody knows, most of the memory was not seen. Goldens in
# tests/golden/prefixed: unknown.txt, known.txt (the same with and without symbols).
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command objcopy nm ar
cd "$TMP" || exit
cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void *_rjem_malloc(size_t);
static void *volatile kept[20000], *volatile last;
int main(void)
{
	for (int i = 0; i < 20000; i++)
		memset(kept[i] = _rjem_malloc(1000), 1, 1000);
	for (int i = 0; i < 300; i++)
		memset(last = _rjem_malloc(3000), 2, 3000);
	last = malloc(100);
	puts("ready");
	fflush(stdout);
	pause();
	return kept[5] == NULL;
}
END
cat >unknown.c <<'END'
#include <stddef.h>
#include <sys/mman.h>
void *_rjem_malloc(size_t n)
{
	static char *at, *end;
	if (at == NULL || at + n > end) {
		at = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = at + (4 << 20);
	}
	at += n;
	return at - n;
}
END

# asked PROGRAM COMMAND: what seep says of it.
asked() {
	"./$1" >ready &
	local pid=$!
	wait_for 20 grep -q ready ready
	show "$SEEP" "$2" $pid
	kill $pid
	wait $pid 2>/dev/null || true
	: >ready
}

${CC:-gcc} -O1 -g -fno-builtin -o unknown prog.c unknown.c || exit
for command in leaks scan; do
	asked unknown $command
	expect_match "unknown tables: seep $command" "$out" '^PARTIAL  malloc has .* of 2[0-9.]+ MiB anonymous memory .*: jemalloc is linked into the program'
	expect_no_match "unknown tables: seep $command: nothing else" "$out" '^(OK|STEADY|LEAK)'
done
varies=('s/0x[0-9a-f]{6,}/ADDRESS/g; s/^[0-9]+ \(/PID (/; s/(--save FILE|--who ADDRESS) [0-9]+/\1 PID/g; s/jemalloc 5\.[0-9]/jemalloc 5.N/'
	's/mapping [0-9a-f]+-[0-9a-f]+/mapping ADDRESS/; s/malloc has ([0-9.]+ [KM]iB) of [0-9.]+ MiB/malloc has SIZE of SIZE/; s/\([0-9.]+ %\)/(N %)/'
	's/kept by malloc [0-9.]+ [KM]iB, of [0-9.]+ MiB/kept by malloc SIZE, of SIZE/; s/free but kept .*/free but kept …/')

asked unknown doctor
expect_match "unknown tables: seep doctor PID" "$out" '^ok    allocator      jemalloc, linked into the program$'

expect_shown "unknown tables: all of it" prefixed/unknown.txt "${varies[@]}" 's/(process  +|recorded .*no: )[0-9]+/\1PID/; s/RSS [0-9.]+ MiB/RSS SIZE/' \
	"s/[0-9]+ (mappings|regions)/N \\1/g; s/the machine's .*/the machine's SIZE/"

library=$(find /usr/lib /usr/local/lib -name libjemalloc.a 2>/dev/null | head -n 1)
if [ -n "$library" ]; then
	mkdir jemalloc
	(cd jemalloc && ar x "$library") || exit
	nm -g --defined-only jemalloc/*.o | awk 'NF == 3 { print $3, "_rjem_" $3 }' | sort -u >prefix
	for object in jemalloc/*.o; do objcopy --redefine-syms=prefix "$object" || exit; done
	${CC:-gcc} -O1 -g -fno-builtin -o known prog.c jemalloc/*.o -lm -lpthread -ldl -lstdc++ || exit
	objcopy --strip-all known stripped
	for name in known stripped; do
		asked $name leaks
		expect_match "$name: what is lost" "$out" '^LEAK  (897|900) KiB in (299|300) blocks lost'
		expect_match "$name: whose blocks" "$out" " blocks of glibc's malloc and jemalloc 5\\."
		# The address of the last block may be left in a register or on the stack.
		expect_shown "$name: all of it" prefixed/known.txt "${varies[@]}" "s/\\b$name\\b/known/g" \
			's/(900|897) KiB/900 KiB/g; s/\b(300|299)\b/300/g; s/^( 1 .*)100 %/\1100 %/; s/still reachable.*/still reachable …/; s/[0-9,]+ blocks of/N blocks of/'
	done
	sed 's/_rjem_//' prog.c >plain.c
	${CC:-gcc} -O1 -g -o plain plain.c "$library" -lm -lpthread -ldl -lstdc++ || exit
	objcopy --strip-all plain plain_stripped
	for name in known stripped plain plain_stripped; do
		asked $name doctor
		expect_match "$name: seep doctor PID" "$out" '^ok    allocator      jemalloc, linked into the program$'
	done
else
	left_out "no libjemalloc.a here"
fi
