/* SPDX-License-Identifier: MIT */
/* space.c -- room in the recording.
 *
 * The file is sparse and mapped whole. A store to a page that is not there could end in
 * SIGBUS (file system full) or in SIGXFSZ, so pages are made present, 256 KiB at a time,
 * by MADV_POPULATE_WRITE, which reports failure instead. Only then the chunk is
 * published. When that fails once, the recording stays at its size: events that need room
 * are counted as lost, what is there goes on being kept up to date. Small programs, of
 * which a shell starts thousands, need a fraction of each of the first chunks: those are
 * made present as they fill up, a page at first and then twice as much each time. A
 * recording in memory of the process alone cannot fail: there the first chunks get their
 * pages by themselves. Later ones are made present all the same, which is cheaper by the
 * page.
 *
 * Objects are cut from the newest chunk of their kind with one atomic addition; a thread
 * that runs past the end takes the lock and brings the next chunk. Nothing is ever
 * moved. */
#include "guest/record/file/space.h"

#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE
#	define MADV_POPULATE_WRITE 23
#endif

enum { LOCK_SPACE = 0 };
enum { CHUNKS_BY_USE = 16 }; /* one of each kind, and some */
enum { WITHDRAWN_RESERVE_BYTES = 1 << 20 };

static uint32_t
chunks_possible(const struct recorder *r)
{
	return (uint32_t)((r->bytes - REC_CHUNKS_OFF) / REC_CHUNK_BYTES);
}

/* The kernel gives no more. */
static bool
no_pages(struct recorder *r)
{
	__atomic_fetch_or(&r->head->flags, REC_FLAG_NO_PAGES, __ATOMIC_RELAXED);
	return false;
}

/* Whole pages from `at` on. */
static bool
make_present(void *at, uint64_t bytes)
{
	return !rt_sealed && sys_madvise(at, bytes, MADV_POPULATE_WRITE) >= 0;
}

bool
space_points(struct recorder *r, uint32_t n)
{
	uint64_t off = (uint64_t)n * sizeof(struct rec_point);

	return !r->by_use || n == 0 || off % REC_PAGE_BYTES != 0 ||
	       make_present(r->base + REC_POINTS_OFF + off, REC_PAGE_BYTES);
}

/* Make the first `upto` bytes of a chunk present. Threads may ask for the same at
 * once. */
static COLD bool
chunk_more(struct recorder *r, struct rec_chunk *c, uint32_t upto)
{
	uint32_t absent = __atomic_load_n(&c->absent, __ATOMIC_RELAXED);
	uint32_t have = REC_PAGE_BYTES, want;

	if (absent < REC_CHUNK_BYTES - REC_PAGE_BYTES)
		have = ALIGN_UP(REC_CHUNK_BYTES - absent, (uint32_t)REC_PAGE_BYTES);
	for (want = have; want < upto; want *= 2)
		;
	if (want > REC_CHUNK_BYTES)
		want = REC_CHUNK_BYTES;
	if (!make_present((unsigned char *)c + have, want - have)) {
		space_cut(r, REC_FLAG_FULL);
		return no_pages(r);
	}
	__atomic_store_n(&c->absent, REC_CHUNK_BYTES - want, __ATOMIC_RELAXED);
	return true;
}

static inline bool
chunk_present(struct recorder *r, struct rec_chunk *c, uint32_t upto)
{
	return LIKELY(upto + __atomic_load_n(&c->absent, __ATOMIC_RELAXED) <=
		      REC_CHUNK_BYTES) ||
	       chunk_more(r, c, upto);
}

/* Make chunks up to and including number `upto` present. Lock held. */
static bool
populate(struct recorder *r, uint32_t upto)
{
	struct rec_head *h = r->head;
	uint32_t step = REC_POPULATE_BYTES / REC_CHUNK_BYTES;
	uint32_t most = chunks_possible(r);

	if (upto <= h->populated)
		return true;
	if (upto > most || r->full || rt_sealed)
		return false;
	if (r->own_memory && upto <= CHUNKS_BY_USE) {
		h->populated = upto;
		return true;
	}
	if (upto < h->populated + step)
		upto = h->populated + step;
	if (upto > most)
		upto = most;
	if (!r->prefilled &&
	    sys_madvise(rec_chunk_at(r, h->populated + 1),
			(uint64_t)(upto - h->populated) * REC_CHUNK_BYTES,
			MADV_POPULATE_WRITE) < 0)
		return no_pages(r);
	h->populated = upto;
	return true;
}

