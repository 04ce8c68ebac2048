/* SPDX-License-Identifier: MIT */
/* memo.c -- why most frames need not be unwound again.
 *
 * Unwinding is a function of the words it reads: from a frame's state (pc, sp, bp) the
 * rule of pc tells which words to read, and these make the state of the next frame. So if
 * a frame met now has the state that a frame had last time, and each word that was read
 * from there on still holds the same, the rest of the stack is the same, and need only be
 * compared, not unwound. That costs one load and one comparison a word; ids of nodes come
 * along for free.
 *
 * - Soundness. Words are compared innermost first, and reading stops at the first
 *   difference. By induction each word read is one that unwinding from the present state
 *   would read as well: while all before were equal, the state is the one of last time,
 *   and so is the next address. A stack that was unmapped meanwhile is therefore never
 *   touched, not even when another, shorter one took its place, nor when a coroutine's
 *   outermost frame leads on to the stack of whoever resumed it. Nothing is assumed about
 *   which stack a frame is on.
 * - bp is a plain register in code without frame pointers and changes with every turn of
 *   a loop. It is part of the state only for frames from which some frame outside uses it
 *   before it is reloaded; only then its save slot counts among the words.
 * - Opaque frames (RULE_HARD above all) read words that are not listed. They and all
 *   inside of them are never reused; frames outside of them are.
 * - Rules are part of the function: a change of generation makes the memo worthless.
 * - A frame without a table is left by its frame record or not at all, as the state and
 *   the stack's bounds say, so it is as good as any other.
 *
 * A memo is never half written: first it is cut back to what stays, which is a memo in
 * itself, then it grows, and at last hot.sp declares it good to hit. A longjmp at any
 * time is harmless.
 *
 * A stack that was seen before, though not last, is recognised by a hash over its frames,
 * so that no node has to be looked up. The hash of a frame is its own plus an odd
 * constant times that of all outside of it: it goes on from what the memo kept, and
 * differs for stacks that differ as well as 64 random bits do.
 *
 * What it costs when nothing can be reused is won back by leaving it alone for a
 * while: such a walk neither reads nor writes the memo. */
#include "guest/unwind/memo.h"

#define MEMO_WINDOW 128	 /* walks between two judgements */
#define MEMO_BACKOFF 512 /* walks without a memo, at first */
#define MEMO_BACKOFF_MAX 16384
#define MEMO_SPARE_TRUST 64  /* fewer hits than misses of late, of which so many, */
#define MEMO_SPARE_REST 1024 /* and the spares are left alone for so many walks */

void
memo_clear(struct unw_thread *t)
{
	t->hot.sp = 0;
	COMPILER_BARRIER();
	t->n = t->clean = t->noded = t->hashed = 0;
	t->truncated = t->elided = false;
}

void
memo_fold_some_hits(struct unw_thread *t)
{
	uint64_t hits = t->hot.node != 0 ? t->hot.hits : 0;

	t->hot.hits = 0;
	t->spare_run = 0;
	t->stats.hits += hits;
	t->stats.stacks += hits;
	t->stats.frames_reused += hits * t->n;
	t->stats.truncated += t->truncated ? hits : 0;
	t->stats.elided += t->elided ? hits : 0;
	t->window_frames += hits * t->n;
	t->window_reused += hits * t->n;
}

void
walk_init(struct walk *w, struct unw_thread *t, const struct unw_start *start,
	  bool use_memo)
{
	*w = (struct walk){
		.t = t,
		.start = start,
		.fresh = t->frames + MEMO_FRAMES,
		.floor = t->frames + t->n,
		.candidates = use_memo ? t->clean : 0,
		.use_memo = use_memo,
		.power = 1,
	};
}

/* Fresh frames met those kept: these are given up. Or they fill all the room: then the
 * innermost stay and the rest of the room is gone through again, so that at the end it
 * holds the outermost. */
COLD void
walk_overflow(struct walk *w)
{
	struct unw_thread *t = w->t;

	memo_clear(t);
	w->candidates = 0;
	if (w->floor != t->frames) {
		w->floor = t->frames;
		return;
	}
	w->fresh = t->frames + MEMO_FRAMES - UNW_KEEP_INNER;
	w->wrapped = true;
}

