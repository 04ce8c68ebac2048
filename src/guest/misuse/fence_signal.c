/* SPDX-License-Identifier: MIT */
/* fence_signal.c -- the handler of faults; see fence_signal.h.
 *
 * It comes before the program's own, whose wishes are kept here: faults that are not in
 * the pool are its. */
#include "guest/misuse/fence_signal.h"

#include "guest/hooks/next.h"
#include "guest/misuse/fence.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/sys.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static struct sigaction program;		 /* what the program wants with SIGSEGV */
static void (*before)(int, siginfo_t *, void *); /* ours, while it wants the default */
static bool taken;

/* Somebody else's: the program's handler, or what becomes of it without one. */
static void
pass_on(int sig, siginfo_t *info, void *context)
{
	struct sigaction act = program;
	sigset_t mask = act.sa_mask;
	uint64_t own = UINT64_C(1) << (sig - 1);

	if (act.sa_handler == SIG_DFL || act.sa_handler == SIG_IGN) {
		if (before != NULL && act.sa_handler == SIG_DFL) {
			before(sig, info, context);
			return;
		}
		if (act.sa_handler == SIG_IGN && info->si_code <= 0)
			return; /* sent, and ignored; what the processor finds is not */
		memset(&act, 0, sizeof(act));
		next.sigaction(sig, &act, NULL);
		if (info->si_code <= 0)
			SYS4(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), sig,
			     info);
		return;
	}
	if ((act.sa_flags & SA_NODEFER) != 0)
		SYS4(SYS_rt_sigprocmask, SIG_UNBLOCK, &own, 0, sizeof(own));
	SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &mask, 0, 8);
	if ((act.sa_flags & SA_RESETHAND) != 0)
		program.sa_handler = SIG_DFL;
	if ((act.sa_flags & SA_SIGINFO) != 0)
		act.sa_sigaction(sig, info, context);
	else
		act.sa_handler(sig);
}

static void
on_segv(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code <= 0 || !fence_owns(info->si_addr) || rt_sealed ||
	    !fence_caught(info->si_addr, context))
		pass_on(sig, info, context);
	errno = saved;
}

bool
fence_handles(int sig)
{
	return sig == SIGSEGV && taken;
}

/* The kernel is told of ours again, with what of the program's flags decides where it
 * runs. */
int
fence_sigaction(const struct sigaction *act, struct sigaction *old)
{
	struct sigaction had = program, ours;

	if (act != NULL) {
		memset(&ours, 0, sizeof(ours));
		ours.sa_sigaction = on_segv;
		ours.sa_flags = SA_SIGINFO |
				(act->sa_handler == SIG_DFL
					 ? SA_ONSTACK | SA_RESTART
					 : act->sa_flags & (SA_ONSTACK | SA_RESTART));
		if (next.sigaction(SIGSEGV, &ours, NULL) != 0)
			return -1;
		program = *act;
	}
	if (old != NULL)
		*old = had;
	return 0;
}

sighandler_t
fence_signal(sighandler_t handler)
{
	struct sigaction act, old;

	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	act.sa_flags = SA_RESTART;
	return fence_sigaction(&act, &old) == 0 ? old.sa_handler : SIG_ERR;
}

void
fence_take_signal(void)
{
	struct sigaction had;

	if (next.sigaction(SIGSEGV, NULL, &had) != 0)
		return;
	memset(&program, 0, sizeof(program));
	if (had.sa_handler == SIG_IGN) {
		program.sa_handler = SIG_IGN;
	} else if (had.sa_handler != SIG_DFL) {
		before = had.sa_sigaction; /* hold.c's: the program's come later */
	}
	taken = true;
	fence_sigaction(&(struct sigaction){.sa_handler = program.sa_handler}, NULL);
}
