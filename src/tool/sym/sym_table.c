/* SPDX-License-Identifier: MIT */
/* sym_table.c -- function symbols of .symtab, or of .dynsym where that is all there is.
 *
 * Read once, sorted by address, one symbol for each place: of several names the global
 * one, then the one with fewer underscores before it, then the shorter, then the alphabet
 * decide, so that the answer never depends on the order in the file. A symbol without a
 * size, as assembly has them, reaches to the next one. */
#include <string.h>

#include "tool/sym/sym_priv.h"
#include "tool/util/clock.h"

/* How many symbols before the nearest may enclose an address: aliases with sizes of their
 * own. */
#define SYM_LOOK_BACK 16

static bool
sym_is_function(const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || name == NULL)
		return false;
	if (name[0] == '\0' ||
	    name[0] == '$') /* $x, $d: what ARM marks code and data with */
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/* A symbol with what decides between several at one place: smaller is the better name. */
struct sym_found {
	struct sym_symbol symbol;
	uint8_t rank;
};
struct sym_table VEC_BODY(struct sym_found);

static uint8_t
sym_rank(const GElf_Sym *sym, const char *name)
{
	unsigned rank = 0;

	if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)
		rank += 128;
	if (GELF_ST_BIND(sym->st_info) == STB_LOCAL)
		rank += 64;
	else if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
		rank += 8; /* malloc is weak beside __libc_malloc */
	if (strncmp(name, "__", 2) == 0)
		rank += 32;
	else if (name[0] == '_' && name[1] != 'Z' && name[1] != 'R')
		rank += 16;
	return (uint8_t)rank;
}

static void
sym_symbol_add(struct sym *s, struct sym_table *to, const GElf_Sym *sym, const char *name)
{
	const char *version = strchr(name, '@'); /* "realpath@@GLIBC_2.3" */
	size_t n = version != NULL && version != name ? (size_t)(version - name)
						      : strlen(name);
	uint64_t lo = sym->st_value - s->base;
	struct sym_symbol x;

	if (!sym_is_code(s, sym->st_value) || lo >= SYM_FARTHEST)
		return;
	x.lo = (uint32_t)lo;
	x.hi = sym->st_size <= SYM_FARTHEST - lo ? x.lo + (uint32_t)sym->st_size : x.lo;
	x.name = strtab_addn(&s->strings, name, n);
	vec_push(to, (struct sym_found){x, sym_rank(sym, name)});
}

/* Adds the functions of every table of that type in the file; how many tables there
 * were. */
static unsigned
sym_symbols_read(struct sym *s, struct sym_table *to, const struct sym_file *f,
		 unsigned type)
{
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;
	GElf_Sym sym;
	const char *name;
	unsigned tables = 0;
	size_t n;

	while (f->elf != NULL && (scn = elf_nextscn(f->elf, scn)) != NULL) {
		if (gelf_getshdr(scn, &shdr) == NULL || shdr.sh_type != type ||
		    shdr.sh_entsize == 0 || (data = elf_getdata(scn, NULL)) == NULL)
			continue;
		tables++;
		n = data->d_size / shdr.sh_entsize;
		for (size_t i = 1; i < n && i <= INT32_MAX; i++) {
			if (gelf_getsym(data, (int)i, &sym) == NULL)
				break;
			name = elf_strptr(f->elf, shdr.sh_link, sym.st_name);
			if (sym_is_function(&sym, name))
				sym_symbol_add(s, to, &sym, name);
		}
	}
	return tables;
}

static int
sym_symbol_compare(const void *pa, const void *pb, void *strings)
{
	const struct sym_found *fa = pa, *fb = pb;
	const struct sym_symbol *a = &fa->symbol, *b = &fb->symbol;
	const struct strtab *t = strings;
	size_t na, nb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (fa->rank != fb->rank)
		return fa->rank < fb->rank ? -1 : 1;
	if (a->name == b->name)
		return (a->hi < b->hi) - (a->hi > b->hi); /* the longer first */
	na = strtab_len(t, a->name);
	nb = strtab_len(t, b->name);
	if (na != nb)
		return na < nb ? -1 : 1;
	return strcmp(strtab_str(t, a->name), strtab_str(t, b->name));
}

/* End of the segment that `at` is in. */
static uint32_t
sym_code_end(const struct sym *s, uint32_t at)
{
	uint64_t addr = s->base + at, end;

	for (size_t i = 0; i < s->code.len; i++)
		if (addr >= s->code.data[i].lo && addr < s->code.data[i].hi) {
			end = s->code.data[i].hi - s->base;
			return end < SYM_FARTHEST ? (uint32_t)end : SYM_FARTHEST;
		}
	return SYM_FARTHEST;
}

/* One symbol a place, and an end for those without a size. */
static void
sym_symbols_settle(struct sym *s, const struct sym_table *from)
{
	struct sym_symbol *all;
	size_t kept = 0;
	uint32_t end;

	vec_reserve(&s->own_symbols, from->len);
	all = s->own_symbols.data;
	for (size_t i = 0; i < from->len; i++) {
		const struct sym_symbol *x = &from->data[i].symbol;

		if (kept == 0 || all[kept - 1].lo != x->lo)
			all[kept++] = *x;
		else if (x->hi > all[kept - 1].hi)
			all[kept - 1].hi = x->hi; /* the better name had no size */
	}
	s->own_symbols.len = kept;
	for (size_t i = 0; i < kept; i++) {
		if (all[i].hi > all[i].lo)
			continue;
		end = sym_code_end(s, all[i].lo);
		all[i].hi = i + 1 < kept && all[i + 1].lo < end ? all[i + 1].lo : end;
	}
	s->symbols.symbols = all;
	s->symbols.nsymbols = (uint32_t)kept;
}

static void
sym_symbols_load(struct sym *s)
{
	struct sym_table all = {0};
	uint64_t began;
	unsigned found;

	s->symbols_loaded = true;
	if (sym_cache_symbols(s))
		return;
	began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	found = sym_symbols_read(s, &all, &s->file, SHT_SYMTAB);
	if (found == 0) {
		sym_debug_open(s);
		found = sym_symbols_read(s, &all, &s->debug, SHT_SYMTAB);
	}
	if (found == 0) {
		sym_mini_open(s);
		sym_symbols_read(s, &all, &s->mini, SHT_SYMTAB);
		sym_symbols_read(s, &all, &s->file, SHT_DYNSYM);
	}
	if (all.len > 1)
		qsort_r(all.data, all.len, sizeof *all.data, sym_symbol_compare,
			&s->strings);
	sym_symbols_settle(s, &all);
	vec_done(&all);
	sym_cache_count(s, 0, began);
}

const struct sym_symbol *
sym_symbol_find(struct sym *s, uint64_t at)
{
	size_t lo = 0, hi, mid;
	const struct sym_symbol *all;

	if (!s->symbols_loaded)
		sym_symbols_load(s);
	all = s->symbols.symbols;
	hi = s->symbols.nsymbols;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (all[mid].lo <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; back < SYM_LOOK_BACK && lo > back; back++)
		if (at < all[lo - 1 - back].hi)
			return &all[lo - 1 - back];
	return NULL;
}
