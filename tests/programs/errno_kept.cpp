// SPDX-License-Identifier: MIT
/* errno_kept.cpp -- a program that runs out of address space and watches errno on the way.
 *
 *	errno_kept malloc|calloc|new|realloc|grow|memalign|posix
 *
 * Asks for 307,301 bytes at a time, which glibc maps one by one, until it is refused. Before each
 * call errno is 4711. A call that succeeds must leave it so; the one that fails says ENOMEM.
 * `grow` is one block that gets larger by so much each time.
 *
 * Prints `calls=N changed=N` and `refused errno=N`, and ends with status 23. */
/* cflags: -O2 -g -fno-builtin */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

enum { EACH = 307301, BEFORE = 4711 };

static void *
ask(const char *kind, void *last, size_t round)
{
	void *p = nullptr;

	if (strcmp(kind, "malloc") == 0)
		return malloc(EACH);
	if (strcmp(kind, "calloc") == 0)
		return calloc(1, EACH);
	if (strcmp(kind, "new") == 0)
		return new (std::nothrow) char[EACH];
	if (strcmp(kind, "realloc") == 0)
		return realloc(nullptr, EACH);
	if (strcmp(kind, "grow") == 0)
		return realloc(last, EACH * (round + 1));
	if (strcmp(kind, "memalign") == 0)
		return memalign(64, EACH);
	if (strcmp(kind, "posix") == 0 && posix_memalign(&p, 64, EACH) == ENOMEM)
		errno = ENOMEM; // it is free to leave it alone
	return p;
}

int
main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "malloc";
	size_t calls = 0, changed = 0;
	void *volatile last = nullptr;

	for (;;) {
		errno = BEFORE;
		void *p = ask(kind, last, calls);
		int after = errno;

		if (p == nullptr) {
			printf("calls=%zu changed=%zu\nrefused errno=%d\n", calls, changed,
			       after);
			return 23;
		}
		last = p;
		calls++;
		changed += after != BEFORE;
	}
}
