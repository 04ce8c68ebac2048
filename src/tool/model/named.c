/* SPDX-License-Identifier: MIT */
/* named.c -- locations that are known by name alone: see named.h.
 *
 * The offset is a hash of the texts, not of their ids, because ids differ between
 * profiles. Two sets of names with one hash are told apart by comparing them; the second
 * takes the next offset, so a hostile file can at worst make its own location move. */
#include "named.h"

#include "shared/hash.h"
#include "tool/model/prof.h"
#include "tool/util/map.h"

#define NAMED_BIT (UINT64_C(1) << 63)

static uint64_t
named_hash_str(const struct prof *p, uint32_t id, uint64_t h)
{
	return hash_bytes(strtab_str(p->strings, id), strtab_len(p->strings, id), h);
}

bool
named_same(const struct prof *p, uint32_t loc, const struct prof_frame *frames,
	   uint32_t nframes)
{
	const struct prof_loc *l = &p->locs[loc];

	if (l->nframes != nframes)
		return false;
	for (uint32_t i = 0; i < nframes; i++) {
		const struct prof_frame *x = &p->frames[l->frames + i];

		if (x->function != frames[i].function || x->file != frames[i].file ||
		    x->line != frames[i].line || x->linkage != frames[i].linkage ||
		    x->lang != frames[i].lang)
			return false;
	}
	return true;
}

void
named_set(struct prof *p, uint32_t loc, const struct prof_frame *frames, uint32_t nframes)
{
	uint32_t first = p->nframes;

	for (uint32_t i = 0; i < nframes; i++) {
		uint32_t row = prof_add_frame(p);

		p->frames[row] = frames[i];
	}
	p->locs[loc].frames = first;
	p->locs[loc].nframes = nframes;
}

uint32_t
named_loc(struct prof *p, uint32_t module, const struct prof_frame *frames,
	  uint32_t nframes)
{
	uint64_t h = nframes;

	for (uint32_t i = 0; i < nframes; i++) {
		h = named_hash_str(p, frames[i].function, h);
		h = named_hash_str(p, frames[i].linkage, h);
		h = named_hash_str(p, frames[i].file, h);
		h = hash_pair(h, frames[i].line | (uint64_t)frames[i].lang << 32);
	}
	for (;; h++) {
		uint32_t before = p->nlocs;
		uint32_t loc = prof_loc(p, module, h | NAMED_BIT, PROF_LOC_CODE, true);

		if (loc == before)
			named_set(p, loc, frames, nframes);
		if (loc == before || named_same(p, loc, frames, nframes))
			return loc;
	}
}

bool
named_is(const struct prof *p, uint32_t loc)
{
	const struct prof_loc *l = &p->locs[loc];

	return l->kind == PROF_LOC_CODE && l->nframes > 0 && l->exact &&
	       (l->offset & NAMED_BIT) != 0;
}