bool
memo_try(struct walk *w, const struct memo_frame *f)
{
	struct unw_thread *t = w->t;
	const struct memo_frame *m = &t->frames[w->candidates - 1];
	const struct unw_check *c = &t->checks[m->checks_bp >> 1];
	uint32_t differs;

	if (m->pc != f->pc || ((m->checks_bp & 1) != 0 && m->bp != f->bp))
		return false;
	while (LIKELY(*c->slot == c->value))
		c--;
	if (c == t->checks)
		return true;
	/* All frames that need this word differ; the next to try is the one outside of
	 * them. So no word is compared twice in one walk. */
	differs = (uint32_t)(c - t->checks);
	while (w->candidates > 0 &&
	       t->frames[w->candidates - 1].checks_bp >> 1 >= differs)
		w->candidates--;
	return false;
}

/* Does leaving frame number `i` depend on words that we do not list? A realigned
 * outermost frame ends the stack because of what its CFA was found to be. */
static bool
memo_opaque(uint64_t rule, uint32_t i)
{
	return rule_kind(rule) == RULE_HARD || (rule_kind(rule) == RULE_DRAP && i == 0);
}

static struct unw_check *
memo_add_check(struct unw_check *c, uintptr_t slot)
{
	c++;
	c->slot = (const uintptr_t *)slot;
	c->value = *c->slot;
	return c;
}

/* Lists the words by which frame `f` led to `outer`. They are compared last one first, so
 * one stands after those to which it leads. */
static struct unw_check *
memo_add_words(struct unw_check *c, const struct memo_frame *f,
	       const struct memo_frame *outer)
{
	uintptr_t cfa = outer->sp & ~(uintptr_t)1, base = cfa;
	bool drap = rule_kind(f->rule) == RULE_DRAP;
	int64_t bp_off = arch_rule_bp(f->rule);

	if (drap)
		base = f->bp; /* where such a frame's bp is saved, at 0 as a rule */
	if ((drap || bp_off != 0) && (outer->checks_bp & 1) != 0)
		c = memo_add_check(c, base + (uintptr_t)bp_off);
	c = memo_add_check(c, cfa + (uintptr_t)arch_rule_ra(f->rule));
	if (drap)
		c = memo_add_check(c, base + (uintptr_t)arch_rule_cfa(f->rule));
	return c;
}

/* Lists the words that leaving frame `i` depends on, after those of the frames
 * outside. */
static void
memo_add_checks(struct walk *w, uint32_t i)
{
	struct unw_thread *t = w->t;
	struct memo_frame *f = &t->frames[i];
	enum rule_kind kind = rule_kind(f->rule);
	struct unw_check *c = t->checks;
	bool bp = kind != RULE_SP && kind != RULE_STOP;

	if (i > 0) {
		c += f[-1].checks_bp >> 1;
		c = memo_add_words(c, f, f - 1);
		if (kind == RULE_SP && arch_rule_bp(f->rule) == 0)
			bp = (f[-1].checks_bp & 1) != 0; /* handed on as it is */
	} else if (w->zero_slot != NULL) {
		c = memo_add_check(c, (uintptr_t)w->zero_slot);
	}
	f->checks_bp = (uint32_t)(c - t->checks) << 1 | bp;
}

/* The hash of no frame at all: what lies outside of the outermost one. */
static uint64_t
memo_hash_root(bool truncated)
{
	return truncated ? UINT64_C(0x94d049bb133111eb) : MEMO_HASH_ROOT;
}

/* The hash of the first `count` frames kept. */
static uint64_t
memo_outer_hash(struct unw_thread *t, uint32_t count)
{
	uint32_t i = t->hashed < count ? t->hashed : count;
	uint64_t hash = i > 0 ? t->frames[i - 1].hash : memo_hash_root(t->truncated);

	for (; i < count; i++) {
		const struct memo_frame *f = &t->frames[i];

		hash = hash * MEMO_HASH_FACTOR + memo_own_hash(f->pc, f->rule);
		t->frames[i].hash = hash;
		t->hashed = i + 1;
	}
	return hash;
}

uint32_t
memo_recall(const struct unw_thread *t, uint64_t hash)
{
	const struct unw_ops *ops = t->shared->ops;

	return hash != 0 && ops->recall != NULL ? ops->recall(t->arg, hash) : 0;
}

static void
memo_learn(const struct unw_thread *t, uint64_t hash, uint32_t id)
{
	if (t->shared->ops->learn != NULL)
		t->shared->ops->learn(t->arg, hash, id);
}

static uint32_t
memo_node(const struct unw_thread *t, uint32_t parent, const struct memo_frame *f)
{
	return t->shared->ops->node(t->arg, parent, f->pc, rule_module(f->rule),
				    UNW_NODE_PC);
}

/* The parent of the outermost frame. */
static uint32_t
memo_root(const struct unw_thread *t)
{
	if (!t->truncated)
		return 0;
	return t->shared->ops->node(t->arg, 0, 0, 0, UNW_NODE_TRUNCATED);
}

