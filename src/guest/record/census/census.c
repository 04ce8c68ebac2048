/* SPDX-License-Identifier: MIT */
/* census.c -- what the recorder holds, added up while it runs. See census.h.
 *
 * Sites are found chunk by chunk, their totals are the sums over their cells. A cell has
 * one writer, who works under its journal: a cell whose writer is in the middle of an
 * event, or whose counts moved while it was read, is read again. A list of cells changes
 * in the middle only when a thread ends and is folded; then the site's `ended` cell is
 * another one than before, or its lock is taken, and the site is read again.
 *
 * By thread: a cell says what its thread allocated and what it freed, but a profile
 * charges a live block to the thread that allocated it. So live figures come from the
 * table of live blocks then; an entry appears and disappears with one store. */
#include "guest/record/census/census.h"

#include "guest/record/census/census_blocks.h"
#include "guest/record/sample.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/sys.h"

#include <errno.h>
#include <string.h>

#ifndef MREMAP_MAYMOVE
#	define MREMAP_MAYMOVE 1
#endif

enum {
	CELL_TRIES = 8,
	SITE_TRIES = 8,
	DEPTH_MAX = 1 << 16, /* a chain of parents longer than this is no stack */
	KEYS = 1 << 16,	     /* of threads: as many bits as a block has for them */
};

/* ---- areas ---- */

/* Room for `count` elements of `each` bytes. false: no memory, all stays as it was. */
static bool
area_fit(struct census_area *a, size_t count, size_t each)
{
	size_t need = count * each, bytes = a->bytes == 0 ? 64 << 10 : a->bytes;
	void *at;

	if (need <= a->bytes)
		return true;
	while (bytes < need)
		bytes *= 2;
	at = a->at == NULL ? rt_map(bytes) : rt_map_grow(a->at, a->bytes, bytes);
	if (at == NULL)
		return false;
	a->at = at;
	a->bytes = bytes;
	return true;
}

void
census_done(struct census *c)
{
	struct census gone = *c;

	/* First: some are left where a handler can find them, or come back by longjmp to
	 * do this again. */
	memset(c, 0, sizeof(*c));
	COMPILER_BARRIER();
	rt_unmap(gone.site_area.at, gone.site_area.bytes);
	rt_unmap(gone.share_area.at, gone.share_area.bytes);
	rt_unmap(gone.thread_area.at, gone.thread_area.bytes);
	rt_unmap(gone.key_area.at, gone.key_area.bytes);
	rt_unmap(gone.chunk_area.at, gone.chunk_area.bytes);
	rt_unmap(gone.hash_area.at, gone.hash_area.bytes);
}

/* ---- figures ---- */

static void
count_add(struct census_count *to, const struct census_count *n)
{
	to->live_blocks += n->live_blocks;
	to->live_bytes += n->live_bytes;
	to->live_est += n->live_est;
	to->allocs += n->allocs;
	to->alloc_bytes += n->alloc_bytes;
	to->alloc_est += n->alloc_est;
}

static void
count_add_live(struct census_count *to, const struct census_count *n)
{
	to->live_blocks += n->live_blocks;
	to->live_bytes += n->live_bytes;
	to->live_est += n->live_est;
}

static void
count_no_live(struct census_count *n)
{
	n->live_blocks = n->live_bytes = n->live_est = 0;
}

/* Take the cumulative figures of `base` off; never below 0. */
static void
count_since(struct census_count *n, const struct census_count *base)
{
	n->allocs -= base->allocs < n->allocs ? base->allocs : n->allocs;
	n->alloc_bytes -=
		base->alloc_bytes < n->alloc_bytes ? base->alloc_bytes : n->alloc_bytes;
	n->alloc_est -= base->alloc_est < n->alloc_est ? base->alloc_est : n->alloc_est;
}

