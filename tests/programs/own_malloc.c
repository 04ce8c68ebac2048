/* SPDX-License-Identifier: MIT */
/* own_malloc.c -- a program with a malloc of its own linked in, which wins over any preload: 307
 * blocks that no recorder can see. It ends at once, before anybody looks at its memory. */
/* cflags: -O1 -g -fno-builtin */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static _Alignas(16) char room[1 << 20];
static size_t used;

void *malloc(size_t n);
void *calloc(size_t n, size_t each);
void *realloc(void *p, size_t n);
void free(void *p);

void *
malloc(size_t n)
{
	char *p = room + used;

	if (n > sizeof room - used)
		return NULL;
	used += (n + 15) & ~(size_t)15;
	return p;
}

void *
calloc(size_t n, size_t each)
{
	return malloc(n * each); /* the room is zero, and nothing is used twice */
}

void *
realloc(void *p, size_t n)
{
	void *q = malloc(n);

	if (p != NULL && q != NULL)
		memcpy(q, p, n); /* more than there was: still inside the room */
	return q;
}

void
free(void *p)
{
	(void)p;
}

int
main(void)
{
	static const char text[] = "expect nothing recorded, and said so\n";
	int missing = 0;

	for (int i = 0; i < 307; i++)
		missing += malloc(1009) == NULL;
	return write(1, text, sizeof text - 1) > 0 ? missing : 1;
}
