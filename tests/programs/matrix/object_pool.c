/* SPDX-License-Identifier: MIT */
/* A pool that never gives objects back to malloc: it grows to the most that were ever in use at once,
 * which comes to 100 early on. */
#include "matrix.h"

struct object {
	struct object *next;
	char payload[2040];
};

static struct object *unused, *used;
static unsigned in_use;

SITE static struct object *
pool_new(void)
{
	return fill(malloc(sizeof(struct object)), sizeof(struct object));
}

static void
pool_take(void)
{
	struct object *o = unused;

	if (o != NULL)
		unused = o->next;
	else
		o = pool_new();
	o->next = used;
	used = o;
	in_use++;
}

static void
pool_give(void)
{
	struct object *o = used;

	used = o->next;
	o->next = unused;
	unused = o;
	in_use--;
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "pool_new", "healthy");
	for (unsigned i = 0; tick(2); i++) {
		unsigned wanted = i % 200 < 100 ? i % 200 : 200 - i % 200;

		while (in_use < wanted)
			pool_take();
		while (in_use > wanted)
			pool_give();
	}
	return 0;
}
