/* SPDX-License-Identifier: MIT */
/* peer_jemalloc.c -- jemalloc's profiler: when it dumps, what it is told by mallctl.
 *
 * The recorder samples at 2^lg_prof_sample bytes, or is exact at 0, where jemalloc takes
 * every block for a sample. Dumps are made by the thread that gave the reason, outside
 * the recorder, from a census that takes no lock (guest/record/census/census.h); two
 * threads may dump at once, each with a file and memory of its own. Nobody's malloc waits
 * for a dump but the one that makes it.
 *
 * prof.reset: live blocks are taken out of the table, so that their frees are of unknown
 * blocks, and what was allocated so far is kept as a base that later dumps take off. */
#include "guest/dropin/jemalloc/peer_jemalloc.h"

#include "guest/dropin/jemalloc/conf.h"
#include "guest/dropin/jemalloc/mallctl.h"
#include "guest/dropin/jemalloc/peer_dump.h"
#include "guest/dropin/jemalloc/peer_pages.h"
#include "guest/dropin/jemalloc/peer_series.h"
#include "guest/dropin/peer.h"
#include "guest/hooks/boot.h"
#include "guest/hooks/gate.h"
#include "guest/record/census/census_blocks.h"
#include "guest/rt/rt_text.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

enum {
	/* The recording and the tables, and when sampling the filter: our own growth
	 * counts too. */
	OWN_STEPS_EXACT = 2,
	OWN_STEPS_SAMPLED = 3,
	RATE_LG_MAX =
		57, /* nothing is ever sampled there; more would not fit a countdown */
};

static struct {
	bool on;
	bool active, thread_active_init, gdump;
	bool pages; /* they are being followed */
	unsigned lg_sample;
	uint32_t steps; /* of growth of our own that no .u dump tells of yet */
	uint64_t since_interval;
	uint32_t reset_lock;
	struct census *base; /* what prof.reset left behind; NULL: it was not called */
	struct census *bases[2];
	struct jem_stats accum[PAGES_CLASSES];
} jem;

static bool
wanted(struct recorder_settings *s, bool forced)
{
	if (!forced && mallctl_is_real())
		return false;
	mallctl_is_ours();
	conf_read_all();
	if (!conf.prof)
		return false;
	s->mode = conf.lg_prof_sample == 0 ? REC_MODE_EXACT : REC_MODE_SAMPLE;
	s->rate_bytes = UINT64_C(1)
			<< (conf.lg_prof_sample < RATE_LG_MAX ? conf.lg_prof_sample
							      : RATE_LG_MAX);
	return true;
}

/* ---- dumps ---- */

struct job {
	struct census census;
	char path[SERIES_PATH_BYTES];
};

static struct dump
how_to_dump(void)
{
	return (struct dump){
		.lg_sample = jem.lg_sample,
		.unbias = conf.prof_unbias,
		.accum = conf.prof_accum,
		.kernel_names = conf.prof_sys_thread_name,
		.frames_max = (uint32_t)conf.prof_bt_max,
		.thread_name = series_thread_name,
	};
}

/* jemalloc's words; once for each, because a series would say it again and again. */
static void
say_failed(bool opened, const char *path)
{
	static bool said[2];
	char line[512];
	struct text t = text_on(line, sizeof(line));

	if (__atomic_exchange_n(&said[opened], true, __ATOMIC_RELAXED))
		return;
	if (opened) {
		peer_say("failed to write during heap profile flush", NULL);
	} else {
		text_add(&t, "failed to open \"");
		text_add(&t, path);
		text_add(&t, "\"");
		peer_say(line, NULL);
	}
	if (conf.abort)
		SYS3(SYS_tgkill, sys_getpid(), sys_gettid(), 6 /* SIGABRT */);
}

static void
plural(struct text *t, const char *before, uint64_t n, const char *noun)
{
	text_add(t, before);
	text_dec(t, n);
	text_add(t, noun);
	if (n != 1)
		text_add(t, "s");
}

