/* SPDX-License-Identifier: MIT */
/* classify.c -- from roots to blocks, and from lost blocks to lost blocks.
 *
 * A block that was not freed is no leak as long as the program can still free it, which
 * it can if it finds its address. So addresses are looked for: in all memory that is not
 * heap, and in the registers (the roots); then in the blocks that were found that way;
 * and so on. Whatever word looks like an address counts as one, so this errs on the side
 * of silence.
 *
 * How a block is pointed to matters. A pointer to its beginning is what malloc gave out.
 * A pointer into its middle may be one that a program keeps on purpose (behind a header
 * of its own), or a number, or the remains of a loop. Written -> and ~>, with R a root or
 * a block that is reachable itself, there are nine ways for a block B to be left at the
 * end, directly or behind one other block A; longer chains are made of these:
 *
 *	                              A           B
 *	1   R -> B                                still reachable
 *	2   R -> A -> B          reachable        still reachable
 *	3   R       B                             definitely lost
 *	4   R       A -> B       definitely       indirectly lost
 *	5   R ~> B                                possibly lost
 *	6   R -> A ~> B          reachable        possibly lost
 *	7   R ~> A -> B          possibly         possibly lost
 *	8   R ~> A ~> B          possibly         possibly lost
 *	9   R       A ~> B       definitely       indirectly lost
 *
 * A chain is as good as its weakest link (6, 7, 8), and the best chain counts: a block
 * that was found possible and is then reached by a better way rises, and is looked
 * through once more, for what hangs below it rises too. Among lost blocks the two kinds
 * of pointers are alike (9): whoever frees A will free B.
 *
 * Four kinds of pointers into the middle are known to be as good as one to the beginning,
 * because compilers and libraries make them (enum classify_heuristic), and a fifth that
 * Python makes: the collector's head of 16 bytes, and since 3.11 another 16 of some
 * objects, are in front of what references point to. Each looks at the block's own first
 * words, so a chance hit is unlikely; a real pointer to the beginning makes them void.
 *
 * One kind is doubtful. glibc links free blocks by the addresses of their headers, which
 * lie in the last 8 bytes of the block before, and leaves these words where they are when
 * the memory is used again. They cannot be told from a program's own pointer to the last
 * 8 bytes of a block. So they count last: a block that nothing else holds is possibly
 * lost and marked (SCAN_BLOCK_LEFTOVER), for the report to say so.
 *
 * Then the lost ones. Of a lost tree only its root is the leak: repair that, and the rest
 * goes with it. So every lost block, in the order of addresses, floods all lost ones that
 * it leads to; they become indirect, and their bytes are added to those of the first,
 * their leader. A leader that is reached later by another one is a leader no more and
 * hands over what it has. A ring that nothing else points to has its lowest address as
 * its leader.
 *
 * Marking uses a stack of block numbers, as deep as there are blocks: a block is on it at
 * most once. There is no recursion, and a list of a million elements is as good as any
 * other. Memory is far away: blocks are taken from the stack several at a time, and the
 * words in them wait for each other before they are looked up, so that many answers are
 * on their way at once. */
#include "tool/leak/classify.h"

#include "shared/compiler.h"
#include "shared/mem.h"

enum {
	WORD = 8,
	VTABLE_WORDS = 20, /* looked at, at most */
	VTABLE_CODE = 2,   /* pointers to functions that make it a table */
	FIRST_PAGE = 4096,
	BATCH = 16,
	FETCH_BYTES = 256,
	PYTHON_HEAD = 16,
	PYTHON_FRONT = 32, /* bytes in front, at most */
	PYTHON_TYPES = 4,  /* from an object's type to the type of all types */
	ROUNDED_MOST = 15, /* of SCAN_BLOCK_ROUNDED */
	CLASS_SHARE = 4,   /* of SCAN_BLOCK_CLASS */
	HEADER = 16,	   /* of a block of glibc's malloc */
	PAGE = 4096,
	MAPPED_LEAST = 64 << 10, /* smaller blocks have no mapping of their own */
};

enum { NO_LEADER = UINT32_MAX };

/* ---- pointers into the middle ---- */

