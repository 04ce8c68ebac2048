/* SPDX-License-Identifier: MIT */
/* lock.h -- a spin lock that can never hang the program.
 *
 * The word holds the owner's id (never 0). Waiting is bounded: after about a second
 * lock_take gives up and the caller counts the event as lost. An owner that finds its own
 * id in the word was thrown out of the critical section by a longjmp from a signal
 * handler (the caller has made sure that it is not merely interrupted) and takes the lock
 * over. Until it comes by again others only wait.
 *
 * Rank: page locks and site locks may be held while the space lock is taken, never the
 * other way round; module, thread and timeline locks are leaves. No lock is held while
 * foreign code runs. */
#ifndef SEEP_LOCK_H
#define SEEP_LOCK_H

#include "guest/rt/rt_map.h"
#include "guest/rt/rt_tls.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* Owner's id where there is no thread record: of what tells it from other living threads,
 * and apart from the refs used as ids elsewhere. */
static inline uint32_t
lock_id(void)
{
	return (uint32_t)(tls_key() >> 6) | 1u << 31;
}

enum {
	LOCK_SPINS = 256,
	LOCK_YIELDS = 20000, /* about a second on a busy machine, */
	LOCK_HALVED = 10,    /* a millisecond in the end */
};

/* How many waits in this process ended without the lock: one count for all of our
 * code. */
extern uint32_t lock_timeouts;

/* All waiting that led to nothing together is a few seconds: each time that it did, the
 * next waits half as long. */
static COLD bool
lock_wait(uint32_t *word, uint32_t me)
{
	uint32_t halved = __atomic_load_n(&lock_timeouts, __ATOMIC_RELAXED);

	for (int i = 0; i < LOCK_YIELDS >> (halved < LOCK_HALVED ? halved : LOCK_HALVED);
	     i++) {
		for (int k = 0; k < LOCK_SPINS; k++) {
			uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);

			if ((seen == 0 || seen == me) &&
			    __atomic_compare_exchange_n(word, &seen, me, false,
							__ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED))
				return true;
			CPU_RELAX();
		}
		if (!rt_sealed)
			sys_yield();
	}
	__atomic_fetch_add(&lock_timeouts, 1, __ATOMIC_RELAXED);
	return false;
}

static ALWAYS_INLINE bool
lock_take(uint32_t *word, uint32_t me)
{
	uint32_t none = 0;

	if (LIKELY(__atomic_compare_exchange_n(word, &none, me, false, __ATOMIC_ACQUIRE,
					       __ATOMIC_RELAXED)))
		return true;
	return lock_wait(word, me);
}

/* If it is ours. */
static inline void
lock_drop_own(uint32_t *word, uint32_t me)
{
	__atomic_compare_exchange_n(word, &me, 0u, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

static ALWAYS_INLINE void
lock_drop(uint32_t *word)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

#endif