static uint64_t
word(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static struct census_count
cell_count(const struct rec_cell *c, bool sampled)
{
	uint64_t allocs = word(&c->allocs), frees = word(&c->frees);
	uint64_t in = word(&c->alloc_bytes), out = word(&c->free_bytes);
	uint64_t est = sampled ? word(&c->est_allocs) : allocs * CENSUS_ONE;
	uint64_t gone = sampled ? word(&c->est_frees) : frees * CENSUS_ONE;

	return (struct census_count){
		.live_blocks = (int64_t)(allocs - frees),
		.live_bytes = (int64_t)(in - out),
		.live_est = (int64_t)(est - gone),
		.allocs = allocs,
		.alloc_bytes = in,
		.alloc_est = est,
	};
}

/* A cell as it is between two events of its thread. */
static struct census_count
cell_read(const struct recorder *r, const struct rec_cell *c, bool sampled)
{
	uint32_t owner = c->thread;
	const struct rec_thread *row = owner == 0 ? NULL : rec_at(r, owner);
	struct census_count n = {0}, again;

	for (int i = 0; i < CELL_TRIES; i++) {
		bool quiet = row == NULL ||
			     __atomic_load_n(&row->journal_count, __ATOMIC_ACQUIRE) == 0;

		n = cell_count(c, sampled);
		again = cell_count(c, sampled);
		if (quiet && memcmp(&n, &again, sizeof(n)) == 0)
			break;
		CPU_RELAX();
	}
	return n;
}

/* ---- threads ---- */

static uint32_t
thread_add(struct census *c, uint32_t serial)
{
	uint32_t *keys = c->key_area.at;
	struct census_thread *th;

	if (!area_fit(&c->thread_area, c->nthreads + 1u, sizeof(*th)))
		return CENSUS_NONE;
	c->threads = c->thread_area.at;
	th = &c->threads[c->nthreads];
	memset(th, 0, sizeof(*th));
	th->serial = serial;
	keys[serial & c->serial_mask] = ++c->nthreads;
	return c->nthreads - 1;
}

/* Threads that are alive, so that they win over ended ones with the same key. */
static bool
threads_alive(const struct recorder *r, struct census *c)
{
	uint32_t index = __atomic_load_n(&r->head->chunk_lists[REC_CHUNK_THREAD],
					 __ATOMIC_ACQUIRE);

	while (index != 0) {
		const struct rec_chunk *ch =
			(const void *)(r->base + REC_CHUNKS_OFF +
				       (uint64_t)(index - 1) * REC_CHUNK_BYTES);
		const struct rec_thread *row = (const void *)ch;
		uint32_t used = __atomic_load_n(&ch->used, __ATOMIC_ACQUIRE);

		if (used > REC_CHUNK_BYTES)
			used = REC_CHUNK_BYTES;
		for (uint32_t i = 1; (i + 1) * sizeof(*row) <= used; i++) {
			uint32_t at;

			if (__atomic_load_n(&row[i].state, __ATOMIC_ACQUIRE) !=
				    REC_THREAD_LIVE ||
			    row[i].serial == UINT32_MAX)
				continue;
			at = thread_add(c, row[i].serial);
			if (at == CENSUS_NONE)
				return false;
			c->threads[at].tid = row[i].tid;
			memcpy(c->threads[at].name, row[i].name, sizeof(row[i].name) - 1);
		}
		index = ch->next;
	}
	return true;
}

/* The thread with this key, by its serial as far as a block or cell knows it. One that is
 * not alive has ended; of those with the same key it is taken for the latest. */
static uint32_t
thread_of(const struct recorder *r, struct census *c, uint32_t key)
{
	const uint32_t *keys = c->key_area.at;
	uint64_t seen = r->head->threads_seen;
	uint64_t serial = key;

	if (keys[key] != 0)
		return keys[key] - 1;
	if (seen > key)
		serial = key +
			 (seen - key) / (c->serial_mask + 1u) * (c->serial_mask + 1u);
	return thread_add(c, (uint32_t)serial);
}

/* ---- shares ---- */

static uint32_t
share_hash(const struct census *c, uint32_t site, uint32_t thread)
{
	uint64_t x = ((uint64_t)site << 32 | thread) * UINT64_C(0x9E3779B97F4A7C15);

	return (uint32_t)(x >> 32) & c->hash_mask;
}

static uint32_t
share_find(const struct census *c, uint32_t site, uint32_t thread)
{
	const uint32_t *heads = c->hash_area.at;
	uint32_t i = heads == NULL ? 0 : heads[share_hash(c, site, thread)];

	while (i != 0 &&
	       (c->shares[i - 1].site != site || c->shares[i - 1].thread != thread))
		i = c->shares[i - 1].key;
	return i - 1; /* CENSUS_NONE when there is none */
}

static void
share_enter(struct census *c, uint32_t i)
{
	struct census_share *s = &c->shares[i];
	uint32_t *head = (uint32_t *)c->hash_area.at + share_hash(c, s->site, s->thread);

	s->key = *head;
	*head = i + 1;
	s->next = c->sites[s->site].first;
	c->sites[s->site].first = i;
}

/* At the end of the array, not yet found by anybody. */
static uint32_t
share_push(struct census *c, uint32_t site, uint32_t thread)
{
	if (!area_fit(&c->share_area, c->nshares + 1u, sizeof(*c->shares)))
		return CENSUS_NONE;
	c->shares = c->share_area.at;
	memset(&c->shares[c->nshares], 0, sizeof(*c->shares));
	c->shares[c->nshares].site = site;
	c->shares[c->nshares].thread = thread;
	return c->nshares++;
}

/* ---- sites ---- */

struct taking {
	const struct recorder *r;
	struct census *c;
	bool sampled, by_thread, from_table;
	bool failed; /* no memory */
};

static void
cell_into(struct taking *k, uint32_t site, const struct rec_cell *cell,
	  struct census_count *n)
{
	struct census_count one = cell_read(k->r, cell, k->sampled);
	const struct rec_thread *row;
	uint32_t thread, share;

	count_add(n, &one);
	if (!k->by_thread || cell->thread == 0)
		return;
	row = rec_at(k->r, cell->thread);
	if (row->serial == UINT32_MAX)
		return;
	thread = thread_of(k->r, k->c, row->serial & k->c->serial_mask);
	share = thread == CENSUS_NONE ? CENSUS_NONE : share_push(k->c, site, thread);
	if (share == CENSUS_NONE) {
		k->failed = true;
		return;
	}
	k->c->shares[share].n = one;
}

/* One pass over a site's cells. false: they changed meanwhile. */
static bool
cells_walk(struct taking *k, uint32_t site, const struct rec_site *s,
	   struct census_count *n)
{
	uint32_t ended = __atomic_load_n(&s->ended, __ATOMIC_ACQUIRE);
	uint32_t ref = __atomic_load_n(&s->cells, __ATOMIC_ACQUIRE);
	uint32_t absorbed = 0, me = rec_ref(k->r, s);
	bool whole = true;

	if (__atomic_load_n(&s->lock, __ATOMIC_ACQUIRE) != 0)
		whole = false;
	if (ended != 0) {
		const struct rec_cell *c = rec_at(k->r, ended);

		absorbed = c->absorbed;
		cell_into(k, site, c, n);
	}
	while (ref != 0) {
		const struct rec_cell *c = rec_at(k->r, ref);

		/* its thread has just ended, and it leads elsewhere now */
		if (__atomic_load_n(&c->site, __ATOMIC_ACQUIRE) != me)
			return false;
		if (ref != absorbed)
			cell_into(k, site, c, n);
		ref = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE);
	}
	return whole && __atomic_load_n(&s->ended, __ATOMIC_ACQUIRE) == ended &&
	       __atomic_load_n(&s->lock, __ATOMIC_ACQUIRE) == 0;
}

