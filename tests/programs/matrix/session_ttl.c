/* SPDX-License-Identifier: MIT */
/* Sessions end after an eighth of the time; a new one comes every 5 ms. */
#include "matrix.h"

struct session {
	struct session *next;
	double ends;
	char data[3000];
};

static struct session *first, **last = &first;

SITE static void
begin_session(void)
{
	struct session *s = fill(malloc(sizeof(*s)), sizeof(*s));

	s->next = NULL;
	s->ends = matrix_now() + matrix_length / 8;
	*last = s;
	last = &s->next;
}

static void
end_sessions(void)
{
	while (first != NULL && first->ends < matrix_now()) {
		struct session *s = first;

		first = s->next;
		if (first == NULL)
			last = &first;
		free(s);
	}
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "begin_session", "healthy");
	while (tick(5)) {
		end_sessions();
		begin_session();
	}
	return 0;
}
