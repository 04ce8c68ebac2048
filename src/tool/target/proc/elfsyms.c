/* SPDX-License-Identifier: MIT */
/* elfsyms.c -- see elfsyms.h. */
#include "tool/target/proc/elfsyms.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/util/elf/elfview.h"
#include "tool/util/x.h"

enum {
	SECTIONS_MAX = 65536,
	PIECE = 4096, /* symbols that are read at a time */
};

#define TEXT_MAX (UINT64_C(256) << 20) /* of names */
#define SYMBOLS_MAX (UINT64_C(16) << 20)

struct elfsyms_file
elfsyms_file(int fd)
{
	struct elfsyms_file f = {.fd = fd};
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		f.bytes = (uint64_t)st.st_size;
	return f;
}

/* All of it or nothing. */
static bool
take(const void *ctx, uint64_t at, void *to, size_t n)
{
	const struct elfsyms_file *f = ctx;
	const struct elfview_bytes there = {f->data, f->bytes};

	if (f->data != NULL)
		return elfview_of_bytes(&there, at, to, n);
	return n <= f->bytes && at <= f->bytes - n && elfview_of_fd(&f->fd, at, to, n);
}

struct sections {
	Elf64_Shdr *all;
	unsigned n, names; /* number of the one with their names */
};

/* False: no 64-bit ELF file. One without sections is one; more than 65,279 are counted
 * elsewhere, and nobody has as many. */
static bool
read_sections(const struct elfsyms_file *f, struct sections *ret)
{
	struct sections s = {0};
	struct elfview v;

	if (!elfview_open(&v, take, f))
		return false;
	s.names = v.head.e_shstrndx;
	s.all = elfview_sections(&v, SECTIONS_MAX, &s.n);
	elfview_close(&v);
	*ret = s;
	return true;
}

/* A section's bytes and a 0 behind them, to be freed; NULL when they are not all
 * there. */
static char *
read_text(const struct elfsyms_file *f, const Elf64_Shdr *sh, uint64_t *ret_bytes)
{
	char *text;

	if (sh->sh_type != SHT_STRTAB || sh->sh_size == 0 || sh->sh_size > TEXT_MAX ||
	    sh->sh_size > f->bytes)
		return NULL;
	text = xmalloc(sh->sh_size + 1);
	text[sh->sh_size] = '\0';
	if (!take(f, sh->sh_offset, text, sh->sh_size)) {
		free(text);
		return NULL;
	}
	*ret_bytes = sh->sh_size;
	return text;
}

static void
visit_table(const struct elfsyms_file *f, const struct sections *s, const Elf64_Shdr *sh,
	    elfsyms_visitor *each, void *ctx)
{
	uint64_t n = sh->sh_size / sizeof(Elf64_Sym), text_bytes = 0;
	Elf64_Sym *piece;
	char *text;

	if (sh->sh_entsize != sizeof *piece || n > SYMBOLS_MAX ||
	    sh->sh_size > f->bytes || sh->sh_link >= s->n)
		return;
	text = read_text(f, &s->all[sh->sh_link], &text_bytes);
	piece = xcalloc(PIECE, sizeof *piece);
	for (uint64_t at = 0; text != NULL && at < n; at += PIECE) {
		uint64_t some = n - at < PIECE ? n - at : PIECE;

		if (sh->sh_offset > f->bytes ||
		    !take(f, sh->sh_offset + at * sizeof *piece, piece,
			  some * sizeof *piece))
			break;
		for (uint64_t i = at == 0; i < some; i++) {
			const Elf64_Sym *y = &piece[i];

			if (y->st_name >= text_bytes)
				continue;
			each(ctx, &(struct elfsyms_symbol){
					  .name = text + y->st_name,
					  .value = y->st_value,
					  .bytes = y->st_size,
					  .type = ELF64_ST_TYPE(y->st_info),
					  .bind = ELF64_ST_BIND(y->st_info),
					  .section = y->st_shndx,
					  .dynamic = sh->sh_type == SHT_DYNSYM,
				  });
		}
	}
	free(piece);
	free(text);
}

bool
elfsyms_each(const struct elfsyms_file *f, elfsyms_visitor *each, void *ctx)
{
	static const unsigned types[] = {SHT_DYNSYM, SHT_SYMTAB};
	struct sections s;

	if (!read_sections(f, &s))
		return false;
	for (size_t pass = 0; pass < ARRAY_LEN(types); pass++) {
		/* A file has one of each; more than a few are made up. */
		for (unsigned i = 0, seen = 0; i < s.n && seen < 4; i++) {
			if (s.all[i].sh_type != types[pass])
				continue;
			seen++;
			visit_table(f, &s, &s.all[i], each, ctx);
		}
	}
	free(s.all);
	return true;
}

uint64_t
elfsyms_section(const struct elfsyms_file *f, const char *name)
{
	uint64_t bytes = 0, at = 0;
	struct sections s;
	char *text = NULL;

	if (!read_sections(f, &s))
		return 0;
	if (s.names < s.n)
		text = read_text(f, &s.all[s.names], &bytes);
	for (unsigned i = 0; text != NULL && at == 0 && i < s.n; i++) {
		if (s.all[i].sh_name < bytes &&
		    strcmp(text + s.all[i].sh_name, name) == 0)
			at = s.all[i].sh_addr;
	}
	free(text);
	free(s.all);
	return at;
}