static uint32_t
class_of(const struct recorder *r, uint32_t node)
{
	const struct rec_node *n = rec_at(r, node);

	return n->module >> 24 == REC_NODE_CLASS ? (uint32_t)n->pc
						 : (uint32_t)REC_CLASS_HEAP;
}

static void
site_read(struct taking *k, const struct rec_site *s)
{
	struct census *c = k->c;
	struct census_site *to;
	uint32_t at = c->nsites, shares = c->nshares;

	if (!area_fit(&c->site_area, at + 1u, sizeof(*to))) {
		k->failed = true;
		return;
	}
	c->sites = c->site_area.at;
	to = &c->sites[at];
	*to = (struct census_site){
		.ref = rec_ref(k->r, s), .node = s->node, .first = CENSUS_NONE};
	c->nsites++;
	for (int i = 0; i < SITE_TRIES; i++) {
		memset(&to->n, 0, sizeof(to->n));
		c->nshares = shares;
		if (cells_walk(k, at, s, &to->n))
			break;
		CPU_RELAX();
	}
}

/* Where the sites of a chunk begin in c->sites; they keep their order, so a site is found
 * by its ref. */
static void
chunk_read(struct taking *k, uint32_t index)
{
	const struct rec_chunk *ch =
		(const void *)(k->r->base + REC_CHUNKS_OFF +
			       (uint64_t)(index - 1) * REC_CHUNK_BYTES);
	const struct rec_site *s = (const void *)(ch + 1);
	uint32_t used = __atomic_load_n(&ch->used, __ATOMIC_ACQUIRE);
	const unsigned char *end = (const unsigned char *)ch +
				   (used < REC_CHUNK_BYTES ? used : REC_CHUNK_BYTES);

	if (index <= k->c->nchunks)
		((uint32_t *)k->c->chunk_area.at)[index - 1] = k->c->nsites + 1;
	for (; (const unsigned char *)(s + 1) <= end && !k->failed; s++)
		site_read(k, s);
}

