/* SPDX-License-Identifier: MIT */
/* holders.c -- see holders.h. */
#include "tool/session/heap/holders.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/sym/demangle.h"
#include "tool/sym/objsym.h"
#include "tool/target/heap/rtti.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum {
	NAME_MAX_BYTES = 600,
	TLS_ABOVE = 2304, /* libc's own data of a thread, above its thread pointer */
};

/* Symbol of an address in a module, demangled; false when there is none. */
static bool
symbol_at(struct holders *h, struct holders_module *m, uint64_t addr, char *ret,
	  size_t size, uint64_t *ret_off)
{
	const char *name;
	char *plain;

	holders_open(h, m);
	name = m->symbols != NULL ? objsym_find(m->symbols, addr - m->bias, ret_off)
				  : NULL;
	if (name == NULL)
		return false;
	plain = demangle_short(name);
	snprintf(ret, size, "%s", plain != NULL ? plain : name);
	free(plain);
	return true;
}

/* ---- roots ---- */

void
holders_init(struct holders *ret, const struct image *image)
{
	*ret = (struct holders){.image = image};
	holders_modules(ret);
}

void
holders_done(struct holders *h)
{
	for (size_t i = 0; i < h->modules.len; i++) {
		objsym_free(h->modules.data[i].symbols);
		free(h->modules.data[i].file);
	}
	vec_done(&h->modules);
	map_done(&h->words);
	strtab_done(&h->names);
	vec_done(&h->passing);
	*h = (struct holders){0};
}

const char *
holders_name(const struct holders *h, uint32_t number)
{
	return strtab_str(&h->names, number);
}

uint64_t
holders_register(size_t thread, unsigned number)
{
	return HOLDERS_REGISTER | (uint64_t)thread << 16 | number;
}

uint64_t
holders_kernel(size_t number)
{
	return HOLDERS_KERNEL | number;
}

/* A thread for people: the first has the process's number. */
static void
thread_name(const struct image_thread *t, char *ret, size_t size)
{
	if (t->name[0] != '\0')
		snprintf(ret, size, "thread %d (%s)", t->tid, t->name);
	else
		snprintf(ret, size, "thread %d", t->tid);
}

/* The thread whose own data or stack holds `addr`; *ret_tls says which of the two. */
static const struct image_thread *
thread_of(const struct holders *h, uint64_t addr, bool *ret_tls)
{
	const struct image *i = h->image;
	const struct memmap_area *a = memmap_find(i->map, addr);
	const struct roots_stack *s = roots_stack_of(i->stacks, i->nstacks, addr);

	for (size_t k = 0; k < i->threads.len; k++) {
		const struct image_thread *t = &i->threads.data[k];

		*ret_tls = t->tp != 0 && addr + h->tls_bytes >= t->tp &&
			   addr < t->tp + TLS_ABOVE;
		if (*ret_tls)
			return t;
	}
	for (size_t k = 0; k < i->threads.len && a != NULL; k++) {
		const struct image_thread *t = &i->threads.data[k];

		if (s != NULL ? t->sp >= s->range.start && t->sp < s->range.end
			      : t->sp >= a->start && t->sp < a->end)
			return t;
	}
	return NULL;
}

/* What is at an address that is no block: `name` of the whole, how far into it, and from
 * where to where that is true. */
struct place {
	char name[NAME_MAX_BYTES];
	char in[256]; /* " in app", or "" */
	uint64_t off;
	uint64_t start, end;
	const struct image_thread *stack_of; /* NULL = it is no stack */
};

static void
find_register(const struct holders *h, uint64_t addr, struct place *p)
{
	size_t thread = (size_t)(addr >> 16 & UINT32_MAX);
	const char *reg = image_register((unsigned)(addr & 0xffff));
	char name[80] = "?";

	if (thread < h->image->threads.len)
		thread_name(&h->image->threads.data[thread], name, sizeof name);
	snprintf(p->name, sizeof p->name, "register%s%s of %s", reg != NULL ? " " : "s",
		 reg != NULL ? reg : "", name);
}

