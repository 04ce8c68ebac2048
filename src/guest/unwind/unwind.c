/* SPDX-License-Identifier: MIT */
/* unwind.c -- walks a stack from the hook outwards.
 *
 * Frame by frame: look whether the memo goes on from here (memo.c); else look up the rule
 * of the return address (rules.c) and apply it to three registers. Where three do not
 * suffice the walk starts again with all of them, taken from the function below and led
 * through our own frames by our own tables (full.c).
 *
 * What keeps a damaged stack or a wrong table from doing harm:
 * - the CFA must be above the stack pointer and a multiple of 8; each step goes up;
 * - on the thread's own stack, whose bounds are known, it stays below the upper one, and
 *   so do all reads. On other stacks one step is at most 16 MiB;
 * - the walk may change to another stack only where a rule says so that is hard (signal
 *   frames among them) or that computes from bp and leads to the thread's own stack, as
 *   code does that runs a function on a stack of its own. The latter can happen once, the
 *   former eight times;
 * - a frame without a table is left by its frame record only if that lies on the thread's
 *   own stack, above the stack pointer, and less than 1 MiB away;
 * - a walk ends after a million frames. Wherever one of these fails, the stack ends in
 *   UNW_NODE_TRUNCATED. */
#include "guest/unwind/unwind.h"

#include "guest/unwind/full.h"
#include "guest/unwind/memo.h"

#define WALK_STEP_MAX ((uintptr_t)16 << 20)
#define WALK_RECORD_MAX ((uintptr_t)1 << 20)
#define WALK_FRAMES_MAX (1u << 20)
#define WALK_OWN_MAX 64 /* frames of ours between walk_full() and the hook's caller */
#define WALK_TOP 64	/* bytes */
#define WALK_BACK_MAX 8 /* changes to a lower stack */

struct walk_state {
	uintptr_t pc, sp, bp;
};

static ALWAYS_INLINE bool
walk_on_own_stack(const struct unw_thread *t, uintptr_t sp)
{
	return sp - t->lo < t->hi - t->lo;
}

/* May a frame at `sp` have this CFA? *ret_lowest is where its saved registers may
 * begin. */
static ALWAYS_INLINE bool
walk_sane(const struct unw_thread *t, uintptr_t sp, uintptr_t cfa, uintptr_t *ret_lowest)
{
	bool own = walk_on_own_stack(t, sp);
	uintptr_t room = own ? t->hi - sp : WALK_STEP_MAX;

	/* Interrupted in an epilogue, a frame has its saved registers below the stack
	 * pointer. */
	*ret_lowest = sp - ARCH_RED_ZONE;
	if (UNLIKELY((cfa & 7) != 0))
		return false;
	if (LIKELY(cfa - sp - 1 < room))
		return true;
	*ret_lowest = t->lo;
	return !own && cfa - t->lo - 1 < t->hi - t->lo;
}

/* May the frame record at `bp` be followed? */
static bool
walk_record_sane(const struct unw_thread *t, uintptr_t sp, uintptr_t bp)
{
	uintptr_t at = sp & ~(uintptr_t)7;

	return walk_on_own_stack(t, at) && (bp & 7) == 0 && bp >= at &&
	       bp - at < WALK_RECORD_MAX && t->hi - bp >= 16 && bp < t->hi;
}

/* The frame's return address is in `slot`: on to its caller. */
static ALWAYS_INLINE enum walk_end
walk_return(struct walk *w, struct walk_state *st, uintptr_t slot, uintptr_t cfa)
{
	uintptr_t raw = *(const uintptr_t *)slot;

	if (UNLIKELY(raw == 0)) {
		w->zero_slot = (const uintptr_t *)slot;
		return WALK_ZERO;
	}
	st->pc = arch_strip(raw);
	st->sp = cfa;
	return WALK_ON;
}

/* Leaves a frame by RULE_SP or RULE_BP. */
static ALWAYS_INLINE enum walk_end
walk_step(struct walk *w, struct walk_state *st, uint64_t rule)
{
	uintptr_t base = rule_kind(rule) == RULE_SP ? st->sp : st->bp;
	uintptr_t cfa = base + (uintptr_t)arch_rule_cfa(rule), lowest;
	uintptr_t ra_slot = cfa + (uintptr_t)arch_rule_ra(rule);
	int64_t bp_off = arch_rule_bp(rule);

	if (UNLIKELY(!walk_sane(w->t, st->sp, cfa, &lowest)))
		return WALK_TRUNCATED;
	if (!ARCH_RA_FIXED && UNLIKELY(ra_slot - lowest >= cfa - lowest))
		return WALK_TRUNCATED;
	if (bp_off != 0) {
		uintptr_t slot = cfa + (uintptr_t)bp_off;

		if (UNLIKELY(slot - lowest >= cfa - lowest))
			return WALK_TRUNCATED;
		st->bp = *(const uintptr_t *)slot;
	}
	return walk_return(w, st, ra_slot, cfa);
}