/* Index of a site, CENSUS_NONE when it was not there at the time. */
static uint32_t
site_find(const struct census *c, uint32_t ref)
{
	uint64_t off = (uint64_t)ref * 8 - REC_CHUNKS_OFF;
	uint64_t chunk = off / REC_CHUNK_BYTES;
	uint64_t nth = (off % REC_CHUNK_BYTES - sizeof(struct rec_chunk)) /
		       sizeof(struct rec_site);
	uint32_t first;

	if (c->chunk_area.at == NULL || chunk >= c->nchunks)
		return CENSUS_NONE;
	first = ((const uint32_t *)c->chunk_area.at)[chunk];
	if (first == 0 || first - 1 + nth >= c->nsites ||
	    c->sites[first - 1 + nth].ref != ref)
		return CENSUS_NONE;
	return (uint32_t)(first - 1 + nth);
}

/* ---- by thread, from the table of live blocks ---- */

/* What a live block counts for, and the key of the thread it belongs to. */
static struct census_count
block_count(const struct taking *k, uint64_t a, uint32_t *ret_key)
{
	uint64_t bytes = a & REC_BLOCK_SIZE_MASK;
	uint32_t who = (uint32_t)(a >> REC_BLOCK_THREAD_SHIFT);
	struct sample_weight w = {.bytes = bytes, .count = CENSUS_ONE};

	if (k->sampled) {
		w = sample_weigh(bytes, k->r->head->rates[who % REC_RATES_MAX]);
		who /= REC_RATES_MAX;
	}
	*ret_key = who & k->c->serial_mask;
	return (struct census_count){.live_blocks = 1,
				     .live_bytes = (int64_t)w.bytes,
				     .live_est = (int64_t)w.count};
}

static void
block_into(void *arg, uintptr_t addr, uint64_t a, uint64_t b)
{
	struct taking *k = arg;
	uint32_t key, site = site_find(k->c, (uint32_t)b), thread, share;
	struct census_count n = block_count(k, a, &key);

	(void)addr;
	if (site == CENSUS_NONE || k->failed)
		return; /* a site of a moment ago */
	count_add_live(&k->c->sites[site].n, &n);
	thread = thread_of(k->r, k->c, key);
	share = thread == CENSUS_NONE ? CENSUS_NONE : share_find(k->c, site, thread);
	if (thread != CENSUS_NONE && share == CENSUS_NONE) {
		share = share_push(k->c, site, thread);
		if (share != CENSUS_NONE)
			share_enter(k->c, share);
	}
	if (share == CENSUS_NONE)
		k->failed = true;
	else
		count_add_live(&k->c->shares[share].n, &n);
}

/* ---- all together ---- */

static bool
prepare(struct taking *k)
{
	struct census *c = k->c;
	uint32_t hash = 1024;

	c->nchunks = __atomic_load_n(&k->r->head->chunks, __ATOMIC_ACQUIRE);
	if (!area_fit(&c->chunk_area, c->nchunks + 1u, sizeof(uint32_t)))
		return false;
	if (!k->by_thread)
		return true;
	while (hash < c->nchunks * 256 && hash < 1u << 20)
		hash *= 2;
	c->hash_mask = hash - 1;
	/* Sampled blocks share their 16 bits with the number of the rate. */
	c->serial_mask = k->sampled ? KEYS / REC_RATES_MAX - 1 : KEYS - 1;
	return area_fit(&c->hash_area, hash, sizeof(uint32_t)) &&
	       area_fit(&c->key_area, KEYS, sizeof(uint32_t)) && threads_alive(k->r, c);
}

