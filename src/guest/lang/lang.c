/* SPDX-License-Identifier: MIT */
/* lang.c -- the list of managed runtimes, which outlives recordings: a forked child
 * begins its own with the runtimes of its parent. */
#include "guest/lang/lang.h"

#include "guest/rt/lock.h"

static struct mixed_sources lang_sources;
static uint32_t lang_lock;

/* From now on threads come by the slow way once, and forget what they remember: native
 * stacks that were half of one. */
static void
lang_renew(struct recorder *r)
{
	__atomic_store_n(&r->mixed, &lang_sources, __ATOMIC_RELEASE);
	__atomic_store_n(&r->id, r->id + (UINT64_C(1) << 32), __ATOMIC_RELEASE);
}

void
lang_begun(struct recorder *r)
{
	if (__atomic_load_n(&lang_sources.n, __ATOMIC_ACQUIRE) != 0)
		__atomic_store_n(&r->mixed, &lang_sources, __ATOMIC_RELEASE);
}

bool
lang_add(const struct mixed_source *s)
{
	struct recorder *r = recorder_now;
	bool room = false;

	if (!lock_take(&lang_lock, lock_id()))
		return false;
	room = lang_sources.n < MIXED_SOURCES_MAX;
	if (room) {
		lang_sources.of[lang_sources.n] = *s;
		__atomic_store_n(&lang_sources.n, lang_sources.n + 1, __ATOMIC_RELEASE);
		if (r->base != NULL)
			lang_renew(r);
	}
	lock_drop(&lang_lock);
	return room;
}