void
space_cut(struct recorder *r, uint32_t flags)
{
	struct rec_head *h = r->head;
	uint64_t ms = h->clock_ms;
	struct timespec ts;

	r->full = true;
	if (ms == 0 && !rt_sealed &&
	    SYS2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts) == 0) /* nobody advances it */
		ms = ((uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec -
		      h->start_mono_ns) /
		     1000000;
	if (h->cut_ms == 0)
		h->cut_ms = ms > 0 ? ms : 1;
	__atomic_fetch_or(&h->flags, flags, __ATOMIC_RELAXED);
}

static uint32_t
first_offset(enum rec_chunk_kind kind)
{
	return kind == REC_CHUNK_THREAD ? sizeof(struct rec_thread)
					: sizeof(struct rec_chunk);
}

/* A new chunk in front of the list of its kind. Lock held. */
static struct rec_chunk *
chunk_new(struct recorder *r, enum rec_chunk_kind kind)
{
	struct rec_head *h = r->head;
	uint32_t index = h->chunks + 1;
	struct rec_chunk *c = rec_chunk_at(r, index);
	bool by_use = r->by_use && index > h->populated && index <= CHUNKS_BY_USE &&
		      index <= chunks_possible(r) && !r->full;

	if (r->withdrawn != 0 && index > chunks_possible(r))
		return NULL; /* there is more, only not at this moment */
	if (by_use ? !make_present(c, REC_PAGE_BYTES) && !no_pages(r)
		   : !populate(r, index)) {
		space_cut(r, REC_FLAG_FULL);
		return NULL;
	}
	if (by_use) {
		h->populated = index;
		c->absent = REC_CHUNK_BYTES - REC_PAGE_BYTES;
	}
	c->used = first_offset(kind);
	c->next = h->chunk_lists[kind];
	c->kind = kind;
	__atomic_store_n(&h->chunks, index, __ATOMIC_RELAXED);
	__atomic_store_n(&h->chunk_lists[kind], index, __ATOMIC_RELEASE);
	return c;
}

/* Room in the newest chunk, or NULL when it is full. */
static void *
take(struct recorder *r, enum rec_chunk_kind kind, uint32_t bytes)
{
	uint32_t index = __atomic_load_n(&r->head->chunk_lists[kind], __ATOMIC_ACQUIRE);
	struct rec_chunk *c;
	uint32_t at, end;

	if (index == 0)
		return NULL;
	c = rec_chunk_at(r, index);
	/* Looked at first, so that `used` does not creep towards an overflow. */
	end = __atomic_load_n(&c->used, __ATOMIC_RELAXED) + bytes;
	if (end > REC_CHUNK_BYTES || !chunk_present(r, c, end))
		return NULL;
	at = __atomic_fetch_add(&c->used, bytes, __ATOMIC_RELAXED);
	if (at + bytes > REC_CHUNK_BYTES ||
	    (at + bytes > end && !chunk_present(r, c, at + bytes)))
		return NULL;
	return (unsigned char *)c + at;
}

void *
space_alloc(struct recorder *r, enum rec_chunk_kind kind, uint32_t bytes, uint32_t me)
{
	void *p = take(r, kind, bytes);

	if (LIKELY(p != NULL) || r->full)
		return p;
	if (!lock_take(&r->head->locks[LOCK_SPACE], me)) {
		rec_lost(r, REC_LOST_LOCK);
		return NULL;
	}
	p = take(r, kind, bytes); /* someone else may have brought the chunk meanwhile */
	if (p == NULL && chunk_new(r, kind) != NULL)
		p = take(r, kind, bytes);
	lock_drop(&r->head->locks[LOCK_SPACE]);
	return p;
}

/* ---- objects that are used again ---- */