static void
find_place(struct holders *h, uint64_t addr, struct place *p)
{
	struct holders_module *m = holders_module(h, addr);
	const struct memmap_area *a = memmap_find(h->image->map, addr);
	const struct image_thread *t;
	char name[80];
	bool tls = false;

	*p = (struct place){.start = addr, .end = addr + 1};
	if (addr >= HOLDERS_KERNEL) {
		kernelword_name(&h->image->z.kernel.data[addr - HOLDERS_KERNEL], p->name,
				sizeof p->name);
		return;
	}
	if (addr >= HOLDERS_REGISTER) {
		find_register(h, addr, p);
		return;
	}
	if (m != NULL) {
		snprintf(p->in, sizeof p->in, " in %s", file_base(m->path));
		if (symbol_at(h, m, addr, p->name, sizeof p->name, &p->off)) {
			p->start = addr - p->off;
			return;
		}
		snprintf(p->name, sizeof p->name, "data of %s", file_base(m->path));
		p->off = addr - m->start;
		p->in[0] = '\0';
		return;
	}
	t = thread_of(h, addr, &tls);
	if (t != NULL) {
		thread_name(t, name, sizeof name);
		snprintf(p->name, sizeof p->name, "%s of %s",
			 tls ? "thread-local data" : "stack", name);
		p->stack_of = tls ? NULL : t;
		return;
	}
	p->start = a != NULL ? a->start : addr;
	p->end = a != NULL ? a->end : addr + 1;
	/* Behind the data of a module, in one mapping with it. */
	m = a != NULL ? holders_module(h, a->start) : NULL;
	if (m != NULL && m->end > p->start && m->end <= addr)
		p->start = m->end;
	p->off = a != NULL ? addr - p->start : addr;
	if (a != NULL && a->name[0] != '\0')
		snprintf(p->name, sizeof p->name, "%s", a->name);
	else
		snprintf(p->name, sizeof p->name, "mapping %" PRIx64 "-%" PRIx64,
			 a != NULL ? p->start : 0, a != NULL ? p->end : 0);
}

uint32_t
holders_root(void *holders, uint64_t addr)
{
	struct holders *h = holders;
	char name[NAME_MAX_BYTES + 300];
	struct place p;

	if (addr >= h->last_start && addr < h->last_end)
		return h->last_root;
	find_place(h, addr, &p);
	snprintf(name, sizeof name, "%s%s", p.name, p.in);
	h->last_root = strtab_add(&h->names, name);
	h->last_start = p.start;
	h->last_end = p.end;
	while (h->passing.len <= h->last_root)
		vec_push(&h->passing, false);
	h->passing.data[h->last_root] =
		p.stack_of != NULL || (addr >= HOLDERS_REGISTER && addr < HOLDERS_KERNEL);
	return h->last_root;
}

bool
holders_passes(void *holders, uint32_t root)
{
	const struct holders *h = holders;

	return root < h->passing.len && h->passing.data[root];
}

void
holders_address(struct holders *h, uint64_t addr, char *ret, size_t size)
{
	struct place p;

	find_place(h, addr, &p);
	if (p.stack_of != NULL)
		holders_frame(h, p.stack_of, addr, p.in, sizeof p.in);
	if (p.off != 0)
		snprintf(ret, size, "%s+0x%" PRIx64 "%s", p.name, p.off, p.in);
	else
		snprintf(ret, size, "%s%s", p.name, p.in);
}

/* ---- types ---- */

/* "vtable for X" is X; what `name` becomes is in `ret`. */
static void
class_name(const char *name, char *ret, size_t size)
{
	static const char *const before[] = {"vtable for ", "typeinfo name for ",
					     "construction vtable for "};

	for (unsigned i = 0; i < 3; i++) {
		if (strncmp(name, before[i], strlen(before[i])) == 0)
			name += strlen(before[i]);
	}
	snprintf(ret, size, "class %s", name);
}

static bool
find_class(struct holders *h, uint64_t word, char *ret, size_t size)
{
	char name[512], mangled[528], *full;

	if (!rtti_class(h->image->mem, h->image->map, word, name, sizeof name))
		return false;
	snprintf(mangled, sizeof mangled, "_ZTS%s", name);
	full = demangle_full(mangled);
	class_name(full != NULL ? full : name, ret, size);
	free(full);
	return true;
}

uint32_t
holders_type(struct holders *h, uint64_t word)
{
	const struct memmap_area *a = memmap_find(h->image->map, word);
	char name[NAME_MAX_BYTES], text[NAME_MAX_BYTES + 300];
	struct holders_module *m;
	uint64_t *known, off;

	/* Constants and code alone: a pointer to a variable says what it points to, not
	 * what it is. */
	if (a == NULL || a->inode == 0 || a->perms[1] == 'w')
		return 0;
	known = map_add(&h->words, word);
	if (*known != 0)
		return (uint32_t)(*known - 1);
	text[0] = '\0';
	m = holders_module(h, word);
	if (find_class(h, word, text, sizeof text)) {
		/* told by the class itself */
	} else if (m != NULL && symbol_at(h, m, word, name, sizeof name, &off)) {
		if (strncmp(name, "vtable for ", 11) == 0)
			class_name(name, text, sizeof text);
		else
			snprintf(text, sizeof text, "begins with &%s%s%s in %s", name,
				 off != 0 ? "+" : "", off != 0 ? "…" : "",
				 file_base(m->path));
	}
	/* The table may have moved. */
	known = map_add(&h->words, word);
	*known = strtab_add(&h->names, text) + UINT64_C(1);
	return (uint32_t)(*known - 1);
}
