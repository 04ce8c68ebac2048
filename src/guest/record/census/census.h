/* SPDX-License-Identifier: MIT */
/* census.h -- what the recorder holds, added up for a profile: inside the target, while
 * it runs.
 *
 * The contract, for the peers' dump writers (preload/):
 *
 * 	struct census c;
 * 	if (census_take(recorder_now, CENSUS_THREADS, NULL, &c) == 0) {
 * 		for (uint32_t i = 0; i < c.nsites; i++) {
 * 			const struct census_site *s = &c.sites[i];
 * uint32_t n = census_frames(recorder_now, s->node, pcs, ARRAY_LEN(pcs));
 * ... s->n.live_blocks, s->n.live_bytes, s->n.allocs, s->n.alloc_bytes ...
 * for (uint32_t k = s->first; k != CENSUS_NONE; k = c.shares[k].next)
 * ... c.threads[c.shares[k].thread].serial, c.shares[k].n ...
 * 		}
 * 		census_done(&c);
 * 	}
 *
 * No lock is taken and none of the program's threads is waited for or made to wait: what
 * changes under the walk is read again, and after a few times taken as it is. Memory is
 * mapped for the census alone and given back by census_done; nothing is allocated, no
 * libc is called. It needs no thread state, so it may run in a signal handler, busy or
 * not. Several may run at a time.
 *
 * Figures. Exact recordings: blocks and requested bytes, and `*_est` is blocks *
 * CENSUS_ONE. Sampled ones: *_blocks and allocs count samples; *_bytes are the unbiased
 * estimates, and *_est the estimated number of blocks, in 1/CENSUS_ONE.
 *
 * Sites may be listed with all figures 0: skip them. mmap's and brk's are without
 * CENSUS_MAPPINGS. */
#ifndef SEEP_CENSUS_H
#define SEEP_CENSUS_H

#include "guest/record/file/recorder.h"

enum {
	CENSUS_ONE = 1024,
	CENSUS_NONE = UINT32_MAX,
};

enum census_flags {
	/* Fill threads and shares. A live block then belongs to the thread that allocated
	 * it; the table of live blocks is walked for that once there was a second
	 * thread. */
	CENSUS_THREADS = 1 << 0,
	/* Sites of mappings (mmap, brk) keep their figures; they are never in the
	 * sums. */
	CENSUS_MAPPINGS = 1 << 1,
};

struct census_count {
	int64_t live_blocks, live_bytes, live_est;
	uint64_t allocs, alloc_bytes, alloc_est;
};

struct census_site {
	uint32_t ref;	/* of the struct rec_site */
	uint32_t node;	/* its innermost frame, for census_frames */
	uint32_t first; /* its shares, by `next`; CENSUS_NONE = none */
	uint32_t class; /* enum rec_class: heap or mappings */
	struct census_count n;
};

/* What one thread did at one site. Cumulative figures of ended threads are in the site's
 * alone. */
struct census_share {
	uint32_t site;	 /* index in sites */
	uint32_t thread; /* index in threads */
	uint32_t next;
	uint32_t key; /* hash chain */
	struct census_count n;
};

struct census_thread {
	uint32_t serial; /* 1 = the first thread, counts up */
	uint32_t tid;	 /* 0 = it has ended */
	uint32_t shares; /* how many sites it has to do with, before the base too */
	char name[16];	 /* as the kernel had it at its first event; "" if ended */
	struct census_count n;
};

/* One growing array of its own mapping. */
struct census_area {
	void *at;
	size_t bytes;
};

struct census {
	struct census_site *sites;
	struct census_share *shares;
	struct census_thread *threads;
	uint32_t nsites, nshares, nthreads;
	struct census_count n; /* of the whole process */
	/* private */
	struct census_area site_area, share_area, thread_area, key_area, chunk_area,
		hash_area;
	uint32_t serial_mask;
	uint32_t hash_mask;
	uint32_t nchunks;
};

/* Take it. `base`, or NULL, is an earlier census of the same recorder whose cumulative
 * figures are subtracted (census_forget). Returns 0, or -ENODATA when nothing is
 * recorded, -ENOMEM; `ret` is then empty. */
int census_take(const struct recorder *r, unsigned flags, const struct census *base,
		struct census *ret);
void census_done(struct census *c); /* an empty one is fine */

/* Return addresses of a stack, innermost first; frames beyond `max` are cut off at the
 * outer end. Markers (truncated, left out) and the frame of ours that called main are
 * skipped. Returns how many. */
uint32_t census_frames(const struct recorder *r, uint32_t node, uint64_t *ret,
		       uint32_t max);

/* Every block that is live now counts as freed; frees that come later for it are ignored.
 * What is recorded meanwhile by other threads may or may not be among them. `t` is the
 * caller's own, and it is inside the gate. */
void census_forget_live(struct recorder *r, struct thread *t);

#endif
