/* SPDX-License-Identifier: MIT */
/* hand.c -- see hand.h. The list itself is guest/record/inherit.c's. */
#include "guest/life/hand.h"

#include "guest/record/file/recorder.h"
#include "guest/record/inherit.h"
#include "guest/record/threads.h"
#include "guest/rt/lock.h"
#include "guest/rt/rt_tls.h"

#include <signal.h>

/* The list for the child of a fork that is under way, or that this process was made
 * by. */
static struct {
	uint32_t by; /* lock_id() of who forks, HANDED in the child, 0 = none */
	struct inherit *list;
	int64_t live_bytes; /* of the thread that forks, when it had listed its blocks */
} hand;

enum { HANDED = 1 }; /* no lock_id(): those have bit 31 */

void
hand_forget(struct inherit **list)
{
	struct inherit *l = *list;

	*list = NULL;
	COMPILER_BARRIER();
	inherit_forget(l);
}

struct inherit *
hand_take(uint64_t begun)
{
	bool ours = hand.by == HANDED || hand.by == lock_id();
	struct inherit *l = hand.list;

	hand.list = NULL;
	hand.by = 0;
	if (l != NULL && ours && l->of == begun) {
		/* Handlers of pthread_atfork ran since, and have allocated or freed. */
		if (tls.self == NULL || tls.self->live_bytes != hand.live_bytes)
			l->whole = false;
		return l;
	}
	inherit_forget(l);
	return NULL;
}

void
hand_fill(struct recorder *r)
{
	uint32_t me = lock_id(), none = 0;
	uint64_t all = UINT64_MAX, before = 0;

	if (rt_sealed || !r->exact ||
	    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all)) < 0)
		return;
	/* Ours already: a handler forks on top of a fork, or has left one by longjmp. */
	if (__atomic_compare_exchange_n(&hand.by, &none, me, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED) ||
	    none == me) {
		hand_forget(&hand.list);
		hand.list = inherit_gather(r);
		hand.live_bytes = tls.self != NULL ? tls.self->live_bytes : 0;
	}
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
}

void
hand_settle(bool child)
{
	bool mine = hand.by == lock_id();

	if (child && mine && hand.list != NULL) {
		hand.by = HANDED;
	} else if (mine || (child && hand.by != HANDED)) {
		hand_forget(&hand.list);
		__atomic_store_n(&hand.by, 0, __ATOMIC_RELEASE);
	}
}

void
hand_drop(void)
{
	hand_forget(&hand.list);
	hand.by = 0;
}
