/* SPDX-License-Identifier: MIT */
/* runs.c -- the hash of a stack that no memo knows, many frames at a time.
 *
 * Frame by frame, a walk takes one load after the other: a return address gives the rule,
 * the rule the place of the next return address. But a frame that is left by adding a
 * constant to sp has its caller's return address at a distance that follows from its own:
 * so once a few frames have been seen after one another, a run of them, it can be checked
 * with loads that do not wait for each other whether the same follow here. Each
 * comparison that holds proves the next distance right, so what is counted is what
 * unwinding would have found, however deep the run lies on the stack this time. The part
 * of a run that fits is used, and the walk goes on behind it.
 *
 * Only for the thread's own stack, whose words can be read in any order. A run is known
 * by the return address it begins with, and made anew when it was of no use several
 * times. At 60 frames on 200 paths (bench/workloads/deep.c) a walk took 180 ns by runs
 * and 260 by rules alone, by a profile of the whole program. */
#include "guest/unwind/runs.h"

#include "guest/unwind/memo.h"

#define RUN_TRUST 15

struct runs_walk {
	struct unw_thread *t;
	uintptr_t pc, sp, bp;
	unsigned at; /* place of pc in the rules, see rules_get_next() */
	uint64_t hash, power;
	struct unw_run *making; /* NULL: none */
	uintptr_t making_sp;
	uint32_t making_bp;
};

#define F MEMO_HASH_FACTOR
static const uint64_t runs_powers[RUN_FRAMES + 1] = {
	1,
	F,
	F *F,
	F *F *F,
	F *F *F *F,
	F *F *F *F *F,
	F *F *F *F *F *F,
	F *F *F *F *F *F *F,
	F *F *F *F *F *F *F *F,
};
#undef F

enum runs_end { RUNS_ON, RUNS_STOP, RUNS_FAILED };

static ALWAYS_INLINE struct unw_run *
runs_place(struct unw_thread *t, uintptr_t pc)
{
	return &t->runs[rules_hash(pc, RUNS_BITS)];
}

static ALWAYS_INLINE bool
runs_inside(const struct runs_walk *w, uintptr_t cfa)
{
	return (cfa & 7) == 0 && w->sp >= w->t->lo && cfa > w->sp && cfa <= w->t->hi;
}

/* Leaves as many frames as `r` has right: none, if its first is not the caller. */
static ALWAYS_INLINE unsigned
runs_follow(struct runs_walk *w, const struct unw_run *r)
{
	unsigned n = 0;

	if (UNLIKELY(!runs_inside(w, w->sp + r->cfas[r->count - 1])))
		return 0;
	while (n < r->count &&
	       LIKELY(*(const uintptr_t *)(w->sp + r->cfas[n] - 8) == r->pcs[n]))
		n++;
	if (n == 0)
		return 0;
	w->hash += w->power * r->hashes[n - 1];
	w->power *= runs_powers[n];
	w->pc = r->pcs[n - 1];
	if (r->bp_slots[n - 1] != RUN_BP_KEPT)
		w->bp = *(const uintptr_t *)(w->sp + r->bp_slots[n - 1]);
	w->sp += r->cfas[n - 1];
	return n;
}

/* Leaves one frame, by its rule, which is in *ret_rule. */
static ALWAYS_INLINE enum runs_end
runs_step(struct runs_walk *w, uint64_t *ret_rule)
{
	struct unw_thread *t = w->t;
	uint64_t rule = rules_get_next(t->shared, &t->scratch, w->pc, &w->at);
	int64_t bp_off = arch_rule_bp(rule);
	uintptr_t cfa;

	*ret_rule = rule;
	w->hash += w->power * memo_own_hash(w->pc, rule);
	w->power *= MEMO_HASH_FACTOR;
	if (UNLIKELY(rule_kind(rule) > RULE_BP))
		return rule_kind(rule) == RULE_STOP ? RUNS_STOP : RUNS_FAILED;
	cfa = (rule_kind(rule) == RULE_SP ? w->sp : w->bp) +
	      (uintptr_t)arch_rule_cfa(rule);
	if (UNLIKELY(!runs_inside(w, cfa)))
		return RUNS_FAILED;
	if (bp_off != 0) {
		uintptr_t slot = cfa + (uintptr_t)bp_off;

		if (UNLIKELY(slot < w->sp || slot >= cfa))
			return RUNS_FAILED;
		w->bp = *(const uintptr_t *)slot;
	}
	w->pc = *(const uintptr_t *)(cfa - 8);
	w->sp = cfa;
	return LIKELY(w->pc != 0) ? RUNS_ON : RUNS_FAILED;
}

