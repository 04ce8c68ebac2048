/* SPDX-License-Identifier: MIT */
/* memo.h -- a thread's last stack, and the walk that replaces the part of it that
 * changed. Inside the unwinder only; memo.c says how and why it is sound. */
#ifndef SEEP_UNWIND_MEMO_H
#define SEEP_UNWIND_MEMO_H

#include "guest/unwind/rules.h"
#include "guest/unwind/runs.h"
#include "guest/unwind/unwind_fast.h"

#define MEMO_FRAMES 16384

/* One frame as it was when the walk came to it. */
struct memo_frame {
	uintptr_t pc;  /* see unw_ops.node */
	uint64_t rule; /* how it was left */
	uintptr_t sp;  /* lowest bit set: not known, only frame records are followed */
	uint32_t node; /* of the first `noded` frames */
	/* Of the first `clean` frames: how many checks this frame and those outside of it
	 * need, times two, plus one when leaving them depends on bp. */
	uint32_t checks_bp;
	uintptr_t bp;
	/* of this frame and all outside of it; of the first `hashed` frames */
	uint64_t hash;
};

/* A stack that was the last one some time ago, complete: programs alternate between a
 * few. */
#define MEMO_SPARE_SET_BITS 5
#define MEMO_SPARE_WAYS 4 /* that may begin with the same frame */
#define MEMO_SPARES (MEMO_SPARE_WAYS << MEMO_SPARE_SET_BITS)
#define MEMO_SPARE_CHECKS 64

struct memo_spare {
	uintptr_t sp; /* 0: free */
	uintptr_t pc;
	uintptr_t bp, bp_mask;
	uint32_t generation;
	uint32_t node;
	uint32_t count;
	bool truncated;
	/* As unw_thread.checks: the first never matches, the innermost is the last. */
	struct unw_check checks[MEMO_SPARE_CHECKS + 1];
};

/* Frames lie outermost first, so that what stays stays in place. */
struct unw_thread {
	struct unw_hot hot; /* must be first */
	struct unw_shared *shared;
	void *arg;
	uintptr_t lo, hi; /* the thread's own stack; equal when not known */
	uint32_t n;	  /* frames kept */
	uint32_t clean; /* frames that may be reused: none opaque among or outside them */
	uint32_t noded; /* frames that have an id */
	uint32_t hashed;			/* frames that have a hash */
	bool truncated, elided;			/* the stack kept */
	uint32_t window, backoff, backoff_next; /* walks; see memo_judge() */
	uint64_t window_frames, window_reused;
	struct unw_stats stats; /* without hot.hits */
	uintptr_t zero;		/* always 0, read by the check that never matches */
	struct unw_regs regs;
	struct memo_spare spares[MEMO_SPARES];
	bool spares_kept; /* false: all are free, and their pages need not be touched */
	uint32_t spare_turn;		     /* which way is replaced next */
	const struct memo_spare *spare_last; /* the one that was hit last */
	uint64_t spare_hits;		     /* in all; and at the last look at them */
	uint64_t spare_hits_before;
	uint32_t spare_misses;
	uint32_t spare_run; /* hits since one of the stack before */
	/* walks for which the spares are left alone: they were of no use */
	uint32_t spare_rest;
	struct cfi_scratch scratch;
	struct unw_run runs[1 << RUNS_BITS];
	struct unw_check checks[3 * MEMO_FRAMES + 2];
	struct memo_frame frames[MEMO_FRAMES];
};

enum walk_end {
	WALK_ON,
	WALK_TAIL,	/* the rest is the memo's */
	WALK_STOP,	/* outermost frame reached */
	WALK_ZERO,	/* its return address is 0, read from walk.zero_slot */
	WALK_TRUNCATED, /* there is more, but not for us */
	WALK_HARD,	/* all registers are needed */
};

/* One walk in progress. Fresh frames are written from the far end of `frames` downwards,
 * innermost first, hence in the same order as those kept. */
struct walk {
	struct unw_thread *t;
	const struct unw_start *start;
	struct memo_frame *fresh; /* the last one written */
	struct memo_frame *floor; /* not to be overwritten below */
	uint32_t count;		  /* fresh frames */
	uint32_t candidates;	  /* frames of the memo that may still be met */
	uint32_t kept;		  /* of the memo, with WALK_TAIL */
	/* The hash of the whole is `hash` plus `power` times that of the frames
	 * outside. */
	uint64_t hash, power;
	const uintptr_t *zero_slot;
	bool wrapped; /* more frames than there is room for; the middle is lost */
	bool use_memo;
};

void walk_init(struct walk *w, struct unw_thread *t, const struct unw_start *start,
	       bool use_memo);

/* Makes room where there is none; called by walk_push() only. */
void walk_overflow(struct walk *w);

static ALWAYS_INLINE struct memo_frame *
walk_push(struct walk *w, uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
	struct memo_frame *f;

	if (UNLIKELY(w->fresh == w->floor))
		walk_overflow(w);
	f = --w->fresh;
	w->count++;
	f->pc = pc;
	f->sp = sp;
	f->bp = bp;
	return f;
}

