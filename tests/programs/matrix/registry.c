/* SPDX-License-Identifier: MIT */
/* Every session is entered into a registry and never taken out again: all of it is reachable, and
 * grows for as long as the program runs. */
#include "matrix.h"

struct session {
	struct session *next;
	char data[4080];
};

static struct session *registry;

SITE static void
enter_session(void)
{
	struct session *s = fill(malloc(sizeof(*s)), sizeof(*s));

	s->next = registry;
	registry = s;
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "enter_session", "GROWING");
	while (tick(10))
		enter_session();
	return 0;
}
