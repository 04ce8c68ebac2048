/* SPDX-License-Identifier: MIT */
/* elfload.c -- which part of an ELF file lies at which virtual address: see elfload.h.
 *
 * The path comes from a file that anyone may have made: only regular files are read,
 * nothing is waited for, and what is read is bounded. */
#include "elfload.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/util/x.h"

enum { ELFLOAD_HEADERS_MAX = 256, ELFLOAD_PAGE_BYTES = 4096 };

static bool
elfload_at(int fd, uint64_t off, void *to, size_t bytes)
{
	return off <= INT64_MAX && pread(fd, to, bytes, (off_t)off) == (ssize_t)bytes;
}

static bool
elfload_head(int fd, Elf64_Ehdr *ret_head)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       elfload_at(fd, 0, ret_head, sizeof *ret_head) &&
	       memcmp(ret_head->e_ident, ELFMAG, SELFMAG) == 0 &&
	       ret_head->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ret_head->e_ident[EI_DATA] == ELFDATA2LSB &&
	       ret_head->e_phentsize == sizeof(Elf64_Phdr) && ret_head->e_phnum > 0 &&
	       ret_head->e_phnum <= ELFLOAD_HEADERS_MAX;
}

static bool
elfload_segments(int fd, struct elfload **ret_loads, uint32_t *ret_n)
{
	Elf64_Ehdr head;
	Elf64_Phdr ph;
	struct elfload *loads;
	uint32_t n = 0;

	if (!elfload_head(fd, &head))
		return false;
	loads = xcalloc(head.e_phnum, sizeof *loads);
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (!elfload_at(fd, head.e_phoff + i * sizeof ph, &ph, sizeof ph))
			break;
		if (ph.p_type == PT_LOAD && ph.p_filesz > 0)
			loads[n++] = (struct elfload){.off = ph.p_offset,
						      .bytes = ph.p_filesz,
						      .vaddr = ph.p_vaddr,
						      .exec = (ph.p_flags & PF_X) != 0};
	}
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