/* Leaves a frame by RULE_DRAP: both words lie near bp, which is at the frame's upper
 * end. */
static enum walk_end
walk_step_drap(struct walk *w, struct walk_state *st, uint64_t rule)
{
	uintptr_t cfa_slot = st->bp + (uintptr_t)arch_rule_cfa(rule);
	uintptr_t bp_slot = st->bp + (uintptr_t)arch_rule_bp(rule), cfa, lowest;

	/* A record at either place would be sane: so is a word. */
	if (!walk_sane(w->t, st->sp, cfa_slot + 8, &lowest) || cfa_slot < lowest ||
	    !walk_sane(w->t, st->sp, bp_slot + 8, &lowest) || bp_slot < lowest)
		return WALK_TRUNCATED;
	cfa = *(const uintptr_t *)cfa_slot;
	if (!walk_sane(w->t, st->sp, cfa, &lowest))
		return WALK_TRUNCATED;
	st->bp = *(const uintptr_t *)bp_slot;
	return walk_return(w, st, cfa - 8, cfa);
}

/* Nothing can be outside of a frame at the very top of the thread's stack: that is where
 * the kernel started the process, in code of the loader that has no table. */
static bool
walk_at_top(const struct unw_thread *t, uintptr_t sp)
{
	return t->hi != t->lo && sp <= t->hi && t->hi - sp <= WALK_TOP;
}

/* Leaves a frame by its frame record. Where that does not tell the CFA, the lowest bit of
 * sp says so, and all frames outside are left in the same way. */
static enum walk_end
walk_step_chain(struct walk *w, struct walk_state *st)
{
	uintptr_t record = st->bp;

	if (!walk_record_sane(w->t, st->sp, record))
		return walk_at_top(w->t, st->sp) ? WALK_STOP : WALK_TRUNCATED;
	st->bp = *(const uintptr_t *)record;
	return walk_return(w, st, record + 8, (record + 16) | !ARCH_CHAIN_KEEPS_SP);
}

/* Leaves `f` by any other rule. */
static NOINLINE enum walk_end
walk_step_rare(struct walk *w, const struct memo_frame *f, struct walk_state *ret_next)
{
	*ret_next = (struct walk_state){f->pc, f->sp, f->bp};
	switch (rule_kind(f->rule)) {
	case RULE_STOP:
		return WALK_STOP;
	case RULE_CHAIN:
		return walk_step_chain(w, ret_next);
	case RULE_DRAP:
		return walk_step_drap(w, ret_next, f->rule);
	default:
		return WALK_HARD;
	}
}

/* The frames from `w->fresh` down to `f` are written. */
static ALWAYS_INLINE void
walk_wrote(struct walk *w, struct memo_frame *f)
{
	w->count += (uint32_t)(w->fresh - f);
	w->fresh = f;
}

/* What changes with every frame is kept in local variables, that is, in registers. */
static enum walk_end
walk_fast(struct walk *w)
{
	struct unw_thread *t = w->t;
	struct walk_state st = {arch_strip(w->start->pc), w->start->sp, w->start->bp};
	struct memo_frame *f = w->fresh;
	unsigned at = rules_before(w->start->pc);
	uint64_t hash = 0, power = 1;
	enum walk_end end;

	do {
		uint64_t rule;

		if (UNLIKELY(f == w->floor)) {
			walk_wrote(w, f);
			if (w->count >= WALK_FRAMES_MAX) {
				end = WALK_TRUNCATED;
				break;
			}
			walk_overflow(w);
			f = w->fresh;
		}
		f--;
		f->pc = st.pc;
		f->sp = st.sp;
		f->bp = st.bp;
		if (w->candidates != 0 && memo_match(w, f)) {
			f++; /* it is the memo's */
			w->kept = w->candidates;
			end = WALK_TAIL;
			break;
		}
		rule = rules_get_next(t->shared, &t->scratch, st.pc, &at);
		if (!ARCH_CHAIN_KEEPS_SP && (st.sp & 1) != 0 &&
		    rule_kind(rule) != RULE_STOP)
			rule = rule_chain(rule_module(rule));
		f->rule = rule;
		hash += power * memo_own_hash(st.pc, rule);
		power *= MEMO_HASH_FACTOR;
		if (LIKELY(rule_kind(rule) <= RULE_BP)) {
			end = walk_step(w, &st, rule);
		} else {
			struct walk_state next; /* keeps st itself in registers */

			end = walk_step_rare(w, f, &next);
			st.pc = next.pc;
			st.sp = next.sp;
			st.bp = next.bp;
		}
	} while (end == WALK_ON);
	walk_wrote(w, f);
	w->hash = hash;
	w->power = power;
	return end;
}

