/* SPDX-License-Identifier: MIT */
/* guard.c -- signals that we handle for a while; two things that would otherwise kill the
 * program through us.
 *
 * A signal of ours is one that the program leaves at its default. It is shown the default
 * when it asks, and going back to the default goes back to us. A handler of its own
 * replaces ours.
 *
 * Somebody truncates the recording's file: the next store into it is answered with
 * SIGBUS. While the program leaves that signal at its default we handle it: a fault
 * inside the recording puts plain memory in its place and ends recording; any other one
 * is given back to the default action.
 *
 * A seccomp filter: from then on no system call is certain. We learn of it from prctl and
 * syscall; before the filter is there some more room is made present, and nothing is
 * asked of the kernel after. */
#include "guest/life/guard.h"

#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/hold.h"
#include "guest/life/life.h"
#include "guest/misuse/fence.h"
#include "guest/record/file/space.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { SEALED_ROOM_BYTES = 4 << 20 };

typedef void handler_fn(int, siginfo_t *, void *);

/* By number; NULL: not ours. SIGBUS, SIGTERM for a peer's profiler (peer.c), and those
 * that end a process that is to be looked at (hold.c). */
static handler_fn *ours[_NSIG];

static handler_fn *
ours_for(int sig)
{
	return sig > 0 && sig < _NSIG ? ours[sig] : NULL;
}

static void
on_bus(int sig, siginfo_t *info, void *context)
{
	unsigned char *base, *at = info->si_addr;
	uint64_t bytes;
	struct sigaction dfl;

	life_mapped(&base, &bytes);
	if (info->si_code > 0 && base != NULL && at >= base && at < base + bytes &&
	    sys_mmap(base, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1) > 0) {
		life_broken();
		return;
	}
	hold_signal(sig, context);
	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL;
	next.sigaction(sig, &dfl, NULL);
	/* A fault comes again by itself when we return; one that was sent is sent
	 * again. */
	if (info->si_code <= 0)
		SYS3(SYS_tgkill, sys_getpid(), sys_gettid(), sig);
}

static bool
set_ours(int sig, struct sigaction *ret_old)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = ours[sig];
	sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	return next.sigaction(sig, &sa, ret_old) == 0;
}

void
guard_handle(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction old;

	if (next.sigaction == NULL || next.sigaction(sig, NULL, &old) != 0 ||
	    old.sa_handler != SIG_DFL)
		return;
	ours[sig] = handler;
	if (!set_ours(sig, NULL))
		ours[sig] = NULL;
}

void
guard_install(void)
{
	guard_handle(SIGBUS, on_bus);
}

SEEP_EXPORT int
sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int r;

	if (!next_find())
		return -1;
	if (UNLIKELY(fence_handles(sig)))
		return fence_sigaction(act, old);
	/* Back to the default means back to ours. */
	if (ours_for(sig) != NULL && act != NULL && act->sa_handler == SIG_DFL)
		r = set_ours(sig, old) ? 0 : -1;
	else
		r = next.sigaction(sig, act, old);
	if (r == 0 && old != NULL && ours_for(sig) != NULL &&
	    (old->sa_flags & SA_SIGINFO) != 0 && old->sa_sigaction == ours_for(sig)) {
		memset(old, 0, sizeof(*old));
		old->sa_handler = SIG_DFL;
	}
	return r;
}

SEEP_EXPORT sighandler_t
signal(int sig, sighandler_t handler)
{
	sighandler_t old;

	if (!next_find())
		return SIG_ERR;
	if (UNLIKELY(fence_handles(sig)))
		return fence_signal(handler);
	if (ours_for(sig) != NULL && handler == SIG_DFL) {
		struct sigaction was;

		if (sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, &was) != 0)
			return SIG_ERR;
		return was.sa_handler;
	}
	old = next.signal(sig, handler);
	return ours_for(sig) != NULL && old == (sighandler_t)(void (*)(void))ours_for(sig)
		       ? SIG_DFL
		       : old;
}

/* Signals that end the process go to the default: nobody can look at it any more, and a
 * handler of ours would have to ask the kernel for the rest. SIGBUS stays, whose handler
 * may save the program. Gives a bit for each. */
