/* SPDX-License-Identifier: MIT */
/* iconv_lost.c -- handles of iconv_open that are never closed. With an argument, so many milliseconds between them. */
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HANDLES = 307 };

static void
wipe(void)
{
	volatile char below[4096];

	memset((char *)below, 0, sizeof below);
}

int
main(int argc, char **argv)
{
	unsigned pause_us = argc > 1 ? (unsigned)atoi(argv[1]) * 1000 : 0;

	for (int i = 0; i < HANDLES || pause_us > 0; i++) {
		if (iconv_open("UTF-8", "UTF-16LE") == (iconv_t)-1)
			return 1;
		if (pause_us > 0)
			usleep(pause_us);
	}
	wipe();
	printf("expect lost handles=%d in=main\n", HANDLES);
	return 0;
}
