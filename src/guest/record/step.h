/* SPDX-License-Identifier: MIT */
/* step.h -- one event as one journaled step: the parts that all events are made of.
 *
 * `jot` notes a word that will change, `publish` makes the notes valid, the words change,
 * `commit` voids the notes. Killed anywhere in between, a reader puts the noted words
 * back (recording.h). All of a cell's words belong to this thread.
 *
 * Live bytes of the process and of a site are sums over cells. To notice peaks they are
 * followed as they change: by a lone thread in a private word and in its only cell, so
 * that most events write nothing shared; by several threads in head and site with atomic
 * additions, in steps of 4 KiB a thread, to which their peaks are then exact.
 *
 * Peak: head->stamp counts new maxima. Before a cell changes for the first time after a
 * maximum, its live figures are those of the maximum: they are saved, and the stamp with
 * them. So the heap at its peak is known exactly, site by site, for one compare an event.
 * The same compare notes what the cell had at past moments (cell_series.h).
 *
 * Static inline, because this is the hot path: included by hot.h, events.c, resize.c and
 * inherit.c only. */
#ifndef SEEP_STEP_H
#define SEEP_STEP_H

#include "guest/record/cell_series.h"
#include "guest/record/cells.h"
#include "guest/record/sample.h"

enum { STEP_FLUSH_BYTES = 4096 };

struct step {
	struct recorder *r;
	struct thread *t;
	struct rec_undo *at;
	uint64_t stamp; /* head's, when the step began */
};

static ALWAYS_INLINE struct step
step_begin(struct recorder *r, struct thread *t)
{
	return (struct step){
		.r = r,
		.t = t,
		.at = t->row->journal,
		.stamp = __atomic_load_n(&r->head->stamp, __ATOMIC_RELAXED),
	};
}

static ALWAYS_INLINE void
jot(struct step *s, const void *word)
{
	s->at->off = (uint64_t)((const unsigned char *)word - s->r->base);
	s->at->old = *(const uint64_t *)word;
	s->at++;
}

/* The same for a word that is known to be 0: not waited for when it is far away. */
static ALWAYS_INLINE void
jot_zero(struct step *s, const void *word)
{
	s->at->off = (uint64_t)((const unsigned char *)word - s->r->base);
	s->at->old = 0;
	s->at++;
}

static ALWAYS_INLINE void
publish(struct step *s)
{
	COMPILER_BARRIER();
	*(volatile uint32_t *)&s->t->row->journal_count =
		(uint32_t)(s->at - s->t->row->journal);
	COMPILER_BARRIER();
}

static ALWAYS_INLINE void
commit(struct step *s)
{
	COMPILER_BARRIER();
	*(volatile uint32_t *)&s->t->row->journal_count = 0;
	COMPILER_BARRIER();
}

static ALWAYS_INLINE unsigned
size_bucket(uint64_t bytes)
{
	unsigned lg = 60 - (unsigned)__builtin_clzll((bytes - 1) | 15);

	if (UNLIKELY(bytes == 0))
		return 0;
	return lg < REC_SIZE_BUCKETS ? lg : REC_SIZE_BUCKETS - 1;
}

static ALWAYS_INLINE unsigned
life_bucket(uint64_t now_ms, uint64_t b)
{
	uint64_t ms = now_ms > b >> 32 ? now_ms - (b >> 32) : 0;
	unsigned n = ms == 0 ? 0 : 64 - (unsigned)__builtin_clzll(ms);

	return n < REC_LIFE_BUCKETS ? n : REC_LIFE_BUCKETS - 1;
}

/* What an event adds to or takes from the counters: ones, or a sample's weight. */
struct amount {
	uint64_t bytes; /* what counts towards live bytes */
	struct sample_weight weight;
};

static ALWAYS_INLINE struct amount
amount_of(struct recorder *r, bool sampled, uint64_t bytes, uint64_t rate_number)
{
	struct amount a = {.bytes = bytes};

	if (sampled) {
		a.weight =
			sample_weigh(bytes, r->head->rates[rate_number % REC_RATES_MAX]);
		a.bytes = a.weight.bytes;
	}
	return a;
}

