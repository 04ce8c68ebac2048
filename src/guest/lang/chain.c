/* SPDX-License-Identifier: MIT */
/* chain.c -- a runtime's chain of frames, most of which was read before.
 *
 * The last chain is kept, outermost frame first. A new event walks outwards from the
 * innermost frame until it meets one that is kept, which is one step as a rule; from
 * there every kept frame is read again and compared, to the outermost. Stopping at the
 * first frame that is the same would be wrong: its caller may have gone on to another
 * line and called again, and nothing else tells. But the addresses come out of what is
 * kept, so that the processor need not wait for one frame to have the address of the
 * next.
 *
 * - A kept frame is touched only after the link to it was found unchanged: what the chain
 *   does not lead to any more may be unmapped. New frames are looked at with care
 *   (peek.h).
 * - Where a link differs the whole chain is walked anew. Where only code or line do,
 *   names and hashes are made again from the outermost such frame inwards.
 * - A chain that does not end within CHAIN_MAX frames, or leads where nothing can be
 *   read, is cut there. So a circle costs as much as the deepest chain and does no harm.
 *
 * A frame is known by its name, line and language as they are written in the recording,
 * so code that is made and dropped again and again is one frame. By where its name comes
 * from it is remembered only until the runtime's count of changes moves. */
#include "guest/lang/chain.h"

#include "guest/record/mixed/rec_names.h"
#include "shared/hash.h"

#include <string.h>

enum {
	CHAIN_ROOT = 1, /* hash of what is outside of the outermost frame, */
	CHAIN_CUT = 2,	/* and where the chain was cut */
};

#define CHAIN_NOWHERE UINT32_MAX
#define CHAIN_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* odd: no bit is lost */

/* Where the words of a frame are. What the layout lacks is read from where the link
 * is, and masked out. */
struct chain_offsets {
	uint32_t prev, a, b, line, entry;
	uintptr_t b_mask;
	int32_t line_mask;
	uint8_t entry_mask;
};

static ALWAYS_INLINE struct chain_offsets
chain_offsets(const struct chain_layout *l)
{
	bool code = l->code != CHAIN_NONE, file = !code && l->file != CHAIN_NONE;
	bool line = l->line != CHAIN_NONE, entry = l->entry != CHAIN_NONE;

	return (struct chain_offsets){
		.prev = (uint32_t)l->prev,
		.a = (uint32_t)(code ? l->code : l->function),
		.b = (uint32_t)(file ? l->file : l->prev),
		.line = (uint32_t)(line ? l->line : l->prev),
		.entry = (uint32_t)(entry ? l->entry : l->prev),
		.b_mask = -(uintptr_t)file,
		.line_mask = -(int32_t)line,
		.entry_mask = (uint8_t) - (int)entry,
	};
}

static ALWAYS_INLINE uintptr_t
chain_word(uintptr_t at)
{
	uintptr_t word;

	memcpy(&word, (const void *)at, sizeof(word));
	return word;
}

static ALWAYS_INLINE void
chain_load(const struct chain_offsets *o, uintptr_t frame, struct chain_level *ret)
{
	memcpy(&ret->line, (const void *)(frame + o->line), sizeof(ret->line));
	ret->frame = frame;
	ret->prev = chain_word(frame + o->prev);
	ret->a = chain_word(frame + o->a);
	ret->b = chain_word(frame + o->b) & o->b_mask;
	ret->line &= o->line_mask;
	ret->entry = *(const uint8_t *)(frame + o->entry) & o->entry_mask;
	ret->named = false;
}

static ALWAYS_INLINE uint16_t *
chain_guess(struct chain *c, uintptr_t frame)
{
	return &c->index[hash_u64(frame) % CHAIN_MAX];
}

/* The level that the frame has among those kept. */
static uint32_t
chain_find(struct chain *c, uintptr_t frame)
{
	uint32_t guess;

	if (c->n > 0 && c->levels[c->n - 1].frame == frame)
		return c->n - 1;
	guess = (uint32_t)*chain_guess(c, frame) - 1;
	return guess < c->n && c->levels[guess].frame == frame ? guess : CHAIN_NOWHERE;
}

/* From `frame` outwards into c->fresh, to the end or to a level that is kept if `use` is
 * set. How many. */
static uint32_t
chain_walk(struct chain *c, const struct chain_layout *l, uintptr_t frame, bool use,
	   uint32_t *ret_level, bool *ret_cut)
{
	struct chain_offsets o = chain_offsets(l);
	uint32_t k = 0;

	*ret_level = CHAIN_NOWHERE;
	*ret_cut = false;
	while (frame != 0) {
		if (use && (*ret_level = chain_find(c, frame)) != CHAIN_NOWHERE)
			return k;
		if (k == CHAIN_MAX || frame % sizeof(void *) != 0 ||
		    !peek_may(&c->peek, frame, l->span)) {
			*ret_cut = true;
			return k;
		}
		chain_load(&o, frame, &c->fresh[k]);
		frame = c->fresh[k++].prev;
	}
	return k;
}

/* Reads the kept levels again, from `level` outwards. False: a link differs.
 * *ret_lowest: the outermost one that has another name, or past `level`. */
static bool
chain_same(struct chain *c, const struct chain_layout *l, uint32_t level,
	   uint32_t *ret_lowest)
{
	struct chain_offsets o = chain_offsets(l);
	struct chain_level now;

	*ret_lowest = level + 1;
	for (uint32_t i = level + 1; i-- > 0;) {
		struct chain_level *was = &c->levels[i];

		chain_load(&o, was->frame, &now);
		if (UNLIKELY(now.prev != was->prev))
			return false;
		if (LIKELY(((now.a ^ was->a) | (now.b ^ was->b) |
			    (uint32_t)(now.line ^ was->line) |
			    (now.entry ^ was->entry)) == 0))
			continue;
		was->named = false;
		was->a = now.a;
		was->b = now.b;
		was->line = now.line;
		was->entry = now.entry;
		*ret_lowest = i;
	}
	return true;
}