/* true: something was not freed. */
static bool
leak_summary(const struct census *c)
{
	struct dump_live l = dump_live_of(c);
	char line[256];
	struct text t = text_on(line, sizeof(line));

	if (l.blocks == 0)
		return false;
	plural(&t, "Leak approximation summary: ~", l.bytes, " byte");
	plural(&t, ", ~", l.blocks, " object");
	plural(&t, ", >= ", l.sites, " context");
	peer_say(line, NULL);
	peer_say("Run jeprof on dump output for leak detail", NULL);
	return true;
}

/* `kind` is 'i', 'u', 'm' or 'f'; `path` NULL: the next of the series. *ret_leak (may be
 * NULL): something is live, and that was said. */
static int
dump_as(char kind, const char *path, bool *ret_leak)
{
	struct job *job = rt_map(sizeof(*job));
	struct dump how = how_to_dump();
	bool opened = false;
	int r;

	if (job == NULL)
		return -ENOMEM;
	if (path == NULL && !series_name(kind, job->path)) {
		rt_unmap(job, sizeof(*job));
		return -EINVAL;
	}
	r = census_take(recorder_now, CENSUS_THREADS,
			__atomic_load_n(&jem.base, __ATOMIC_ACQUIRE), &job->census);
	if (r == 0)
		r = dump_write(&how, &job->census, path != NULL ? path : job->path,
			       &opened);
	if (r != 0 && kind != 'm')
		say_failed(opened, job->path);
	if (r == 0 && kind == 'u')
		series_thin(job->path);
	if (ret_leak != NULL)
		*ret_leak = leak_summary(&job->census);
	census_done(&job->census);
	rt_unmap(job, sizeof(*job));
	return r;
}

int
jem_dump(const char *path)
{
	return dump_as('m', path, NULL);
}

static bool
ends_told(void)
{
	return conf.prof_final && conf.prof_prefix[0] != '\0';
}

static void
ending(enum peer_end how)
{
	bool leak = false;

	if (!ends_told())
		return;
	dump_as('f', NULL, conf.prof_leak && how != PEER_LEAVE ? &leak : NULL);
	if (!leak || !conf.prof_leak_error || how != PEER_EXIT)
		return;
	peer_say("Exiting with error code because memory leaks were detected", NULL);
	SYS1(SYS_exit_group, 1);
}

/* ---- events ---- */

