/* SPDX-License-Identifier: MIT */
/* gperf_when.c -- when a heap profile is written, and what is said about it.
 *
 * After every allocation, and every free if those count, sums are compared with those of
 * the last profile, in gperftools' order: bytes allocated, bytes freed, bytes in use. One
 * thread has the turn to write; others that find a profile due meanwhile go on. With one
 * thread the sums are exact and profiles come at the very event at which gperftools
 * writes them; with several what is in use is known to within 4 KiB a thread. */
#include "guest/dropin/gperftools/gperf.h"

#include "guest/hooks/gate.h"
#include "guest/rt/rt_text.h"

#include <errno.h>
#include <signal.h>
#include <sys/uio.h>
#include <time.h>

struct gperf_settings gperf_settings;
struct gperf_state gperf;

/* ---- messages ---- */

void
gperf_say_parts(enum gperf_loud loud, const char *const *parts)
{
	struct iovec v[8];
	int n = 0;

	if (gperf_settings.verbose < loud || rt_sealed)
		return;
	for (; *parts != NULL && n < 7; parts++)
		v[n++] = (struct iovec){(void *)(uintptr_t)*parts, text_len(*parts)};
	v[n++] = (struct iovec){(void *)(uintptr_t) "\n", 1};
	SYS3(SYS_writev, 2, v, n);
}

/* ---- dumping ---- */

/* Of whoever has the turn. */
static struct turn {
	bool held; /* signals are, and this was the mask before */
	uint64_t mask;
} turn;

static struct turn
signals_hold(void)
{
	const uint64_t all = UINT64_MAX;
	struct turn t = {.held = !rt_sealed};

	if (t.held)
		SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &t.mask, sizeof(all));
	return t;
}

static void
signals_let_go(struct turn t)
{
	if (t.held)
		SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &t.mask, 0, sizeof(t.mask));
}

/* Signals are held back before it is taken, until it has ended: a handler would find it
 * taken by its own thread, block when the program is to end, or leave it so for
 * good by longjmp. */
static bool
take_turn(void)
{
	struct turn t;
	uint32_t no = 0;

	if (__atomic_load_n(&gperf.dumping, __ATOMIC_RELAXED) != 0)
		return false;
	t = signals_hold();
	if (__atomic_compare_exchange_n(&gperf.dumping, &no, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED)) {
		turn = t;
		return true;
	}
	signals_let_go(t);
	return false;
}

/* For those who were asked for a dump: wait for one that is under way, not for ever. */
bool
gperf_turn_wait(void)
{
	for (int i = 0; i < LOCK_YIELDS; i++) {
		if (take_turn())
			return true;
		sys_yield();
	}
	return false;
}

void
gperf_turn_end(void)
{
	struct turn t = turn;

	__atomic_store_n(&gperf.dumping, 0, __ATOMIC_RELEASE);
	signals_let_go(t);
}

static void
file_name(char *path, size_t cap)
{
	struct text t = text_on(path, cap);

	text_add(&t, gperf.prefix);
	text_add(&t, ".");
	for (uint32_t least = 1000; least > 1 && gperf.number < least; least /= 10)
		text_add(&t, "0");
	text_dec(&t, gperf.number);
	text_add(&t, ".heap");
}

/* For whoever has the turn, and signals held back: a file beyond RLIMIT_FSIZE must not
 * end the program. */
void
gperf_write(const char *reason, struct census_count *ret_total)
{
	static char path[GPERF_PATH_MAX + 16];
	uint64_t xfsz = UINT64_C(1) << (SIGXFSZ - 1);
	struct timespec at_once = {0, 0};
	int r;

	if (gperf.prefix[0] == '\0')
		return;
	gperf.number++;
	file_name(path, sizeof(path));
	gperf_say(GPERF_PLAIN, "Dumping heap profile to ", path, " (", reason, ")");
	r = gperf_dump(path, gperf.has_base ? &gperf.base : NULL, ret_total);
	if (r < 0)
		gperf_say(GPERF_ERROR, "Failed dumping heap profile to ", path);
	if (r == -EFBIG)
		SYS4(SYS_rt_sigtimedwait, &xfsz, 0, &at_once, sizeof(xfsz));
}

int64_t
gperf_now(void)
{
	struct timespec ts = {0, 0};

	SYS2(SYS_clock_gettime, CLOCK_REALTIME, &ts);
	return ts.tv_sec;
}

/* ---- when ---- */

enum why { WHY_NOT, WHY_ALLOCATED, WHY_FREED, WHY_GREW };

/* Bytes of the heap in use, as this thread knows it: exact while it is the only one. */
static int64_t
in_use(void)
{
	const struct recorder *r = recorder_now;
	const struct thread *t = tls.owner == r->id ? tls.self : NULL;

	if (t != NULL && t->alone)
		return t->live_bytes;
	return __atomic_load_n(&r->head->live_bytes, __ATOMIC_RELAXED) +
	       (t != NULL ? t->row->unflushed : 0);
}