/* The name of a frame, out of the program's memory. */
static COLD uint32_t
chain_describe(struct chain *c, const struct chain_layout *l, struct recorder *r,
	       struct thread *t, const struct chain_level *x)
{
	uintptr_t function = x->a, file = x->b;

	if (l->code != CHAIN_NONE) {
		function = peek_word(&c->peek, x->a + (uintptr_t)l->function);
		file = l->file == CHAIN_NONE
			       ? 0
			       : peek_word(&c->peek, x->a + (uintptr_t)l->file);
	}
	peek_text(&c->peek, function, c->function, sizeof(c->function));
	peek_text(&c->peek, file, c->file, sizeof(c->file));
	return rec_name(r, c->function, c->file, x->line > 0 ? (uint32_t)x->line : 0,
			l->language, t->me);
}

static uint32_t
chain_name(struct chain *c, const struct chain_layout *l, struct recorder *r,
	   struct thread *t, const struct chain_level *x)
{
	uint64_t hash = hash_pair(hash_pair(x->a, x->b), (uint32_t)x->line);
	struct chain_known *k = &c->known[hash % CHAIN_KNOWN];

	if (!k->known || k->a != x->a || k->b != x->b || k->line != x->line) {
		uint32_t name = chain_describe(c, l, r, t, x);

		k->known = false;
		COMPILER_BARRIER();
		k->a = x->a;
		k->b = x->b;
		k->line = x->line;
		k->name = name;
		COMPILER_BARRIER();
		k->known = true;
	}
	return k->name;
}

/* Names and hashes of the levels from `from` to `to`, whose words are in place. */
static void
chain_finish(struct chain *c, const struct chain_layout *l, struct recorder *r,
	     struct thread *t, uint32_t from, uint32_t to)
{
	uint64_t hash =
		from > 0 ? c->levels[from - 1].hash : (c->cut ? CHAIN_CUT : CHAIN_ROOT);

	for (uint32_t i = from; i < to; i++) {
		struct chain_level *x = &c->levels[i];

		if (!x->named) {
			uint32_t name = chain_name(c, l, r, t, x);
			bool entry = l->entry == CHAIN_NONE || x->entry != 0;

			c->frames[i] = (struct mixed_frame){name, entry};
			*chain_guess(c, x->frame) = (uint16_t)(i + 1);
			x->own = hash_u64((uint64_t)name << 1 | entry);
			x->named = true;
		}
		hash = hash * CHAIN_FACTOR + x->own;
		x->hash = hash;
	}
}

/* Brings what is kept up to date. A longjmp at any time leaves a chain that is shorter,
 * and right as far as it goes. */
static void
chain_update(struct chain *c, const struct chain_layout *l, struct recorder *r,
	     struct thread *t, uintptr_t head)
{
	uint32_t level, lowest, base, k;
	bool cut;

	k = chain_walk(c, l, head, true, &level, &cut);
	base = level + 1; /* 0 if nothing is kept */
	lowest = base;
	if (level != CHAIN_NOWHERE &&
	    (!chain_same(c, l, level, &lowest) || base + k > CHAIN_MAX)) {
		k = chain_walk(c, l, head, false, &level, &cut);
		base = lowest = 0;
	}
	if (LIKELY(k == 0 && lowest == base && base == c->n))
		return;
	c->n = lowest;
	COMPILER_BARRIER();
	if (base == 0)
		c->cut = cut;
	for (uint32_t i = 0; i < k; i++)
		c->levels[base + i] = c->fresh[k - 1 - i];
	chain_finish(c, l, r, t, lowest, base + k);
	COMPILER_BARRIER();
	c->n = base + k;
}

/* The type that the innermost frame says it allocates. */
static uint32_t
chain_type(struct chain *c, const struct chain_layout *l, struct recorder *r,
	   struct thread *t)
{
	uintptr_t text;

	if (l->type == CHAIN_NONE || c->n == 0)
		return 0;
	text = chain_word(c->levels[c->n - 1].frame + (uintptr_t)l->type);
	if (text != c->type_text) {
		peek_text(&c->peek, text, c->function, sizeof(c->function));
		c->type_text = 0;
		COMPILER_BARRIER();
		c->type = rec_name_text(r, c->function, t->me);
		COMPILER_BARRIER();
		c->type_text = text;
	}
	return text != 0 ? c->type : 0;
}

void
chain_read(struct chain *c, const struct chain_layout *l, struct recorder *r,
	   struct thread *t, uintptr_t head, unsigned changes, struct mixed_chain *ret)
{
	*ret = (struct mixed_chain){0};
	if (head == 0)
		return;
	if (UNLIKELY(changes != c->changes)) {
		chain_forget(c);
		c->changes = changes;
	}
	chain_update(c, l, r, t, head);
	ret->frames = c->frames;
	ret->n = c->n;
	ret->cut = c->cut;
	ret->hash = c->n > 0 ? hash_u64(c->levels[c->n - 1].hash) : 0;
	ret->type = chain_type(c, l, r, t);
}

void
chain_forget(struct chain *c)
{
	c->n = 0;
	c->type_text = 0;
	for (unsigned i = 0; i < CHAIN_KNOWN; i++)
		c->known[i].known = false;
}
