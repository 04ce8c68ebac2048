/* SPDX-License-Identifier: MIT */
/* fork_locks.c -- see forked.h.
 *
 * Locks in the recording are another matter: a child begins one of its own, or its peer's
 * profiler frees them (peer.c). */
#include "guest/life/fork_locks.h"

#include "guest/hooks/gate.h"
#include "guest/hooks/jit.h"
#include "guest/hooks/loaded.h"
#include "guest/life/inside.h"
#include "guest/life/spare.h"
#include "guest/misuse/fence.h"
#include "guest/misuse/wrong_align.h"
#include "guest/misuse/zone_queue.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/sys.h"

void
locks_forked(void)
{
	struct recorder *r = recorder_now;

	queue_forked();
	fence_forked();
	jit_forked();
	loaded_forked();
	inside_forked();
	spare_forked();
	wrong_align_forked();
	/* On the recorder's page, which may have been kept. */
	if (r->base != NULL)
		lock_once_forked(&r->errors_lock, tls.self != NULL ? tls.self->me : 0);
}

/* The process that was counted: not its child, which libc may have forked behind our
 * back, nor one of vfork, which uses this memory. */
static uint32_t quiet;

static uint32_t
who(void)
{
	return rt_sealed ? 1 : (uint32_t)sys_getpid(); /* sealed, nobody can be asked */
}

void
quiet_begin(struct rec_head *head)
{
	quiet = who();
	__atomic_fetch_add(&head->lost[REC_LOST_QUIET], 1, __ATOMIC_RELAXED);
}

bool
quiet_end(struct rec_head *head)
{
	if (quiet == 0 || quiet != who())
		return false;
	quiet = 0;
	__atomic_fetch_sub(&head->lost[REC_LOST_QUIET], 1, __ATOMIC_RELAXED);
	return true;
}
