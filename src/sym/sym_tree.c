/* SPDX-License-Identifier: MIT */
/* sym_tree.c -- functions and inlined calls of one unit.
 *
 * The unit's DIEs are walked once. Every subprogram with code and every
 * inlined_subroutine becomes a node that knows what it was inlined into; their address
 * ranges are painted into spans. Names are looked up only for nodes that are asked for.
 *
 * A walk in order meets DIEs at rising addresses. A broken file may send the reader back
 * or let subtrees share their children; whatever is not behind all that was seen is left
 * alone, so the walk ends after one look at each byte. */
#include <dwarf.h>
#include <string.h>

#include "sym/sym_priv.h"

#define SYM_DEEPEST 256
/* Ranges of one unit: more is a broken file, where a few bytes can stand for any
 * number. */
#define SYM_MOST_RANGES ((size_t)8 << 20)

struct sym_walk {
	struct sym *sym;
	struct sym_unit *unit;
	struct sym_ranges ranges;
	const void *seen; /* the furthest DIE so far */
};

static uint32_t
sym_attr_u32(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (dwarf_attr(die, name, &attr) == NULL || dwarf_formudata(&attr, &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Adds the ranges of `die` for the node about to be made; the lowest address, or
 * UINT64_MAX when it has no code. */
static uint64_t
sym_walk_ranges(struct sym_walk *w, Dwarf_Die *die, uint32_t node)
{
	uint64_t entry = UINT64_MAX;
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while (w->ranges.len < SYM_MOST_RANGES &&
	       (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		if (lo >= hi || !sym_is_code(w->sym, lo))
			continue;
		vec_push(&w->ranges, (struct sym_range){lo, hi, node});
		if (entry == UINT64_MAX)
			entry = lo;
	}
	return entry;
}

/* Makes a node of a function or an inlined call; what its children are inlined into. */
static uint32_t
sym_walk_node(struct sym_walk *w, Dwarf_Die *die, int tag, uint32_t parent)
{
	uint32_t id = (uint32_t)w->unit->nodes.len;
	bool inlined = tag == DW_TAG_inlined_subroutine;
	uint64_t entry;
	struct sym_node *n;

	if (inlined && parent == SYM_NONE)
		return SYM_NONE; /* inside an abstract instance: no code of its own */
	entry = sym_walk_ranges(w, die, id);
	if (!inlined && entry == UINT64_MAX)
		return SYM_NONE; /* a declaration, an abstract instance, or thrown away */
	n = vec_add(&w->unit->nodes);
	n->die = *die;
	n->entry = entry;
	n->parent = inlined ? parent : SYM_NONE;
	if (inlined) {
		n->call_file = sym_attr_u32(die, DW_AT_call_file);
		n->call_line = sym_attr_u32(die, DW_AT_call_line);
	}
	return id;
}

/* Whether functions with code can be below such a DIE. Rust has them inside of types. */
static bool
sym_walk_enters(int tag)
{
	switch (tag) {
	case DW_TAG_enumeration_type:
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
	case DW_TAG_formal_parameter:
	case DW_TAG_variable:
	case DW_TAG_member:
		return false;
	default:
		return true;
	}
}

static void
sym_walk_children(struct sym_walk *w, Dwarf_Die *parent_die, uint32_t parent,
		  unsigned depth)
{
	Dwarf_Die die;
	uint32_t inside;
	int tag;

	if (depth > SYM_DEEPEST || dwarf_child(parent_die, &die) != 0)
		return;
	do {
		if ((const char *)die.addr <= (const char *)w->seen)
			return;
		w->seen = die.addr;
		tag = dwarf_tag(&die);
		inside = parent;
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			inside = sym_walk_node(w, &die, tag, parent);
		if (sym_walk_enters(tag) && dwarf_haschildren(&die) > 0)
			sym_walk_children(w, &die, inside, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

void
sym_tree_load(struct sym *s, struct sym_unit *u)
{
	struct sym_walk w = {.sym = s, .unit = u, .seen = u->full.addr};

	sym_walk_children(&w, &u->full, SYM_NONE, 0);
	sym_paint(&w.ranges, &u->spans);
	vec_done(&w.ranges);
}

uint32_t
sym_tree_find(const struct sym_unit *u, uint64_t addr)
{
	return sym_span_find(&u->spans, addr);
}

uint32_t
sym_node_name(struct sym *s, struct sym_unit *u, uint32_t node)
{
	struct sym_node *n = &u->nodes.data[node];
	const struct sym_symbol *symbol;
	const char *linkage, *name;
	Dwarf_Attribute attr;

	if (n->named)
		return n->linkage;
	n->named = true;
	linkage = dwarf_formstring(
		dwarf_attr_integrate(&n->die, DW_AT_linkage_name, &attr));
	if (linkage == NULL)
		linkage = dwarf_formstring(
			dwarf_attr_integrate(&n->die, DW_AT_MIPS_linkage_name, &attr));
	if (linkage != NULL && linkage[0] != '\0') {
		n->linkage = strtab_add(&s->strings, linkage);
		return n->linkage;
	}
	/* Where names are mangled, one that is not is only part of the truth
	 * ("operator()"); the symbol knows better, if this is a real function. */
	symbol = NULL;
	if (u->mangles && n->parent == SYM_NONE)
		symbol = sym_symbol_find(s, n->entry);
	name = dwarf_formstring(dwarf_attr_integrate(&n->die, DW_AT_name, &attr));
	if (symbol != NULL && symbol->lo == n->entry)
		n->linkage = symbol->name;
	else if (name != NULL)
		n->linkage = strtab_add(&s->strings, name);
	return n->linkage;
}
