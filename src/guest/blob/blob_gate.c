/* SPDX-License-Identifier: MIT */
/* blob_gate.c -- the way from an injected hook into the recorder. See blob_gate.h.
 *
 * The first event makes the recorder's private tables; everything else was prepared from
 * outside.
 *
 * fork: a page that the kernel wipes in the child says so at its next event, and the
 * child records nothing, but counts itself once: the recording is the parent's, and
 * shared. The recorder itself is not wiped: a handler that forks on top of an event goes
 * on in the child, and must find what it had.
 *
 * A busy thread is one of three, told by where the new call stands on the stack, as in
 * guest/hooks/gate.c: a signal handler on top of us, the allocator calling itself by
 * name, or an event that was left by longjmp.
 *
 * The attacher counts a word up. When it stands still for ten seconds and nobody said
 * that it may, recording ends; the hooks go on passing by until somebody takes them
 * out. */
#include "guest/blob/blob_gate.h"

#include "guest/blob/blob_host.h"
#include "guest/record/events.h"
#include "guest/record/threads.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_map_blob.h"

#include <signal.h>
#include <string.h>

enum {
	SIGNAL_FRAME_LEAST = 1024,
	SAME_STACK = 1 << 20,
	SPENT_MOST = 1 << 16, /* cycles of one event */
	LISTEN_EVERY = 64,    /* exact mode: events between two looks at the clock */
};

static struct recorder recorder; /* base is NULL until the first event */
struct recorder *recorder_now = &recorder;

/* Until the first event frees pass by; the first allocation comes because the thread's
 * share of bytes is 0. */
struct gate gate = {.filter = &sample_none};

static uint32_t begin_lock;
static bool broken; /* there is no room for the tables */

static struct attach_control *
control(void)
{
	return (struct attach_control *)(blob.recording + ATTACH_OFF);
}

/* ---- on or off ---- */

static void
switch_off(void)
{
	__atomic_store_n(&control()->off, 1, __ATOMIC_RELAXED);
}

/* Is there somebody, or need there be nobody? Two words of memory that threads may write
 * at once: the worst that comes of it is a look at the clock too many. */
static void
listen(const struct recorder *r)
{
	static uint64_t seen, since_ns;
	static uint32_t turn;
	uint64_t beat = __atomic_load_n(&control()->heartbeat, __ATOMIC_RELAXED);
	uint64_t now;

	if (__atomic_load_n(&control()->stay, __ATOMIC_RELAXED) == 1)
		return;
	if (r->exact &&
	    __atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED) % LISTEN_EVERY != 0)
		return;
	now = blob_host.clock_ns();
	if (beat != seen || since_ns == 0) {
		seen = beat;
		since_ns = now;
	} else if (now > since_ns &&
		   now - since_ns > ATTACH_SILENCE_MS * UINT64_C(1000000)) {
		switch_off();
	}
}

/* What the host's words are is known only now. */
static void
settle_in(void)
{
	rt_sealed = blob.sealed != 0;
	rt_map_arena((void *)blob.arena, blob.arena_bytes);
	if (blob.loader_state != 0)
		blob_host.loader_busy = (const volatile int *)blob.loader_state;
	blob_host.root_start = (const char *)blob.root_start;
	blob_host.root_end = (const char *)blob.root_end;
	control()->began_tsc = __builtin_ia32_rdtsc();
}

static bool
begin(void)
{
	struct recorder fresh = {
		.base = (unsigned char *)blob.recording,
		.head = (struct rec_head *)blob.recording,
		.bytes = blob.recording_bytes,
		.host = &blob_host,
		.id = 1,
	};
	uint32_t me = lock_id();

	if (!lock_take(&begin_lock, me))
		return false;
	if (recorder.base == NULL && !broken) {
		settle_in();
		broken = recorder_begin(&recorder, &fresh, me) < 0;
		if (broken)
			switch_off();
		else
			__atomic_store_n(&gate.filter,
					 recorder.exact ? &sample_all : recorder.sample,
					 __ATOMIC_RELEASE);
	}
	lock_drop(&begin_lock);
	return !broken;
}