static bool
is_code(const struct scan_space *s, uint64_t addr)
{
	const struct scan_map *m = scan_map_at(s, addr);

	return m != NULL &&
	       (m->flags & (SCAN_FILE | SCAN_EXEC)) == (SCAN_FILE | SCAN_EXEC);
}

/* Whether `addr` looks like a table of virtual functions: in a file's memory, only
 * pointers to code and zeroes. */
static bool
is_vtable(struct scan_space *s, uint64_t addr)
{
	const struct scan_map *m;
	unsigned found = 0;

	if (!IS_ALIGNED(addr, WORD) || addr < FIRST_PAGE)
		return false;
	m = scan_map_at(s, addr);
	if (m == NULL || (m->flags & (SCAN_FILE | SCAN_READ)) != (SCAN_FILE | SCAN_READ))
		return false;
	for (unsigned i = 0; i < VTABLE_WORDS && addr + WORD <= m->end;
	     i++, addr += WORD) {
		uint64_t word;

		if (!scan_word(s, addr, &word))
			return false;
		if (word == 0)
			continue;
		if (!is_code(s, word))
			return false;
		if (++found == VTABLE_CODE)
			return true;
	}
	return false;
}

static bool
is_further_base(struct classify *c, const struct scan_block *b, uint64_t at)
{
	uint64_t inner, first;

	return IS_ALIGNED(at, WORD) && IS_ALIGNED(b->addr, WORD) &&
	       at + WORD <= b->addr + b->bytes && scan_word(c->space, at, &inner) &&
	       is_vtable(c->space, inner) && scan_word(c->space, b->addr, &first) &&
	       is_vtable(c->space, first);
}

/* Whether an object of Python begins at `at`: a count of references and a type, whose
 * type's type is in the end one that is its own. */
static bool
is_python_object(struct classify *c, uint64_t at)
{
	uint64_t references, type, next;

	if (!IS_ALIGNED(at, WORD) || !scan_word(c->space, at, &references) ||
	    references == 0 || references >> 33 != 0 ||
	    !scan_word(c->space, at + WORD, &type))
		return false;
	for (unsigned i = 0; i < PYTHON_TYPES; i++) {
		if (type < FIRST_PAGE || !IS_ALIGNED(type, WORD) ||
		    !scan_word(c->space, type + WORD, &next))
			return false;
		if (next == type)
			return true;
		type = next;
	}
	return false;
}

/* Which pointers into the middle Python makes: to an object behind its heads, and to the
 * attributes of one, which have their number of bytes in front in the byte before. */
static bool
is_python(struct classify *c, const struct scan_block *b, uint64_t at)
{
	uint64_t into = at - b->addr, word;

	if (!IS_ALIGNED(into, WORD) || into == 0 || into > PYTHON_FRONT ||
	    into + WORD > b->bytes)
		return false;
	if ((into == PYTHON_HEAD || into == 2 * PYTHON_HEAD) && is_python_object(c, at))
		return true;
	return scan_word(c->space, at - WORD, &word) && word >> 56 == into &&
	       (word >> 48 & 0xff) < into && scan_word(c->space, at, &word) &&
	       is_python_object(c, word);
}

/* Whether so many bytes are what was asked for. */
static bool
is_size(const struct scan_block *b, uint64_t bytes)
{
	uint64_t more = (b->flags & (SCAN_BLOCK_ROUNDED | SCAN_BLOCK_CLASS)) != 0
				? ROUNDED_MOST
				: 0;

	if ((b->flags & SCAN_BLOCK_CLASS) != 0 && b->bytes / CLASS_SHARE > more)
		more = b->bytes / CLASS_SHARE;
	return bytes <= b->bytes && b->bytes - bytes <= more;
}

/* Whether `n` elements are behind a word, and nothing else. */
static bool
is_array(const struct scan_block *b, uint64_t n)
{
	uint64_t rest = n <= b->bytes - WORD ? (b->bytes - WORD) % n : b->bytes;

	return is_size(b, b->bytes - rest);
}

