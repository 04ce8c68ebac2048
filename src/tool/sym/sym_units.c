/* SPDX-License-Identifier: MIT */
/* sym_units.c -- which compilation unit covers an address.
 *
 * Every unit's own DIE says which addresses it has; reading those few bytes of each unit
 * is all that is done for units nobody asks about, unless the cache knows them all.
 * .debug_aranges would be shorter but is often absent or incomplete. It is needed for old
 * versions of DWARF, where a unit could name one range and no more; units that are not in
 * there either are read whole when an address is found nowhere else. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/sym/sym_priv.h"
#include "tool/util/clock.h"

#define SYM_MOST_UNITS ((size_t)4 << 20)
#define SYM_MOST_RANGES ((size_t)8 << 20)
/* From this version on, what a unit says of its addresses is all there is. */
#define SYM_RANGES_SINCE 4

static bool
sym_unit_mangles(Dwarf_Die *die)
{
	switch (dwarf_srclang(die)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_Rust:
	case DW_LANG_D:
	case DW_LANG_Swift:
		return true;
	default:
		return false;
	}
}

/* Of two units that claim the same code, as copies of one inline function make them do,
 * the first is asked; painting prefers the larger number. */
static uint32_t
sym_unit_rank(uint32_t id)
{
	return SYM_NONE - 1 - id;
}

/* Adds the unit's ranges; false when it says nothing about them. */
static bool
sym_unit_ranges(struct sym *s, Dwarf_Die *die, uint32_t id, struct sym_ranges *ranges)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	bool any = false;

	while (ranges->len < SYM_MOST_RANGES &&
	       (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		any = true;
		sym_range_add(s, ranges, lo, hi, sym_unit_rank(id));
	}
	return any;
}

/* Adds what .debug_aranges knows of the units in `old`, which maps the offsets of their
 * DIEs to their ids; those that are found are taken out. */
static void
sym_units_aranges(struct sym *s, struct map *old, struct sym_ranges *ranges)
{
	struct map found = {0};
	Dwarf_Aranges *all;
	Dwarf_Addr lo;
	Dwarf_Word len;
	Dwarf_Off off;
	uint64_t *id, key, value;
	size_t n = 0, pos = 0;

	if (old->len == 0 || dwarf_getaranges(s->dwarf, &all, &n) != 0)
		return;
	for (size_t i = 0; i < n && ranges->len < SYM_MOST_RANGES; i++) {
		if (dwarf_getarangeinfo(dwarf_onearange(all, i), &lo, &len, &off) != 0)
			continue;
		id = map_find(old, off);
		if (id != NULL && len <= UINT64_MAX - lo &&
		    sym_range_add(s, ranges, lo, lo + len, sym_unit_rank((uint32_t)*id)))
			*map_add(&found, off) = 1;
	}
	while (map_next(&found, &pos, &key, &value))
		map_del(old, key);
	map_done(&found);
}

