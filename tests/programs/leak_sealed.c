/* SPDX-License-Identifier: MIT */
/* leak_sealed.c -- blocks that only closed memory points to, in a program that waits: 37
 * of 307 bytes in a read-only page, 41 of 311 in one that nobody may read, 43 of 313 in a
 * closed block, 47 of 317 in shared memory that nobody may read, 53 of 331 in such that
 * is read-only. Prints its pid, and ends with its input. */
/* cflags: -O1 -g -D_GNU_SOURCE */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *volatile block;

static void *
new_page(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (page == MAP_FAILED)
		_exit(98);
	return page;
}

static void *
shared_page(void)
{
	int fd = memfd_create("sealed", 0);
	void *page = fd >= 0 && ftruncate(fd, 4096) == 0
			     ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			     : MAP_FAILED;

	if (page == MAP_FAILED)
		_exit(98);
	return page;
}

__attribute__((noinline)) static void
fill(void **page, int blocks, size_t bytes, int prot)
{
	for (int i = 0; i < blocks; i++)
		page[3 * i] = malloc(bytes);
	mprotect(page, 4096, prot);
}

int
main(void)
{
	char c;

	fill(new_page(), 37, 307, PROT_READ);
	fill(new_page(), 41, 311, PROT_NONE);
	block = aligned_alloc(4096, 4096);
	fill(block, 43, 313, PROT_NONE);
	fill(shared_page(), 47, 317, PROT_NONE);
	fill(shared_page(), 53, 331, PROT_READ);
	dprintf(1, "%d\n", getpid());
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
