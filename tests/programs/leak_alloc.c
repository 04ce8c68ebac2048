/* SPDX-License-Identifier: MIT */
/* leak_alloc.c -- every way to allocate; neighbours of free memory; blocks of all sizes. */
/* cflags: -O1 -g */
#include "leak_cases.h"

#include <malloc.h>

static void *volatile root, *volatile more[64];

LEAK_CASE(malloc_, "definite=283/1")
{
	leak_hide(malloc(283));
}

LEAK_CASE(calloc_, "definite=287/1")
{
	leak_hide(calloc(7, 41));
}

LEAK_CASE(realloc_grown, "definite=4001/1")
{
	void *p = leak_hide(malloc(10)), *between = malloc(20);

	leak_hide(realloc(p, 4001));
	free(between);
}

LEAK_CASE(realloc_shrunk, "definite=11/1")
{
	leak_hide(realloc(leak_hide(malloc(4001)), 11));
}

LEAK_CASE(realloc_of_null, "definite=293/1")
{
	leak_hide(realloc(NULL, 293));
}

LEAK_CASE(realloc_fails, "reachable=307/1")
{
	volatile size_t much = SIZE_MAX / 4;

	root = malloc(307);
	if (realloc(root, much) != NULL)
		abort();
}

LEAK_CASE(reallocarray_, "definite=308/1")
{
	leak_hide(reallocarray(NULL, 7, 44));
}

LEAK_CASE(aligned, "definite=936/3")
{
	void *p = NULL;

	leak_hide(aligned_alloc(64, 320));
	leak_hide(memalign(256, 311));
	if (posix_memalign(&p, 1024, 305) == 0)
		leak_hide(p);
}

LEAK_CASE(aligned_reachable, "reachable=313/1")
{
	root = memalign(4096, 313);
}

LEAK_CASE(strdup_, "definite=18/1")
{
	leak_hide(strdup("eighteen bytes it"));
}

LEAK_CASE(mapped_lost, "definite=1000003/1")
{
	leak_hide(malloc(1000003));
}

LEAK_CASE(mapped_reachable, "reachable=1000003/1")
{
	root = malloc(1000003);
}

LEAK_CASE(mapped_holds, "reachable=1000320/2")
{
	void **p = calloc(1, 1000003);

	p[100000] = malloc(317);
	root = p;
}

LEAK_CASE(mapped_lost_holds, "definite=1000003/1 indirect=331/1")
{
	void **p = calloc(1, 1000003);

	p[100000] = malloc(331);
	leak_hide(p);
}

LEAK_CASE(mapped_inside, "possible=1000003/1")
{
	root = (char *)malloc(1000003) + 700001;
}

/* malloc's own lists point right behind the header of a free block: into the last 8 bytes of the
 * block before, when that uses them. */
LEAK_CASE(before_free_memory, "definite=1304/1")
{
	void *a = leak_hide(malloc(1304)), *b = malloc(2000), *c = malloc(16);

	free(b);
	free(c);
	(void)a;
}

LEAK_CASE(before_sorted_free_memory, "definite=3272/9")
{
	void *b[8];

	for (int i = 0; i < 8; i++) {
		leak_hide(malloc(24));
		b[i] = malloc(2000 + 16 * (size_t)i);
	}
	leak_hide(malloc(3080));
	for (int i = 0; i < 8; i++)
		free(b[i]);
	for (int i = 0; i < 8; i++)
		more[i] = NULL;
	free(malloc(100000)); /* sorts what was freed */
}

LEAK_CASE(before_end_of_heap, "definite=24/1")
{
	leak_hide(malloc(24));
}

LEAK_CASE(thread_cache, "definite=24/1")
{
	void *a = leak_hide(malloc(24)), *b = malloc(24), *c = malloc(24);

	free(b);
	free(c);
	(void)a;
}

LEAK_CASE(fast_lists, "definite=24/1")
{
	void *p[40], *a;

	for (int i = 0; i < 20; i++)
		p[i] = malloc(40);
	a = leak_hide(malloc(24));
	for (int i = 20; i < 40; i++)
		p[i] = malloc(40);
	for (int i = 0; i < 40; i++)
		free(p[i]);
	(void)a;
}

LEAK_CASE(all_sizes, "definite=508536/1008")
{
	for (size_t i = 1; i <= 1008; i++)
		leak_hide(calloc(1, i));
}

LEAK_CASE(every_second_one, "definite=79992/303 reachable=79992/303")
{
	void **all = NULL;

	for (int i = 0; i < 303; i++) {
		void **p = calloc(1, 264);

		leak_hide(calloc(1, 264));
		p[3] = all;
		all = p;
	}
	root = all;
}

LEAK_CASE(all_freed, "")
{
	void *p[500];

	for (size_t i = 0; i < 500; i++)
		p[i] = malloc(i * 17);
	for (size_t i = 0; i < 500; i++)
		free(p[i]);
}

LEAK_MAIN()
