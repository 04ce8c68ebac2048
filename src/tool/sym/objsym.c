/* SPDX-License-Identifier: MIT */
/* objsym.c -- see objsym.h. */
#include "objsym.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/util/arena.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

struct objsym_row {
	uint64_t start, end;
	const char *name;
};

struct objsym {
	VEC(struct objsym_row) rows; /* by address, the best first among equals */
	struct arena names;
};

/* Names that tell something: not of the compiler's or the linker's making. */
static bool
is_wanted(const GElf_Sym *s, const char *name)
{
	int type = GELF_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && s->st_size > 0 &&
	       (type == STT_OBJECT || type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       name != NULL && name[0] != '\0';
}

static void
take_table(struct objsym *o, Elf *elf, Elf_Scn *section, const GElf_Shdr *h)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = h->sh_entsize > 0 ? h->sh_size / h->sh_entsize : 0;

	for (size_t i = 0; data != NULL && i < n && i <= INT32_MAX; i++) {
		GElf_Sym s;
		const char *name;

		if (gelf_getsym(data, (int)i, &s) == NULL)
			return;
		name = elf_strptr(elf, h->sh_link, s.st_name);
		if (!is_wanted(&s, name))
			continue;
		vec_push(&o->rows,
			 (struct objsym_row){.start = s.st_value,
					     .end = s.st_value + s.st_size,
					     .name = arena_strdup(&o->names, name)});
	}
}

static void
read_file(struct objsym *o, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	Elf_Scn *section = NULL;
	Elf *elf;

	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while (elf != NULL && (section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr h;

		if (gelf_getshdr(section, &h) != NULL &&
		    (h.sh_type == SHT_SYMTAB || h.sh_type == SHT_DYNSYM))
			take_table(o, elf, section, &h);
	}
	elf_end(elf);
	close(fd);
}

/* Longer ones first, so that what is inside of them comes after. */
static int
compare_rows(const void *a, const void *b)
{
	const struct objsym_row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct objsym *
objsym_read(const char *path, const char *debug)
{
	struct objsym *o = xcalloc(1, sizeof *o);

	read_file(o, path);
	if (debug != NULL)
		read_file(o, debug);
	if (o->rows.len == 0) {
		objsym_free(o);
		return NULL;
	}
	vec_sort(&o->rows, compare_rows);
	return o;
}

void
objsym_free(struct objsym *o)
{
	if (o == NULL)
		return;
	vec_done(&o->rows);
	arena_done(&o->names);
	free(o);
}

const char *
objsym_find(const struct objsym *o, uint64_t vaddr, uint64_t *ret_off)
{
	size_t low = 0, high = o->rows.len;

	while (low < high) { /* the first that begins behind */
		size_t middle = low + (high - low) / 2;

		if (o->rows.data[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	/* A few before may cover it: one inside the other, or several names. */
	for (unsigned i = 0; i < 8 && low > 0; i++) {
		const struct objsym_row *r = &o->rows.data[--low];

		if (vaddr >= r->end)
			continue;
		while (low > 0 && o->rows.data[low - 1].start == r->start &&
		       o->rows.data[low - 1].end == r->end)
			r = &o->rows.data[--low];
		*ret_off = vaddr - r->start;
		return r->name;
	}
	return NULL;
}
