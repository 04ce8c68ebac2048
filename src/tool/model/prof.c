/* SPDX-License-Identifier: MIT */
/* prof.c -- the profile in memory: tables that grow, and who is in them already.
 *
 * Tables are doubled arrays. Modules, locations and nodes are found again through one
 * hash table each, which holds row numbers only and compares with the rows. A table is
 * brought up to date when it is first asked, so a reader that fills rows directly pays
 * nothing for it, and a profile that is only shown never builds it. The hash is seeded
 * by an address, which a file's author does not know. */
#include "prof.h"

#include <string.h>

#include "shared/compiler.h"
#include "shared/hash.h"
#include "shared/mem.h"
#include "tool/model/columns.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum { PROF_FIRST_ROWS = 16, PROF_FIRST_SLOTS = 64 };

struct prof_slots {
	uint32_t *slots; /* row numbers, 0 = free: row 0 is never looked for */
	size_t cap;	 /* power of two or 0 */
	uint32_t known;	 /* rows below this are in it */
};

struct prof_index {
	struct prof_slots modules, locs, nodes;
};

/* ---- tables ---- */

static void *
prof_grow(void *rows, uint32_t n, uint32_t *cap, size_t row_bytes)
{
	uint32_t more = *cap != 0 ? *cap : PROF_FIRST_ROWS / 2;

	if (n < *cap)
		return rows;
	if (more > UINT32_MAX / 2)
		x_oom(SIZE_MAX);
	*cap = more * 2;
	return xreallocarray(rows, *cap, row_bytes);
}

