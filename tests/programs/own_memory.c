/* SPDX-License-Identifier: MIT */
/* own_memory.c -- what the process holds besides its own: few blocks, then the kernel's account.
 *
 * 1,009 blocks from 3 places, all freed but 7; then anonymous and shared memory of the process
 * in KiB, as /proc/self/smaps_rollup has them, without stdio: the figures of /proc/self/status may
 * lag behind. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile kept[7];

__attribute__((noinline)) static void *
make(size_t bytes)
{
	return malloc(bytes);
}

static long
field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at == NULL ? -1 : atol(at + strlen(name));
}

int
main(void)
{
	static char text[8192];
	int fd;
	ssize_t n;

	for (unsigned i = 0; i < 501; i++)
		free(make(i));
	for (unsigned i = 0; i < 501; i++)
		free(calloc(1, i));
	for (unsigned i = 0; i < 7; i++)
		kept[i] = malloc(23 + i);
	fd = open("/proc/self/smaps_rollup", O_RDONLY);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	printf("anon=%ld shared=%ld\n", n > 0 ? field(text, "Anonymous:") : -1,
	       n > 0 ? field(text, "Pss_Shmem:") : -1);
	return 0;
}
