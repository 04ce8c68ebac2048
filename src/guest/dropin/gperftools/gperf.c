/* SPDX-License-Identifier: MIT */
/* gperf.c -- gperftools' heap profiler: its variables and its C functions.
 *
 * HEAPPROFILE=PREFIX switches it on, as in a program linked with tcmalloc: every
 * allocation is recorded (exact mode, private memory), and profiles are written each time
 * so many bytes were allocated or freed, the heap has grown by so much, so many seconds
 * passed, a signal came, the program asked, and at the end. Counting begins in our
 * constructor, where gperftools' begins too: what libraries allocated before it is not in
 * the profiles.
 *
 * HeapProfilerStart at run time begins a recording then; the threads that are there
 * already find out at their next allocation (gperf_wake). HeapProfilerStop pauses it, and
 * the next start forgets what was there.
 *
 * Where the process has a real HeapProfilerStart behind us, or SEEP says something else,
 * none of this acts and the functions pass on. */
#include "guest/dropin/gperftools/gperf.h"

#include "guest/dropin/peer.h"
#include "guest/dropin/peer_heapcheck.h"
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/life.h"
#include "guest/life/loader.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TCMALLOC "libtcmalloc.so.4"

/* ---- settings ---- */

static int64_t
number_of(const char *name, int64_t otherwise)
{
	const char *s = proc_variable(name);
	bool minus = false;
	uint64_t n = 0;

	if (s == NULL)
		return otherwise;
	while (*s == ' ' || (*s >= '\t' && *s <= '\r'))
		s++;
	if (*s == '-' || *s == '+')
		minus = *s++ == '-';
	for (; *s >= '0' && *s <= '9'; s++)
		n = n > INT64_MAX / 10 - 1 ? INT64_MAX / 2
					   : n * 10 + (uint64_t)(*s - '0');
	return minus ? -(int64_t)n : (int64_t)n;
}

static bool
yes(const char *name, bool otherwise)
{
	const char *s = proc_variable(name);

	if (s == NULL)
		return otherwise;
	return *s == '\0' || *s == 't' || *s == 'T' || *s == 'y' || *s == 'Y' ||
	       *s == '1';
}

static void
read_settings(void)
{
	gperf_settings = (struct gperf_settings){
		.alloc_interval =
			number_of("HEAP_PROFILE_ALLOCATION_INTERVAL", INT64_C(1) << 30),
		.dealloc_interval = number_of("HEAP_PROFILE_DEALLOCATION_INTERVAL", 0),
		.inuse_interval = number_of("HEAP_PROFILE_INUSE_INTERVAL", 100 << 20),
		.time_interval = number_of("HEAP_PROFILE_TIME_INTERVAL", 0),
		.verbose = number_of("PERFTOOLS_VERBOSE", 0),
		.signal = number_of("HEAPPROFILESIGNAL", 0),
		.only_mmap = yes("HEAP_PROFILE_ONLY_MMAP", false),
		.mmap_log = yes("HEAP_PROFILE_MMAP_LOG", false),
		.cleanup = yes("HEAP_PROFILE_CLEANUP", true),
	};
	gperf_settings.mmap = gperf_settings.only_mmap || yes("HEAP_PROFILE_MMAP", false);
}