static bool
is_child(void)
{
	uint64_t *page = (uint64_t *)blob.fork_page, child = BLOB_FORK_CHILD;

	if (LIKELY(__atomic_load_n(page, __ATOMIC_RELAXED) == BLOB_FORK_OWN))
		return false;
	if (__atomic_compare_exchange_n(page, &child, BLOB_FORK_COUNTED, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		__atomic_fetch_add(&control()->forked, 1, __ATOMIC_RELAXED);
	return true;
}

static bool
is_on(void)
{
	if (is_child() || __atomic_load_n(&control()->off, __ATOMIC_RELAXED) != 0)
		return false;
	if (LIKELY(__atomic_load_n(&recorder.base, __ATOMIC_ACQUIRE) != NULL)) {
		listen(&recorder);
		return true;
	}
	return begin();
}

/* ---- busy threads ---- */

enum busy_with { BUSY_HANDLER, BUSY_NESTED, BUSY_ABANDONED };

static enum busy_with
busy_with(const struct tls *t, uintptr_t cfa)
{
	uintptr_t at = t->busy & ~(uintptr_t)GATE_QUIET;
	bool quiet = (t->busy & GATE_QUIET) != 0;
	stack_t ss = {0};

	if (cfa < at && at - cfa >= SIGNAL_FRAME_LEAST && !quiet &&
	    (at - cfa > SAME_STACK || *(const uintptr_t *)(at - 8) == t->busy_ra))
		return BUSY_HANDLER;
	if (quiet && cfa < at && at - cfa <= SAME_STACK &&
	    *(const uintptr_t *)(at - 8) == t->busy_ra)
		return BUSY_NESTED;
	if (rt_sealed)
		return BUSY_HANDLER;
	/* On the alternate stack all of this means nothing. */
	if (SYS2(SYS_sigaltstack, 0, &ss) == 0 && (ss.ss_flags & SS_ONSTACK) != 0)
		return BUSY_HANDLER;
	return BUSY_ABANDONED;
}

/* false: somebody of this thread is in here already, and will go on. */
static bool
be_busy(struct tls *t, uintptr_t cfa, uintptr_t quiet)
{
	bool abandoned = false;

	if (UNLIKELY(t->busy != 0)) {
		enum busy_with what = busy_with(t, cfa);

		if (what == BUSY_HANDLER && recorder.base != NULL)
			rec_lost(&recorder, REC_LOST_REENTRY);
		if (what != BUSY_ABANDONED)
			return false;
		abandoned = true;
	}
	t->busy_ra = *(const uintptr_t *)(cfa - 8);
	t->busy = cfa | quiet;
	COMPILER_BARRIER();
	if (UNLIKELY(abandoned) && t->self != NULL)
		threads_jumped(&recorder, t->self);
	return true;
}

/* ---- threads ---- */

static uint32_t
tid_now(const struct tls *t)
{
	if (blob.tid_off != 0)
		return *(const volatile uint32_t *)(t->key + blob.tid_off);
	return rt_sealed ? 0 : (uint32_t)sys_gettid();
}

/* Seeded without a system call: two threads must not draw the same numbers, that is
 * all. */
static void
draw(struct tls *t, struct recorder *r)
{
	uint32_t number = __atomic_load_n(&control()->rate_number, __ATOMIC_RELAXED);

	if (number >= REC_RATES_MAX || r->head->rates[number] == 0)
		number = 0;
	if (t->random == 0)
		t->random = (__builtin_ia32_rdtsc() ^ t->key << 17) *
				    UINT64_C(0x9E3779B97F4A7C15) |
			    1;
	r->rate_number = number;
	t->rate = number;
	t->left = t->drawn = sample_next(&t->random, r->head->rates[number]);
}

/* The state of this very thread. What had this thread pointer before it may have
 * ended. */
static struct thread *
attached(struct tls *t)
{
	uint32_t tid = tid_now(t);

	if (LIKELY(t->self != NULL && t->tid == tid))
		return t->self;
	if (t->self != NULL) {
		struct thread *old = t->self;

		t->self = NULL;
		threads_detach(&recorder, old);
	}
	t->self = threads_attach(&recorder, false);
	t->tid = tid;
	return t->self;
}

struct thread *
gate_enter(struct tls *t, uintptr_t cfa)
{
	struct thread *self;

	if (!be_busy(t, cfa, 0))
		return NULL;
	if (UNLIKELY(!is_on())) {
		t->left = GATE_NEVER;
		t->busy = 0;
		return NULL;
	}
	self = attached(t);
	if (UNLIKELY(self == NULL))
		t->busy = 0;
	return self;
}

void
gate_leave(struct tls *t)
{
	COMPILER_BARRIER();
	t->busy = 0;
}

struct gate_quiet
gate_quiet(struct tls *t, uintptr_t cfa)
{
	struct gate_quiet was = {t->busy, t->left};

	if (was.busy == 0)
		be_busy(t, cfa, GATE_QUIET);
	else
		t->busy |= GATE_QUIET;
	t->left = 0;
	COMPILER_BARRIER();
	return was;
}

void
gate_unquiet(struct tls *t, struct gate_quiet was)
{
	COMPILER_BARRIER();
	t->busy = was.busy;
	t->left = was.left;
}

/* ---- sampling ---- */

/* The rate has become coarser since this hit was drawn: keep so many as the new one would
 * have. Where it became finer, this one hit stands for less than it could; the next ones
 * are right. */
static bool
thinned(struct tls *t, const struct recorder *r, uint32_t drawn_at)
{
	uint64_t before = r->head->rates[drawn_at];
	uint64_t now = r->head->rates[t->rate];
	uint64_t u = (t->random * UINT64_C(0x2545F4914F6CDD1D)) >> 32;

	return now > before && (u * (now >> 6)) >> 32 >= before >> 6;
}

bool
gate_its_turn(struct tls *t, struct recorder *r, size_t n)
{
	uint32_t drawn_at = t->rate;

	if (r->exact) {
		t->left = 0;
		return true;
	}
	if (UNLIKELY(t->drawn == 0))
		draw(t, r);
	if (t->left > n) {
		t->left -= n;
		return false;
	}
	draw(t, r);
	return LIKELY(t->rate == drawn_at) || !thinned(t, r, drawn_at);
}

/* ---- blocks from before ---- */

uint32_t gate_old_bits[BLOB_OLD_BITS / 32];
struct blob_old gate_old[BLOB_OLD_SLOTS];

/* Takes no lock and asks no gate: one word is stored, the first who comes has it. A
 * handler on top of us finds the same. No other block has its bit, which goes, so that
 * whoever gets its address next does not come here. */
void
gate_old_died(const void *p)
{
	const struct rec_head *h = (const struct rec_head *)blob.recording;
	uint32_t at = blob_old_slot((uintptr_t)p), bit = blob_old_bit((uintptr_t)p);
	uint64_t ns;

	if (p == NULL || *(const volatile uint64_t *)blob.fork_page != BLOB_FORK_OWN)
		return;
	for (unsigned n = 0; gate_old[at].addr != (uintptr_t)p; n++) {
		if (gate_old[at].addr == 0 || n == BLOB_OLD_SLOTS)
			return;
		at = (at + 1) % BLOB_OLD_SLOTS;
	}
	if ((__atomic_fetch_and(&gate_old_bits[bit / 32], ~(UINT32_C(1) << bit % 32),
				__ATOMIC_RELAXED) >>
		     bit % 32 &
	     1) == 0)
		return; /* somebody was faster */
	ns = blob_host.clock_ns();
	ns = ns > h->start_mono_ns ? ns - h->start_mono_ns : 0;
	__atomic_store_n(&gate_old[at].died_ms, (uint32_t)(ns / 1000000) + 1,
			 __ATOMIC_RELAXED);
}

/* ---- events ---- */

static void
count(uint64_t began_tsc)
{
	struct attach_control *c = control();
	uint64_t spent = __builtin_ia32_rdtsc() - began_tsc;

	/* More than that, and somebody else had the processor meanwhile. */
	if (spent > SPENT_MOST)
		spent = SPENT_MOST;
	__atomic_fetch_add(&c->events, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->spent_tsc, spent, __ATOMIC_RELAXED);
}

/* A block that is sampled almost surely costs no more when samples are taken twice as
 * often. */
static void
count_sample(const struct recorder *r, size_t n)
{
	struct attach_control *c = control();
	double x = (double)n / (double)r->head->rates[r->rate_number];

	__atomic_fetch_add(&c->samples, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->at_half, (uint64_t)(1024 * (2 - sample_probability(x))),
			   __ATOMIC_RELAXED);
}

void
gate_allocated(struct tls *t, void *p, size_t n, enum rec_kind kind,
	       const struct unw_start *at)
{
	struct recorder *r = &recorder;
	uint64_t began = __builtin_ia32_rdtsc();
	struct thread *self;

	/* A thread's first call only draws: most threads never need more than that. */
	if (t->busy == 0 && t->drawn == 0 && r->base != NULL && !r->exact &&
	    !gate_its_turn(t, r, n))
		return;
	self = gate_enter(t, at->sp);
	if (UNLIKELY(self == NULL))
		return;
	if (gate_its_turn(t, r, n)) {
		if (!r->exact)
			count_sample(r, n);
		if (__atomic_load_n(&r->head->paused, __ATOMIC_RELAXED) == 1)
			__atomic_fetch_add(&r->head->paused_allocs, 1, __ATOMIC_RELAXED);
		else
			record_alloc(r, self, (uintptr_t)p, n, kind, at);
	}
	count(began);
	gate_leave(t);
}

void
gate_freeing(struct tls *t, void *p, uintptr_t cfa)
{
	uint64_t began = __builtin_ia32_rdtsc();
	struct thread *self = gate_enter(t, cfa);

	if (UNLIKELY(self == NULL))
		return;
	record_free(&recorder, self, (uintptr_t)p);
	count(began);
	gate_leave(t);
}
