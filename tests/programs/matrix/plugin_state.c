/* SPDX-License-Identifier: MIT */
/* Each module of a pipeline keeps a state and a buffer that hangs on it. Closing one in four frees neither:
 * the state is definitely lost, the buffer through it. */
#include "matrix.h"

struct state {
	char *buffer;
	char name[56];
};

static struct state *module;

SITE static struct state *
open_module(void)
{
	struct state *s = fill(malloc(sizeof(*s)), sizeof(*s));

	s->buffer = fill(malloc(5000), 5000);
	return s;
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "open_module", "LEAK");
	while (tick(6)) {
		if (module != NULL && chance(4) != 0) {
			free(module->buffer);
			free(module);
		}
		module = open_module();
	}
	return 0;
}
