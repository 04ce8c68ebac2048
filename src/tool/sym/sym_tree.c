/* SPDX-License-Identifier: MIT */
/* sym_tree.c -- functions and inlined calls of one unit.
 *
 * The unit's DIEs are walked once. Every subprogram with code and every
 * inlined_subroutine becomes a node that knows what it was inlined into; their address
 * ranges are painted into spans. Names are looked up only for nodes that are asked for,
 * or when all goes into the cache. Namespaces, types and functions are kept as scopes for
 * those names that need them.
 *
 * A walk in order meets DIEs at rising addresses. A broken file may send the reader back
 * or let subtrees share their children; whatever is not behind all that was seen is left
 * alone, so the walk ends after one look at each byte. */
#include <dwarf.h>
#include <string.h>

#include "tool/sym/sym_priv.h"

#define SYM_DEEPEST 256
/* Ranges of one unit: more is a broken file, where a few bytes can stand for any
 * number. */
#define SYM_MOST_RANGES ((size_t)8 << 20)

struct sym_walk {
	struct sym *sym;
	struct sym_unit *unit;
	struct sym_ranges ranges;
	const void *seen; /* the furthest DIE so far */
	uint32_t scope;	  /* the one we are in; SYM_NONE: the unit itself */
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

/* Adds the ranges of `die` for the node about to be made; where it begins, or SYM_NONE
 * when it has no code. */
static uint32_t
sym_walk_ranges(struct sym_walk *w, Dwarf_Die *die, uint32_t node)
{
	uint32_t entry = SYM_NONE;
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while (w->ranges.len < SYM_MOST_RANGES &&
	       (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		if (sym_range_add(w->sym, &w->ranges, lo, hi, node) && entry == SYM_NONE)
			entry = (uint32_t)vec_last(&w->ranges)->lo;
	}
	return entry;
}

/* Makes a node of a function or an inlined call; what its children are inlined into. */
static uint32_t
sym_walk_node(struct sym_walk *w, Dwarf_Die *die, int tag, uint32_t parent)
{
	struct sym_unit *u = w->unit;
	uint32_t id = (uint32_t)u->nodes.len;
	bool inlined = tag == DW_TAG_inlined_subroutine;
	struct sym_node n = {.parent = parent, .name = SYM_NONE};

	if (inlined && parent == SYM_NONE)
		return SYM_NONE; /* inside an abstract instance: no code of its own */
	n.entry = sym_walk_ranges(w, die, id);
	if (!inlined && n.entry == SYM_NONE)
		return SYM_NONE; /* a declaration, an abstract instance, or thrown away */
	if (inlined) {
		n.file = sym_file_id(w->sym, u, sym_attr_u32(die, DW_AT_call_file));
		n.line = sym_attr_u32(die, DW_AT_call_line);
	} else {
		n.parent = SYM_NONE;
	}
	vec_push(&u->nodes, n);
	vec_push(&u->dies, *die);
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

/* What a name can be inside of. */
static bool
sym_walk_is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_subprogram;
}

static void sym_walk_children(struct sym_walk *w, Dwarf_Die *parent_die, uint32_t parent,
			      unsigned depth);

/* The children of `die`, which is a scope or not. */
static void
sym_walk_inside(struct sym_walk *w, Dwarf_Die *die, int tag, uint32_t node,
		unsigned depth)
{
	struct sym_unit *u = w->unit;
	uint32_t outer = w->scope;

	if (u->mangles && sym_walk_is_scope(tag)) {
		w->scope = (uint32_t)u->scopes.len;
		vec_push(&u->scopes, (struct sym_scope){.die = *die, .parent = outer});
	}
	sym_walk_children(w, die, node, depth + 1);
	if (w->scope != outer)
		u->scopes.data[w->scope].last = w->seen;
	w->scope = outer;
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
			sym_walk_inside(w, &die, tag, inside, depth);
	} while (dwarf_siblingof(&die, &die) == 0);
}

void
sym_tree_load(struct sym *s, struct sym_unit *u)
{
	struct sym_walk w = {
		.sym = s, .unit = u, .seen = u->full.addr, .scope = SYM_NONE};

	sym_walk_children(&w, &u->full, SYM_NONE, 0);
	sym_paint(&w.ranges, &u->spans);
	vec_done(&w.ranges);
}

static const char *
sym_linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	if (name == NULL)
		name = dwarf_formstring(
			dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));
	return name != NULL && name[0] != '\0' ? name : NULL;
}

/* Name of what `die` is, as its debug information has it; 0 when it says none. */
static uint32_t
sym_die_name(struct sym *s, struct sym_unit *u, Dwarf_Die *die, bool *ret_is_linkage)
{
	const char *name = sym_linkage_name(die);
	Dwarf_Attribute attr;

	*ret_is_linkage = name != NULL;
	if (name == NULL && u->mangles)
		return sym_scope_name(s, u, die);
	if (name == NULL)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
	return name != NULL ? strtab_add(&s->strings, name) : 0;
}

/* Of all the places where a function was inlined, only the first needs its name looked
 * up. */
static uint32_t
sym_inlined_name(struct sym *s, struct sym_unit *u, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	uint64_t *known;
	uint32_t name;
	bool is_linkage;

	if (dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attr), &origin) ==
	    NULL)
		return sym_die_name(s, u, die, &is_linkage);
	known = map_find(&u->origins, (uintptr_t)origin.addr);
	if (known != NULL)
		return (uint32_t)*known;
	name = sym_die_name(s, u, &origin, &is_linkage);
	*map_add(&u->origins, (uintptr_t)origin.addr) = name;
	return name;
}

uint32_t
sym_node_name(struct sym *s, struct sym_unit *u, uint32_t node)
{
	const struct sym_symbol *symbol;
	struct sym_node *n;
	bool is_linkage;

	if (u->part.nodes[node].name != SYM_NONE)
		return u->part.nodes[node].name;
	if (node >= u->nodes.len)
		return 0; /* a cache file that says so is broken */
	n = &u->nodes.data[node];
	if (n->parent != SYM_NONE) {
		n->name = sym_inlined_name(s, u, &u->dies.data[node]);
		return n->name;
	}
	n->name = sym_die_name(s, u, &u->dies.data[node], &is_linkage);
	/* Where names are mangled, one that is not is only part of the truth; the symbol
	 * knows better, if this is a real function. */
	if (is_linkage || !u->mangles)
		return n->name;
	symbol = sym_symbol_find(s, n->entry);
	if (symbol != NULL && symbol->lo == n->entry)
		n->name = strtab_add(&s->strings,
				     sym_part_text(s, &s->symbols, symbol->name));
	return n->name;
}