/* The first of a list of freed objects, whose first word but `link` bytes leads on; NULL:
 * none. */
static void *
take_freed(struct recorder *r, uint32_t *list, size_t link, uint32_t me)
{
	unsigned char *p = NULL;

	if (__atomic_load_n(list, __ATOMIC_RELAXED) == 0 ||
	    !lock_take(&r->head->locks[LOCK_SPACE], me))
		return NULL;
	if (*list != 0) {
		p = rec_at(r, *list);
		__atomic_store_n(list, *(uint32_t *)(void *)(p + link), __ATOMIC_RELAXED);
	}
	lock_drop(&r->head->locks[LOCK_SPACE]);
	return p;
}

static void
put_freed(struct recorder *r, uint32_t *list, void *p, size_t link, uint32_t me)
{
	if (!lock_take(&r->head->locks[LOCK_SPACE], me))
		return; /* it is lost until the end; nothing is counted wrong */
	*(uint32_t *)(void *)((unsigned char *)p + link) = *list;
	__atomic_store_n(list, rec_ref(r, p), __ATOMIC_RELAXED);
	lock_drop(&r->head->locks[LOCK_SPACE]);
}

struct rec_cell *
space_cell(struct recorder *r, uint32_t me)
{
	struct rec_cell *cell =
		take_freed(r, &r->head->free_cells, offsetof(struct rec_cell, next), me);

	if (cell == NULL)
		return space_alloc(r, REC_CHUNK_CELL, REC_CELL_BYTES, me);
	memset(cell, 0, sizeof(*cell));
	return cell;
}

struct rec_hist *
space_hist(struct recorder *r, uint32_t me)
{
	struct rec_hist *hist = take_freed(r, &r->head->free_hists, 0, me);

	if (hist == NULL)
		return space_alloc(r, REC_CHUNK_HIST, sizeof(*hist), me);
	memset(hist, 0, sizeof(*hist));
	return hist;
}

/* All series together take at most so much of the file. */
enum { SERIES_SHARE = 8, SERIES_BYTES_MAX = 64 << 20, SERIES_LEAVES_CHUNKS = 16 };

struct rec_series *
space_series(struct recorder *r, uint32_t me)
{
	struct rec_head *h = r->head;
	struct rec_series *s = take_freed(r, &h->free_series, 0, me);
	uint64_t most = r->bytes / SERIES_SHARE;

	if (s != NULL) {
		memset(s, 0, sizeof(*s));
		return s;
	}
	if (most > SERIES_BYTES_MAX)
		most = SERIES_BYTES_MAX;
	/* Never the last room, which is for what has to be recorded. */
	if (__atomic_load_n(&h->series, __ATOMIC_RELAXED) >= most / sizeof(*s) ||
	    rt_sealed || r->full || r->withdrawn != 0 ||
	    __atomic_load_n(&h->chunks, __ATOMIC_RELAXED) + SERIES_LEAVES_CHUNKS >=
		    chunks_possible(r))
		return NULL;
	s = space_alloc(r, REC_CHUNK_SERIES, sizeof(*s), me);
	if (s != NULL)
		__atomic_fetch_add(&h->series, 1, __ATOMIC_RELAXED);
	return s;
}

void
space_series_free(struct recorder *r, uint32_t ref, uint32_t me)
{
	while (ref > REC_SERIES_LOST) {
		struct rec_series *s = rec_at(r, ref);

		ref = rec_series_before(s);
		put_freed(r, &r->head->free_series, s, 0, me);
	}
}

void
space_cell_free(struct recorder *r, struct rec_cell *cell, uint32_t me)
{
	bool own = rec_ref(r, cell) == cell->site;
	uint32_t series = cell->series;

	cell->series = 0;
	space_series_free(r, series, me);
	if (cell->hist != 0)
		put_freed(r, &r->head->free_hists, rec_at(r, cell->hist), 0, me);
	cell->hist = 0;
	if (own) { /* zero for whoever takes it next, site last */
		__atomic_store_n(&cell->thread, 0, __ATOMIC_RELAXED);
		memset(&cell->series, 0,
		       sizeof(*cell) - offsetof(struct rec_cell, series));
	}
	/* readers see that it belongs to nobody */
	__atomic_store_n(&cell->site, 0, __ATOMIC_RELEASE);
	if (!own)
		put_freed(r, &r->head->free_cells, cell, offsetof(struct rec_cell, next),
			  me);
}