/* Which kind of pointer into the middle of `b` this is; 0: none of those that count. */
static uint8_t
heuristic(struct classify *c, const struct scan_block *b, uint64_t at)
{
	uint64_t first, second;

	if (at == b->addr + 3 * WORD && b->bytes > 3 * WORD &&
	    (c->heuristics & CLASSIFY_STDSTRING) != 0 &&
	    scan_word(c->space, b->addr, &first) &&
	    scan_word(c->space, b->addr + WORD, &second) && first <= second &&
	    second < b->bytes && is_size(b, second + 3 * WORD + 1))
		return CLASSIFY_STDSTRING;
	if (at == b->addr + WORD && b->bytes > WORD &&
	    scan_word(c->space, b->addr, &first) && first > 0) {
		if ((c->heuristics & CLASSIFY_LENGTH64) != 0 && first < b->bytes &&
		    is_size(b, first + WORD))
			return CLASSIFY_LENGTH64;
		if ((c->heuristics & CLASSIFY_NEWARRAY) != 0 && is_array(b, first))
			return CLASSIFY_NEWARRAY;
	}
	if ((c->heuristics & CLASSIFY_PYTHON) != 0 && is_python(c, b, at))
		return CLASSIFY_PYTHON;
	if ((c->heuristics & CLASSIFY_INHERITANCE) != 0 && is_further_base(c, b, at))
		return CLASSIFY_INHERITANCE;
	return 0;
}

/* ---- marking ---- */

static void
push(struct classify *c, struct scan_block *b)
{
	if (b->pending)
		return;
	b->pending = 1;
	c->stack[c->depth++] = (uint32_t)(b - c->index->blocks);
}

/* Whether `word` is the address that the program got for `b`. Of new T[0] it is the one
 * behind. */
static bool
is_start(const struct scan_block *b, uint64_t word)
{
	return word == b->addr || (b->flags & SCAN_BLOCK_INNER) != 0 ||
	       scan_is_past(b, word);
}

/* Whether a block of 8 bytes may be new T[0]: the number of elements is 0. */
static bool
is_empty_array(struct classify *c, const struct scan_block *b)
{
	uint64_t n;

	return (c->heuristics & CLASSIFY_NEWARRAY) != 0 && IS_ALIGNED(b->addr, WORD) &&
	       scan_word(c->space, b->addr, &n) && n == 0;
}

/* A word that was found in a root, or in a block of this kind, points into `b`. */
static void
reach(struct classify *c, struct scan_block *b, uint64_t word, enum classify_kind from)
{
	uint8_t by = 0;

	if (b->state == CLASSIFY_REACHABLE) {
		if (is_start(b, word))
			b->heuristic = 0;
		return;
	}
	if (from == CLASSIFY_REACHABLE &&
	    (is_start(b, word) || (by = heuristic(c, b, word)) != 0)) {
		b->state = CLASSIFY_REACHABLE;
		b->heuristic = by;
		push(c, b);
	} else if (b->state == CLASSIFY_DEFINITE) {
		if (!c->leftovers && scan_is_header(b, word)) {
			b->flags |= SCAN_BLOCK_LEFTOVER; /* counts when all others have */
			return;
		}
		if (c->leftovers)
			b->flags |= SCAN_BLOCK_LEFTOVER;
		b->state = CLASSIFY_POSSIBLE;
		push(c, b);
	}
}

/* A block that is lost because of `leader` points to `b`. */
static void
flood(struct classify *c, struct scan_block *b, uint32_t leader)
{
	struct scan_block *l = &c->index->blocks[leader];

	if (b == l || b->state != CLASSIFY_DEFINITE)
		return;
	l->indirect += b->bytes + b->indirect;
	b->state = CLASSIFY_INDIRECT;
	b->indirect = leader;
	push(c, b);
}

/* Whether a word is the end of the block before `b` rather than the address of `b`,
 * because the two lie side by side: a vector is begin, end and end of its room. Over
 * allocators without headers the last two may be the address of the next block, and would
 * chain what is lost to whatever comes next. */
