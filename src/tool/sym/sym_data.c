/* SPDX-License-Identifier: MIT */
/* sym_data.c -- the variable at an address, from the symbol tables.
 *
 * Asked once in a while, for an address that was freed and is no block; so the tables are
 * walked as they are, and nothing is kept. */
#include <string.h>

#include "tool/sym/sym_priv.h"

/* The smallest object of the tables of one file that holds `vaddr`. */
static void
sym_data_in(struct sym *s, const struct sym_file *f, uint64_t vaddr, const char **best,
	    GElf_Sym *ret)
{
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;
	GElf_Sym sym;

	while (f->elf != NULL && (scn = elf_nextscn(f->elf, scn)) != NULL) {
		if (gelf_getshdr(scn, &shdr) == NULL ||
		    (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM) ||
		    shdr.sh_entsize == 0 || (data = elf_getdata(scn, NULL)) == NULL)
			continue;
		for (size_t i = 1; i < data->d_size / shdr.sh_entsize && i <= INT32_MAX;
		     i++) {
			const char *name;

			if (gelf_getsym(data, (int)i, &sym) == NULL)
				break;
			if (GELF_ST_TYPE(sym.st_info) != STT_OBJECT ||
			    sym.st_shndx == SHN_UNDEF || vaddr < sym.st_value ||
			    vaddr - sym.st_value >= sym.st_size ||
			    (*best != NULL && sym.st_size >= ret->st_size))
				continue;
			name = elf_strptr(f->elf, shdr.sh_link, sym.st_name);
			if (name == NULL || name[0] == '\0')
				continue;
			*best = strtab_str(&s->strings, strtab_addn(&s->strings, name,
								    strcspn(name, "@")));
			*ret = sym;
		}
	}
}

const char *
sym_data(struct sym *s, uint64_t vaddr, uint64_t *ret_off)
{
	const char *best = NULL;
	GElf_Sym sym;

	sym_debug_path(s); /* looks for the debug file, which may have the only table */
	sym_data_in(s, &s->file, vaddr, &best, &sym);
	if (best == NULL)
		sym_data_in(s, &s->debug, vaddr, &best, &sym);
	if (best != NULL)
		*ret_off = vaddr - sym.st_value;
	return best;
}
