/* SPDX-License-Identifier: MIT */
/* limits.c -- a program that notices when anything about it is changed from outside.
 *
 *	limits BLOCKS [READY GO]
 *
 * Allocates BLOCKS blocks of 17 to 1,013 bytes and fills them, frees two of three, and prints a
 * sum over what the others hold. With READY and GO it makes the file READY after the first half
 * and goes on when GO exists. A call that fails, or a block that changed, ends it with status 1;
 * the sum and status 23 are what it owes. The last line but one says what was not freed. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned char **blocks;
static size_t count;

static size_t
size_of(size_t i)
{
	return 17 + i * 7919 % 997;
}

static unsigned char
byte_of(size_t i)
{
	return (unsigned char)(i * 31 + 7);
}

static void
make(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		blocks[i] = malloc(size_of(i));
		if (blocks[i] == NULL) {
			puts("malloc failed");
			exit(1);
		}
		memset(blocks[i], byte_of(i), size_of(i));
	}
}

static void
check(size_t i)
{
	for (size_t k = 0; k < size_of(i); k++) {
		if (blocks[i][k] != byte_of(i)) {
			puts("a block has changed");
			exit(1);
		}
	}
}

static void
pause_until(const char *ready, const char *go)
{
	int fd = open(ready, O_CREAT | O_WRONLY, 0600);

	if (fd >= 0)
		close(fd);
	while (access(go, F_OK) != 0)
		usleep(5000);
}

int
main(int argc, char **argv)
{
	uint64_t sum = 0, left_bytes = 0, left = 0;

	count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10007;
	blocks = calloc(count, sizeof *blocks);
	make(0, count / 2);
	if (argc > 3)
		pause_until(argv[2], argv[3]);
	make(count / 2, count);
	for (size_t i = 0; i < count; i++) {
		check(i);
		sum = sum * 31 + size_of(i) * byte_of(i);
		if (i % 3 != 0) {
			free(blocks[i]);
		} else {
			left++;
			left_bytes += size_of(i);
		}
	}
	printf("not freed blocks=%lu bytes=%lu\n", left, left_bytes);
	printf("sum %016lx\n", sum);
	blocks = NULL;
	return 23;
}