static enum why
is_due(uint64_t allocated, int64_t live)
{
	const struct gperf_settings *s = &gperf_settings;
	uint64_t freed = allocated - (uint64_t)live;

	if (s->alloc_interval > 0 &&
	    allocated >= gperf.last_alloc + (uint64_t)s->alloc_interval)
		return WHY_ALLOCATED;
	if (s->dealloc_interval > 0 &&
	    (int64_t)freed >= (int64_t)gperf.last_free + s->dealloc_interval)
		return WHY_FREED;
	if (s->inuse_interval > 0 && live > gperf.high_water + s->inuse_interval)
		return WHY_GREW;
	return WHY_NOT;
}

static void
reason_text(struct text *t, enum why why, uint64_t allocated, int64_t live)
{
	uint64_t freed = allocated - (uint64_t)live;

	if (why != WHY_GREW) {
		text_dec(t, (why == WHY_ALLOCATED ? allocated : freed) >> 20);
		text_add(t, why == WHY_ALLOCATED ? " MB allocated cumulatively, "
						 : " MB freed cumulatively, ");
	}
	text_dec(t, (uint64_t)live >> 20);
	text_add(t, " MB currently in use");
}

static void
dumped(uint64_t allocated, int64_t live)
{
	gperf.last_alloc = allocated;
	gperf.last_free = allocated - (uint64_t)live;
	if (live > gperf.high_water)
		gperf.high_water = live;
}

/* What is live includes mappings when they are recorded too. Of the heap alone the census
 * knows; not to ask it at every event, it is asked again only after another sixteenth. */
static int64_t
heap_alone(int64_t live)
{
	struct census c;
	int64_t heap = live;

	if (live < gperf.doubtful)
		return 0;
	if (census_take(recorder_now, 0, NULL, &c) == 0)
		heap = c.n.live_bytes;
	census_done(&c);
	gperf.doubtful = live + gperf_settings.inuse_interval / 16;
	return heap;
}

static void
check(void)
{
	uint64_t allocated = __atomic_load_n(&gperf.allocated, __ATOMIC_RELAXED);
	int64_t live = in_use();
	char reason[128];
	struct text t = text_on(reason, sizeof(reason));
	enum why why;

	if (LIKELY(is_due(allocated, live) == WHY_NOT) || !take_turn())
		return;
	if (gperf_settings.mmap)
		live = heap_alone(live);
	why = is_due(allocated, live); /* another thread may have been here before us */
	if (why != WHY_NOT) {
		reason_text(&t, why, allocated, live);
		gperf_write(reason, NULL);
		dumped(allocated, live);
	}
	gperf_turn_end();
}

void
gperf_allocated(size_t usable, size_t bytes, uint64_t passed, bool recorded)
{
	(void)usable, (void)passed;
	if (!gperf.on || !recorded || gperf_settings.only_mmap)
		return;
	if (UNLIKELY(!gperf.moved))
		gperf.moved = true;
	__atomic_fetch_add(&gperf.allocated, bytes, __ATOMIC_RELAXED);
	check();
}

void
gperf_freed(size_t usable)
{
	(void)usable;
	if (gperf.on && !gperf_settings.only_mmap)
		check();
}

/* From the timer's task: no TLS here. */
void
gperf_tick(void)
{
	struct census_count n = {0};
	char reason[64];
	struct text t = text_on(reason, sizeof(reason));
	int64_t now = gperf_now();

	if (!gperf.on || !take_turn())
		return;
	text_dec(&t, (uint64_t)(now - gperf.last_time));
	text_add(&t, " sec since the last dump");
	gperf_write(reason, &n);
	dumped(n.alloc_bytes, n.live_bytes);
	gperf.last_time = now;
	gperf_turn_end();
}

void
gperf_signalled(int sig)
{
	(void)sig;
	if (!gperf.on || !take_turn())
		return;
	gperf_write("signal", NULL);
	gperf_turn_end();
}

void
gperf_ending(enum peer_end how)
{
	struct census c;
	char reason[64];
	struct text t = text_on(reason, sizeof(reason));
	uint64_t live = 0;

	/* A forked child that has done nothing, as between fork and a failing exec,
	 * leaves no file. */
	if (!gperf.on || (how == PEER_LEAVE && !gperf.moved) || !gperf_turn_wait())
		return;
	if (census_take(recorder_now, 0, NULL, &c) == 0)
		live = gperf_settings.only_mmap ? 0 : (uint64_t)c.n.live_bytes;
	census_done(&c);
	text_add(&t, how == PEER_TERM ? "Terminated, " : "Exiting, ");
	text_dec(&t, live >> 20 > 0 ? live >> 20 : live >> 10 > 0 ? live >> 10 : live);
	text_add(&t, live >> 20 > 0   ? " MB in use"
		     : live >> 10 > 0 ? " kB in use"
				      : " bytes in use");
	gperf_write(reason, NULL);
	gperf_turn_end();
}