/* How many of a block's bytes are in the live bytes of the process: none if it was
 * inherited, else all. `a` is its entry's word. */
static ALWAYS_INLINE uint64_t
block_own(uint64_t a, uint64_t bytes)
{
	_Static_assert(REC_KIND_INHERITED == 8, "the uppermost bit of the kind");
	return bytes & ((a >> (REC_BLOCK_KIND_SHIFT + 3) & 1) - 1);
}

/* ---- the cell's snapshot at the peak and at exit ---- */

static MAYBE_UNUSED NOINLINE struct rec_undo *
jot_stamp(struct step s, struct rec_cell *c)
{
	jot(&s, &c->stamp);
	jot(&s, &c->peak_live_bytes);
	jot(&s, &c->peak_live_blocks);
	jot(&s, &c->exit_live_bytes);
	jot(&s, &c->exit_live_blocks);
	return s.at;
}

static ALWAYS_INLINE void
renew_figures(uint64_t stamp, struct rec_cell *c)
{
	int64_t bytes = (int64_t)(c->alloc_bytes - c->free_bytes);
	int64_t blocks = (int64_t)(c->allocs - c->frees);

	if (((c->stamp ^ stamp) & REC_STAMP_EPOCH) != 0) {
		c->peak_live_bytes = bytes;
		c->peak_live_blocks = blocks;
	}
	if (((c->stamp ^ stamp) & REC_STAMP_EXIT) != 0) {
		c->exit_live_bytes = bytes;
		c->exit_live_blocks = blocks;
	}
	c->stamp = stamp;
}

static MAYBE_UNUSED COLD NOINLINE void
renew_after_moment(struct recorder *r, uint64_t stamp, struct rec_cell *c, uint32_t me)
{
	series_note(r, c, stamp, me);
	renew_figures(stamp, c);
}

static MAYBE_UNUSED NOINLINE void
renew_stamp(struct recorder *r, uint64_t stamp, struct rec_cell *c, uint32_t me)
{
	if (UNLIKELY(((c->stamp ^ stamp) & REC_STAMP_MOMENT) != 0))
		renew_after_moment(r, stamp, c, me);
	else
		renew_figures(stamp, c);
}

/* ---- peaks ---- */

static MAYBE_UNUSED NOINLINE struct rec_undo *
jot_peak(struct step s, struct rec_site *site)
{
	struct rec_head *h = s.r->head;

	jot(&s, &h->peak_bytes);
	jot(&s, &h->stamp);
	jot(&s, &h->peak_ms);
	jot(&s, &site->peak_bytes);
	jot(&s, &site->peak_ms);
	return s.at;
}

/* A lone thread: raise the peaks if the step made new ones. */
static MAYBE_UNUSED NOINLINE void
set_peak(struct recorder *r, struct thread *t, struct rec_cell *c)
{
	struct rec_site *site = rec_at(r, c->site);
	int64_t site_live = (int64_t)(c->alloc_bytes - c->free_bytes);
	struct rec_head *h = r->head;

	if (t->live_bytes > h->peak_bytes) {
		h->peak_bytes = t->live_bytes;
		h->peak_ms = t->now_ms;
		h->stamp++;
	}
	if (site_live > site->peak_bytes) {
		site->peak_bytes = site_live;
		site->peak_ms = t->now_ms;
	}
}

