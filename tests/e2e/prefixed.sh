#!/bin/bash
# SPDX-License-Identifier: MIT
# A process that nobody records, with a jemalloc linked into it under the names that Rust's tikv-jemallocator uses: its
# blocks are found by their shape. Where its tables are of a kind that nobody knows, most of the memory was not seen.
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
	run "$SEEP" "$2" $pid
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

asked unknown doctor
expect_match "unknown tables: seep doctor PID" "$out" '^ok    allocator      jemalloc, linked into the program$'

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
