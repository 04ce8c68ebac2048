/* SPDX-License-Identifier: MIT */
/* sym_scope.c -- whole names for functions that the compiler gave no linkage name.
 *
 * A lambda or a function of an anonymous namespace that was inlined everywhere has no
 * symbol, and its debug information says "operator()" and no more: all of them would be
 * one. So what it is inside of is put before it: the scopes that the walk of the unit
 * met, by the order of their bytes. Lambdas have the line of their beginning added, since
 * two of them in one function may otherwise look the same.
 *
 * Parameters are not told: such functions that differ in nothing else get the same
 * name. */
#include <dwarf.h>
#include <string.h>

#include "tool/sym/sym_priv.h"

#define SYM_SCOPE_HOPS 8
#define SYM_SCOPE_DEEPEST 32
#define SYM_SCOPE_MEMBERS 256

Dwarf_Die
sym_scope_origin(Dwarf_Die *die)
{
	Dwarf_Die at = *die, next;
	Dwarf_Attribute attr;

	for (unsigned i = 0; i < SYM_SCOPE_HOPS; i++) {
		if (dwarf_formref_die(dwarf_attr(&at, DW_AT_abstract_origin, &attr),
				      &next) == NULL &&
		    dwarf_formref_die(dwarf_attr(&at, DW_AT_specification, &attr),
				      &next) == NULL)
			break;
		at = next;
	}
	return at;
}

/* The innermost scope around a DIE at `addr`, itself not included, or SYM_NONE. */
static uint32_t
sym_scope_find(const struct sym_unit *u, const void *addr)
{
	size_t lo = 0, hi = u->scopes.len, mid;
	uint32_t at;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if ((const char *)u->scopes.data[mid].die.addr < (const char *)addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return SYM_NONE;
	at = (uint32_t)(lo - 1);
	while (at != SYM_NONE &&
	       (const char *)u->scopes.data[at].last < (const char *)addr)
		at = u->scopes.data[at].parent;
	return at;
}

/* Whether a type without a name is that of a lambda: its constructors say so. */
static bool
sym_scope_is_lambda(Dwarf_Die *type)
{
	Dwarf_Die die;
	const char *name;

	if (dwarf_child(type, &die) != 0)
		return false;
	for (unsigned i = 0; i < SYM_SCOPE_MEMBERS; i++) {
		name = dwarf_diename(&die);
		if (name != NULL && strncmp(name, "<lambda", 7) == 0)
			return true;
		if (dwarf_siblingof(&die, &die) != 0)
			return false;
	}
	return false;
}

/* The DIE's own name; what has none is told apart by its line. */
static void
sym_scope_own(Dwarf_Die *die, struct buf *b)
{
	const char *name = dwarf_diename(die);
	int tag = dwarf_tag(die), line = 0;
	size_t n;

	if (name == NULL && tag == DW_TAG_namespace) {
		buf_add_str(b, "(anonymous namespace)");
		return;
	}
	dwarf_decl_line(die, &line);
	if (name == NULL) {
		buf_printf(b, "<%s:%d>", sym_scope_is_lambda(die) ? "lambda" : "unnamed",
			   line);
		return;
	}
	n = strlen(name);
	if (strncmp(name, "<lambda", 7) == 0 && name[n - 1] == '>')
		buf_printf(b, "%.*s:%d>", (int)(n - 1), name, line);
	else
		buf_add(b, name, n);
}

static void
sym_scope_add(const struct sym_unit *u, Dwarf_Die *die, unsigned depth, struct buf *b)
{
	Dwarf_Die origin = sym_scope_origin(die);
	uint32_t scope = sym_scope_find(u, origin.addr);

	if (scope != SYM_NONE && depth < SYM_SCOPE_DEEPEST) {
		Dwarf_Die outer = u->scopes.data[scope].die;

		sym_scope_add(u, &outer, depth + 1, b);
		buf_add_str(b, "::");
	}
	sym_scope_own(&origin, b);
}

uint32_t
sym_scope_name(struct sym *s, const struct sym_unit *u, Dwarf_Die *die)
{
	Dwarf_Die origin = sym_scope_origin(die);
	struct buf b = {0};
	uint32_t id;

	if (dwarf_diename(&origin) == NULL)
		return 0;
	sym_scope_add(u, die, 0, &b);
	id = strtab_addn(&s->strings, b.data, b.len);
	buf_done(&b);
	return id;
}