static inline bool
raise_to(int64_t *max, int64_t value)
{
	int64_t seen = __atomic_load_n(max, __ATOMIC_RELAXED);

	while (value > seen)
		if (__atomic_compare_exchange_n(max, &seen, value, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	return false;
}

static MAYBE_UNUSED NOINLINE void
flush_live(struct recorder *r, struct thread *t)
{
	struct rec_head *h = r->head;
	int64_t delta = t->row->unflushed, live;

	/* Taken off first: a reader in between sees too little, and has the cells to know
	 * better. */
	t->row->unflushed = 0;
	t->flushed += delta;
	COMPILER_BARRIER();
	live = __atomic_add_fetch(&h->live_bytes, delta, __ATOMIC_RELAXED);
	if (raise_to(&h->peak_bytes, live)) {
		__atomic_store_n(&h->peak_ms, t->now_ms, __ATOMIC_RELAXED);
		__atomic_fetch_add(&h->stamp, 1, __ATOMIC_RELAXED);
	}
}

/* Bring the site's live bytes up to date with what this thread's cell has. */
static MAYBE_UNUSED NOINLINE void
flush_site(struct recorder *r, struct thread *t, struct rec_cell *c)
{
	struct rec_site *site = rec_at(r, c->site);
	int64_t live = (int64_t)(c->alloc_bytes - c->free_bytes);
	int64_t delta = live - c->shown_bytes;

	c->shown_bytes = live;
	live = __atomic_add_fetch(&site->live_bytes, delta, __ATOMIC_RELAXED);
	if (raise_to(&site->peak_bytes, live))
		__atomic_store_n(&site->peak_ms, t->now_ms, __ATOMIC_RELAXED);
}

static ALWAYS_INLINE bool
step_is_large(int64_t delta)
{
	return (uint64_t)(delta + STEP_FLUSH_BYTES) > 2 * STEP_FLUSH_BYTES;
}

/* Several threads: after the step. Shared words are touched only for every 4 KiB, so that
 * threads that allocate at the same place do not pass them to and fro. */
static ALWAYS_INLINE void
add_shared(struct recorder *r, struct thread *t, struct rec_cell *c, int64_t delta)
{
	int64_t live = (int64_t)(c->alloc_bytes - c->free_bytes);

	t->row->unflushed += delta;
	if (UNLIKELY(step_is_large(live - c->shown_bytes)))
		flush_site(r, t, c);
	if (UNLIKELY(step_is_large(t->row->unflushed)))
		flush_live(r, t);
}

/* ---- halves of a step: notes first, changes after publishing ---- */

static ALWAYS_INLINE void
jot_alloc(struct step *s, struct rec_cell *c, struct rec_block *block,
	  const struct cell_word *size, bool sampled)
{
	jot_zero(s, &block->b);
	jot(s, &c->allocs);
	jot(s, &c->alloc_bytes);
	jot(s, size->word);
	if (sampled) {
		jot(s, &c->est_allocs);
		jot(s, &c->var_allocs);
	}
}

static ALWAYS_INLINE void
do_alloc(struct rec_cell *c, struct rec_block *block, uint64_t b,
	 const struct cell_word *size, bool sampled, const struct amount *n)
{
	__atomic_store_n(&block->b, b, __ATOMIC_RELAXED);
	c->allocs++;
	c->alloc_bytes += n->bytes;
	*size->word += size->add;
	if (sampled) {
		c->est_allocs += n->weight.count;
		c->var_allocs += n->weight.var;
	}
}

static ALWAYS_INLINE void
jot_free(struct step *s, struct rec_cell *c, unsigned bucket,
	 const struct cell_word *life, bool sampled)
{
	jot(s, &c->frees);
	jot(s, &c->free_bytes);
	jot(s, life->word);
	if (bucket == REC_LIFE_TEMPORARY)
		jot(s, &c->temp_bytes);
	if (sampled) {
		jot(s, &c->est_frees);
		jot(s, &c->var_frees);
	}
}

static ALWAYS_INLINE void
do_free(struct rec_cell *c, unsigned bucket, const struct cell_word *life, bool sampled,
	const struct amount *n)
{
	c->frees++;
	c->free_bytes += n->bytes;
	*life->word += life->add;
	if (bucket == REC_LIFE_TEMPORARY)
		c->temp_bytes += n->bytes;
	if (sampled) {
		c->est_frees += n->weight.count;
		c->var_frees += n->weight.var;
	}
}

#endif