/* Gives ids to the first `count` frames; that of the last is returned. */
static uint32_t
memo_give_nodes(struct unw_thread *t, uint32_t count)
{
	uint32_t i = t->noded, id;

	if (i >= count)
		return t->frames[count - 1].node;
	id = i > 0 ? t->frames[i - 1].node : memo_root(t);
	for (; i < count; i++) {
		id = memo_node(t, id, &t->frames[i]);
		t->frames[i].node = id;
	}
	t->noded = count;
	return id;
}

/* The pseudo frame for `left_out` frames under `parent`. The exact number would make a
 * new stack of each depth. */
static uint32_t
memo_elided_node(const struct unw_thread *t, uint32_t parent, uint32_t left_out)
{
	uintptr_t rounded = (uintptr_t)1 << (31 - __builtin_clz(left_out));

	return t->shared->ops->node(t->arg, parent, rounded, 0, UNW_NODE_ELIDED);
}

/* Id of the stack kept. The ids of the inner frames of a very deep stack are not kept:
 * the next one may be less deep, and then they are others. */
static uint32_t
memo_stack_node(const struct walk *w)
{
	struct unw_thread *t = w->t;
	uint32_t id;

	if (t->n <= UNW_EXACT_MAX) {
		uint64_t hash = w->hash + w->power * memo_outer_hash(t, w->kept);

		id = memo_recall(t, hash);
		if (id == 0) {
			id = memo_give_nodes(t, t->n);
			memo_learn(t, hash, id);
		}
		return id;
	}
	id = memo_give_nodes(t, UNW_KEEP_OUTER);
	id = memo_elided_node(t, id, t->n - UNW_KEEP_OUTER - UNW_KEEP_INNER);
	for (uint32_t i = t->n - UNW_KEEP_INNER; i < t->n; i++)
		id = memo_node(t, id, &t->frames[i]);
	return id;
}

/* Id of a stack with more frames than there is room for. None of it is kept. */
static uint32_t
memo_wrapped_node(struct walk *w)
{
	struct unw_thread *t = w->t;
	const struct memo_frame *ring_end = t->frames + MEMO_FRAMES - UNW_KEEP_INNER;
	const struct memo_frame *f = w->fresh;
	uint32_t id = memo_root(t);

	for (unsigned i = 0; i < UNW_KEEP_OUTER; i++) {
		id = memo_node(t, id, f);
		if (++f == ring_end)
			f = t->frames;
	}
	id = memo_elided_node(t, id, w->count - UNW_KEEP_OUTER - UNW_KEEP_INNER);
	for (f = ring_end; f < t->frames + MEMO_FRAMES; f++)
		id = memo_node(t, id, f);
	return id;
}

/* Every MEMO_WINDOW walks: was it worth while? */
static void
memo_judge(struct unw_thread *t, uint32_t frames, uint32_t reused)
{
	t->window_frames += frames;
	t->window_reused += reused;
	if (++t->window < MEMO_WINDOW)
		return;
	/* Longer each time, while it stays of no use. */
	if (t->window_reused >= t->window_frames / 8)
		t->backoff_next = MEMO_BACKOFF;
	else
		t->backoff =
			t->backoff_next < MEMO_BACKOFF ? MEMO_BACKOFF : t->backoff_next;
	if (t->backoff != 0 && t->backoff < MEMO_BACKOFF_MAX)
		t->backoff_next = t->backoff * 4;
	t->window = 0;
	t->window_frames = t->window_reused = 0;
}

/* Word by word: the words were stored just now, and a vector load would wait for them
 * all. */
static ALWAYS_INLINE void
memo_copy(struct memo_frame *to, const struct memo_frame *from)
{
	to->pc = from->pc;
	to->rule = from->rule;
	to->sp = from->sp;
	to->bp = from->bp;
}

/* Replaces what changed. Frames [0, kept) stay. */
static void
memo_replace(struct walk *w, enum walk_end end)
{
	struct unw_thread *t = w->t;
	uint32_t n = w->kept + w->count;

	t->hot.sp = 0;
	COMPILER_BARRIER();
	t->n = w->kept;
	t->clean = t->clean < w->kept ? t->clean : w->kept;
	t->noded = t->noded < w->kept ? t->noded : w->kept;
	t->hashed = t->hashed < w->kept ? t->hashed : w->kept;
	if (w->kept == 0)
		t->truncated = end == WALK_TRUNCATED;
	COMPILER_BARRIER();
	for (uint32_t i = w->kept; i < n; i++) {
		memo_copy(&t->frames[i], &w->fresh[i - w->kept]);
		if (w->use_memo && t->clean == i && !memo_opaque(t->frames[i].rule, i)) {
			memo_add_checks(w, i);
			t->clean = i + 1;
		}
	}
	t->n = n;
	t->elided = n > UNW_EXACT_MAX;
}

