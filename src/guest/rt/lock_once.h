/* SPDX-License-Identifier: MIT */
/* lock_once.h -- a lock that stops blocking after its first timeout.
 *
 * For what nobody puts right when a longjmp leaves it locked. The first thread whose wait
 * times out marks it; from then on it is only tried, until a thread gets it. */
#ifndef SEEP_LOCK_ONCE_H
#define SEEP_LOCK_ONCE_H

#include "guest/rt/lock.h"

struct lock_once {
	uint32_t word;	/* as in lock.h */
	uint32_t stuck; /* a wait has timed out */
};

static inline bool
lock_once_try(struct lock_once *l, uint32_t seen, uint32_t me)
{
	if (!__atomic_compare_exchange_n(&l->word, &seen, me, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	if (UNLIKELY(l->stuck != 0))
		__atomic_store_n(&l->stuck, 0, __ATOMIC_RELAXED);
	return true;
}

/* As lock_take: an owner that comes again was thrown out, and takes it over. */
static inline bool
lock_once_take(struct lock_once *l, uint32_t me)
{
	uint32_t seen = __atomic_load_n(&l->word, __ATOMIC_RELAXED);

	if ((seen == 0 || seen == me) && lock_once_try(l, seen, me))
		return true;
	if (__atomic_load_n(&l->stuck, __ATOMIC_RELAXED) != 0)
		return false;
	if (lock_take(&l->word, me))
		return true;
	__atomic_store_n(&l->stuck, 1, __ATOMIC_RELAXED);
	return false;
}

/* Not for long, and never by an owner that comes again: it may be a handler on top of
 * itself. */
static inline bool
lock_once_enter(struct lock_once *l, uint32_t me)
{
	enum { TRIES = 2000 };

	for (int i = 0; i < TRIES; i++) {
		if (lock_once_try(l, 0, me))
			return true;
		if (__atomic_load_n(&l->word, __ATOMIC_RELAXED) == me ||
		    __atomic_load_n(&l->stuck, __ATOMIC_RELAXED) != 0)
			return false;
		CPU_RELAX();
	}
	__atomic_store_n(&l->stuck, 1, __ATOMIC_RELAXED);
	return false;
}

static inline void
lock_once_drop(struct lock_once *l)
{
	lock_drop(&l->word);
}

/* In a forked child: free it if it was the lock of a thread that is not here, and say
 * so. */
static inline bool
lock_once_forked(struct lock_once *l, uint32_t me)
{
	if (l->word == 0 || l->word == me)
		return false;
	l->stuck = 0;
	lock_drop(&l->word);
	return true;
}

#endif