/* Leaves the frame at t->regs, whose rule is `rule`, found as `how` says. */
static enum walk_end
walk_full_step(struct walk *w, enum full_how how, uint64_t rule)
{
	struct unw_thread *t = w->t;
	struct unw_regs *regs = &t->regs;
	struct walk_state st = {regs->pc, regs->r[ARCH_REG_SP], regs->r[ARCH_REG_FP]};
	enum walk_end end;

	switch (rule_kind(rule)) {
	case RULE_STOP:
		return WALK_STOP;
	case RULE_CHAIN:
		end = walk_step_chain(w, &st);
		if (end == WALK_ON)
			full_apply_chain(regs);
		return end;
	case RULE_SP:
	case RULE_BP:
		/* first as always, for the same checks and the same end */
		end = walk_step(w, &st, rule);
		break;
	case RULE_DRAP:
		end = walk_step_drap(w, &st, rule);
		break;
	default:
		end = WALK_ON;
	}
	if (end != WALK_ON)
		return end;
	if (how == FULL_SIGRETURN)
		arch_sigreturn_regs(regs);
	else if (!full_apply(&t->scratch, regs))
		return WALK_TRUNCATED;
	if (regs->pc == 0)
		return WALK_STOP;
	return (regs->r[ARCH_REG_SP] & 7) == 0 ? WALK_ON : WALK_TRUNCATED;
}

/* Leaves our own frames, from those in t->regs to the hook's caller. */
static bool
walk_own_frames(struct walk *w)
{
	struct unw_thread *t = w->t;
	uintptr_t pc = arch_strip(w->start->pc);
	uint64_t rule;

	for (unsigned i = 0; i < WALK_OWN_MAX; i++) {
		if (t->regs.pc == pc && t->regs.r[ARCH_REG_SP] == w->start->sp)
			return true;
		if (full_find(t->shared, &t->scratch, &t->regs, &rule) != FULL_TABLE ||
		    !full_apply(&t->scratch, &t->regs))
			return false;
	}
	return false;
}

/* The walk with all registers. Starts anew; when our own frames cannot be left, the fast
 * walk's frames stand and the stack ends at the frame it could not leave. */
static NOINLINE enum walk_end
walk_full(struct walk *w)
{
	struct unw_thread *t = w->t;
	struct unw_regs *regs = &t->regs;
	unsigned back = 0;
	enum walk_end end;

	t->stats.full++;
	arch_regs_here(regs);
	if (!walk_own_frames(w))
		return WALK_TRUNCATED;
	walk_init(w, t, w->start, w->use_memo);
	do {
		uintptr_t sp = regs->r[ARCH_REG_SP];
		struct memo_frame *f =
			walk_push(w, full_address(regs), sp, regs->r[ARCH_REG_FP]);
		enum full_how how;

		if (memo_match(w, f)) {
			walk_pop(w);
			w->kept = w->candidates;
			return WALK_TAIL;
		}
		how = full_find(t->shared, &t->scratch, regs, &f->rule);
		w->hash += w->power * memo_own_hash(f->pc, f->rule);
		w->power *= MEMO_HASH_FACTOR;
		end = walk_full_step(w, how, f->rule);
		if (end == WALK_ON && regs->r[ARCH_REG_SP] <= sp &&
		    ++back > WALK_BACK_MAX)
			end = WALK_TRUNCATED;
		if (w->count >= WALK_FRAMES_MAX && end == WALK_ON)
			end = WALK_TRUNCATED;
	} while (end == WALK_ON);
	return end;
}

/* Walks the stack; the memo is used only if it may be. */
static enum walk_end
walk_run(struct walk *w)
{
	enum walk_end end = walk_fast(w);

	return LIKELY(end != WALK_HARD) ? end : walk_full(w);
}

