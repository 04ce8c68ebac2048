/* SPDX-License-Identifier: MIT */
/* A library calls back with a context that the callback has to free; it forgets that when it has
 * nothing to do. */
#include "matrix.h"

typedef void callback(void *context, int code);

SITE static void *
make_context(void)
{
	return fill(malloc(3000), 3000);
}

SITE static void
on_event(void *context, int code)
{
	if (code == 0)
		return;
	fill(context, 100);
	free(context);
}

SITE static void
dispatch(callback *call)
{
	call(make_context(), (int)chance(6));
}

int
main(int argc, char **argv)
{
	callback *volatile call = on_event;

	matrix_begin(argc, argv, "make_context", "LEAK");
	while (tick(2))
		dispatch(call);
	return 0;
}
