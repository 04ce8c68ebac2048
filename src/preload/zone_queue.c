/* SPDX-License-Identifier: MIT */
/* zone_queue.c -- see zone_queue.h.
 *
 * One lock that is never waited for long: a thread that does not get it, or a handler that interrupts its owner, frees
 * its block at once. */
#include "preload/zone_queue.h"

#include "rt/lock.h"

#include <string.h>

enum { TRIES = 2000 };

static struct {
	uint32_t lock;
	struct head *first, *last;
	size_t bytes; /* weights of all */
} queue;

static bool
queue_take(void)
{
	uint32_t me = lock_id(), none = 0;

	for (int i = 0; i < TRIES; i++) {
		none = 0;
		if (__atomic_compare_exchange_n(&queue.lock, &none, me, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		if (none == me)
			return false; /* we interrupted ourselves */
		CPU_RELAX();
	}
	return false;
}

/* What it keeps from the allocator, and not only what was asked for: that may be nothing. */
static size_t
weight(const struct head *h)
{
	return h->front + h->bytes;
}

bool
queue_push(struct head *h)
{
	if (!queue_take())
		return false;
	h->next = NULL;
	if (queue.last != NULL)
		queue.last->next = h;
	else
		queue.first = h;
	queue.last = h;
	queue.bytes += weight(h);
	lock_drop(&queue.lock);
	return true;
}

struct head *
queue_pop(size_t most)
{
	struct head *h = NULL;

	if (__atomic_load_n(&queue.bytes, __ATOMIC_RELAXED) <= most || !queue_take())
		return NULL;
	if (queue.bytes > most && queue.first != NULL) {
		h = queue.first;
		queue.first = h->next;
		if (queue.first == NULL)
			queue.last = NULL;
		queue.bytes -= weight(h);
	}
	lock_drop(&queue.lock);
	return h;
}

void
queue_each(void (*look)(struct head *h))
{
	if (!queue_take())
		return;
	for (struct head *h = queue.first; h != NULL; h = h->next)
		look(h);
	lock_drop(&queue.lock);
}

void
queue_forked(void)
{
	/* Another thread was in the middle of it, and is not here to end it. */
	if (queue.lock != 0)
		memset(&queue, 0, sizeof(queue));
}
