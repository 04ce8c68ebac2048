/* SPDX-License-Identifier: MIT */
/* recorder_model.h -- what the recorder should have counted, worked out the slow way.
 *
 * Each event goes to the recorder and to the model. Sites are the paths through one
 * function that calls itself from two places, so the site number is the path. A model has
 * its own lists of live blocks; the sums of several models are those of several threads.
 * Include recorder_harness.h first. */
#ifndef SEEP_TESTS_RECORDER_MODEL_H
#define SEEP_TESTS_RECORDER_MODEL_H

#include "guest/record/events.h"
#include "guest/record/step.h"

#define RM_SITES_MAX 2048
#define RM_BLOCKS 4096

/* A site's figures, also what is read back from the recording. */
struct rm_site {
	uint64_t allocs, frees, alloc_bytes, free_bytes, temp_bytes;
	int64_t peak_bytes; /* its own largest */
	int64_t at_peak_bytes, at_peak_blocks;
	int64_t at_exit_bytes, at_exit_blocks;
	uint64_t sizes[REC_SIZE_BUCKETS], lifetimes[REC_LIFE_BUCKETS + 1];
};

struct rm_block {
	uintptr_t addr; /* 0: none */
	uint64_t bytes, born_ms;
	unsigned site;
};

struct rm {
	struct rm_site sites[RM_SITES_MAX];
	struct rm_block blocks[RM_BLOCKS];
	uintptr_t recent[2]; /* newest first */
	int64_t live, peak;
	uint64_t now_ms, peak_ms, unknown, unseen;
	unsigned depth; /* 1 << depth sites */
};

enum rm_op { RM_ALLOC, RM_RESIZE };

static uint32_t rm_refs[RM_SITES_MAX]; /* the recorder's name for each site, 0: not met */
static unsigned long rm_mixed;	       /* events at another site than before */

