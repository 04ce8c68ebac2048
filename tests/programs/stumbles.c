/* SPDX-License-Identifier: MIT */
/* stumbles.c -- has 287 sessions of 1,000 bytes, or the number and size that its second and third word say,
 * and loses all but the last one; says `ready`, and waits if its first word is `wait`. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *volatile last_session;
static size_t bytes = 1000;

__attribute__((noinline)) static void
session_new(void)
{
	last_session = malloc(bytes);
	memset(last_session, 1, bytes);
}

int
main(int argc, char **argv)
{
	int sessions = argc > 2 ? atoi(argv[2]) : 287;

	if (argc > 3)
		bytes = (size_t)atoi(argv[3]);
	for (int i = 0; i < sessions; i++)
		session_new();
	if (write(STDOUT_FILENO, "ready\n", 6) != 6) /* not puts, which allocates */
		return 3;
	if (argc > 1 && strcmp(argv[1], "wait") == 0)
		pause();
	return 0;
}
