/* SPDX-License-Identifier: MIT */
/* sym_call.c -- which function a call instruction calls through the linkage table.
 *
 * The recorder keeps where memory was asked for, not by which of malloc, calloc or
 * realloc: that would cost something at every event. The instruction before the return
 * address tells it afterwards: it goes, directly or by way of a stub, through a slot that
 * a relocation fills with a symbol. x86-64 alone; a call through a register or a function
 * of the same module says nothing. */
#include <string.h>

#include "shared/mem.h"
#include "tool/sym/sym_priv.h"

enum { SYM_CALL_BYTES = 6, SYM_STUB_BYTES = 16 };

/* `n` bytes at `vaddr` as they are in the file, or NULL. */
static const unsigned char *
sym_bytes(const struct sym *s, uint64_t vaddr, size_t n)
{
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;

	while (s->file.elf != NULL && (scn = elf_nextscn(s->file.elf, scn)) != NULL) {
		if (gelf_getshdr(scn, &shdr) == NULL ||
		    (shdr.sh_flags & SHF_ALLOC) == 0 || shdr.sh_type != SHT_PROGBITS ||
		    vaddr < shdr.sh_addr || vaddr - shdr.sh_addr >= shdr.sh_size)
			continue;
		data = elf_rawdata(scn, NULL);
		vaddr -= shdr.sh_addr;
		if (data == NULL || data->d_buf == NULL || data->d_size < n ||
		    vaddr > data->d_size - n)
			return NULL;
		return (const unsigned char *)data->d_buf + vaddr;
	}
	return NULL;
}

/* The slot that the stub at `vaddr` jumps through, 0 = it is no stub. */
static uint64_t
sym_stub_slot(const struct sym *s, uint64_t vaddr)
{
	const unsigned char *b = sym_bytes(s, vaddr, SYM_STUB_BYTES);
	size_t at = 0;

	if (b == NULL)
		return 0;
	if (memcmp(b, "\xf3\x0f\x1e\xfa", 4) == 0) /* endbr64 */
		at = 4;
	if (b[at] == 0xf2) /* bnd */
		at++;
	if (b[at] != 0xff || b[at + 1] != 0x25)
		return 0;
	return vaddr + at + 6 + (uint64_t)(int64_t)(int32_t)mem_get_u32(b + at + 2);
}

/* Which slot is filled with which symbol. */
static void
sym_slots_load(struct sym *s)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr, table;

	s->slots_loaded = true;
	while (s->file.elf != NULL && (scn = elf_nextscn(s->file.elf, scn)) != NULL) {
		Elf_Data *data, *symbols;
		Elf_Scn *from;
		GElf_Rela rela;
		GElf_Sym sym;

		if (gelf_getshdr(scn, &shdr) == NULL || shdr.sh_type != SHT_RELA ||
		    shdr.sh_entsize == 0 || (data = elf_getdata(scn, NULL)) == NULL ||
		    (from = elf_getscn(s->file.elf, shdr.sh_link)) == NULL ||
		    gelf_getshdr(from, &table) == NULL ||
		    (symbols = elf_getdata(from, NULL)) == NULL)
			continue;
		for (size_t i = 0; i < data->d_size / shdr.sh_entsize; i++) {
			const char *name;

			if (gelf_getrela(data, (int)i, &rela) == NULL)
				break;
			if (GELF_R_SYM(rela.r_info) == 0 ||
			    gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym) ==
				    NULL)
				continue;
			name = elf_strptr(s->file.elf, table.sh_link, sym.st_name);
			if (name != NULL && name[0] != '\0')
				*map_add(&s->slots, rela.r_offset) =
					strtab_add(&s->strings, name);
		}
	}
}

const char *
sym_callee(struct sym *s, uint64_t vaddr)
{
	const unsigned char *b = sym_bytes(s, vaddr - SYM_CALL_BYTES, SYM_CALL_BYTES);
	GElf_Ehdr head;
	uint64_t slot = 0, to;
	const uint64_t *name;

	if (b == NULL || gelf_getehdr(s->file.elf, &head) == NULL ||
	    head.e_machine != EM_X86_64)
		return NULL;
	to = vaddr + (uint64_t)(int64_t)(int32_t)mem_get_u32(b + 2);
	if (b[0] == 0xff && b[1] == 0x15)
		slot = to;
	else if (b[1] == 0xe8)
		slot = sym_stub_slot(s, to);
	if (slot == 0)
		return NULL;
	if (!s->slots_loaded)
		sym_slots_load(s);
	name = map_find(&s->slots, slot);
	return name != NULL ? strtab_str(&s->strings, (uint32_t)*name) : NULL;
}
