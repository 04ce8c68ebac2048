/* SPDX-License-Identifier: MIT */
/* beside.c -- memory that begins where a library's data ends, and grows: it is not the library's.
 *
 * Prints its pid, then touches a page every 20 ms and keeps a block of 904 bytes in it for 60 s at most. 99: there is no
 * room behind the library. */
/* cflags: -O1 -g -ldl */
#ifndef _GNU_SOURCE
#	define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#	define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { PAGE = 4096, PAGES = 3000 };

static char *area;

static int
find_end(struct dl_phdr_info *info, size_t size, void *end)
{
	(void)size;
	if (strstr(info->dlpi_name, "libm.so") == NULL)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t to = info->dlpi_addr + p->p_vaddr + p->p_memsz;

		if (p->p_type == PT_LOAD && to > *(uintptr_t *)end)
			*(uintptr_t *)end = to;
	}
	return 1;
}

int
main(void)
{
	uintptr_t end = 0;
	void *room = mmap(NULL, (size_t)2 * PAGES * PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (dlopen("libm.so.6", RTLD_NOW) == NULL)
		return 99;
	munmap(room, (size_t)2 * PAGES * PAGE);
	dl_iterate_phdr(find_end, &end);
	end = (end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	area = mmap((void *)end, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (area != (void *)end)
		return 99;
	dprintf(1, "%d\n", getpid());
	for (size_t i = 0; i < PAGES; i++) {
		memset(area + i * PAGE, 1, 4000);
		memcpy(area + i * PAGE + 4000, &(void *){malloc(900)}, sizeof(void *));
		usleep(20000);
	}
	return 0;
}
