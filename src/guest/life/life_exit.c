/* SPDX-License-Identifier: MIT */
/* life_exit.c -- the end of a process: what is noted of it, and where it is held.
 *
 * main is wrapped and exit() hooked, to note the moment before destructors run; _exit and
 * its kin are hooked because nothing of ours is called on their way. A fatal signal needs
 * nothing: the recording is complete at every instruction. Whether the process stands
 * still at its last step, for the tool to look at what is lost, is hold.c's business. */
#include "guest/life/life.h"

#include "guest/dropin/peer.h"
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/hold.h"
#include "guest/misuse/zone.h"
#include "guest/record/ticks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* The end of a process whose recording ended before. */
static void
note_ended(int status, enum rec_life life)
{
	struct rec_head *h = recorder_now->ended;

	if (h == NULL || (uint32_t)sys_getpid() != h->pid)
		return;
	h->exit_status = 256u + (status & 255);
	h->life = life;
}

void
life_exit_begins(int status)
{
	struct thread *t = gate_enter(GATE_CFA());
	struct rec_head *h;

	if (t == NULL) {
		note_ended(status, REC_LIFE_EXITING);
		return;
	}
	if (!life_is_ours()) {
		gate_leave();
		return;
	}
	h = recorder_now->head;
	h->exit_status = 256u + (status & 255);
	if (!rt_sealed)
		h->exit_anon_kib = (uint32_t)recorder_anon_kib();
	if (h->exit_ms == 0) {
		clock_read(recorder_now, t);
		h->exit_ms = t->now_ms + 1; /* never 0: that says "not yet" */
		h->life = REC_LIFE_EXITING;
		__atomic_fetch_or(&h->stamp, REC_STAMP_EXIT, __ATOMIC_RELAXED);
	}
	gate_leave();
}

static int (*program_main)(int, char **, char **);

/* In a section of its own, by which the unwinder knows that it has come to main's caller:
 * the frames outside of it are always the same. */
__attribute__((section("seep_main"))) static int
main_then_exit(int argc, char **argv, char **envp)
{
	int r = program_main(argc, argv, envp);

	hold_exit_begins(GATE_CFA());
	life_exit_begins(r);
	return r;
}

typedef int start_main(int (*main)(int, char **, char **), int argc, char **argv,
		       void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
		       void *stack_end);

SEEP_EXPORT start_main __libc_start_main;

SEEP_EXPORT int
__libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
		  void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
		  void *stack_end)
{
	start_main *real = (start_main *)dlsym(RTLD_NEXT, "__libc_start_main");

	program_main = main;
	return real(main_then_exit, argc, argv, init, fini, rtld_fini, stack_end);
}

/* _exit is async-signal-safe and so is this: a store, and the system call itself. */
static NORETURN void
leave_now(int status, uintptr_t sp)
{
	struct recorder *r = recorder_now;

	zone_end();
	hold_now(REC_HOLD_LEAVE, sp);
	peer_ending(PEER_LEAVE);
	if (life_is_ours()) {
		if (!rt_sealed && r->head->exit_anon_kib == 0)
			r->head->exit_anon_kib = (uint32_t)recorder_anon_kib();
		r->head->exit_status = 256u + (status & 255);
		r->head->life = REC_LIFE_EXITED;
	}
	note_ended(status, REC_LIFE_EXITED);
	for (;;)
		SYS1(SYS_exit_group, status);
}

SEEP_EXPORT NORETURN void
exit(int status)
{
	uintptr_t sp = HOLD_HERE();

	hold_exit_begins(sp);
	life_exit_begins(status);
	if (next_find())
		next.exit(status);
	leave_now(status, sp);
}

SEEP_EXPORT NORETURN void
quick_exit(int status)
{
	uintptr_t sp = HOLD_HERE();

	hold_exit_begins(sp);
	life_exit_begins(status);
	peer_ending(PEER_LEAVE); /* libc leaves without calling our _exit */
	/* else behind the program's at_quick_exit handlers */
	if (!life_quick_exit_told()) {
		zone_end();
		hold_now(REC_HOLD_LEAVE, sp);
	}
	if (next_find())
		next.quick_exit(status);
	leave_now(status, sp);
}

SEEP_EXPORT NORETURN void
_exit(int status)
{
	leave_now(status, HOLD_HERE());
}

SEEP_EXPORT NORETURN void
_Exit(int status)
{
	leave_now(status, HOLD_HERE());
}
