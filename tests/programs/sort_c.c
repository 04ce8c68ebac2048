/* SPDX-License-Identifier: MIT */
/* sort_c.c -- sorts pairs of numbers from a file by the second; neither closes the file nor
 * frees the array of 16,000,000 bytes. Says where it allocates that. */
/* cflags: -g */
#include <mcheck.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
	long a, b;
};

static int
by_second(const void *x, const void *y)
{
	const struct pair *p = x, *q = y;

	return (p->b > q->b) - (p->b < q->b);
}

int
main(int argc, char **argv)
{
	struct pair *v;
	size_t n = 0;
	FILE *f;

	mtrace();
	v = malloc(16000000);
	printf("expect line=%d\n", __LINE__ - 1);
	f = argc > 1 ? fopen(argv[1], "r") : NULL;
	while (f != NULL && v != NULL && n < 1000000 &&
	       fscanf(f, "%ld %ld", &v[n].a, &v[n].b) == 2)
		n++;
	qsort(v, n, sizeof(*v), by_second);
	printf("sorted %zu, first %ld\n", n, n > 0 ? v[0].b : -1);
	return 0;
}
