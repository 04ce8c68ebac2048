/* SPDX-License-Identifier: MIT */
/* fuzz_elfsyms.c -- symbols of arbitrary ELF files, as seep attach reads them while it
 * may be root: from memory and from a file, with the same result; every name ends inside
 * of what was read. */
#define _GNU_SOURCE
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "tool/target/proc/elfsyms.h"

struct seen {
	uint64_t n, sum;
};

static void
see(void *ctx, const struct elfsyms_symbol *s)
{
	struct seen *to = ctx;

	to->n++;
	to->sum = to->sum * 31 + strlen(s->name) + s->value + s->bytes + s->section;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	struct elfsyms_file f = {.data = data, .bytes = bytes}, g;
	struct seen a = {0}, b = {0};

	if (fd < 0 && (fd = memfd_create("fuzz", MFD_CLOEXEC)) < 0)
		abort();
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
		abort();
	g = elfsyms_file(fd);
	if (bytes > 0 && elfsyms_each(&f, see, &a) != elfsyms_each(&g, see, &b))
		abort();
	if (a.n != b.n || a.sum != b.sum ||
	    (bytes > 0 &&
	     elfsyms_section(&f, ".eh_frame") != elfsyms_section(&g, ".eh_frame")))
		abort();
	return 0;
}

/* Four sections: none, their names, names of symbols, three symbols. */
static size_t
small(uint8_t *to, size_t room, unsigned type)
{
	static const char names[] = "\0.shstrtab\0.eh_frame\0.strtab";
	static const char text[] = "\0malloc\0free\0_rjem_malloc";
	struct {
		Elf64_Ehdr eh;
		Elf64_Shdr sh[5];
		Elf64_Sym sym[4];
		char names[32], text[32];
	} x = {0};

	memcpy(x.eh.e_ident, ELFMAG, SELFMAG);
	x.eh.e_ident[EI_CLASS] = ELFCLASS64;
	x.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	x.eh.e_shoff = (size_t)((char *)x.sh - (char *)&x);
	x.eh.e_shentsize = sizeof *x.sh;
	x.eh.e_shnum = 5;
	x.eh.e_shstrndx = 1;
	memcpy(x.names, names, sizeof names);
	memcpy(x.text, text, sizeof text);
	x.sh[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
			       .sh_name = 1,
			       .sh_offset = (size_t)(x.names - (char *)&x),
			       .sh_size = sizeof x.names};
	x.sh[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
			       .sh_name = 21,
			       .sh_offset = (size_t)(x.text - (char *)&x),
			       .sh_size = sizeof x.text};
	x.sh[3] = (Elf64_Shdr){.sh_type = type,
			       .sh_link = 2,
			       .sh_entsize = sizeof *x.sym,
			       .sh_offset = (size_t)((char *)x.sym - (char *)&x),
			       .sh_size = sizeof x.sym};
	x.sh[4] =
		(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_name = 11, .sh_addr = 0x401000};
	for (unsigned i = 1; i < 4; i++)
		x.sym[i] = (Elf64_Sym){.st_name = i == 1   ? 1
						  : i == 2 ? 8
							   : 13,
				       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				       .st_shndx = 1,
				       .st_value = 0x1000 * i,
				       .st_size = 64};
	if (sizeof x > room)
		return 0;
	memcpy(to, &x, sizeof x);
	return sizeof x;
}

size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	return n < 2 ? small(to, room, n == 0 ? SHT_DYNSYM : SHT_SYMTAB) : 0;
}
