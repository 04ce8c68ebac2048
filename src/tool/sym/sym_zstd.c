/* SPDX-License-Identifier: MIT */
/* sym_zstd.c -- debug sections packed with zstd, for a libelf that cannot unpack them.
 *
 * The file is copied into memory with those sections unpacked behind it and the section
 * table changed to say so; libdw then reads the copy. Only 64-bit files of this machine's
 * byte order, which is what seep runs on. What a section says of its size is compared
 * with what zstd says of it before anything is allocated. */
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "tool/sym/sym_priv.h"
#include "tool/util/elf/elfview.h"

#ifndef ELFCOMPRESS_ZSTD
#	define ELFCOMPRESS_ZSTD 2
#endif
/* Debug information packs to a quarter or so; more than this is a bomb. */
#define SYM_ZSTD_RATIO 256
#define SYM_ZSTD_LARGEST ((size_t)8 << 30)

/* The section's table entry when it is packed with zstd, else false. */
static bool
sym_zstd_section(const struct buf *file, const Elf64_Ehdr *e, unsigned i, Elf64_Shdr *ret,
		 Elf64_Chdr *ret_chdr)
{
	memcpy(ret, file->data + e->e_shoff + i * sizeof *ret, sizeof *ret);
	if ((ret->sh_flags & SHF_COMPRESSED) == 0 || ret->sh_type == SHT_NOBITS ||
	    ret->sh_offset > file->len || ret->sh_size > file->len - ret->sh_offset ||
	    ret->sh_size < sizeof *ret_chdr)
		return false;
	memcpy(ret_chdr, file->data + ret->sh_offset, sizeof *ret_chdr);
	return ret_chdr->ch_type == ELFCOMPRESS_ZSTD;
}

/* Appends the unpacked section and changes its entry. */
static bool
sym_zstd_unpack(struct buf *file, size_t original, size_t entry, Elf64_Shdr *sh,
		const Elf64_Chdr *ch)
{
	size_t from = sh->sh_offset + sizeof *ch, packed = sh->sh_size - sizeof *ch;
	char *to;

	if (ch->ch_size > packed * SYM_ZSTD_RATIO || ch->ch_size > SYM_ZSTD_LARGEST ||
	    /* Several sections may name the same bytes. */
	    file->len + ch->ch_size > original * SYM_ZSTD_RATIO ||
	    ZSTD_getFrameContentSize(file->data + from, packed) != ch->ch_size)
		return false;
	while (file->len % 16 != 0)
		buf_add_char(file, '\0');
	to = buf_room(file, ch->ch_size);
	if (ZSTD_decompress(to, ch->ch_size, file->data + from, packed) != ch->ch_size)
		return false;
	sh->sh_offset = file->len;
	sh->sh_size = ch->ch_size;
	sh->sh_addralign = ch->ch_addralign;
	sh->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	file->len += ch->ch_size;
	memcpy(file->data + entry, sh, sizeof *sh);
	return true;
}

/* Is there such a section at all? Asked of every file, so it copies nothing. */
static bool
sym_zstd_is(const struct sym_file *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	while ((scn = elf_nextscn(f->elf, scn)) != NULL)
		if (gelf_getshdr(scn, &shdr) != NULL &&
		    (shdr.sh_flags & SHF_COMPRESSED) != 0 &&
		    gelf_getchdr(scn, &chdr) != NULL && chdr.ch_type == ELFCOMPRESS_ZSTD)
			return true;
	return false;
}

int
sym_zstd_open(const struct sym_file *f, struct sym_file *ret)
{
	struct buf file = {0};
	Elf64_Ehdr e;
	Elf64_Shdr sh;
	Elf64_Chdr ch;
	size_t n = 0;
	const char *bytes;
	bool ok = true;

	if (!sym_zstd_is(f))
		return 0;
	bytes = elf_rawfile(f->elf, &n);
	if (bytes == NULL || n < sizeof e)
		return -ENOTSUP;
	memcpy(&e, bytes, sizeof e);
	if (!elfview_is_ours(e.e_ident) || e.e_shentsize != sizeof sh || e.e_shoff > n ||
	    e.e_shnum > (n - e.e_shoff) / sizeof sh)
		return -ENOTSUP;
	buf_add(&file, bytes, n);
	for (unsigned i = 0; ok && i < e.e_shnum; i++)
		if (sym_zstd_section(&file, &e, i, &sh, &ch))
			ok = sym_zstd_unpack(&file, n, e.e_shoff + i * sizeof sh, &sh,
					     &ch);
	if (ok && sym_file_open_image(&file, ret) == 0)
		return 1;
	buf_done(&file);
	return -ENOTSUP;
}
