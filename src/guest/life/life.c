/* SPDX-License-Identifier: MIT */
/* life.c -- the life of a process: beginning, fork, threads, exit.
 *
 * Begin: at the first call of any hook for which the environment is set up, which is
 * before the constructors of libraries that come after us have run; so their allocations
 * count too.
 *
 * fork: the recorder's page is wiped in the child, whose first event comes here. It gives
 * up the parent's mapping and begins a recording of its own. If the parent's block table
 * was small, fork has left a list of the blocks (guest/record/inherit.c) which is entered
 * first; else, and after a bare clone, it is empty, and frees of what it inherited are
 * counted as such. Children of vfork and posix_spawn count as the parent.
 *
 * Thread end: a pthread key, whose destructor asks to be called again until the last
 * round, so that other destructors' frees are recorded by a living thread; what comes
 * after even that attaches for one event at a time.
 *
 * Armed: without a setting of ours or of a peer's nothing is recorded, but every megabyte
 * a thread looks at a switch that seep attach may have set.
 *
 * How it ends is in life_exit.c. */
#include "guest/life/life.h"

#include "guest/dropin/peer.h"
#include "guest/dropin/peer_heapcheck.h"
#include "guest/hooks/boot.h"
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/hooks/past.h"
#include "guest/lang/lang.h"
#include "guest/life/exec_env.h"
#include "guest/life/fork_locks.h"
#include "guest/life/guard.h"
#include "guest/life/hand.h"
#include "guest/life/hold.h"
#include "guest/life/loader.h"
#include "guest/life/lsan_defaults.h"
#include "guest/life/settings.h"
#include "guest/misuse/fence.h"
#include "guest/misuse/zone.h"
#include "guest/record/file/space.h"
#include "guest/record/inherit.h"
#include "guest/record/ticks.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"
#include "shared/inject.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* Before glibc 2.34 these were in libpthread: a program without it has no threads. */
#pragma weak pthread_key_create
#pragma weak pthread_setspecific

enum state {
	STATE_NEW,
	STATE_ON,
	STATE_AGAIN, /* forked in the middle of an event: begin again at the next one */
	STATE_OFF,   /* for good */
};

enum { LAST_ROUND = 4 }; /* PTHREAD_DESTRUCTOR_ITERATIONS */

/* Bytes that a thread of an armed process allocates between two looks at the switch. */
#define ARMED_BYTES (UINT64_C(1) << 20)

/* Written with begin_lock held, or where nobody else can begin; read by whoever comes. */
static enum state state_word;
static bool checked; /* HEAPCHECK asks for a look at the end */
static bool armed;   /* nobody asked for a recording, and seep attach may do so later */
static uint32_t begin_lock;
static struct settings settings;
static uint64_t begun; /* how many recordings this process and its ancestors began */
static unsigned char
	*mapped; /* where the last one is: known to a child whose page was wiped */
static uint64_t mapped_bytes;
static pthread_key_t thread_key;
static bool thread_key_made;

static ALWAYS_INLINE enum state
state(void)
{
	return __atomic_load_n(&state_word, __ATOMIC_ACQUIRE);
}

static void
state_set(enum state now)
{
	__atomic_store_n(&state_word, now, __ATOMIC_RELEASE);
}

static void
switch_off(void)
{
	gate.filter = boot_used ? &sample_all : &sample_none;
	gate.mmap = false;
	recorder_now->id =
		UINT64_MAX; /* no thread's: all come by the slow way, and pass */
	state_set(STATE_OFF);
}

static void
thread_round(void *round)
{
	uintptr_t n = (uintptr_t)round;

	if (n < LAST_ROUND) {
		uintptr_t was = gate_quiet(GATE_CFA());

		pthread_setspecific(thread_key, (void *)(n + 1));
		gate_unquiet(was);
		return;
	}
	tls.ended = 1;
	gate_leave_ended();
}

/* Begin a recording with `settings`. Lock held. */
static void
begin(void)
{
	struct recorder *r = recorder_now;

	if (recorder_start(r, &settings.recorder, &loader_host, ++begun) != 0) {
		switch_off();
		return;
	}
	mapped = r->base;
	mapped_bytes = r->bytes;
	r->hot = r->hot && !wrong.stacks && !wrong.fenced;
	if (wrong_has_layers())
		r->head->flags |= REC_FLAG_LAYERS;
	if (past_possible())
		__atomic_fetch_or(&r->head->flags, REC_FLAG_PAST, __ATOMIC_SEQ_CST);
	if (hooks_usable_asked())
		__atomic_fetch_or(&r->head->flags, REC_FLAG_USABLE, __ATOMIC_SEQ_CST);
	gate.mmap = settings.recorder.mmap_class;
	gate.filter = settings.recorder.mode == REC_MODE_EXACT || boot_used ? &sample_all
									    : r->sample;
	lang_begun(r);
	state_set(STATE_ON);
	guard_install();
	hold_install();
	zone_forked();
	fence_install();
	peer_began();
}