static NORETURN void
fatal(const char *a, const char *b, const char *c)
{
	gperf_say(GPERF_FATAL, a, b, c);
	SYS3(SYS_tgkill, sys_getpid(), sys_gettid(), SIGABRT);
	for (;;)
		SYS1(SYS_exit_group, 128 + SIGABRT);
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* A real one in the process: a tcmalloc that is preloaded or linked behind us. By
 * tcmalloc's name we may be found ourselves (compat/). */
static void *
real_one(const char *name)
{
	char *f = next_late(name, TCMALLOC);

	return f >= __ehdr_start && f < _end ? NULL : f;
}

/* ---- beginning ---- */

static bool
wanted(struct recorder_settings *s, bool forced)
{
	read_settings();
	gperf.forced = forced;
	if (!gperf_prefix_from(proc_variable("HEAPPROFILE"), gperf.own,
			       sizeof(gperf.own)) ||
	    (!forced && real_one("HeapProfilerStart") != NULL))
		return false;
	gperf.by_variable = true;
	s->mode = REC_MODE_EXACT;
	s->mmap_class = gperf_settings.mmap;
	return true;
}

static void
began(void)
{
	gperf.begun = true;
	recorder_now->head->paused = 1; /* until start() */
	peer_look(true, false, gperf_settings.dealloc_interval > 0);
}

static bool
ends_told(void)
{
	return true;
}

static void
forked(void)
{
	struct text t = text_on(gperf.prefix, sizeof(gperf.prefix));

	gperf.dumping = 0;
	gperf.number = 0;
	gperf.moved = false;
	if (gperf.own[0] != '\0') {
		text_add(&t, gperf.own);
		text_add(&t, "_");
		text_dec(&t, (uint64_t)sys_getpid());
	}
	if (gperf.on && gperf_settings.time_interval > 0)
		gperf_timer_start(gperf_settings.time_interval, gperf_tick);
}

const struct peer peer_gperf = {
	.name = "gperftools",
	.wanted = wanted,
	.began = began,
	.allocated = gperf_allocated,
	.freed = gperf_freed,
	.ending = gperf_ending,
	.ends_told = ends_told,
	.forked = forked,
};

/* Forget what was recorded before; allocations from now on are all there is. */
static void
forget(void)
{
	struct thread *t = gate_enter(GATE_CFA());

	if (t == NULL)
		return;
	census_forget_live(recorder_now, t);
	gate_leave();
	census_done(&gperf.base);
	gperf.has_base =
		census_take(recorder_now, gperf_settings.mmap ? CENSUS_MAPPINGS : 0, NULL,
			    &gperf.base) == 0;
}

/* The recording is there, and paused. */
static void
start(const char *prefix, bool again)
{
	struct text t = text_on(gperf.prefix, sizeof(gperf.prefix));

	gperf_say(GPERF_PLAIN, "Starting tracking the heap");
	if (again)
		forget();
	text_add(&t, prefix);
	if (prefix != gperf.own) {
		t = text_on(gperf.own, sizeof(gperf.own));
		text_add(&t, prefix);
	}
	gperf.allocated = gperf.last_alloc = gperf.last_free = 0;
	gperf.high_water = gperf.doubtful = 0;
	gperf.moved = true;
	gperf.last_time = gperf_now();
	if (gperf_settings.mmap_log)
		gperf_mmap_log();
	gperf.on = true;
	if (!gperf.shared)
		recorder_now->head->paused = 0;
	if (gperf_settings.time_interval > 0 && !gperf.timed)
		gperf.timed = gperf_timer_start(gperf_settings.time_interval, gperf_tick);
}

static void
handle_signal(void)
{
	const char *text = proc_variable("HEAPPROFILESIGNAL");
	char number[24];
	struct text t = text_on(number, sizeof(number));
	int sig = (int)gperf_settings.signal;
	sighandler_t old;

	if (text == NULL)
		return;
	text_dec(&t, (uint64_t)sig);
	old = next.signal(sig, gperf_signalled);
	if (old == SIG_ERR)
		fatal("Failed to set signal. Perhaps signal number ", text,
		      " is invalid");
	if (old != SIG_DFL)
		fatal("Signal ", number, " already in use");
	gperf_say(GPERF_INFO, "Using signal ", number, " as heap profiling switch");
}

/* As gperftools' own: after the libraries that it needs, before the program's. */
__attribute__((constructor)) static void
constructed(void)
{
	struct thread *t = gate_enter(GATE_CFA());

	if (t != NULL)
		gate_leave();
	if (!gperf.by_variable || gperf.on)
		return;
	if (!gperf.begun) {
		gperf_say(GPERF_ERROR, "Failed to start tracking the heap: no memory");
		return;
	}
	setenv("HEAPPROFILE_USE_PID", "1", 1); /* for programs that this one starts */
	handle_signal();
	if (gperf_settings.cleanup)
		gperf_cleanup(gperf.own);
	start(gperf.own, false);
}

/* ---- together with HEAPCHECK ---- */

extern int __cxa_atexit(void (*)(void *), void *, void *);

static void
shared_exit(void *nothing_given)
{
	(void)nothing_given;
	if (gperf.on && recorder_now->base != NULL)
		gperf_ending(PEER_EXIT);
}

/* HEAPCHECK records already. Profiles are of its recording, from the beginning on;
 * intervals are not looked at. A forked child has a recording of its own. */
static void
share(void)
{
	gperf.begun = gperf.shared = true;
	__cxa_atexit(shared_exit, NULL, NULL);
	pthread_atfork(NULL, NULL, forked);
}

/* ---- the C functions ---- */

SEEP_EXPORT void HeapProfilerStart(const char *prefix);
SEEP_EXPORT void HeapProfilerStop(void);
SEEP_EXPORT void HeapProfilerDump(const char *reason);
SEEP_EXPORT int IsHeapProfilerRunning(void);
SEEP_EXPORT char *GetHeapProfile(void);

/* Are we the one to act? If not, *ret_real is who is, or NULL. */
static bool
ours(const char *name, void **ret_real)
{
	*ret_real = gperf.begun ? NULL : real_one(name);
	return gperf.begun ||
	       (*ret_real == NULL && (peer == NULL || peer == &peer_gperf));
}

/* Forced over a real one, we hear of its own beginning and end too, by the names that it
 * shares with us: they are not the program's. */
static bool
from_real(const void *caller)
{
	struct host_module theirs, its;
	void *real = gperf.forced ? real_one("HeapProfilerStart") : NULL;

	return real != NULL && loader_host.module_find((uintptr_t)real, &theirs) &&
	       loader_host.module_find((uintptr_t)caller, &its) &&
	       its.start == theirs.start;
}

static void
late_settings(struct recorder_settings *s)
{
	s->mode = REC_MODE_EXACT;
	s->mmap_class = gperf_settings.mmap;
}

SEEP_EXPORT void
HeapProfilerStart(const char *prefix)
{
	void *real;
	bool again = gperf.begun;

	if (!ours("HeapProfilerStart", &real)) {
		if (real != NULL)
			((void (*)(const char *))real)(prefix);
		return;
	}
	if (gperf.on || (proc_variable("SEEP") != NULL && !gperf.forced) ||
	    from_real(__builtin_return_address(0)))
		return;
	if (!gperf.begun) {
		read_settings();
		if (heapcheck_on())
			share();
		else if (!life_begin_late(&peer_gperf, late_settings))
			return;
		gperf_wake();
	}
	start(prefix == NULL ? "" : prefix, again && !gperf.shared);
}

SEEP_EXPORT void
HeapProfilerStop(void)
{
	void *real;

	if (!ours("HeapProfilerStop", &real)) {
		if (real != NULL)
			((void (*)(void))real)();
		return;
	}
	if (!gperf.on || !gperf_turn_wait())
		return;
	gperf.on = false;
	if (!gperf.shared)
		recorder_now->head->paused = 1;
	gperf_turn_end();
}

SEEP_EXPORT void
HeapProfilerDump(const char *reason)
{
	void *real;

	if (!ours("HeapProfilerDump", &real)) {
		if (real != NULL)
			((void (*)(const char *))real)(reason);
		return;
	}
	if (!gperf.on || recorder_now->base == NULL ||
	    from_real(__builtin_return_address(0)) || !gperf_turn_wait())
		return;
	gperf_write(reason == NULL ? "" : reason, NULL);
	gperf_turn_end();
}

SEEP_EXPORT int
IsHeapProfilerRunning(void)
{
	void *real;

	if (!ours("IsHeapProfilerRunning", &real) && real != NULL)
		return ((int (*)(void))real)();
	return gperf.on;
}

SEEP_EXPORT char *
GetHeapProfile(void)
{
	size_t mapped = 0, n = 0;
	char *text = NULL, *copy;
	void *real;

	if (!ours("GetHeapProfile", &real) && real != NULL)
		return ((char *(*)(void))real)();
	if (gperf.on && recorder_now->base != NULL)
		text = gperf_text(gperf.has_base ? &gperf.base : NULL, &mapped, &n);
	copy = malloc(n + 1);
	if (copy != NULL) {
		if (text != NULL)
			memcpy(copy, text, n);
		copy[n] = '\0';
	}
	if (text != NULL)
		rt_unmap(text, mapped);
	return copy;
}
