/* SPDX-License-Identifier: MIT */
/* stumbles.c -- loses 286 sessions of 1,000 bytes, keeps the last one, says `ready` and waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *volatile last_session;

__attribute__((noinline)) static void
session_new(void)
{
	last_session = malloc(1000);
	memset(last_session, 1, 1000);
}

int
main(int argc, char **argv)
{
	for (int i = 0; i < 287; i++)
		session_new();
	puts("ready");
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "wait") == 0)
		pause();
	return 0;
}