static void
begin_on_page(void)
{
	/* A peer's profiler goes on in a forked child, with a copy of all it has. */
	struct recorder *page =
		peer != NULL ? rt_map(sizeof(*page)) : rt_map_wiped(sizeof(*page));

	if (page == NULL) {
		switch_off();
		return;
	}
	page->id = UINT64_MAX;
	recorder_now = page;
	thread_key_made = pthread_key_create != NULL &&
			  pthread_key_create(&thread_key, thread_round) == 0;
	begin();
}

static void
begin_first(void)
{
	const char *bad;

	if (getauxval(AT_SECURE) != 0 ||
	    !settings_parse(proc_variable("SEEP"), &settings, &bad)) {
		switch_off();
		return;
	}
	/* No word of our own, or one that asks for it: what do the peers' settings
	 * say? */
	if (proc_variable("SEEP") == NULL || settings.compat[0] != '\0')
		peer_choose(&settings.recorder, settings.compat);
	armed = proc_variable("SEEP") == NULL && peer == NULL;
	checked = armed && heapcheck_wanted(&settings.recorder);
	armed = armed && !checked;
	if (settings.recorder.mode == REC_MODE_OFF ||
	    (settings.parent != 0 && SYS0(SYS_getppid) != (long)settings.parent)) {
		switch_off();
		return;
	}
	if (settings.recorder.mode == REC_MODE_EXACT)
		hold_wanted(settings.hold);
	lsan_defaults_wanted(settings.lsan);
	wrong_begin(&settings);
	if (settings.recorder.children && peer == NULL)
		exec_env_keep(settings.recorder.run_id != 0);
	begin_on_page();
}

bool
life_begin_late(const struct peer *who, void (*fill)(struct recorder_settings *))
{
	const char *bad;
	uintptr_t was = gate_quiet(GATE_CFA());
	bool on = false;

	if (lock_take(&begin_lock, lock_id())) {
		if (state() == STATE_OFF && recorder_now->base == NULL && peer == NULL &&
		    getauxval(AT_SECURE) == 0 && settings_parse(NULL, &settings, &bad)) {
			fill(&settings.recorder);
			settings.recorder.own_memory = true;
			peer = who;
			begin_on_page();
			on = state() == STATE_ON;
		}
		lock_drop(&begin_lock);
	}
	gate_unquiet(was);
	return on;
}

/* seep attach writes the settings here, and then the word. */
SEEP_EXPORT struct life_switch seep_switch = {.bytes = sizeof(struct life_switch)};