/* A frame's own part of the hash. The module is in it, in the upper bits of an address:
 * another one may have had this address. */
static ALWAYS_INLINE uint64_t
memo_own_hash(uintptr_t pc, uint64_t rule)
{
	return pc ^ rule << 40;
}

#define MEMO_HASH_FACTOR UINT64_C(0x2545f4914f6cdd1d)
#define MEMO_HASH_ROOT 1u /* of what lies outside of the outermost frame: nothing */

/* The id that a stack with this hash was given before, or 0. Nothing has the hash 0. */
uint32_t memo_recall(const struct unw_thread *t, uint64_t hash);

/* Takes the last one back: it is the memo's. */
static inline void
walk_pop(struct walk *w)
{
	w->fresh++;
	w->count--;
}

/* Tries the candidate that has the sp of `f`; true when the memo holds from there on. */
bool memo_try(struct walk *w, const struct memo_frame *f);

/* Is the frame `f` in the memo, and all outside of it unchanged? */
static ALWAYS_INLINE bool
memo_match(struct walk *w, const struct memo_frame *f)
{
	const struct memo_frame *frames = w->t->frames;
	uint32_t n = w->candidates;

	while (n > 0 && frames[n - 1].sp < f->sp)
		n--;
	w->candidates = n;
	return n > 0 && frames[n - 1].sp == f->sp && memo_try(w, f);
}

/* Nothing is kept any more. */
void memo_clear(struct unw_thread *t);

/* Adds what hits did since the last walk to the figures. */
void memo_fold_some_hits(struct unw_thread *t);

static ALWAYS_INLINE void
memo_fold_hits(struct unw_thread *t)
{
	if (t->hot.hits != 0)
		memo_fold_some_hits(t);
}

/* ---- spares ---- */

/* So many hits of spares running, and nothing is hit before they are asked. */
#define MEMO_SPARE_RUN 8

/* Where a stack that starts at `pc` and `sp` may be kept. The stack pointer is added, not
 * hashed: it is a multiple of 16, stacks that alternate lie near each other, and a larger
 * environment moves all of them by the same distance, so which ones share a set does not
 * depend on it. */
static ALWAYS_INLINE struct memo_spare *
memo_spares_of(struct unw_thread *t, uintptr_t pc, uintptr_t sp)
{
	uint64_t h = pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MEMO_SPARE_SET_BITS);
	uint64_t set = (h + (sp >> 4)) & ((1u << MEMO_SPARE_SET_BITS) - 1);

	return &t->spares[set * MEMO_SPARE_WAYS];
}

/* The order matters, as in unwind_fast.h: no word is read before all inside of it were
 * equal. Two at a time only saves counting. */
static ALWAYS_INLINE bool
memo_spare_same(const struct unw_thread *t, const struct memo_spare *s,
		const struct unw_start *start)
{
	const struct unw_check *c = &s->checks[s->count];

	if (s->sp != start->sp || s->pc != start->pc ||
	    ((s->bp ^ start->bp) & s->bp_mask) != 0 || s->generation != t->hot.generation)
		return false;
	for (; LIKELY(*c[0].slot == c[0].value); c -= 2) {
		if (UNLIKELY(*c[-1].slot != c[-1].value)) {
			c--;
			break;
		}
	}
	return c == s->checks; /* the one that never matches */
}

/* Hit this one first from now on. */
void memo_promote(struct unw_thread *t, const struct memo_spare *s);

/* Frees all of them. */
void memo_clear_spares(struct unw_thread *t);

/* None of them: they are left alone for a while when that is usual. */
void memo_spare_missed(struct unw_thread *t);

/* Id of the stack at `start` if it is one of the spare ones, else 0. */
static ALWAYS_INLINE uint32_t
memo_spare_hit(struct unw_thread *t, const struct unw_start *start)
{
	const struct memo_spare *s = memo_spares_of(t, start->pc, start->sp);

	if (UNLIKELY(t->spare_rest > 0)) {
		t->spare_rest--;
		return 0;
	}
	for (unsigned i = 0; i < MEMO_SPARE_WAYS; i++, s++) {
		if (!memo_spare_same(t, s, start))
			continue;
		t->spare_hits++;
		t->stats.frames_reused += s->count;
		t->stats.truncated += s->truncated;
		/* Twice running it is the last stack again. Not at once, for most
		 * alternate. */
		if (t->spare_last == s)
			memo_promote(t, s);
		else if (++t->spare_run >= MEMO_SPARE_RUN)
			t->hot.sp = 0;
		t->spare_last = s;
		return s->node;
	}
	memo_spare_missed(t);
	return 0;
}

/* Makes the stack just walked the memo; with `ids`, returns its id, else 0. */
uint32_t memo_commit(struct walk *w, enum walk_end end, bool ids);

#endif
