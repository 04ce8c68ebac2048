/* SPDX-License-Identifier: MIT */
/* heap_service.c -- a service with a large heap that is all in use and changes all the time, and a small leak: MIB of
 * blocks in a table, 400 of which come and go, and a block of 1,024 bytes that is forgotten now and then. Says how many
 * that were, before and after each.
 *
 *	heap_service MIB */
/* cflags: -O2 -g */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1 << 18 };

static struct slot {
	void *p;
	size_t n;
} table[MOST];

static uint64_t state = 88172645463325252u;

static uint64_t
below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

__attribute__((noinline)) static void *
request(size_t n)
{
	char *p = malloc(n);

	memset(p, 0x55, n);
	return p;
}

__attribute__((noinline)) static void
forget(void)
{
	__asm__ volatile("" : : "r"(request(1024)) : "memory");
}

int
main(int argc, char **argv)
{
	uint64_t heap = argc == 2 ? strtoull(argv[1], NULL, 10) << 20 : 0, have = 0,
		 n = 0;
	unsigned forgotten = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (; have < heap && n < MOST; n++) {
		/* None of 1,024 itself: those are the ones that are lost. */
		table[n].n = 2048 + below(2 * heap / MOST * 8);
		table[n].p = request(table[n].n);
		have += table[n].n;
	}
	puts("ready");
	for (;;) {
		for (unsigned i = 0; i < 20; i++) {
			struct slot *s = &table[below(n < 400 ? n : 400)];

			free(s->p);
			s->p = request(s->n);
		}
		printf("at least %u\n", forgotten);
		forget();
		printf("at most %u\n", ++forgotten);
		usleep(10000);
	}
}
