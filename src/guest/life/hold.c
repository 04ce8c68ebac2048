/* SPDX-License-Identifier: MIT */
/* hold.c -- a process stands still at its last step, so that the tool can look at its
 * memory.
 *
 * Whether a block is lost can only be told while there is memory to look at, and best
 * when the program has freed all that it will free. That moment is told by a function
 * that libc calls last of all at exit: it is registered by our constructor, before
 * anybody else's. Where no such function is called (_exit, a fatal signal) we hold the
 * process right before.
 *
 * It waits on a word of the recording, which is shared with the tool. Waiting ends when
 * the tool says so; when it has died, which is asked for fifty times a second; when it
 * has not answered for ten seconds, or taken longer than two minutes. Nothing is
 * allocated and no lock is taken, so that it works wherever a signal may have struck. A
 * process whose system calls are filtered, or that nobody wants to look at, does not wait
 * at all.
 *
 * The signals are those that would end the process. They are ours only as long as the
 * program leaves them at their default (guard.c); afterwards they are raised again, with
 * what came with them, and end it as they would have. */
#include "guest/life/hold.h"

#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/guard.h"
#include "guest/life/life.h"
#include "guest/life/lsan_defaults.h"
#include "guest/life/spare.h"
#include "guest/misuse/zone.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/sys.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

enum {
	NAP_MS = 20,
	ENTER_MS = 1000,   /* most that another thread may take to stand still, */
	ANSWER_MS = 10000, /* the tool to answer, */
	LOOK_MS = 120000,  /* and to look */
};

static uint32_t tool;
static uint32_t taken; /* lock_id() of the thread that holds; 0 = none */
static uintptr_t exit_sp;
static uint32_t exit_by; /* lock_id() */

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

void
hold_wanted(uint32_t pid)
{
	tool = pid;
}

void
hold_exit_begins(uintptr_t sp)
{
	/* A vfork child ends on our stack, and we go on. */
	if (exit_by != 0 || (recorder_now->base != NULL && !life_is_ours()))
		return;
	exit_sp = sp;
	exit_by = lock_id();
}

static uint64_t
now_ms(void)
{
	struct timespec ts = {0, 0};

	SYS2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void
wait_for_tool(struct rec_head *h)
{
	const struct timespec nap = {0, NAP_MS * 1000000};
	uint64_t start = now_ms();
	uint32_t seen;

	/* Wakes the tool; whoever else has that pid ignores it by default. */
	SYS2(SYS_kill, tool, SIGURG);
	for (;;) {
		uint64_t passed = now_ms() - start;

		seen = __atomic_load_n(&h->hold, __ATOMIC_ACQUIRE);
		if (seen >= REC_HOLD_GO || /* or a word that nobody writes */
		    passed > (seen == REC_HOLD_NONE    ? ENTER_MS
			      : seen == REC_HOLD_WAITS ? ANSWER_MS
						       : LOOK_MS) ||
		    SYS2(SYS_kill, tool, 0) == -ESRCH)
			break;
		SYS4(SYS_futex, &h->hold, FUTEX_WAIT, seen, &nap);
	}
	/* Not over nothing: the thread that is to be looked at is still on its way. */
	if (seen != REC_HOLD_NONE)
		__atomic_store_n(&h->hold, REC_HOLD_GO, __ATOMIC_RELEASE);
}

/* Our own writable data: what it says about blocks is not the program's. */
static void
own_data(struct rec_hold *d)
{
	const unsigned char *base = (const unsigned char *)&__ehdr_start;
	const ElfW(Phdr) *ph = (const void *)(base + __ehdr_start.e_phoff);

	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD || (ph[i].p_flags & PF_W) == 0)
			continue;
		d->data_start = (uintptr_t)base + ph[i].p_vaddr;
		d->data_end = d->data_start + ph[i].p_memsz;
	}
}

/* The recorder, if this process is to be looked at. */
static struct recorder *
wanted_here(void)
{
	struct recorder *r = recorder_now;

	if (tool == 0 || rt_sealed || r->base == NULL || !r->exact ||
	    (uint32_t)sys_getpid() != r->head->pid) /* a vfork child uses our memory */
		return NULL;
	return r;
}

