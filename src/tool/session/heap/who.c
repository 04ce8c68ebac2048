/* SPDX-License-Identifier: MIT */
/* who.c -- see who.h. */
#include "tool/session/heap/who.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/mem.h"
#include "tool/util/fmt.h"
#include "tool/util/json.h"
#include "tool/util/x.h"

enum {
	STEPS_MAX = 40,
	OTHERS_MAX = 8,
	NAME_BYTES = 1024,
};

static const char *const kinds_text[CLASSIFY_KINDS] = {
	"definitely lost", "indirectly lost", "possibly lost", "still reachable"};

const char *
who_kind(unsigned state)
{
	return kinds_text[state];
}

bool
who_address(const char *text, uint64_t *ret_addr)
{
	char *end;

	errno = 0;
	if (!isxdigit((unsigned char)text[0]))
		return false;
	*ret_addr = strtoull(text, &end, 16);
	return errno == 0 && *end == '\0' && end != text;
}

/* ---- the way to it ---- */

static const char *
place_name(struct heapcheck *c, struct who *w, uint64_t at)
{
	char name[NAME_BYTES];

	holders_address(&c->holders, at, name, sizeof name);
	return arena_strdup(&w->strings, name);
}

static uint64_t
word_at(struct heapcheck *c, uint64_t at, uint64_t otherwise)
{
	uint64_t word;

	/* Names were looked for meanwhile, and what was seen last may have gone. */
	c->image.space.seen_start = c->image.space.seen_end = 0;
	return at < HOLDERS_REGISTER && scan_word(&c->image.space, at, &word) ? word
									      : otherwise;
}

/* The word that leads to block `b`. */
static struct who_step
step_to(struct heapcheck *c, struct who *w, const struct scan_block *b, uint64_t at)
{
	struct who_step s = {.block = b->addr,
			     .size = b->bytes,
			     .what = arena_strdup(&w->strings, heapcheck_what(c, b))};
	const struct scan_block *in = scan_find(&c->index, at);

	s.into = word_at(c, at, b->addr) - b->addr;
	if (in != NULL) {
		s.at = at;
		s.off = at - in->addr;
	} else {
		s.place = place_name(c, w, at);
		s.at = at < HOLDERS_REGISTER ? at : 0;
	}
	return s;
}

/* What is before a block that no word leads to. */
static const char *
first_place(const struct scan_block *b)
{
	return (b->flags & SCAN_BLOCK_ROOT) != 0 ? "libc's table of a thread's data"
						 : "nothing points to the first of them";
}

static void
find_path(struct heapcheck *c, struct who *w, uint32_t block)
{
	uint32_t way[STEPS_MAX], all, n;

	heapcheck_paths(c);
	n = paths_to(&c->paths, block, way, STEPS_MAX, &all);
	w->left_out = all - n;
	w->left_after = STEPS_MAX - STEPS_MAX / 2;
	for (uint32_t i = 0; i < n; i++) {
		const struct scan_block *b = &c->blocks.data[way[i]];
		uint64_t at = c->paths.from[way[i]];
		struct who_step s;

		if (at == b->addr && i == 0) { /* nothing is before it */
			if (n == 1)
				return;
			s = (struct who_step){
				.place = first_place(b),
				.block = b->addr,
				.size = b->bytes,
				.what = arena_strdup(&w->strings, heapcheck_what(c, b))};
		} else {
			s = step_to(c, w, b, at);
		}
		vec_push(&w->steps, s);
	}
}

/* ---- who else points to it ---- */

struct search {
	struct heapcheck *c;
	struct who *w;
	const struct scan_block *b;
	uint64_t known; /* address of the word that is told already */
};

static void
found(struct search *s, uint64_t at, uint64_t word)
{
	const struct scan_block *in = scan_find(&s->c->index, at);
	struct who_step o = {.at = at, .into = word - s->b->addr};

	if (at == s->known || in == s->b)
		return;
	if (s->w->others.len == OTHERS_MAX) {
		s->w->more_others++;
		return;
	}
	if (in != NULL) {
		o.block = in->addr;
		o.size = in->bytes;
		o.off = at - in->addr;
		o.what = arena_strdup(&s->w->strings, heapcheck_what(s->c, in));
	} else {
		o.place = place_name(s->c, s->w, at);
		o.at = at < HOLDERS_REGISTER ? at : 0;
	}
	vec_push(&s->w->others, o);
}