static uint64_t
signals_let_go(void)
{
	const struct sigaction dfl = {.sa_handler = SIG_DFL};
	struct sigaction now;
	uint64_t gone = 0;

	for (int sig = 1; sig < _NSIG; sig++) {
		if (ours[sig] != NULL && sig != SIGBUS &&
		    next.sigaction(sig, NULL, &now) == 0 &&
		    now.sa_sigaction == ours[sig] && next.sigaction(sig, &dfl, NULL) == 0)
			gone |= UINT64_C(1) << (sig - 1);
	}
	return gone;
}

/* Those of them that are at their default still are ours again. */
static void
signals_take_back(uint64_t gone)
{
	for (int sig = 1; sig < _NSIG; sig++)
		if ((gone >> (sig - 1) & 1) != 0 && ours[sig] != NULL)
			guard_handle(sig, ours[sig]);
}

/* A filter may come: make room now, ask for nothing until seal_settle, which is given
 * what this gives. */
static uint64_t
seal(void)
{
	struct thread *t = rt_sealed ? NULL : gate_enter(GATE_CFA());
	uint64_t gone = rt_sealed ? 0 : signals_let_go();

	if (t != NULL) {
		space_reserve(recorder_now, SEALED_ROOM_BYTES, t->me);
		gate_leave();
	}
	__atomic_fetch_add(&rt_sealed, 1, __ATOMIC_SEQ_CST);
	return gone;
}

/* After it. Many calls are only meant to fail, to see what the kernel can do. Counted,
 * because another thread may be in the middle of one that does not. */
static void
seal_settle(bool came, uint64_t gone)
{
	struct recorder *r = recorder_now;
	int saved = errno;

	if (!came) {
		if (__atomic_sub_fetch(&rt_sealed, 1, __ATOMIC_SEQ_CST) == 0)
			signals_take_back(gone);
		errno = saved;
		return;
	}
	for (int sig = 1; sig < _NSIG; sig++)
		if (sig != SIGBUS)
			ours[sig] = NULL;
	if (r->base != NULL)
		__atomic_fetch_or(&r->head->flags, REC_FLAG_SEALED, __ATOMIC_RELAXED);
}

static ALWAYS_INLINE long
pass_on(long nr, long a, long b, long c, long d, long e, long f)
{
	if (UNLIKELY(next.syscall == NULL) && !next_find()) {
		long r = sys_raw(nr, a, b, c, d, e, f);

		if (r >= 0 || r < -4095)
			return r;
		errno = (int)-r;
		return -1;
	}
	return next.syscall(nr, a, b, c, d, e, f);
}

/* Not in hook_syscall, which must end in a jump. */
static NOINLINE long
ask_seccomp(long operation, long flags, long args)
{
	uint64_t gone = seal();
	long r;
	bool came;

	r = pass_on(SYS_seccomp, operation, flags, args, 0, 0, 0);
	/* More than 0 is the descriptor of a listener, or a thread that the filter does
	 * not fit. */
	came = r == 0 || (r > 0 && (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0);
	seal_settle(came, gone);
	return r;
}

/* syscall(2) as a function, under another name here because libc declares it without its
 * arguments. It must end in a jump: a vfork made through it returns twice. */
SEEP_EXPORT long hook_syscall(long nr, long a, long b, long c, long d, long e,
			      long f) __asm__("syscall");

SEEP_EXPORT long
hook_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	/* Other operations only ask. */
	if (UNLIKELY(nr == SYS_seccomp) && ((unsigned)a == SECCOMP_SET_MODE_STRICT ||
					    (unsigned)a == SECCOMP_SET_MODE_FILTER))
		return ask_seccomp(a, b, c);
	if (UNLIKELY(nr == SYS_execve))
		return execve((const char *)a, (char *const *)b, (char *const *)c);
	return pass_on(nr, a, b, c, d, e, f);
}

SEEP_EXPORT int
prctl(int option, ...)
{
	unsigned long a[4];
	uint64_t gone = 0;
	va_list ap;
	int r;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP)
		gone = seal();
	r = next_find() ? next.prctl(option, a[0], a[1], a[2], a[3]) : -1;
	if (option == PR_SET_SECCOMP)
		seal_settle(r == 0, gone);
	return r;
}
