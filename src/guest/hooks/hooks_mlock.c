/* SPDX-License-Identifier: MIT */
/* hooks_mlock.c -- mlockall: the program's memory is locked, ours is not.
 *
 * The recording is mapped at the size that it may reach, gigabytes of which nothing but
 * addresses is used. mlockall would fill them with pages, and compare them with
 * RLIMIT_MEMLOCK. So what is not in use is unmapped for the time of the call. With
 * MCL_FUTURE the kernel does the same to every mapping that is made later: rt_mmap knows
 * a way around that. */
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/life.h"
#include "guest/record/file/space.h"
#include "guest/rt/rt_map.h"

#include <errno.h>
#include <sys/mman.h>

/* The recording shrinks to what is in use, or is as large as before. */
static void
resize(struct recorder *r, bool begins, uintptr_t cfa)
{
	uintptr_t was = gate_quiet(cfa); /* a handler must not take the lock from us */

	if (begins)
		space_withdraw(r, lock_id());
	else
		space_return(r, lock_id());
	life_resized(r->bytes);
	gate_unquiet(was);
}

SEEP_EXPORT NOINLINE int
mlockall(int flags)
{
	struct recorder *r = recorder_now;
	bool ours = false;
	int result, saved;

	if (!next_find() || next.mlockall == NULL) {
		errno = ENOSYS;
		return -1;
	}
	if ((flags & MCL_CURRENT) != 0 && tls.busy == 0 && !rt_sealed)
		ours = life_is_ours() && r->base != NULL;
	if (ours)
		resize(r, true, GATE_CFA());
	result = next.mlockall(flags);
	saved = errno;
	if (result == 0)
		rt_map_lock_future((flags & MCL_FUTURE) != 0);
	if (ours) {
		rt_map_unlock();
		resize(r, false, GATE_CFA());
	}
	errno = saved;
	return result;
}