/* True: this thread is the one that holds, and has to fill in where it stands. */
static bool
take(struct rec_head *h)
{
	uint32_t none = 0;

	if (__atomic_load_n(&h->hold, __ATOMIC_ACQUIRE) == REC_HOLD_NONE &&
	    __atomic_compare_exchange_n(&taken, &none, lock_id(), false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	/* Another thread is at its end as well: nobody goes on before it was looked
	 * at. */
	if (__atomic_load_n(&taken, __ATOMIC_RELAXED) != lock_id())
		wait_for_tool(h);
	return false;
}

/* What is ours, for whoever looks at any time. */
static void
own_memory(struct rec_hold *d)
{
	d->maps = (uintptr_t)rt_mappings;
	d->maps_max = RT_MAPPINGS_MAX;
	d->maps_lost = rt_mappings_lost;
	own_data(d);
	spare_tell(d);
}

static struct rec_hold *
place(const struct recorder *r)
{
	return (struct rec_hold *)(void *)(r->base + REC_HOLD_OFF);
}

void
hold_tell(void)
{
	struct recorder *r = recorder_now;

	if (r->base != NULL && !rt_sealed)
		own_memory(place(r));
}

void
hold_asked(uintptr_t sp)
{
	struct recorder *r = recorder_now;
	struct rec_hold *d = place(r);

	own_memory(d);
	d->sp = sp;
	d->tid = sp != 0 ? (uint32_t)sys_gettid() : 0;
	__atomic_store_n(&d->why, sp != 0 ? REC_HOLD_ASKED : 0, __ATOMIC_RELEASE);
}

/* The stack for signal handlers, which only the kernel may know by now: as one more
 * register. */
static void
signal_stack(struct rec_hold *d)
{
	stack_t s;

	if (d->nregs < REC_HOLD_REGS && SYS2(SYS_sigaltstack, NULL, &s) == 0 &&
	    (s.ss_flags & SS_DISABLE) == 0)
		d->regs[d->nregs++] = (uintptr_t)s.ss_sp;
}

static void
stand(struct recorder *r, const struct rec_hold *where)
{
	struct rec_hold *d = place(r);

	*d = *where;
	signal_stack(d);
	d->tid = (uint32_t)sys_gettid();
	d->tp = thread_pointer();
	own_memory(d);
	d->stood_ms = (uint32_t)now_ms();
	__atomic_store_n(&r->head->hold, REC_HOLD_WAITS, __ATOMIC_RELEASE);
	wait_for_tool(r->head);
}

/* What the way from exit to here has put on the stack is not the program's. */
uintptr_t
hold_exit_sp(uintptr_t sp)
{
	return exit_by == lock_id() && exit_sp > sp ? exit_sp : sp;
}

void
hold_now(enum rec_hold_why why, uintptr_t sp)
{
	struct recorder *r = wanted_here();
	struct rec_hold where = {.why = why, .sp = sp};

	if (r == NULL || !take(r->head))
		return;
	where.sp = hold_exit_sp(sp);
	lsan_defaults_tell(&where, false);
	stand(r, &where);
}

enum { RED_ZONE = 128 };

void
hold_signal(int sig, const void *context)
{
	struct recorder *r = wanted_here();
	struct rec_hold where = {.why = REC_HOLD_SIGNAL, .signal = (uint32_t)sig};
	const ucontext_t *uc = context;

	zone_end();
	if (r == NULL || !take(r->head))
		return;
	where.context = (uintptr_t)uc;
#if defined(__x86_64__)
	where.sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP] - RED_ZONE;
	where.nregs = REG_RIP; /* r8 … rsp: all that may hold an address */
	for (unsigned i = 0; i < where.nregs; i++)
		where.regs[i] = (uint64_t)uc->uc_mcontext.gregs[i];
#elif defined(__aarch64__)
	where.sp = uc->uc_mcontext.sp;
	where.nregs = REC_HOLD_REGS;
	/* x0 … x17 may hold an address; the rest is in the context. */
	for (unsigned i = 0; i < where.nregs; i++)
		where.regs[i] = uc->uc_mcontext.regs[i];
#endif
	stand(r, &where);
}

/* ---- signals ---- */

/* Faults come again by themselves. */
static bool
comes_again(int sig, const siginfo_t *info)
{
	return info->si_code > 0 &&
	       (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE);
}

static void
on_fatal(int sig, siginfo_t *info, void *context)
{
	struct sigaction dfl;

	hold_signal(sig, context);
	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL;
	next.sigaction(sig, &dfl, NULL);
	if (!comes_again(sig, info))
		SYS4(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), sig, info);
}

void
hold_install(void)
{
	static const int fatal[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,	SIGABRT,
				    SIGFPE,  SIGSEGV, SIGPIPE, SIGALRM, SIGTERM,
				    SIGUSR1, SIGUSR2, SIGXCPU};

	taken = 0; /* a fork may have copied what another thread was about to do */
	own_memory(place(recorder_now));
	for (unsigned i = 0; tool != 0 && i < ARRAY_LEN(fatal); i++)
		guard_handle(fatal[i], on_fatal);
}