static void
search_range(struct search *s, uint64_t start, uint64_t end)
{
	struct scan_space *space = &s->c->image.space;

	start = (start + 7) & ~UINT64_C(7);
	end &= ~UINT64_C(7);
	while (start < end) {
		uint64_t n = 0;
		const unsigned char *p = space->look(space->ctx, start, end - start, &n);
		uint64_t hits[64];
		unsigned nhits = 0;

		space->seen_start = space->seen_end = 0;
		if (p == NULL || n < 8) {
			start += n >= 8 ? n & ~UINT64_C(7) : 8;
			continue;
		}
		n = (n < end - start ? n : end - start) & ~UINT64_C(7);
		/* What is found is named later: that may move what is looked at. */
		for (uint64_t off = 0; off < n && nhits < 64; off += 8) {
			if (mem_get_u64(p + off) - s->b->addr < s->b->bytes)
				hits[nhits++] = start + off;
			if (nhits == 64)
				n = off + 8;
		}
		for (unsigned i = 0; i < nhits; i++)
			found(s, hits[i], word_at(s->c, hits[i], s->b->addr));
		start += n;
	}
}

static void
find_others(struct search *s)
{
	struct heapcheck *c = s->c;
	const struct procmem_words *words = c->image.words;

	for (size_t i = 0; i < c->roots.len; i++)
		search_range(s, c->roots.data[i].start, c->roots.data[i].end);
	for (size_t t = 0; t < c->image.threads.len; t++) {
		size_t i = c->image.threads.data[t].regs;
		size_t end = t + 1 < c->image.threads.len
				     ? c->image.threads.data[t + 1].regs
				     : words->len;

		for (size_t k = i; k < end; k++) {
			if (words->data[k] - s->b->addr < s->b->bytes)
				found(s, holders_register(t, (unsigned)(k - i)),
				      words->data[k]);
		}
	}
	for (size_t i = 0; i < c->image.z.kernel.len; i++) {
		uint64_t word = c->image.z.kernel.data[i].word;

		if (word - s->b->addr < s->b->bytes)
			found(s, holders_kernel(i), word);
	}
	for (size_t i = 0; i < c->blocks.len; i++) {
		const struct scan_block *b = &c->blocks.data[i];

		search_range(s, b->addr, b->addr + b->bytes);
	}
}

/* ---- both ---- */

/* An address that is in no block. */
static void
find_elsewhere(struct heapcheck *c, struct who *w)
{
	const struct memmap_area *a = memmap_find(c->image.map, w->address);
	bool heap = false;

	for (size_t i = 0; i < c->heap.heaps.len; i++)
		heap = heap || (w->address >= c->heap.heaps.data[i].start &&
				w->address < c->heap.heaps.data[i].end);
	if (a == NULL)
		w->what = "nothing is mapped there";
	else if (heap)
		w->what = "it is malloc's own: freed, or a header";
	else
		w->what = place_name(c, w, w->address);
}

void
who_find(struct heapcheck *c, uint64_t addr, struct who *ret)
{
	const struct scan_block *b = scan_find(&c->index, addr);
	struct search s = {.c = c, .w = ret, .b = b};
	uint32_t block;
	char what[600];

	*ret = (struct who){.address = addr};
	ret->target =
		arena_strdup(&ret->strings, image_what(&c->image, what, sizeof what));
	if (b == NULL) {
		find_elsewhere(c, ret);
		return;
	}
	block = (uint32_t)(b - c->blocks.data);
	ret->block = b->addr;
	ret->size = b->bytes;
	ret->kind = kinds_text[b->state];
	ret->what = arena_strdup(&ret->strings, heapcheck_what(c, b));
	find_path(c, ret, block);
	s.known = c->paths.from[block];
	find_others(&s);
}

void
who_done(struct who *w)
{
	vec_done(&w->steps);
	vec_done(&w->others);
	arena_done(&w->strings);
}
