/* SPDX-License-Identifier: MIT */
/* pieces.c -- see pieces.h. A piece that was replaced is known as such: so one that is
 * asked for again is noticed. */
#include "tool/util/pieces.h"

#include <sys/mman.h>

enum {
	SLAB_BYTES = 8 << 20,
	FIRST_BYTES = 2 << 20, /* of places, to begin with: a large page */
	OTHERS_LEAST = 16,     /* places, however many are kept */
};

#define REPLACED UINT64_MAX /* in pieces.where */

static size_t
slab_places(const struct pieces *p)
{
	return SLAB_BYTES / p->piece_bytes;
}

static unsigned char *
place_at(const struct pieces *p, size_t place)
{
	return p->slabs.data[place / slab_places(p)] +
	       place % slab_places(p) * p->piece_bytes;
}

void
pieces_done(struct pieces *p)
{
	map_done(&p->where);
	for (size_t i = 0; i < p->slabs.len; i++)
		munmap(p->slabs.data[i], SLAB_BYTES);
	vec_done(&p->slabs);
	vec_done(&p->held);
	p->kept = p->turn = p->limit = p->again = 0;
}

void
pieces_drop(struct pieces *p, bool kept_too)
{
	p->kept = kept_too ? 0 : p->kept;
	map_done(&p->where);
	p->held.len = p->turn = p->kept;
	for (size_t i = 0; i < p->kept; i++)
		*map_add(&p->where, p->held.data[i]) = i + 1;
}

/* How many places there may be besides those kept. */
static size_t
most_others(const struct pieces *p)
{
	size_t left = p->most > p->kept ? p->most - p->kept : 0;

	if (p->others_most > 0 && left > p->others_most)
		left = p->others_most;
	return left > OTHERS_LEAST ? left : OTHERS_LEAST;
}

static void
note_again(struct pieces *p)
{
	size_t most = most_others(p);

	if (++p->again <= p->limit / 4 || p->limit >= most)
		return;
	p->limit = 2 * p->limit < most ? 2 * p->limit : most;
	p->again = 0;
}

bool
pieces_full(const struct pieces *p)
{
	return p->limit >= most_others(p) && p->held.len - p->kept >= p->limit;
}

bool
pieces_has(const struct pieces *p, uint64_t number)
{
	const uint64_t *place = map_find(&p->where, number);

	return place != NULL && *place != REPLACED;
}

unsigned char *
pieces_find(struct pieces *p, uint64_t number)
{
	const uint64_t *place = map_find(&p->where, number);

	if (place == NULL)
		return NULL;
	if (*place == REPLACED) {
		note_again(p);
		return NULL;
	}
	return place_at(p, *place - 1);
}

/* One place more, for piece `number`; false: no memory. */
static bool
add_place(struct pieces *p, uint64_t number)
{
	if (p->held.len == p->slabs.len * slab_places(p)) {
		void *slab = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (slab == MAP_FAILED)
			return false;
		x_large_pages(slab, SLAB_BYTES);
		vec_push(&p->slabs, slab);
	}
	vec_push(&p->held, number);
	return true;
}

unsigned char *
pieces_room(struct pieces *p, uint64_t number)
{
	size_t place = p->held.len;

	if (p->limit == 0) {
		p->limit = FIRST_BYTES / p->piece_bytes;
		p->limit = p->limit < most_others(p) ? p->limit : most_others(p);
	}
	if (place - p->kept >= p->limit || !add_place(p, number)) {
		if (place == p->kept)
			return NULL;
		place = p->turn < place ? p->turn : p->kept;
		p->turn = place + 1;
		*map_add(&p->where, p->held.data[place]) = REPLACED;
		p->held.data[place] = number;
	}
	*map_add(&p->where, number) = place + 1;
	return place_at(p, place);
}

unsigned char *
pieces_keep(struct pieces *p, uint64_t number)
{
	if (p->kept >= p->most || p->held.len != p->kept || !add_place(p, number))
		return NULL;
	p->turn = ++p->kept;
	*map_add(&p->where, number) = p->kept;
	return place_at(p, p->kept - 1);
}