static bool
is_end(const struct classify *c, const struct scan_block *b,
       const struct classify_word *w)
{
	const struct scan_block *a = b - 1;

	if (b == c->index->blocks || w->probe.addr != b->addr ||
	    a->addr + a->bytes != b->addr)
		return false;
	return (w->before[1] == a->addr && w->before[0] - a->addr <= a->bytes) ||
	       (w->before[0] == a->addr && w->after == b->addr);
}

/* The words that wait: what they point to. */
static void
settle(struct classify *c, uint32_t leader)
{
	struct scan_block *b;

	for (unsigned i = 0; i < c->waiting; i++)
		scan_probe_on(c->index, &c->wait[i].probe);
	for (unsigned i = 0; i < c->waiting; i++) {
		const struct classify_word *w = &c->wait[i];

		b = scan_probe_end(c->index, &w->probe);
		if (b == NULL ||
		    (scan_is_past(b, w->probe.addr) && !is_empty_array(c, b)))
			continue;
		if (leader == NO_LEADER)
			reach(c, b, w->probe.addr, w->from);
		else if (!is_end(c, b, w))
			flood(c, b, leader);
	}
	c->waiting = 0;
}

/* A word that may point to a block. False: it does not. */
static bool
note(struct classify *c, uint64_t word, enum classify_kind from)
{
	struct classify_word *w = &c->wait[c->waiting];

	if (!scan_probe(c->index, word, &w->probe))
		return false;
	w->from = from;
	c->waiting++;
	return true;
}

/* The words beside the one at `at`, which was noted last: there are `back` bytes before
 * it, `n` from it on. */
static void
note_beside(struct classify *c, const unsigned char *at, uint64_t back, uint64_t n)
{
	struct classify_word *w = &c->wait[c->waiting - 1];

	w->before[0] = back >= WORD ? mem_get_u64(at - WORD) : 0;
	w->before[1] = back >= 2 * WORD ? mem_get_u64(at - 2 * WORD) : 0;
	w->after = n >= 2 * WORD ? mem_get_u64(at + WORD) : 0;
}

/* Every word of [start, end): from roots and reachable or possible blocks (leader
 * NO_LEADER), or from lost ones. Some of them may wait at the end. */
static void
look_through(struct classify *c, uint64_t start, uint64_t end, enum classify_kind from,
	     uint32_t leader)
{
	const uint64_t low = c->index->start, span = c->index->end - low;
	struct scan_space *s = c->space;
	uint64_t first;

	start = first = ALIGN_UP(start, (uint64_t)WORD);
	end = ALIGN_DOWN(end, (uint64_t)WORD);
	while (start < end) {
		uint64_t n = 0, off, back;
		const unsigned char *p;

		if (c->waiting == CLASSIFY_WAIT)
			settle(c, leader); /* a heuristic may move the window */
		if (start >= s->seen_start && start + WORD <= s->seen_end) {
			p = s->seen + (start - s->seen_start);
			n = s->seen_end - start;
		} else {
			p = s->look(s->ctx, start, end - start, &n);
			if (p != NULL) {
				s->seen = p;
				s->seen_start = start;
				s->seen_end = start + n;
			}
		}
		if (n < WORD || p == NULL) { /* nothing here */
			start += ALIGN_UP(n > 0 ? n : WORD, (uint64_t)WORD);
			continue;
		}
		if (n > end - start)
			n = end - start;
		n = ALIGN_DOWN(n, (uint64_t)WORD);
		/* Where it goes on in the middle, what was seen before is still there. */
		back = start - (first > s->seen_start ? first : s->seen_start);
		for (off = 0; off < n && c->waiting < CLASSIFY_WAIT; off += WORD) {
			uint64_t word = mem_get_u64(p + off);

			if (word - low < span && note(c, word, from) &&
			    leader != NO_LEADER)
				note_beside(c, p + off, back + off, n - off);
		}
		c->words += off / WORD;
		start += off;
	}
}

/* Bytes that will be looked at in a moment: let them come meanwhile. */
static void
fetch(struct classify *c, const struct scan_block *b)
{
	uint64_t n = 0;
	const unsigned char *p = c->space->look(c->space->ctx, b->addr, b->bytes, &n);

	c->space->seen_end = c->space->seen_start = 0; /* the window may be gone by now */
	for (uint64_t off = 0; p != NULL && off < FETCH_BYTES && off < n; off += 64)
		__builtin_prefetch(p + off);
}