/* A zeroed row at the end of a table: its number. */
#define PROF_APPEND(p, name)                                                             \
	((p)->name =                                                                     \
		 prof_grow((p)->name, (p)->n##name, &(p)->cap##name, sizeof *(p)->name), \
	 memset(&(p)->name[(p)->n##name], 0, sizeof *(p)->name), (p)->n##name++)

uint32_t
prof_append(struct prof *p, enum prof_tab_id tab)
{
	const struct prof_tab *t = &prof_tabs[tab];
	unsigned char *at = (unsigned char *)p, *rows;
	uint32_t n, cap;

	memcpy(&cap, at + t->cap_off, sizeof cap);
	rows = prof_tab_rows(p, t, &n);
	if (n == cap) {
		rows = prof_grow(rows, n, &cap, t->row_bytes);
		memcpy(at + t->cap_off, &cap, sizeof cap);
		memcpy(at + t->rows_off, &rows, sizeof rows);
	}
	memset(rows + (size_t)n * t->row_bytes, 0, t->row_bytes);
	mem_put_u32(at + t->n_off, n + 1);
	return n;
}

struct prof *
prof_new(void)
{
	struct prof *p = xcalloc(1, sizeof *p);

	p->strings = xcalloc(1, sizeof *p->strings);
	p->index = xcalloc(1, sizeof *p->index);
	for (unsigned id = PROF_TAB_PROCESSES; id < PROF_TABS; id++) {
		if (prof_tabs[id].first != 0)
			prof_append(p, (enum prof_tab_id)id);
	}
	p->columns = PROF_HAS_ALL;
	return p;
}

void
prof_forget_index(struct prof *p)
{
	free(p->index->modules.slots);
	free(p->index->locs.slots);
	free(p->index->nodes.slots);
	*p->index = (struct prof_index){0};
}

void
prof_free(struct prof *p)
{
	if (p == NULL)
		return;
	strtab_done(p->strings);
	free(p->strings);
	prof_forget_index(p);
	free(p->index);
	for (unsigned id = PROF_TAB_PROCESSES; id < PROF_TABS; id++) {
		uint32_t n;

		free(prof_tab_rows(p, &prof_tabs[id], &n));
	}
	free(p->reals);
	free(p);
}

uint32_t
prof_add_real(struct prof *p)
{
	return PROF_APPEND(p, reals);
}

struct prof_hist
prof_hist(const struct prof *p, uint32_t site)
{
	const struct prof_site *s = &p->sites[site < p->nsites ? site : 0];
	struct prof_hist h = {0};

	if (s->buckets > p->nbuckets || s->nbuckets > p->nbuckets - s->buckets)
		return h;
	for (uint32_t i = 0; i < s->nbuckets; i++) {
		const struct prof_bucket *b = &p->buckets[s->buckets + i];

		if (b->number < PROF_SIZE_BUCKETS)
			h.sizes[b->number] += b->count;
		else if (b->number < PROF_SIZE_BUCKETS + PROF_LIFE_BUCKETS)
			h.lifetimes[b->number - PROF_SIZE_BUCKETS] += b->count;
	}
	return h;
}

void
prof_set_hist(struct prof *p, uint32_t site, const struct prof_hist *h)
{
	uint32_t first = p->nbuckets;

	for (unsigned i = 0; i < PROF_SIZE_BUCKETS + PROF_LIFE_BUCKETS; i++) {
		uint64_t count = i < PROF_SIZE_BUCKETS
					 ? h->sizes[i]
					 : h->lifetimes[i - PROF_SIZE_BUCKETS];

		if (count != 0) {
			uint32_t row = PROF_APPEND(p, buckets);

			p->buckets[row] = (struct prof_bucket){count, (uint8_t)i};
		}
	}
	p->sites[site].buckets = first;
	p->sites[site].nbuckets = p->nbuckets - first;
}

void
prof_expect_blocks(struct prof *p, uint64_t n)
{
	uint64_t want = p->nblocks + n;
	void *rows;

	if (want <= p->capblocks || want > UINT32_MAX / 2)
		return;
	if (want < 2 * (uint64_t)p->capblocks)
		want = 2 * (uint64_t)p->capblocks;
	rows = reallocarray(p->blocks, want, sizeof *p->blocks);
	if (rows == NULL)
		return;
	p->blocks = rows;
	p->capblocks = (uint32_t)want;
}

const struct prof_check *
prof_check_of(const struct prof *p, uint32_t process)
{
	for (uint32_t i = p->nchecks; i > 0; i--) {
		if (p->checks[i - 1].process == process)
			return &p->checks[i - 1];
	}
	return NULL;
}

const struct prof_memory *
prof_memory_of(const struct prof *p, uint32_t process)
{
	for (uint32_t i = p->nmemories; i > 0; i--) {
		if (p->memories[i - 1].process == process && p->memories[i - 1].kind == 0)
			return &p->memories[i - 1];
	}
	return NULL;
}

void
prof_add_damage(struct prof *p, const char *what, uint64_t count)
{
	uint32_t id, row;

	if (count == 0)
		return;
	id = prof_str(p, what);
	for (row = 0; row < p->ndamages; row++) {
		if (p->damages[row].what == id)
			break;
	}
	if (row == p->ndamages) {
		row = PROF_APPEND(p, damages);
		p->damages[row].what = id;
	}
	p->damages[row].count += count;
}

/* ---- strings ---- */

uint32_t
prof_strn(struct prof *p, const char *text, size_t bytes)
{
	return bytes != 0 ? strtab_addn(p->strings, text, bytes) : 0;
}

uint32_t
prof_str(struct prof *p, const char *text)
{
	return text != NULL ? prof_strn(p, text, strlen(text)) : 0;
}

const char *
prof_text(const struct prof *p, uint32_t id)
{
	return strtab_str(p->strings, id);
}

/* ---- rows that are found again ---- */

static uint64_t
prof_module_hash(const struct prof *p, uint32_t row)
{
	const struct prof_module *m = &p->modules[row];
	uint64_t seed = (uintptr_t)p->index;

	if (m->build_id_bytes != 0)
		return hash_bytes(m->build_id, m->build_id_bytes, seed);
	return hash_pair(seed, m->path);
}

/* The same code: the build-id decides, the path only between modules without one. */
static bool
prof_module_same(const struct prof *p, uint32_t a, uint32_t b)
{
	const struct prof_module *x = &p->modules[a], *y = &p->modules[b];

	if (x->build_id_bytes != y->build_id_bytes)
		return false;
	if (x->build_id_bytes == 0)
		return x->path == y->path;
	return memcmp(x->build_id, y->build_id, x->build_id_bytes) == 0;
}

static uint64_t
prof_loc_hash(const struct prof *p, uint32_t row)
{
	const struct prof_loc *l = &p->locs[row];
	uint64_t seed = (uintptr_t)p->index;

	return hash_pair(hash_pair(seed, l->offset),
			 (uint64_t)l->module << 16 | (uint64_t)l->kind << 8 | l->exact);
}

static bool
prof_loc_same(const struct prof *p, uint32_t a, uint32_t b)
{
	const struct prof_loc *x = &p->locs[a], *y = &p->locs[b];

	return x->offset == y->offset && x->module == y->module && x->kind == y->kind &&
	       x->exact == y->exact;
}

static uint64_t
prof_node_hash(const struct prof *p, uint32_t row)
{
	const struct prof_node *n = &p->nodes[row];

	return hash_u64(((uint64_t)n->parent << 32 | n->loc) ^ (uintptr_t)p->index);
}

static bool
prof_node_same(const struct prof *p, uint32_t a, uint32_t b)
{
	return p->nodes[a].parent == p->nodes[b].parent &&
	       p->nodes[a].loc == p->nodes[b].loc;
}

struct prof_kind {
	uint64_t (*hash)(const struct prof *p, uint32_t row);
	bool (*same)(const struct prof *p, uint32_t a, uint32_t b);
};

static const struct prof_kind prof_kind_module = {prof_module_hash, prof_module_same};
static const struct prof_kind prof_kind_loc = {prof_loc_hash, prof_loc_same};
static const struct prof_kind prof_kind_node = {prof_node_hash, prof_node_same};

/* Puts `row` into the table, unless one like it is there: the number of that one. */
static uint32_t
prof_slots_put(const struct prof *p, struct prof_slots *s, const struct prof_kind *kind,
	       uint32_t row)
{
	size_t i = (size_t)kind->hash(p, row) & (s->cap - 1);

	for (; s->slots[i] != 0; i = (i + 1) & (s->cap - 1)) {
		if (kind->same(p, s->slots[i], row))
			return s->slots[i];
	}
	s->slots[i] = row;
	return row;
}

/* Takes in all rows below `n` and makes room for one more. */
static void
prof_slots_update(const struct prof *p, struct prof_slots *s,
		  const struct prof_kind *kind, uint32_t n)
{
	size_t cap = s->cap != 0 ? s->cap : PROF_FIRST_SLOTS;

	while ((size_t)n + 1 > cap / 4 * 3)
		cap *= 2;
	if (cap != s->cap) {
		free(s->slots);
		s->slots = xcalloc(cap, sizeof *s->slots);
		s->cap = cap;
		s->known = 1;
	}
	for (; s->known < n; s->known++)
		prof_slots_put(p, s, kind, s->known);
}

/* Row like the last of `*count`, which is taken back when it is a second one. */
static uint32_t
prof_intern(struct prof *p, struct prof_slots *s, const struct prof_kind *kind,
	    uint32_t *count)
{
	uint32_t last = *count - 1;
	uint32_t row;

	prof_slots_update(p, s, kind, last);
	row = prof_slots_put(p, s, kind, last);
	if (row == last)
		s->known = last + 1;
	else
		(*count)--;
	return row;
}

uint32_t
prof_module(struct prof *p, const char *path, const uint8_t *build_id, size_t bytes)
{
	uint32_t name = prof_str(p, path);
	uint32_t row = PROF_APPEND(p, modules);
	struct prof_module *m = &p->modules[row];

	if (bytes > PROF_BUILD_ID_MAX)
		bytes = PROF_BUILD_ID_MAX;
	m->path = name;
	m->build_id_bytes = (uint8_t)bytes;
	if (bytes > 0)
		memcpy(m->build_id, build_id, bytes);
	return prof_intern(p, &p->index->modules, &prof_kind_module, &p->nmodules);
}

uint64_t
prof_loc_address(const struct prof_loc *l)
{
	return l->offset - (!l->exact && l->offset > 0);
}

uint32_t
prof_loc(struct prof *p, uint32_t module, uint64_t offset, enum prof_loc_kind kind,
	 bool exact)
{
	uint32_t row = PROF_APPEND(p, locs);
	struct prof_loc *l = &p->locs[row];

	l->module = module;
	l->offset = offset;
	l->kind = (uint8_t)kind;
	l->exact = exact;
	return prof_intern(p, &p->index->locs, &prof_kind_loc, &p->nlocs);
}

uint32_t
prof_node(struct prof *p, uint32_t parent, uint32_t loc)
{
	uint32_t row = PROF_APPEND(p, nodes);
	struct prof_node *n = &p->nodes[row];

	n->parent = parent;
	n->loc = loc;
	return prof_intern(p, &p->index->nodes, &prof_kind_node, &p->nnodes);
}

const char *
prof_lang_name(unsigned lang)
{
	static const char *const names[] = {
		[PROF_NATIVE] = "native", [PROF_PYTHON] = "Python",
		[PROF_JAVA] = "Java",	  [PROF_GO] = "Go",
		[PROF_JS] = "JavaScript", [PROF_OTHER] = "other",
	};

	return names[lang < ARRAY_LEN(names) ? lang : PROF_OTHER];
}

const char *
prof_class_name(uint64_t class)
{
	switch (class) {
	case REC_CLASS_MMAP:
		return "[mmap]";
	case REC_CLASS_BRK:
		return "[brk]";
	case REC_CLASS_CUSTOM:
		return "[allocator of the program]";
	default:
		return "[heap]";
	}
}

bool
prof_has_value(const struct prof *p, enum prof_value value)
{
	static const int columns[PROF_VALUES] = {[PROF_LIVE] = PROF_HAS_LIVE,
						 [PROF_PEAK] = PROF_HAS_PEAK,
						 [PROF_ALLOCATED] = PROF_HAS_ALLOCS,
						 [PROF_TEMPORARY] = PROF_HAS_TEMPS};

	return (p->columns & columns[value]) != 0;
}

int64_t
prof_figure(const struct prof_site *s, enum prof_value value, bool objects)
{
	uint64_t n;

	switch (value) {
	case PROF_PEAK:
		return objects ? s->at_peak_blocks : s->at_peak_bytes;
	case PROF_ALLOCATED:
		n = objects ? s->allocs : s->alloc_bytes;
		break;
	case PROF_TEMPORARY:
		n = objects ? s->temps : s->temp_bytes;
		break;
	default:
		return objects ? s->live_blocks : s->live_bytes;
	}
	return n <= INT64_MAX ? (int64_t)n : INT64_MAX;
}