/* A run begins at the frame that the walk is at. */
static void
runs_begin(struct runs_walk *w, struct unw_run *r)
{
	r->count = 0;
	COMPILER_BARRIER();
	r->pc = w->pc;
	r->generation = w->t->hot.generation;
	r->trust = RUN_TRUST;
	w->making = r;
	w->making_sp = w->sp;
	w->making_bp = RUN_BP_KEPT;
}

/* A frame of the run has been left by `rule`. */
static void
runs_add(struct runs_walk *w, uint64_t rule, uint64_t own_hash)
{
	static const unsigned last = RUN_FRAMES - 1;
	struct unw_run *r = w->making;
	unsigned n = r->count;

	if (rule_kind(rule) != RULE_SP || w->sp - w->making_sp > INT32_MAX) {
		w->making = NULL;
		return;
	}
	if (arch_rule_bp(rule) != 0)
		w->making_bp =
			(uint32_t)(w->sp + (uintptr_t)arch_rule_bp(rule) - w->making_sp);
	r->pcs[n] = w->pc;
	r->hashes[n] = (n > 0 ? r->hashes[n - 1] : 0) + runs_powers[n] * own_hash;
	r->cfas[n] = (uint32_t)(w->sp - w->making_sp);
	r->bp_slots[n] = w->making_bp;
	COMPILER_BARRIER();
	r->count = (uint16_t)(n + 1);
	if (n == last)
		w->making = NULL;
}

/* Goes on by a run if there is one that fits, and says how many frames it left; else
 * makes one from here, unless that which is in its place was good lately. */
static ALWAYS_INLINE unsigned
runs_try(struct runs_walk *w)
{
	struct unw_run *r = runs_place(w->t, w->pc);

	if (LIKELY(r->pc == w->pc && r->generation == w->t->hot.generation)) {
		unsigned n;

		if (r->count == 0)
			return 0; /* such a frame begins no run */
		n = runs_follow(w, r);
		if (LIKELY(n != 0)) {
			w->at = rules_before(w->pc);
			if (UNLIKELY(r->trust < RUN_TRUST) && n == r->count)
				r->trust++;
			return n;
		}
	}
	if (r->trust != 0)
		r->trust--;
	else
		runs_begin(w, r);
	return 0;
}

uint64_t
runs_hash(struct unw_thread *t, const struct unw_start *start)
{
	struct runs_walk w = {
		.t = t,
		.pc = arch_strip(start->pc),
		.sp = start->sp,
		.bp = start->bp,
		.at = rules_before(start->pc),
		.power = 1,
	};
	enum runs_end end = RUNS_ON;
	unsigned frames = 0;

	if (!ARCH_RA_FIXED)
		return 0;
	while (end == RUNS_ON && frames < UNW_EXACT_MAX) {
		unsigned n = w.making == NULL ? runs_try(&w) : 0;
		uintptr_t pc = w.pc;
		uint64_t rule;

		if (n == 0) {
			end = runs_step(&w, &rule);
			if (w.making != NULL && end == RUNS_ON)
				runs_add(&w, rule, memo_own_hash(pc, rule));
			n = 1;
		}
		frames += n;
	}
	if (end != RUNS_STOP || frames > UNW_EXACT_MAX)
		return 0;
	return w.hash + w.power * MEMO_HASH_ROOT;
}