/* Where the words of a block end. glibc's malloc rounds up to 16 bytes less 8, and a
 * block with a mapping of its own to the end of that. */
static uint64_t
end_of(const struct classify *c, const struct scan_block *b)
{
	const struct scan_block *end = c->index->blocks + c->index->nblocks;
	uint64_t at = b->addr + b->bytes;

	if (!c->tails || (b->flags & SCAN_BLOCK_CUSTOM) != 0)
		return at;
	at = b->addr % PAGE == HEADER && b->bytes >= MAPPED_LEAST
		     ? ALIGN_UP(at, (uint64_t)PAGE)
		     : ALIGN_UP(at + WORD, (uint64_t)HEADER) - WORD;
	return b + 1 < end && b[1].addr < at ? b[1].addr : at;
}

/* Several at a time: memory is far away, and waiting for one block after the other is
 * what takes the time. */
static void
drain(struct classify *c, uint32_t leader)
{
	settle(c, leader);
	while (c->depth > 0) {
		struct scan_block *batch[BATCH];
		uint32_t n = c->depth < BATCH ? c->depth : BATCH;

		for (uint32_t i = 0; i < n; i++) {
			batch[i] = &c->index->blocks[c->stack[--c->depth]];
			__builtin_prefetch(batch[i]);
		}
		for (uint32_t i = 0; n > 1 && i < n; i++)
			fetch(c, batch[i]);
		for (uint32_t i = 0; i < n; i++) {
			batch[i]->pending = 0;
			look_through(c, batch[i]->addr, end_of(c, batch[i]),
				     batch[i]->state, leader);
		}
		settle(c, leader);
	}
}

/* ---- all of it ---- */

void
classify_init(struct classify *ret_classify, struct scan_space *space,
	      const struct scan_index *index, unsigned heuristics, uint32_t *stack)
{
	struct classify c = {
		.space = space, .index = index, .heuristics = heuristics, .stack = stack};

	for (uint32_t i = 0; i < index->nblocks; i++) {
		struct scan_block *b = &index->blocks[i];

		b->state = CLASSIFY_DEFINITE;
		b->flags &= (uint8_t)~SCAN_BLOCK_LEFTOVER;
		b->heuristic = 0;
		b->indirect = 0;
		b->pending = 0;
		if ((b->flags & SCAN_BLOCK_ROOT) != 0) {
			b->state = CLASSIFY_REACHABLE;
			push(&c, b);
		}
	}
	*ret_classify = c;
}

void
classify_root_range(struct classify *c, struct scan_range range)
{
	look_through(c, range.start, range.end, CLASSIFY_REACHABLE, NO_LEADER);
}

void
classify_root_word(struct classify *c, uint64_t word)
{
	if (c->waiting == CLASSIFY_WAIT)
		settle(c, NO_LEADER);
	note(c, word, CLASSIFY_REACHABLE);
}

/* What only words hold that malloc may have left is possibly lost, and so is what hangs
 * below it. */
static void
add_leftovers(struct classify *c)
{
	c->leftovers = true;
	for (uint32_t i = 0; i < c->index->nblocks; i++) {
		struct scan_block *b = &c->index->blocks[i];

		if ((b->flags & SCAN_BLOCK_LEFTOVER) == 0)
			continue;
		if (b->state == CLASSIFY_DEFINITE) {
			b->state = CLASSIFY_POSSIBLE;
			push(c, b);
		} else {
			b->flags &= (uint8_t)~SCAN_BLOCK_LEFTOVER;
		}
	}
	drain(c, NO_LEADER);
}

void
classify_finish(struct classify *c)
{
	drain(c, NO_LEADER);
	add_leftovers(c);
	for (uint32_t i = 0; i < c->index->nblocks; i++) {
		struct scan_block *b = &c->index->blocks[i];

		if (b->state != CLASSIFY_DEFINITE)
			continue;
		push(c, b);
		drain(c, i);
	}
}
