/* SPDX-License-Identifier: MIT */
/* stack_text.c -- stacks of hexadecimal addresses into the tree of nodes.
 *
 * Neighbours in a file mostly have the same outer frames, and those stand at the end of
 * the line: the part of the line that is equal to the line before is compared as bytes
 * and not parsed. Addresses of the rest are found again in a hash table, seeded by an
 * address that the file's author does not know. Most nodes have one child, which was
 * added right after them: it is looked at before the profile's own table is asked, which
 * would miss the cache at every step of a stack that has no like neighbour. */
#include "stack_text.h"

#include "maps.h"
#include "shared/hash.h"

enum { STACK_TEXT_FIRST_SLOTS = 1024 };

void
stack_text_init(struct stack_text *s, struct prof *p, const struct maps *maps)
{
	*s = (struct stack_text){.p = p, .maps = maps};
}

void
stack_text_done(struct stack_text *s)
{
	free(s->addrs);
	vec_done(&s->child);
	vec_done(&s->frames);
	vec_done(&s->fresh);
	*s = (struct stack_text){0};
}

/* ---- addresses ---- */

/* Slot of the address, or the free one where it belongs; there is always one. */
static inline size_t
stack_text_slot(const struct stack_text *s, uint64_t addr)
{
	size_t at = (size_t)hash_u64(addr ^ (uintptr_t)s->p) & (s->cap - 1);

	while (s->addrs[at].loc != 0 && s->addrs[at].addr != addr)
		at = (at + 1) & (s->cap - 1);
	return at;
}

uint32_t
stack_text_loc(const struct stack_text *s, uint64_t addr)
{
	return s->cap != 0 ? s->addrs[stack_text_slot(s, addr)].loc : 0;
}

static void
stack_text_grow(struct stack_text *s)
{
	size_t old_cap = s->cap;
	struct stack_text_addr *old = s->addrs;

	s->cap = old_cap != 0 ? old_cap * 2 : STACK_TEXT_FIRST_SLOTS;
	s->addrs = xcalloc(s->cap, sizeof *s->addrs);
	for (size_t i = 0; i < old_cap; i++) {
		if (old[i].loc != 0)
			s->addrs[stack_text_slot(s, old[i].addr)] = old[i];
	}
	free(old);
}

static uint32_t
stack_text_add(struct stack_text *s, uint64_t addr)
{
	uint32_t loc = stack_text_loc(s, addr);
	uint64_t offset;
	uint32_t module;

	if (loc != 0)
		return loc;
	if (s->naddrs >= s->cap / 2)
		stack_text_grow(s);
	module = maps_find(s->maps, addr, &offset);
	loc = prof_loc(s->p, module, offset, PROF_LOC_CODE, false);
	s->addrs[stack_text_slot(s, addr)] =
		(struct stack_text_addr){.addr = addr, .loc = loc};
	s->naddrs++;
	return loc;
}

/* ---- stacks ---- */

static uint32_t
stack_text_step(struct stack_text *s, uint32_t node, uint32_t loc)
{
	uint32_t child = node < s->child.len ? s->child.data[node] : 0;
	uint32_t found;

	if (child != 0 && s->p->nodes[child].loc == loc)
		return child;
	found = prof_node(s->p, node, loc);
	if (child != 0)
		return found;
	while (s->child.len <= node)
		vec_push(&s->child, 0);
	s->child.data[node] = found;
	return found;
}

/* How many bytes at their ends are the same. */
static size_t
stack_text_same(const struct line *a, const struct line *b)
{
	size_t max = line_len(a) < line_len(b) ? line_len(a) : line_len(b);
	size_t n = 0;
	uint64_t x, y;

	for (; max - n >= sizeof x; n += sizeof x) {
		memcpy(&x, a->end - n - sizeof x, sizeof x);
		memcpy(&y, b->end - n - sizeof y, sizeof y);
		if (x != y)
			break;
	}
	while (n < max && a->end[-1 - (ptrdiff_t)n] == b->end[-1 - (ptrdiff_t)n])
		n++;
	return n;
}

/* Parses addresses up to `stop`; false when something else is in between. */
static bool
stack_text_scan(struct stack_text *s, struct line in, const char *stop)
{
	const char *end = in.end;

	in.end = stop;
	for (;;) {
		const char *blank = in.at;
		uint64_t addr;

		scan_blanks(&in);
		if (in.at == in.end)
			return true;
		if (!scan_hex(&in, &addr) || (in.at < in.end && !scan_is_blank(*in.at)))
			return false;
		vec_push(&s->fresh,
			 (struct stack_text_frame){.tail = (size_t)(end - blank),
						   .loc = stack_text_add(s, addr)});
	}
}

uint32_t
stack_text_node(struct stack_text *s, struct line text, bool *ret_bad)
{
	size_t same = stack_text_same(&text, &s->last);
	size_t kept = 0;
	uint32_t node;
	bool ok;

	while (kept < s->frames.len && s->frames.data[kept].tail <= same)
		kept++;
	same = kept > 0 ? s->frames.data[kept - 1].tail : 0;
	s->frames.len = kept;
	s->fresh.len = 0;
	ok = stack_text_scan(s, text, text.end - same);
	if (!ok) {
		*ret_bad = true;
		kept = s->frames.len = 0; /* what lies behind the gap is not its caller */
	}
	node = kept > 0 ? s->frames.data[kept - 1].node : 0;
	for (size_t i = s->fresh.len; i > 0; i--) {
		struct stack_text_frame *f = &s->fresh.data[i - 1];

		f->node = node = stack_text_step(s, node, f->loc);
		vec_push(&s->frames, *f);
	}
	s->last = ok ? text : (struct line){0};
	if (!ok)
		s->frames.len = 0;
	return node;
}