static int
sym_id_compare(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

/* All units that may have code, and where it is. */
static void
sym_units_read(struct sym *s, struct sym_units *ret)
{
	struct sym_ranges ranges = {0};
	struct map old = {0};
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Die die;
	uint64_t off, value;
	size_t pos = 0;
	uint8_t type;
	uint32_t id;

	while (ret->all.len < SYM_MOST_UNITS &&
	       dwarf_get_units(s->dwarf, cu, &cu, &version, &type, &die, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		id = (uint32_t)ret->all.len;
		if (version < SYM_RANGES_SINCE && !dwarf_hasattr(&die, DW_AT_ranges))
			*map_add(&old, dwarf_dieoffset(&die)) = id;
		else if (!sym_unit_ranges(s, &die, id, &ranges))
			continue; /* no code: nobody will ask for it */
		vec_add(&ret->all)->die = die;
	}
	sym_units_aranges(s, &old, &ranges);
	while (map_next(&old, &pos, &off, &value))
		vec_push(&ret->blind, (uint32_t)value);
	vec_sort(&ret->blind, sym_id_compare);
	sym_paint(&ranges, &ret->spans);
	for (size_t i = 0; i < ret->spans.len; i++)
		if (ret->spans.data[i].id != SYM_NONE)
			ret->spans.data[i].id = sym_unit_rank(ret->spans.data[i].id);
	vec_done(&ranges);
	map_done(&old);
}

static bool
sym_same(const void *a, const void *b, size_t bytes)
{
	return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static bool
sym_units_equal(const struct sym_units *a, const struct sym_units *b)
{
	return a->all.len == b->all.len && a->spans.len == b->spans.len &&
	       a->blind.len == b->blind.len &&
	       sym_same(a->spans.data, b->spans.data,
			a->spans.len * sizeof *a->spans.data) &&
	       sym_same(a->blind.data, b->blind.data,
			a->blind.len * sizeof *a->blind.data);
}

/* Gives the units their DIEs. A list from the cache that is another than the debug
 * information's is forgotten, since its numbers mean other units. */
static void
sym_units_attach(struct sym *s)
{
	struct sym_units read = {0};

	if (s->units_attached)
		return;
	s->units_attached = true;
	sym_dwarf_open(s);
	if (s->dwarf == NULL)
		return;
	sym_units_read(s, &read);
	if (s->units_loaded && sym_units_equal(&s->units, &read)) {
		for (size_t i = 0; i < read.all.len; i++)
			s->units.all.data[i].die = read.all.data[i].die;
	} else {
		if (s->units_loaded)
			sym_cache_forget(s);
		sym_units_done(&s->units);
		s->units = read;
		read = (struct sym_units){0};
	}
	s->units_loaded = true;
	sym_units_done(&read);
}

/* Whether the split units were put into one file, PATH.dwp; its name goes to `ret`. */
static bool
sym_is_dwp(const struct sym *s, char *ret, size_t room)
{
	const char *paths[] = {s->file.path, s->opts.real_path, s->debug.path};

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (paths[i] == NULL)
			continue;
		snprintf(ret, room, "%s.dwp", paths[i]);
		if (access(ret, F_OK) == 0)
			return true;
	}
	return false;
}

/* Finds the unit with the functions when they were split off into a .dwo file. */
static void
sym_unit_join(struct sym *s, struct sym_unit *u)
{
	Dwarf_Attribute attr;
	char dwp[256];
	const char *name;
	Dwarf_Die sub;
	uint8_t type = 0;

	u->full = u->die;
	memset(&sub, 0, sizeof sub);
	if (dwarf_cu_info(u->die.cu, NULL, &type, NULL, &sub, NULL, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton)
		return;
	if (sub.addr != NULL) {
		u->full = sub;
		return;
	}
	name = dwarf_formstring(dwarf_attr(&u->die, DW_AT_dwo_name, &attr));
	if (name == NULL)
		name = dwarf_formstring(dwarf_attr(&u->die, DW_AT_GNU_dwo_name, &attr));
	if (sym_is_dwp(s, dwp, sizeof dwp))
		snprintf(
			s->reason, sizeof s->reason,
			"split debug information in %s cannot be read; keep the .dwo files",
			dwp);
	else
		snprintf(s->reason, sizeof s->reason, "split debug file %s is missing",
			 name != NULL ? name : "(unnamed)");
}

static void
sym_unit_load(struct sym *s, struct sym_unit *u)
{
	struct sym_part *p = &u->part;
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	u->loaded = true;
	sym_unit_join(s, u);
	u->mangles = sym_unit_mangles(&u->full);
	if (dwarf_getsrcfiles(&u->full, &u->files, &u->files_len) != 0)
		u->files = NULL;
	sym_lines_load(s, u);
	sym_tree_load(s, u);
	p->rows = u->rows.data;
	p->nrows = (uint32_t)u->rows.len;
	p->spans = u->spans.data;
	p->nspans = (uint32_t)u->spans.len;
	p->nodes = u->nodes.data;
	p->nnodes = (uint32_t)u->nodes.len;
	sym_cache_count(s, 1, began);
}

/* The unit with its arrays, out of the cache or the debug information; NULL when neither
 * has it. */
static struct sym_unit *
sym_unit_get(struct sym *s, uint32_t id)
{
	struct sym_unit *u = id < s->units.all.len ? &s->units.all.data[id] : NULL;

	if (u == NULL || u->loaded)
		return u;
	if (sym_cache_part(s, id, &u->part)) {
		u->loaded = true;
		return u;
	}
	sym_units_attach(s);
	if (s->dwarf == NULL || id >= s->units.all.len)
		return NULL;
	u = &s->units.all.data[id]; /* the list may be another one now */
	if (!u->loaded)
		sym_unit_load(s, u);
	return u;
}

static struct sym_unit *
sym_unit_at(struct sym *s, uint64_t at)
{
	uint32_t id = sym_span_find(s->units.spans.data, s->units.spans.len, at);

	return id != SYM_NONE ? sym_unit_get(s, id) : NULL;
}

struct sym_unit *
sym_unit_find(struct sym *s, uint64_t vaddr)
{
	uint64_t at = vaddr - s->base;
	struct sym_unit *u;
	bool attached;

	if (!sym_is_code(s, vaddr))
		return NULL;
	if (!s->units_loaded && !sym_cache_units(s, &s->units))
		sym_units_attach(s);
	s->units_loaded = true;
	attached = s->units_attached;
	u = sym_unit_at(s, at);
	if (attached != s->units_attached)
		u = sym_unit_at(s, at); /* the numbers may mean other units now */
	if (u != NULL)
		return u;
	for (size_t i = 0; i < s->units.blind.len; i++) {
		u = sym_unit_get(s, s->units.blind.data[i]);
		if (u != NULL &&
		    sym_span_find(u->part.spans, u->part.nspans, at) != SYM_NONE)
			return u;
	}
	return NULL;
}

void
sym_units_done(struct sym_units *list)
{
	for (size_t i = 0; i < list->all.len; i++) {
		struct sym_unit *u = &list->all.data[i];

		vec_done(&u->rows);
		vec_done(&u->nodes);
		vec_done(&u->dies);
		vec_done(&u->scopes);
		vec_done(&u->spans);
		map_done(&u->paths);
		map_done(&u->origins);
	}
	vec_done(&list->all);
	vec_done(&list->blind);
	vec_done(&list->spans);
}
