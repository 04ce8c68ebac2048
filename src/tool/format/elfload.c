/* SPDX-License-Identifier: MIT */
/* elfload.c -- which part of an ELF file lies at which virtual address: see elfload.h.
 *
 * The path comes from a file that anyone may have made: only regular files are read,
 * nothing is waited for, and what is read is bounded. */
#include "elfload.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/util/elf/elfview.h"
#include "tool/util/x.h"

enum { ELFLOAD_PAGE_BYTES = 4096 };

static bool
elfload_segments(int fd, struct elfload **ret_loads, uint32_t *ret_n)
{
	struct elfload *loads;
	const Elf64_Phdr *p;
	struct elfview v;
	struct stat st;
	uint32_t n = 0;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !elfview_open(&v, elfview_of_fd, &fd))
		return false;
	loads = xcalloc(v.nsegments + 1, sizeof *loads);
	for (unsigned i = 0; (p = elfview_segment(&v, PT_LOAD, i)) != NULL; i++) {
		if (p->p_filesz > 0)
			loads[n++] = (struct elfload){.off = p->p_offset,
						      .bytes = p->p_filesz,
						      .vaddr = p->p_vaddr,
						      .exec = (p->p_flags & PF_X) != 0};
	}
	elfview_close(&v);
	if (n == 0) {
		free(loads);
		return false;
	}
	*ret_loads = loads;
	*ret_n = n;
	return true;
}

bool
elfload_read(const char *path, struct elfload **ret_loads, uint32_t *ret_n)
{
	bool ok;
	int fd;

	if (path[0] != '/')
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return false;
	ok = elfload_segments(fd, ret_loads, ret_n);
	close(fd);
	return ok;
}

/* Mappings begin on page boundaries, so the bytes before a segment in its first page
 * count as its own; where two segments share a page, the one that runs is meant. */
bool
elfload_vaddr(const struct elfload *loads, uint32_t n, uint64_t off, uint64_t *ret_vaddr)
{
	const struct elfload *best = NULL;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t from = loads[i].off & ~(uint64_t)(ELFLOAD_PAGE_BYTES - 1);
		bool inside = off >= loads[i].off;

		if (off < from || off - from >= loads[i].bytes + (loads[i].off - from))
			continue;
		if (best == NULL || (loads[i].exec && !best->exec) ||
		    (loads[i].exec == best->exec && inside))
			best = &loads[i];
	}
	if (best == NULL)
		return false;
	*ret_vaddr = off - best->off + best->vaddr;
	return true;
}
