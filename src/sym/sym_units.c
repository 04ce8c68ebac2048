/* SPDX-License-Identifier: MIT */
/* sym_units.c -- which compilation unit covers an address.
 *
 * Every unit's own DIE says which addresses it has; reading those few bytes of each unit
 * is all that is done for units nobody asks about. .debug_aranges would be shorter but is
 * often absent or incomplete. It is needed for old versions of DWARF, where a unit could
 * name one range and no more; units that are not in there either are read whole when an
 * address is found nowhere else. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "sym/sym_priv.h"

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
		if (lo < hi && sym_is_code(s, lo))
			vec_push(ranges, (struct sym_range){lo, hi, id});
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
		if (id == NULL || len > UINT64_MAX - lo || !sym_is_code(s, lo))
			continue;
		vec_push(ranges, (struct sym_range){lo, lo + len, (uint32_t)*id});
		*map_add(&found, off) = 1;
	}
	while (map_next(&found, &pos, &key, &value))
		map_del(old, key);
	map_done(&found);
}

static void
sym_units_load(struct sym *s)
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

	s->units_loaded = true;
	while (s->units.len < SYM_MOST_UNITS &&
	       dwarf_get_units(s->dwarf, cu, &cu, &version, &type, &die, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		id = (uint32_t)s->units.len;
		if (version < SYM_RANGES_SINCE && !dwarf_hasattr(&die, DW_AT_ranges))
			*map_add(&old, dwarf_dieoffset(&die)) = id;
		else if (!sym_unit_ranges(s, &die, id, &ranges))
			continue; /* no code: nobody will ask for it */
		vec_add(&s->units)->die = die;
	}
	sym_units_aranges(s, &old, &ranges);
	while (map_next(&old, &pos, &off, &value))
		vec_push(&s->blind_units, (uint32_t)value);
	sym_paint(&ranges, &s->unit_spans);
	vec_done(&ranges);
	map_done(&old);
}

/* Finds the unit with the functions when they were split off into a .dwo file. */
static void
sym_unit_join(struct sym *s, struct sym_unit *u)
{
	Dwarf_Attribute attr;
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
	snprintf(s->reason, sizeof s->reason, "split debug file %s is missing",
		 name != NULL ? name : "(unnamed)");
}

static void
sym_unit_load(struct sym *s, struct sym_unit *u)
{
	if (u->loaded)
		return;
	u->loaded = true;
	sym_unit_join(s, u);
	u->mangles = sym_unit_mangles(&u->full);
	if (dwarf_getsrcfiles(&u->full, &u->files, &u->files_len) != 0)
		u->files = NULL;
	sym_lines_load(s, u);
	sym_tree_load(s, u);
}

struct sym_unit *
sym_unit_find(struct sym *s, uint64_t addr)
{
	struct sym_unit *u;
	uint32_t id;

	if (s->dwarf == NULL || !sym_is_code(s, addr))
		return NULL;
	if (!s->units_loaded)
		sym_units_load(s);
	id = sym_span_find(&s->unit_spans, addr);
	if (id != SYM_NONE) {
		sym_unit_load(s, &s->units.data[id]);
		return &s->units.data[id];
	}
	for (size_t i = 0; i < s->blind_units.len; i++) {
		u = &s->units.data[s->blind_units.data[i]];
		sym_unit_load(s, u);
		if (sym_tree_find(u, addr) != SYM_NONE)
			return u;
	}
	return NULL;
}

void
sym_units_done(struct sym *s)
{
	for (size_t i = 0; i < s->units.len; i++) {
		vec_done(&s->units.data[i].rows);
		vec_done(&s->units.data[i].nodes);
		vec_done(&s->units.data[i].spans);
	}
	vec_done(&s->units);
	vec_done(&s->blind_units);
	vec_done(&s->unit_spans);
}
