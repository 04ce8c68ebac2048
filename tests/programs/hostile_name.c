/* SPDX-License-Identifier: MIT */
/* hostile_name.c -- gives itself a name that a terminal would obey and that makes a row of its own, keeps one
 * block of 1000 bytes, says that it is ready and waits to be killed. */
/* cflags: -O1 -g */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

char *kept;

int
main(void)
{
	kept = malloc(1000);
	prctl(PR_SET_NAME, "a\033[2J\n    1 \xe2\x80\xae");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