/* A memo of rules that were forgotten is cleared, and the one to come gets today's
 * date. */
static void
walk_date(struct unw_thread *t)
{
	uint32_t now = __atomic_load_n(&t->shared->generation, __ATOMIC_ACQUIRE);

	if (t->hot.generation == now)
		return;
	memo_clear(t);
	t->hot.generation = now;
}

/* Apart from unw_walk(), which seldom needs the room of a walk and the registers. */
static NOINLINE uint32_t
walk_anew(struct unw_thread *t, const struct unw_start *start)
{
	struct walk w;
	bool use_memo = t->backoff == 0;
	uint32_t id;

	if (!use_memo) {
		t->backoff--;
		id = memo_recall(t, runs_hash(t, start));
		if (id != 0) {
			t->stats.stacks++;
			return id;
		}
	}
	walk_init(&w, t, start, use_memo);
	return memo_commit(&w, walk_run(&w), true);
}

uint32_t
unw_walk(struct unw_thread *t, const struct unw_start *start)
{
	uint32_t id;

	memo_fold_hits(t);
	walk_date(t);
	id = memo_spare_hit(t, start);
	return LIKELY(id != 0) ? id : walk_anew(t, start);
}

uint32_t
unw_stack(struct unw_thread *t, const struct unw_start *start)
{
	uint32_t id = unw_hit(t, start);

	return LIKELY(id != 0) ? id : unw_walk(t, start);
}

/* Copies out the addresses of a walk that was not committed. */
static unsigned
walk_addresses(const struct walk *w, uintptr_t *ret_pcs, unsigned max)
{
	const struct memo_frame *leaf = w->t->frames + MEMO_FRAMES - 1;
	unsigned n = w->wrapped ? UNW_KEEP_INNER : w->count;

	n = n < max ? n : max;
	for (unsigned i = 0; i < n; i++)
		ret_pcs[i] = leaf[-(ptrdiff_t)i].pc;
	return n;
}

unsigned
unw_addresses(struct unw_thread *t, const struct unw_start *start, uintptr_t *ret_pcs,
	      unsigned max, bool use_memo)
{
	struct walk w;
	enum walk_end end;

	memo_fold_hits(t);
	walk_date(t);
	if (use_memo && unw_same(&t->hot, start)) {
		t->stats.stacks++;
		t->stats.hits++;
		t->stats.frames_reused += t->n;
	} else {
		walk_init(&w, t, start, use_memo);
		end = walk_run(&w);
		if (!use_memo || w.wrapped)
			return walk_addresses(&w, ret_pcs, max);
		memo_commit(&w, end, false);
	}
	max = t->n < max ? t->n : max;
	for (unsigned i = 0; i < max; i++)
		ret_pcs[i] = t->frames[t->n - 1 - i].pc;
	return max;
}

size_t
unw_thread_bytes(void)
{
	return sizeof(struct unw_thread);
}

void
unw_thread_init(struct unw_thread *t, struct unw_shared *s, void *arg)
{
	memo_clear(t);
	memo_clear_spares(t); /* memory that is new is zero already */
	t->shared = s;
	t->arg = arg;
	t->lo = t->hi = 0;
	t->window = t->backoff = t->backoff_next = 0;
	t->window_frames = t->window_reused = 0;
	t->stats = (struct unw_stats){0};
	t->spare_hits = t->spare_hits_before = 0;
	t->zero = 0;
	t->checks[0] = (struct unw_check){.slot = &t->zero, .value = 1};
	t->hot = (struct unw_hot){.generation_now = &s->generation,
				  .checks_end = t->checks};
}

void
unw_thread_bounds(struct unw_thread *t, uintptr_t lo, uintptr_t hi)
{
	memo_fold_hits(t);
	memo_clear(t);
	memo_clear_spares(t); /* what ended at the old bounds may go on now */
	t->lo = lo;
	t->hi = lo < hi ? hi : lo;
}

void
unw_thread_stats(const struct unw_thread *t, struct unw_stats *ret_stats)
{
	uint64_t hits = t->hot.node != 0 ? t->hot.hits : 0;

	*ret_stats = t->stats;
	ret_stats->hits += hits + t->spare_hits;
	ret_stats->stacks += hits + t->spare_hits;
	ret_stats->frames_reused += hits * t->n;
	ret_stats->truncated += t->truncated ? hits : 0;
	ret_stats->elided += t->elided ? hits : 0;
}
