/* SPDX-License-Identifier: MIT */
/* mtrace_where.c -- return addresses as glibc's mtrace writes them.
 *
 * That is what dladdr says: the module's path (of the program: its first argument), the
 * dynamic symbol that covers the address, the offset in the module. dladdr takes the
 * loader's lock and looks at every symbol of the module each time; here the object is
 * found without a lock, the symbols are looked at once for each address, in dladdr's
 * order so that of several names for one function the same is chosen, and the text is
 * kept. A text is used again only while the same module, by name, is at its place:
 * plugins come and go. */
#include "guest/dropin/mtrace/mtrace_where.h"

#include "guest/hooks/loaded.h"
#include "guest/life/loader.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

enum {
	SLOTS = 1 << 14,
	PROBES = 32,
	ROOM_BYTES = 256 << 10, /* for texts; another one when it is used up */
};

struct slot {
	uintptr_t ra;
	const struct link_map *object;
	const char *text;
	uint32_t len;
	uint32_t name_len; /* of the module's path, behind "@ " */
};

static struct slot *slots;
static char *room, *room_end;

/* ---- dynamic symbols ---- */

struct symbols {
	const ElfW(Sym) * at;
	const char *names;
	size_t names_bytes;
	const uint32_t *gnu_hash, *hash;
};

static struct symbols
symbols_of(const struct link_map *l)
{
	struct symbols s = {0};

	for (const ElfW(Dyn) *d = l->l_ld; d != NULL && d->d_tag != DT_NULL; d++) {
		/* The loader has made addresses of them; not so in the vDSO. */
		uintptr_t p = d->d_un.d_ptr < l->l_addr ? d->d_un.d_ptr + l->l_addr
							: d->d_un.d_ptr;

		if (d->d_tag == DT_SYMTAB)
			s.at = (const void *)p;
		else if (d->d_tag == DT_STRTAB)
			s.names = (const void *)p;
		else if (d->d_tag == DT_STRSZ)
			s.names_bytes = d->d_un.d_val;
		else if (d->d_tag == DT_GNU_HASH)
			s.gnu_hash = (const void *)p;
		else if (d->d_tag == DT_HASH)
			s.hash = (const void *)p;
	}
	return s;
}

/* Does `sym` cover the module's address `at`, and begin later than the best so far? */
static bool
better(const struct symbols *s, const ElfW(Sym) * sym, uintptr_t at,
       const ElfW(Sym) * best)
{
	if (sym->st_shndx == SHN_ABS || ELF64_ST_TYPE(sym->st_info) == STT_TLS ||
	    (sym->st_shndx == SHN_UNDEF && sym->st_value == 0) ||
	    sym->st_name >= s->names_bytes || at < sym->st_value)
		return false;
	if (at >= sym->st_value + sym->st_size &&
	    !((sym->st_shndx == SHN_UNDEF || sym->st_size == 0) && at == sym->st_value))
		return false;
	return best == NULL || best->st_value < sym->st_value;
}

static const ElfW(Sym) * symbol_at(const struct symbols *s, uintptr_t at)
{
	const ElfW(Sym) *best = NULL;

	if (s->at == NULL || s->names == NULL)
		return NULL;
	if (s->gnu_hash != NULL) {
		uint32_t buckets = s->gnu_hash[0], first = s->gnu_hash[1];
		const uint32_t *bucket = s->gnu_hash + 4 + s->gnu_hash[2] * 2;
		const uint32_t *chain = bucket + buckets;

		for (uint32_t b = 0; b < buckets; b++) {
			uint32_t i = bucket[b];

			if (i < first)
				continue;
			do
				if (better(s, &s->at[i], at, best))
					best = &s->at[i];
			while ((chain[i++ - first] & 1) == 0);
		}
	} else if (s->hash != NULL) {
		for (uint32_t i = 0; i < s->hash[1]; i++)
			if (better(s, &s->at[i], at, best))
				best = &s->at[i];
	}
	return best;
}

/* ---- text ---- */

static void
add_hex(struct text *t, uint64_t n)
{
	unsigned digits = n == 0 ? 1 : (67 - (unsigned)__builtin_clzll(n)) / 4;

	text_hex(t, n, digits);
}

/* What the program was called as, which is how dladdr names it. */
static const char *
program_name(void)
{
	static char name[1024];

	if (name[0] == '\0' && proc_slurp("/proc/self/cmdline", name, sizeof(name)) <= 0)
		name[0] = '?';
	return name;
}

static const char *
name_of(const struct link_map *l)
{
	return l->l_name == NULL || l->l_name[0] == '\0' ? program_name() : l->l_name;
}

static void
describe(struct text *t, uintptr_t ra, const struct link_map *l)
{
	struct symbols s = symbols_of(l);
	const ElfW(Sym) *sym = symbol_at(&s, ra - l->l_addr);
	const char *name = sym == NULL ? NULL : s.names + sym->st_name;
	struct host_module m;

	text_add(t, "@ ");
	text_add(t, name_of(l));
	text_add(t, ":");
	if (name != NULL && text_len(name) <= WHERE_SYMBOL_MAX) {
		text_add(t, "(");
		text_add(t, name);
		text_add(t, "+");
		add_hex(t, ra - l->l_addr - sym->st_value);
		text_add(t, ")");
	}
	text_add(t, "[0x");
	add_hex(t, loader_host.module_find(ra, &m) ? ra - m.start : ra);
	text_add(t, "] ");
}

/* ---- kept texts ---- */

static bool
still_there(const struct slot *s, const struct link_map *l)
{
	const char *name = name_of(l);
	uint32_t i = 0;

	while (i < s->name_len && name[i] == s->text[2 + i])
		i++;
	return s->object == l && i == s->name_len && name[i] == '\0';
}

static const char *
keep(const struct text *t)
{
	char *p;

	if (room == NULL || (size_t)(room_end - room) < t->len) {
		room = rt_map(ROOM_BYTES);
		if (room == NULL)
			return NULL;
		room_end = room + ROOM_BYTES;
	}
	p = room;
	memcpy(p, t->at, t->len);
	room += t->len;
	return p;
}

/* The slot of `ra`, or one for it; NULL when there is none. */
static struct slot *
slot_for(uintptr_t ra)
{
	size_t at = (ra * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - 14);

	if (slots == NULL && (slots = rt_map(SLOTS * sizeof(*slots))) == NULL)
		return NULL;
	for (unsigned i = 0; i < PROBES; i++) {
		struct slot *s = &slots[(at + i) % SLOTS];

		if (s->ra == ra || s->ra == 0)
			return s;
	}
	return NULL;
}

const char *
where_text(uintptr_t ra, char *scratch, size_t *ret_len)
{
	struct text t = text_on(scratch, WHERE_TEXT_MAX);
	struct slot *s = slot_for(ra);
	const char *kept;
	struct dl_find_object o;

	if (!loaded_find((const void *)ra, &o)) {
		text_add(&t, "@ [0x");
		add_hex(&t, ra);
		text_add(&t, "] ");
		*ret_len = t.len;
		return scratch;
	}
	if (s != NULL && s->ra == ra && still_there(s, o.dlfo_link_map)) {
		*ret_len = s->len;
		return s->text;
	}
	describe(&t, ra, o.dlfo_link_map);
	*ret_len = t.len;
	if (s == NULL || (kept = keep(&t)) == NULL)
		return scratch;
	*s = (struct slot){.ra = ra,
			   .object = o.dlfo_link_map,
			   .text = kept,
			   .len = (uint32_t)t.len,
			   .name_len = (uint32_t)text_len(name_of(o.dlfo_link_map))};
	return kept;
}