void
memo_promote(struct unw_thread *t, const struct memo_spare *s)
{
	t->hot.sp = 0;
	COMPILER_BARRIER();
	t->hot.pc = s->pc;
	t->hot.bp = s->bp;
	t->hot.bp_mask = s->bp_mask;
	t->hot.checks = &s->checks[s->count];
	t->hot.checks_end = s->checks;
	t->hot.node = s->node;
	COMPILER_BARRIER();
	t->hot.sp = s->sp;
}

void
memo_clear_spares(struct unw_thread *t)
{
	if (!t->spares_kept)
		return;
	for (unsigned i = 0; i < MEMO_SPARES; i++)
		t->spares[i].sp = 0;
	t->spares_kept = false;
}

void
memo_spare_missed(struct unw_thread *t)
{
	if (++t->spare_misses % MEMO_SPARE_TRUST == 0) {
		if (t->spare_hits - t->spare_hits_before < MEMO_SPARE_TRUST)
			t->spare_rest = MEMO_SPARE_REST;
		t->spare_hits_before = t->spare_hits;
	}
}

/* Keeps the stack just made the memo for when it has been replaced. */
static void
memo_keep_spare(struct unw_thread *t)
{
	struct memo_spare *s = memo_spares_of(t, t->hot.pc, t->hot.sp);
	uint32_t count = (uint32_t)(t->hot.checks - t->checks);

	if (count > MEMO_SPARE_CHECKS || t->spare_rest > 0)
		return;
	s += t->spare_turn++ % MEMO_SPARE_WAYS;
	t->spares_kept = true;
	s->sp = 0;
	COMPILER_BARRIER();
	for (uint32_t i = 0; i <= count; i++) {
		s->checks[i].slot = t->checks[i].slot;
		s->checks[i].value = t->checks[i].value;
	}
	s->count = count;
	s->pc = t->hot.pc;
	s->bp = t->hot.bp;
	s->bp_mask = t->hot.bp_mask;
	s->generation = t->hot.generation;
	s->node = t->hot.node;
	s->truncated = t->truncated;
	COMPILER_BARRIER();
	s->sp = t->hot.sp;
}

/* Makes the stack kept one that can be hit, if all of it may be reused. */
static void
memo_arm(struct unw_thread *t, const struct unw_start *start, uint32_t node)
{
	const struct memo_frame *leaf = &t->frames[t->n - 1];

	if (t->clean != t->n)
		return;
	t->hot.pc = start->pc;
	t->hot.bp = start->bp;
	t->hot.bp_mask = -(uintptr_t)(leaf->checks_bp & 1);
	t->hot.checks = &t->checks[leaf->checks_bp >> 1];
	t->hot.checks_end = t->checks;
	t->hot.node = node;
	COMPILER_BARRIER();
	t->hot.sp = start->sp;
	if (node != 0)
		memo_keep_spare(t);
}

/* The id of a stack just walked without the memo, if it was seen before; else 0. */
static uint32_t
memo_passing(const struct walk *w, enum walk_end end)
{
	if (w->count > UNW_EXACT_MAX)
		return 0;
	return memo_recall(w->t,
			   w->hash + w->power * memo_hash_root(end == WALK_TRUNCATED));
}

uint32_t
memo_commit(struct walk *w, enum walk_end end, bool ids)
{
	struct unw_thread *t = w->t;
	uint32_t id = 0;

	t->stats.stacks++;
	t->stats.frames_fresh += w->count;
	t->stats.frames_reused += w->kept;
	if (UNLIKELY(w->wrapped)) {
		t->truncated = end == WALK_TRUNCATED;
		t->stats.truncated += t->truncated;
		t->stats.elided++;
		return ids ? memo_wrapped_node(w) : 0;
	}
	if (ids && !w->use_memo && (id = memo_passing(w, end)) != 0) {
		t->stats.truncated += end == WALK_TRUNCATED;
		return id;
	}
	memo_replace(w, end);
	t->stats.truncated += t->truncated;
	t->stats.elided += t->elided;
	if (ids)
		id = memo_stack_node(w);
	memo_arm(t, w->start, id);
	if (w->use_memo)
		memo_judge(t, t->n, w->kept);
	return id;
}
