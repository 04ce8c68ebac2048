/* SPDX-License-Identifier: MIT */
/* loss_watch.h -- repeated leak checks of one process: between which two of them each
 * lost block was lost.
 *
 * A block is known by its address and by when it was allocated: an address that was freed
 * and handed out again is another block. What is lost at a check, and was not at the one
 * before, was lost in between, and after its own allocation. Only lost blocks are kept,
 * and no more than LOSS_WATCH_BLOCKS of them; the rest is counted. A check that could not
 * be made makes the interval longer. */
#ifndef SEEP_SESSION_LOSS_WATCH_H
#define SEEP_SESSION_LOSS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/leak/classify.h"
#include "tool/model/prof.h"
#include "tool/session/leaks/leakcheck.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

enum {
	LOSS_WATCH_BLOCKS = 1 << 19,
	LOSS_WATCH_ROUNDS = 4096, /* kept; of more, neighbours are put together */
	LOSS_WATCH_SPANS = 64,	  /* intervals of one site and kind: likewise */
};

struct loss_watch_block {
	uint64_t addr, bytes;
	uint64_t from_ms, to_ms; /* it was lost between these */
	uint32_t site;		 /* the caller's */
	uint32_t birth_ms;	 /* 0 = not known */
	uint32_t round;		 /* the last at which it was lost */
	uint8_t kind;		 /* enum classify_kind */
	bool again;		 /* found again, or freed: it was not lost after all */
};

struct loss_watch_round {
	struct prof_round row; /* without process and why */
	char *why;	       /* it was not made; NULL = it was */
};

/* Legal when zeroed. */
struct loss_watch {
	/* Set by the caller: births and sites are not known, so that blocks are known by
	 * address and size. `site` is what the last check says. */
	bool by_address;
	struct map rows; /* address -> number of the block + 1 */
	VEC(struct loss_watch_block) blocks;
	VEC(struct loss_watch_block) found; /* by the check under way */
	uint64_t unfollowed;		    /* the same, for which there was no room */
	VEC(struct loss_watch_round) rounds;
	uint32_t made;	  /* checks */
	uint64_t last_ms; /* the last of them; 0 = none */
	/* What the last check found for the first time; the largest site of it. */
	uint64_t new_blocks, new_bytes;
	uint32_t new_site;
	uint64_t new_site_bytes;
};

void loss_watch_done(struct loss_watch *w);

/* A check begins; then each block that it finds lost. */
void loss_watch_begin(struct loss_watch *w);
void loss_watch_add(struct loss_watch *w, const struct scan_block *b, uint32_t birth_ms);

/* The check was made: the process stood still at `at_us`, on the caller's clock, for
 * `stop_ns`. `late`: longer than it should have. */
void loss_watch_made(struct loss_watch *w, uint64_t at_us, uint64_t stop_ns, bool late);

/* It could not be made; `at_ms` is when. */
void loss_watch_failed(struct loss_watch *w, uint64_t at_ms, const char *why);

/* The same for a leak check that took loss_watch_lost for its `lost`, and the watch for
 * its `lost_ctx`. `start_ns`: CLOCK_MONOTONIC at the beginning of the recording;
 * `max_ns`: how long it may stand still, 0 = any. */
void loss_watch_lost(void *watch, const struct scan_block *b, uint32_t birth_ms);
void loss_watch_take(struct loss_watch *w, const struct leakcheck *c, uint64_t start_ns,
		     uint64_t max_ns);

/* Intervals of the blocks that are lost now: for each site and kind in the order of
 * time. */
struct loss_watch_spans VEC_BODY(struct prof_moment);
void loss_watch_spans(const struct loss_watch *w, struct loss_watch_spans *ret);

/* Adds checks and intervals to `p`, whose row `process` was read from the recording:
 * prof_site.origin is the site. */
void loss_watch_save(const struct loss_watch *w, struct prof *p, uint32_t process);

#endif