/* Take off what the same thread had at the same site in the base. */
static void
share_since(const struct census *c, struct census_share *s, const struct census *base)
{
	const uint32_t *keys = base->key_area.at;
	uint32_t serial = c->threads[s->thread].serial;
	uint32_t site = site_find(base, c->sites[s->site].ref);
	uint32_t thread = keys == NULL ? 0 : keys[serial & base->serial_mask];
	uint32_t old;

	if (site == CENSUS_NONE || thread == 0 ||
	    base->threads[thread - 1].serial != serial)
		return;
	old = share_find(base, site, thread - 1);
	if (old != CENSUS_NONE)
		count_since(&s->n, &base->shares[old].n);
}

/* Blank what is not wanted, take the base off, add up. Sites keep their places until
 * here. */
static void
finish(struct census *c, const struct recorder *r, unsigned flags,
       const struct census *base)
{
	for (uint32_t i = 0; i < c->nsites; i++) {
		struct census_site *s = &c->sites[i];
		uint32_t old = base == NULL ? CENSUS_NONE : site_find(base, s->ref);

		if (old != CENSUS_NONE)
			count_since(&s->n, &base->sites[old].n);
		s->class = s->node == 0 ? (uint32_t)REC_CLASS_HEAP : class_of(r, s->node);
		if (s->node == 0 ||
		    (s->class != REC_CLASS_HEAP && (flags & CENSUS_MAPPINGS) == 0))
			memset(&s->n, 0, sizeof(s->n));
		if (s->class == REC_CLASS_HEAP)
			count_add(&c->n, &s->n);
	}
	for (uint32_t i = 0; i < c->nshares; i++) {
		struct census_share *s = &c->shares[i];

		if (base != NULL)
			share_since(c, s, base);
		count_add(&c->threads[s->thread].n, &s->n);
		c->threads[s->thread].shares++;
	}
}

int
census_take(const struct recorder *r, unsigned flags, const struct census *base,
	    struct census *ret)
{
	struct taking k = {.r = r, .c = ret, .by_thread = (flags & CENSUS_THREADS) != 0};
	uint32_t index;

	memset(ret, 0, sizeof(*ret));
	if (__atomic_load_n(&r->base, __ATOMIC_ACQUIRE) == NULL)
		return -ENODATA;
	k.sampled = r->head->mode == REC_MODE_SAMPLE;
	k.from_table = k.by_thread && r->head->threads_seen > 1;
	k.failed = !prepare(&k);
	index = __atomic_load_n(&r->head->chunk_lists[REC_CHUNK_SITE], __ATOMIC_ACQUIRE);
	while (index != 0 && !k.failed) {
		chunk_read(&k, index);
		index = ((const struct rec_chunk *)(const void
							    *)(r->base + REC_CHUNKS_OFF +
							       (uint64_t)(index - 1) *
								       REC_CHUNK_BYTES))
				->next;
	}
	for (uint32_t i = 0; i < ret->nshares && !k.failed; i++)
		share_enter(ret, i);
	if (k.from_table && !k.failed) {
		for (uint32_t i = 0; i < ret->nsites; i++)
			count_no_live(&ret->sites[i].n);
		for (uint32_t i = 0; i < ret->nshares; i++)
			count_no_live(&ret->shares[i].n);
		census_each_block(r, block_into, &k);
	}
	if (k.failed) {
		census_done(ret);
		return -ENOMEM;
	}
	finish(ret, r, flags, base);
	return 0;
}

uint32_t
census_frames(const struct recorder *r, uint32_t node, uint64_t *ret, uint32_t max)
{
	const struct host *h = r->host;
	uint32_t n = 0;

	for (uint32_t depth = 0; node != 0 && n < max && depth < DEPTH_MAX; depth++) {
		const struct rec_node *x = rec_at(r, node);

		/* Not the wrapper of ours that called main. */
		if (x->module >> 24 == REC_NODE_PC &&
		    (x->pc <= (uintptr_t)h->root_start || x->pc > (uintptr_t)h->root_end))
			ret[n++] = x->pc;
		node = x->parent;
	}
	return n;
}