static COLD bool
switched_on(void)
{
	char text[LIFE_SWITCH_BYTES];
	const char *bad;
	bool on = false;

	if (__atomic_load_n(&seep_switch.word, __ATOMIC_ACQUIRE) != LIFE_SWITCH_ON ||
	    !lock_take(&begin_lock, lock_id()))
		return false;
	memcpy(text, seep_switch.settings, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	if (state() == STATE_OFF && armed && recorder_now->base == NULL &&
	    settings_parse(text, &settings, &bad) &&
	    settings.recorder.mode != REC_MODE_OFF) {
		armed = false;
		begin_on_page();
		on = state() == STATE_ON;
	}
	lock_drop(&begin_lock);
	return on;
}

/* ---- a forked child ---- */

static struct inherit *entering; /* begun: waits for the first thread to attach */

static void
lost_child(unsigned char *parents)
{
	struct rec_head *h = (struct rec_head *)(void *)parents;

	__atomic_fetch_add(&h->lost[REC_LOST_CHILD], 1, __ATOMIC_RELAXED);
}

/* Each of the parent's other threads may have had a block that malloc had handed out and
 * nobody had recorded yet. */
static void
note_threads(const struct rec_head *parents)
{
	if (parents->threads_most > 1)
		settings.recorder.forked_threads += parents->threads_most - 1;
}

/* A forked child: the parent's recording is still mapped, but not ours. */
static void
begin_again(void)
{
	struct inherit *list = hand_take(begun);

	hand_forget(&entering); /* a parent's, that no thread came for */
	tls.owner = TLS_NOBODY;
	tls.self = NULL;
	locks_forked();
	if (state() == STATE_ON) {
		note_threads((const struct rec_head *)(void *)mapped);
		quiet_end((struct rec_head *)(void *)mapped);
	}
	if (rt_sealed) {
		/* The filter is the child's, too: neither files nor mappings. */
		if (settings.recorder.children)
			lost_child(mapped);
		switch_off();
	} else if (settings.recorder.children) {
		settings.recorder.forked = true;
		unsigned char *old = mapped;
		uint64_t old_bytes = mapped_bytes;

		begin();
		if (state() == STATE_OFF)
			lost_child(old);
		recorder_forget(old, old_bytes);
	} else {
		recorder_forget(mapped, mapped_bytes);
		switch_off();
	}
	if (state() == STATE_ON)
		entering = list;
	else
		inherit_forget(list);
}

/* A child may inherit the lock taken, by a thread that does not exist here. It finds its
 * own page wiped; the first thread that comes says so on it, and frees what it had seen
 * of the lock before: nobody else has it from that one. */
static void
drop_inherited_lock(void)
{
	uint32_t was = __atomic_load_n(&begin_lock, __ATOMIC_ACQUIRE), none = 0;

	if (state() == STATE_NEW || recorder_now->base != NULL ||
	    !__atomic_compare_exchange_n(&recorder_now->begins, &none, 1u, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
	    was == 0)
		return;
	__atomic_compare_exchange_n(&begin_lock, &was, 0u, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

static COLD bool
begin_locked(void)
{
	uint32_t me = lock_id();
	bool on;

	drop_inherited_lock();
	if (!lock_take(&begin_lock, me))
		return false;
	if (state() == STATE_NEW && environ != NULL && next_find())
		begin_first();
	else if (state() == STATE_AGAIN ||
		 (state() == STATE_ON && recorder_now->base == NULL))
		begin_again();
	on = state() == STATE_ON && recorder_now->base != NULL;
	lock_drop(&begin_lock);
	return on;
}

/* The recording is lost: pass everything by from now on. What is under way ends
 * harmlessly. */
void
life_broken(void)
{
	switch_off();
}

void
life_mapped(unsigned char **ret_base, uint64_t *ret_bytes)
{
	*ret_base = state() == STATE_ON ? mapped : NULL;
	*ret_bytes = mapped_bytes;
}

void
life_resized(uint64_t bytes)
{
	mapped_bytes = bytes;
}

struct rec_head *
life_notes(bool *ret_whole)
{
	*ret_whole = recorder_now->ended == NULL;
	if (!*ret_whole)
		return recorder_now->ended;
	return state() == STATE_ON ? (struct rec_head *)(void *)mapped : NULL;
}

bool
life_is_ours(void)
{
	struct recorder *r = recorder_now;

	return r->base != NULL && (rt_sealed || (uint32_t)sys_getpid() == r->head->pid);
}

bool
life_begun(void)
{
	if (LIKELY(state() == STATE_ON && recorder_now->base != NULL))
		return true;
	if (state() == STATE_OFF) {
		if (armed && switched_on())
			return true;
		if (recorder_now->ended != NULL) /* all come here, to be counted */
			return false;
		/* Let this thread pass without asking again, at least for a while. */
		tls.left = armed ? ARMED_BYTES : UINT64_MAX / 2;
		return false;
	}
	return begin_locked();
}

extern int __cxa_atexit(void (*)(void *), void *, void *);
extern int __cxa_at_quick_exit(void (*)(void *), void *);

static bool quick_told;

bool
life_quick_exit_told(void)
{
	return quick_told;
}

static void
last_of_quick(void *nothing_given)
{
	(void)nothing_given;
	zone_end();
	hold_now(REC_HOLD_LEAVE, GATE_CFA());
}

static void
last_of_all(void *nothing_given)
{
	(void)nothing_given;
	zone_end();
	hold_now(REC_HOLD_EXIT, GATE_CFA());
	heapcheck_ending(GATE_CFA());
}

__attribute__((constructor)) static void
constructed(void)
{
	struct thread *t = gate_enter(GATE_CFA());

	if (t != NULL)
		gate_leave();
	exec_env_hide();
	/* Called in the reverse order: whoever registers after us has had its turn by
	 * then. Of no object, so that nobody's dlclose calls it. */
	if (state() == STATE_ON && (settings.hold != 0 || wrong.stacks || checked)) {
		__cxa_atexit(last_of_all, NULL, NULL);
		quick_told = __cxa_at_quick_exit(last_of_quick, NULL) == 0;
	}
}

/* ---- threads ---- */

void
life_thread_began(void)
{
	uintptr_t busy = tls.busy, ra = tls.busy_ra;

	if (UNLIKELY(entering != NULL)) {
		struct inherit *l =
			__atomic_exchange_n(&entering, NULL, __ATOMIC_RELAXED);

		if (l != NULL)
			inherit_enter(recorder_now, tls.self, l);
		inherit_forget(l);
	}
	if (!thread_key_made || tls.ended)
		return;
	/* What libc allocates for this is not the program's; right below us, so as not to
	 * look like a handler's. */
	tls.busy = 0;
	gate_quiet(GATE_CFA());
	pthread_setspecific(thread_key, (void *)1);
	tls.busy = busy;
	tls.busy_ra = ra;
}

/* ---- fork ---- */

/* In a child, where fork was called by a signal handler on top of the recorder: the event
 * below will go on. It shall neither find its recorder wiped nor write into the parent's
 * recording. */
static void
fork_left_us_inside(void)
{
	sys_mmap(mapped, mapped_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1);
	recorder_now->id = UINT64_MAX;
	state_set(STATE_AGAIN);
	begin_lock = 0;
	hand_drop();
}

static pid_t
fork_by(pid_t (*real)(void))
{
	struct recorder *page = recorder_now;
	bool on = state() == STATE_ON && page->base != NULL;
	bool inside = on && tls.busy > GATE_QUIET;
	pid_t pid;

	if (peer != NULL) {
		pid = real();
		if (pid == 0 && (!peer_hears_forks || real == next._Fork))
			peer_forked();
		return pid;
	}
	if (LIKELY(!inside)) {
		if (on && tls.busy == 0 && settings.recorder.children)
			hand_fill(page);
		pid = real();
		/* A handler of pthread_atfork may have begun the child's recording
		 * already. */
		if (pid == 0 && page->base == NULL) {
			locks_forked();
			if (on && exec_env_follows())
				quiet_begin((struct rec_head *)(void *)mapped);
		}
		hand_settle(pid == 0);
		return pid;
	}
	rt_map_wipe(page, sizeof(*page), false);
	pid = real();
	rt_map_wipe(page, sizeof(*page), true);
	if (pid == 0) {
		locks_forked();
		fork_left_us_inside();
	}
	return pid;
}

SEEP_EXPORT pid_t
fork(void)
{
	return next_find() ? fork_by(next.fork) : -1;
}

SEEP_EXPORT pid_t _Fork(void); /* since glibc 2.34 */

SEEP_EXPORT pid_t
_Fork(void)
{
	return next_find() ? fork_by(next._Fork) : -1;
}

/* ---- address space ---- */

/* Gives back all that we hold but the head, in which what comes after is counted: the
 * recording says when it ended, and how much is missing. The only thread's. */
static void
end_early(struct recorder *r)
{
	struct thread *t = tls.self;
	bool counts = r->exact;

	space_cut(r, REC_FLAG_ENDED | REC_FLAG_LIMIT_SPACE);
	switch_off();
	tls.self = NULL;
	r->base = NULL;
	COMPILER_BARRIER();
	recorder_forget_private(r);
	threads_free(t);
	if (counts && sys_madvise(mapped, REC_PAGE_BYTES, MADV_DONTFORK) == 0) {
		r->ended = r->head;
		recorder_forget(mapped + REC_PAGE_BYTES, mapped_bytes - REC_PAGE_BYTES);
		mapped_bytes = REC_PAGE_BYTES;
	} else {
		recorder_forget(mapped, mapped_bytes);
	}
}

/* The program was refused `n` bytes and has a limit on its address space, which it may
 * have set a moment ago: what we hold may be what it lacks. true: something was given
 * back, try again. The recording's file stays as it is. */
bool
life_give_back(size_t n)
{
	struct recorder *r = recorder_now;
	uint64_t keep, limit;
	uintptr_t was;
	bool single, any;

	if (state() != STATE_ON || r->base == NULL || tls.busy != 0 || rt_sealed)
		return false;
	limit = r->space_limited ? 0 : recorder_space_limit();
	if (limit == UINT64_MAX ||
	    (limit != 0 && limit <= n)) /* that is not the reason */
		return false;
	keep = REC_CHUNKS_OFF + (uint64_t)r->head->populated * REC_CHUNK_BYTES;
	single = r->single && tls.owner == r->id && tls.self->alone;
	if (!single && keep >= r->bytes)
		return false;
	r->space_limited = false;
	if (single) {
		end_early(r);
		return true;
	}
	rec_lost(r, REC_LOST_SPACE);
	/* Other threads may be in here: only what none of them has touched. */
	was = gate_quiet(GATE_CFA()); /* a handler must not take the lock from us */
	any = space_give_back(r, lock_id());
	if (any)
		mapped_bytes = r->bytes;
	gate_unquiet(was);
	return any;
}