static void
interval_passed(uint64_t bytes)
{
	uint64_t seen = __atomic_load_n(&jem.since_interval, __ATOMIC_RELAXED), now;

	do
		now = seen + bytes;
	while (!__atomic_compare_exchange_n(&jem.since_interval, &seen,
					    now % conf.interval, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	if (now >= conf.interval)
		dump_as('i', NULL, NULL);
}

static void
pages_grew(void)
{
	if (series_due())
		dump_as('u', NULL, NULL);
}

static void
follow_pages(size_t usable, bool recorded)
{
	bool exact = recorder_now->head->mode == REC_MODE_EXACT;
	bool more = pages_add(usable, exact);

	/* jemalloc gives a sample pages of its own. */
	if (!exact && recorded && pages_at_most())
		more = true;
	if (!jem.gdump || !jem.active)
		return;
	for (uint32_t n = __atomic_exchange_n(&jem.steps, 0, __ATOMIC_RELAXED); n > 0;
	     n--)
		pages_grew();
	if (more)
		pages_grew();
}

static void
allocated(size_t usable, size_t bytes, uint64_t passed, bool recorded)
{
	if (recorded && conf.prof_stats) {
		struct jem_stats *s = &jem.accum[pages_class(bytes)];

		__atomic_fetch_add(&s->req_sum, bytes, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->count, 1, __ATOMIC_RELAXED);
	}
	if (passed != 0 && conf.interval != 0 && jem.active)
		interval_passed(passed);
	if (jem.pages)
		follow_pages(usable, recorded);
}

static void
freed(size_t usable)
{
	pages_del(usable, recorder_now->head->mode == REC_MODE_EXACT);
}

static void
look(void)
{
	if (jem.gdump)
		jem.pages = true;
	peer_look(conf.interval != 0 || conf.prof_stats || jem.pages, jem.pages,
		  jem.pages);
}

static void
thread_came(struct thread *t)
{
	t->silent = !jem.thread_active_init;
	if (t->silent)
		recorder_now->exact = recorder_now->hot = false;
	__atomic_fetch_add(&jem.steps, 1, __ATOMIC_RELAXED);
}

static void
began(void)
{
	struct recorder *r = recorder_now;

	jem.on = true;
	jem.active = conf.prof_active;
	jem.thread_active_init = conf.prof_thread_active_init;
	jem.gdump = conf.prof_gdump;
	jem.lg_sample = (unsigned)conf.lg_prof_sample;
	jem.steps = jem.lg_sample == 0 ? OWN_STEPS_EXACT : OWN_STEPS_SAMPLED;
	r->tag_threads = r->mode_changes = true;
	if (!conf.prof_unbias)
		r->head->rates[0] = 1; /* a sample counts as what it is */
	r->head->paused = !jem.active;
	series_begin(conf.prof_prefix);
	look();
	if (conf.prof_log)
		peer_say("prof_log: no log is written, only heap profiles", NULL);
}

/* Locks that other threads held are nobody's now. */
static void
forked(void)
{
	jem.reset_lock = 0;
	series_forked();
}

const struct peer peer_jemalloc = {
	.name = "jemalloc",
	.wants_usable = true,
	.wanted = wanted,
	.began = began,
	.thread = thread_came,
	.allocated = allocated,
	.freed = freed,
	.ending = ending,
	.ends_told = ends_told,
	.forked = forked,
};

/* ---- for mallctl ---- */

bool
jem_on(void)
{
	return jem.on && recorder_now->base != NULL;
}

static bool
swap(bool *at, bool value)
{
	return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
}

bool
jem_active(void)
{
	return jem.active;
}

bool
jem_set_active(bool on)
{
	bool was = swap(&jem.active, on);

	__atomic_store_n(&recorder_now->head->paused, !on, __ATOMIC_SEQ_CST);
	return was;
}

bool
jem_thread_active_init(void)
{
	return jem.thread_active_init;
}

bool
jem_set_thread_active_init(bool on)
{
	return swap(&jem.thread_active_init, on);
}

bool
jem_gdump(void)
{
	return jem.gdump;
}

bool
jem_set_gdump(bool on)
{
	bool was = swap(&jem.gdump, on);

	look();
	return was;
}

size_t
jem_lg_sample(void)
{
	return jem.on ? jem.lg_sample : 0;
}

int
jem_thread_active(bool *ret)
{
	struct thread *t = gate_enter(GATE_CFA());

	if (t == NULL)
		return -EAGAIN;
	*ret = !t->silent;
	gate_leave();
	return 0;
}

int
jem_set_thread_active(bool on)
{
	struct thread *t = gate_enter(GATE_CFA());

	if (t == NULL)
		return -EAGAIN;
	t->silent = !on;
	if (!on) /* not the short way through exact mode, which asks nobody */
		recorder_now->exact = recorder_now->hot = false;
	gate_leave();
	return 0;
}

/* prof_sys_thread_name: the calling thread's name is the one that the kernel has now. */
static void
take_kernel_name(uint32_t serial)
{
	char name[16] = ""; /* TASK_COMM_LEN */

	if (SYS2(SYS_prctl, PR_GET_NAME, name) == 0)
		series_name_thread(serial, name);
}

const char *
jem_thread_name(void)
{
	struct thread *t = gate_enter(GATE_CFA());
	const char *name = NULL;

	if (t != NULL) {
		if (conf.prof_sys_thread_name)
			take_kernel_name(t->serial);
		name = series_thread_name(t->serial);
		gate_leave();
	}
	return name == NULL ? "" : name;
}

int
jem_set_thread_name(const char *name)
{
	struct thread *t;

	if (name == NULL)
		return -EFAULT;
	for (const char *s = name; *s != '\0'; s++)
		if (*s != '\t' && (*s < ' ' || *s > '~'))
			return -EFAULT;
	t = gate_enter(GATE_CFA());
	if (t == NULL)
		return -EAGAIN;
	series_name_thread(t->serial, name);
	gate_leave();
	return 0;
}

void
jem_set_prefix(const char *prefix)
{
	series_set_prefix(prefix);
}

/* Exact from now on, or sampled at another rate. No block is live. */
static void
set_rate(struct recorder *r, unsigned lg)
{
	unsigned number = (r->rate_number + 1) % REC_RATES_MAX;
	uint64_t rate = UINT64_C(1) << (lg < RATE_LG_MAX ? lg : RATE_LG_MAX);

	r->head->rates[number] = conf.prof_unbias ? rate : 1;
	r->head->rate_bytes = rate;
	r->rate_number = number;
	__atomic_store_n(&r->head->mode, lg == 0 ? REC_MODE_EXACT : REC_MODE_SAMPLE,
			 __ATOMIC_RELEASE);
	jem.lg_sample = lg;
}

/* What is live is forgotten by the mode in which it was counted, so before that changes;
 * in between nothing is recorded. What another thread has begun by then is not waited
 * for. */
static void
forget_and_set(struct recorder *r, struct thread *t, unsigned lg)
{
	bool active;

	if (lg == jem.lg_sample) {
		census_forget_live(r, t);
		return;
	}
	r->exact = r->hot = false;
	/* every free, until it is certain that samples are all there is */
	gate.filter = &sample_all;
	__atomic_store_n(&r->head->paused, 1, __ATOMIC_SEQ_CST);
	census_forget_live(r, t);
	set_rate(r, lg);
	/* From its next allocation on; other threads when what they had drawn has
	 * passed. */
	tls.left = t->left = 0;
	do { /* prof.active may be written meanwhile */
		active = __atomic_load_n(&jem.active, __ATOMIC_SEQ_CST);
		__atomic_store_n(&r->head->paused, !active, __ATOMIC_SEQ_CST);
	} while (active != __atomic_load_n(&jem.active, __ATOMIC_SEQ_CST));
}

/* A base that nobody uses any more: the one before the last. */
static struct census *
spare_base(void)
{
	struct census **b = jem.bases[0] == jem.base ? &jem.bases[1] : &jem.bases[0];

	if (*b == NULL)
		*b = rt_map(sizeof(**b));
	else
		census_done(*b);
	return *b;
}

int
jem_reset(size_t lg)
{
	struct thread *t = gate_enter(GATE_CFA());
	struct recorder *r = recorder_now;
	struct census *base;
	int error = -ENOMEM;

	if (t == NULL)
		return -EAGAIN;
	if (!lock_take(&jem.reset_lock, t->me)) {
		gate_leave();
		return -EAGAIN;
	}
	forget_and_set(r, t, (unsigned)lg);
	base = spare_base();
	if (base != NULL)
		error = census_take(r, CENSUS_THREADS, NULL, base);
	if (error == 0)
		__atomic_store_n(&jem.base, base, __ATOMIC_RELEASE);
	memset(jem.accum, 0, sizeof(jem.accum));
	lock_drop(&jem.reset_lock);
	gate_leave();
	return error;
}

struct counting {
	unsigned class;
	struct jem_stats *to;
};

static void
count_block(void *arg, uintptr_t addr, uint64_t a, uint64_t b)
{
	struct counting *c = arg;
	uint64_t bytes = a & REC_BLOCK_SIZE_MASK;

	(void)addr, (void)b;
	if (pages_class(bytes) != c->class)
		return;
	c->to->req_sum += bytes;
	c->to->count++;
}

struct jem_stats
jem_stats_live(unsigned class)
{
	struct jem_stats s = {0, 0};

	census_each_block(recorder_now, count_block, &(struct counting){class, &s});
	return s;
}

struct jem_stats
jem_stats_accum(unsigned class)
{
	return jem.accum[class];
}