static NOINLINE void
rm_event(struct thread *t, enum rm_op op, uintptr_t addr, uint64_t bytes, unsigned site)
{
	struct unw_start start = RH_START();
	uint32_t ref, old = 0;

	if (op == RM_ALLOC)
		record_alloc(&rh, t, addr, bytes, REC_KIND_MALLOC, &start);
	else
		record_resize_end(&rh, t, addr, bytes, REC_KIND_MALLOC, &start);
	ref = t->last_site;
	if (!__atomic_compare_exchange_n(&rm_refs[site], &old, ref, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
	    old != ref)
		__atomic_fetch_add(&rm_mixed, 1, __ATOMIC_RELAXED);
}

/* The path is the site's bits; what is around each call keeps the two apart. */
static NOINLINE void
rm_path(struct thread *t, enum rm_op op, uintptr_t addr, uint64_t bytes,
	unsigned site_depth)
{
	unsigned depth = site_depth >> 16, site = site_depth & 0xffff;

	if (depth == 0) {
		rm_event(t, op, addr, bytes, site);
		__asm__ volatile("" ::: "memory");
	} else if (site >> (depth - 1) & 1) {
		__asm__ volatile("# to one" ::: "memory");
		rm_path(t, op, addr, bytes, (depth - 1) << 16 | site);
		__asm__ volatile("# one" ::: "memory");
	} else {
		__asm__ volatile("# to none" ::: "memory");
		rm_path(t, op, addr, bytes, (depth - 1) << 16 | site);
		__asm__ volatile("# none" ::: "memory");
	}
}

/* From here on outwards all stacks are the same. */
static RH_ROOT void
rm_at(struct thread *t, enum rm_op op, uintptr_t addr, uint64_t bytes,
      unsigned site_depth)
{
	rm_path(t, op, addr, bytes, site_depth);
	__asm__ volatile("" ::: "memory");
}

static unsigned
rm_size_bucket(uint64_t bytes)
{
	unsigned n = 0;

	while (n < REC_SIZE_BUCKETS - 1 && bytes > UINT64_C(16) << n)
		n++;
	return n;
}

static unsigned
rm_life_bucket(uint64_t ms)
{
	unsigned n = 0;

	while (n < REC_LIFE_BUCKETS - 1 && ms >= UINT64_C(1) << n)
		n++;
	return n;
}

static struct rm_block *
rm_block(struct rm *m, uintptr_t addr)
{
	for (unsigned i = 0; i < RM_BLOCKS; i++)
		if (m->blocks[i].addr == addr)
			return &m->blocks[i];
	return NULL;
}

static void
rm_do_free(struct rm *m, struct rm_block *b)
{
	struct rm_site *s = &m->sites[b->site];
	bool temporary = false;

	for (unsigned i = 0; i < 2; i++) {
		if (m->recent[i] == b->addr) {
			temporary = true;
			m->recent[i] = 0;
		}
	}
	s->frees++;
	s->free_bytes += b->bytes;
	s->lifetimes[temporary ? REC_LIFE_TEMPORARY
			       : rm_life_bucket(m->now_ms - b->born_ms)]++;
	s->temp_bytes += temporary ? b->bytes : 0;
	m->live -= (int64_t)b->bytes;
	b->addr = 0;
}

static void
rm_do_alloc(struct rm *m, struct rm_block *b, uintptr_t addr, uint64_t bytes,
	    unsigned site)
{
	struct rm_site *s = &m->sites[site];
	int64_t live;

	*b = (struct rm_block){addr, bytes, m->now_ms, site};
	s->allocs++;
	s->alloc_bytes += bytes;
	s->sizes[rm_size_bucket(bytes)]++;
	m->recent[1] = m->recent[0];
	m->recent[0] = addr;
	m->live += (int64_t)bytes;
	live = (int64_t)(s->alloc_bytes - s->free_bytes);
	s->peak_bytes = live > s->peak_bytes ? live : s->peak_bytes;
	if (m->live <= m->peak)
		return;
	m->peak = m->live;
	m->peak_ms = m->now_ms;
	for (unsigned i = 0; i < 1u << m->depth; i++) {
		s = &m->sites[i];
		s->at_peak_bytes = (int64_t)(s->alloc_bytes - s->free_bytes);
		s->at_peak_blocks = (int64_t)(s->allocs - s->frees);
	}
}

static MAYBE_UNUSED void
rm_alloc(struct rm *m, struct thread *t, uintptr_t addr, uint64_t bytes, unsigned site)
{
	struct rm_block *b = rm_block(m, addr);

	rm_at(t, RM_ALLOC, addr, bytes, m->depth << 16 | site);
	if (b != NULL) { /* freed behind our back */
		m->unseen++;
		rm_do_free(m, b);
	} else {
		b = rm_block(m, 0);
	}
	rm_do_alloc(m, b, addr, bytes, site);
}

static MAYBE_UNUSED void
rm_free(struct rm *m, struct thread *t, uintptr_t addr)
{
	struct rm_block *b = rm_block(m, addr);

	record_free(&rh, t, addr);
	if (b != NULL)
		rm_do_free(m, b);
	else
		m->unknown++;
}

/* To `to`, which is `addr` itself or one where nothing lives; 0: the real call fails. */
static MAYBE_UNUSED void
rm_resize(struct rm *m, struct thread *t, uintptr_t addr, uintptr_t to, uint64_t bytes,
	  unsigned site)
{
	struct rm_block *b = rm_block(m, addr);

	record_resize_begin(&rh, t, addr);
	m->unknown += b == NULL;
	if (to == 0) {
		record_resize_fail(&rh, t);
		for (unsigned i = 0; i < 2; i++)
			if (m->recent[i] == addr)
				m->recent[i] = 0; /* no longer taken for temporary */
		return;
	}
	rm_at(t, RM_RESIZE, to, bytes, m->depth << 16 | site);
	if (b != NULL)
		rm_do_free(m, b);
	else
		b = rm_block(m, 0);
	rm_do_alloc(m, b, to, bytes, site);
}

/* The tool's clock, and the host's with it. */
static MAYBE_UNUSED void
rm_tick(struct rm *m, uint64_t ms)
{
	m->now_ms += ms;
	rh_clock_ns = m->now_ms * 1000000;
	rh.head->clock_ms = m->now_ms;
}

/* ---- what the recording says ---- */

static void
rm_add_cell(const struct rec_cell *c, struct rm_site *into)
{
	const struct rec_hist *hist = rec_at(&rh, c->hist);
	uint64_t now = rh.head->stamp;
	int64_t bytes = (int64_t)(c->alloc_bytes - c->free_bytes);
	int64_t blocks = (int64_t)(c->allocs - c->frees);
	bool peak = ((c->stamp ^ now) & REC_STAMP_EPOCH) == 0;
	bool leaving = (c->stamp & REC_STAMP_EXIT) != 0;

	into->allocs += c->allocs;
	into->frees += c->frees;
	into->alloc_bytes += c->alloc_bytes;
	into->free_bytes += c->free_bytes;
	into->temp_bytes += c->temp_bytes;
	into->at_peak_bytes += peak ? c->peak_live_bytes : bytes;
	into->at_peak_blocks += peak ? c->peak_live_blocks : blocks;
	into->at_exit_bytes += leaving ? c->exit_live_bytes : bytes;
	into->at_exit_blocks += leaving ? c->exit_live_blocks : blocks;
	if (c->hist == 0)
		rec_add_few(c, into->sizes, into->lifetimes);
	for (unsigned i = 0; i < REC_SIZE_BUCKETS && c->hist != 0; i++)
		into->sizes[i] += hist->sizes[i];
	for (unsigned i = 0; i < REC_LIFE_BUCKETS + 1 && c->hist != 0; i++)
		into->lifetimes[i] += hist->lifetimes[i];
}

/* The site's totals; returns how many cells of living threads it has. */
static MAYBE_UNUSED unsigned
rm_read(unsigned site, struct rm_site *ret)
{
	const struct rec_site *s;
	unsigned cells = 0;

	*ret = (struct rm_site){0};
	if (rm_refs[site] == 0)
		return 0;
	s = rec_at(&rh, rm_refs[site]);
	ret->peak_bytes = s->peak_bytes;
	if (s->ended != 0)
		rm_add_cell(rec_at(&rh, s->ended), ret);
	for (uint32_t ref = s->cells; ref != 0; cells++) {
		const struct rec_cell *c = rec_at(&rh, ref);

		T_EQ(c->site, rm_refs[site]);
		rm_add_cell(c, ret);
		ref = c->next;
	}
	return cells;
}

/* How many of the counters (not the peaks) differ. */
static MAYBE_UNUSED unsigned
rm_counters_differ(const struct rm_site *is, const struct rm_site *should)
{
	return (is->allocs != should->allocs) + (is->frees != should->frees) +
	       (is->alloc_bytes != should->alloc_bytes) +
	       (is->free_bytes != should->free_bytes) +
	       (is->temp_bytes != should->temp_bytes) +
	       (memcmp(is->sizes, should->sizes, sizeof is->sizes) != 0) +
	       (memcmp(is->lifetimes, should->lifetimes, sizeof is->lifetimes) != 0);
}

static MAYBE_UNUSED void
rm_reset(struct rm *m, unsigned depth)
{
	memset(m, 0, sizeof *m);
	memset(rm_refs, 0, sizeof rm_refs);
	m->depth = depth;
	rm_mixed = 0;
}

#endif