uint32_t
space_string(struct recorder *r, const char *s, uint32_t me)
{
	size_t n = text_len(s);
	struct rec_string *str;

	if (n > REC_PAGE_BYTES)
		n = REC_PAGE_BYTES; /* PATH_MAX; nothing longer can be opened anyway */
	str = space_alloc(r, REC_CHUNK_STRING,
			  (uint32_t)ALIGN_UP(sizeof(*str) + n + 1, 8ul), me);
	if (str == NULL)
		return 0;
	memcpy(str->text, s, n);
	__atomic_store_n(&str->bytes, (uint32_t)n, __ATOMIC_RELEASE);
	return rec_ref(r, str);
}

void
space_reserve(struct recorder *r, uint64_t bytes, uint32_t me)
{
	uint32_t most = chunks_possible(r);
	uint64_t upto;

	if (!lock_take(&r->head->locks[LOCK_SPACE], me))
		return;
	if (r->by_use) {
		uint32_t partly =
			r->head->chunks < CHUNKS_BY_USE ? r->head->chunks : CHUNKS_BY_USE;

		make_present(r->base, REC_CHUNKS_OFF);
		for (uint32_t i = 1; i <= partly; i++)
			chunk_present(r, rec_chunk_at(r, i), REC_CHUNK_BYTES);
		r->by_use = false;
	}
	upto = r->head->chunks + bytes / REC_CHUNK_BYTES;
	populate(r, upto > most ? most : (uint32_t)upto);
	lock_drop(&r->head->locks[LOCK_SPACE]);
}

bool
space_give_back(struct recorder *r, uint32_t me)
{
	uint64_t keep, had;
	bool any;

	space_cut(r, REC_FLAG_FULL | REC_FLAG_LIMIT_SPACE);
	/* Whoever holds it may be making chunks present that are not published yet. */
	if (!lock_take(&r->head->locks[LOCK_SPACE], me))
		return false;
	keep = REC_CHUNKS_OFF + (uint64_t)r->head->populated * REC_CHUNK_BYTES;
	had = r->bytes;
	any = keep < had;
	if (any) {
		r->bytes = keep; /* first: nobody believes in what is gone */
		COMPILER_BARRIER();
		sys_munmap(r->base + keep, had - keep);
	}
	lock_drop(&r->head->locks[LOCK_SPACE]);
	return any;
}

void
space_withdraw(struct recorder *r, uint32_t me)
{
	uint64_t keep;

	space_reserve(r, WITHDRAWN_RESERVE_BYTES, me); /* for others, meanwhile */
	if (!lock_take(&r->head->locks[LOCK_SPACE], me))
		return;
	keep = REC_CHUNKS_OFF + (uint64_t)r->head->populated * REC_CHUNK_BYTES;
	if (keep < r->bytes && r->withdrawn == 0 && !rt_sealed) {
		r->withdrawn = r->bytes;
		r->bytes = keep;
		COMPILER_BARRIER();
		sys_munmap(r->base + keep, r->withdrawn - keep);
	}
	lock_drop(&r->head->locks[LOCK_SPACE]);
}

void
space_return(struct recorder *r, uint32_t me)
{
	bool gone = false;

	if (!lock_take(&r->head->locks[LOCK_SPACE], me))
		return;
	SYS2(SYS_munlock, r->base, r->bytes);
	if (r->withdrawn != 0) {
		gone = SYS4(SYS_mremap, r->base, r->bytes, r->withdrawn, 0) !=
		       (long)r->base;
		if (!gone)
			r->bytes = r->withdrawn;
		r->withdrawn = 0;
	}
	if (gone)
		space_cut(r, REC_FLAG_FULL | REC_FLAG_LIMIT_SPACE);
	lock_drop(&r->head->locks[LOCK_SPACE]);
}
