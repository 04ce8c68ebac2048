/* SPDX-License-Identifier: MIT */
/* zone_queue.c -- see zone_queue.h.
 *
 * One lock that is never waited for long: a thread that does not get it, or a handler
 * that interrupts its owner, frees its block at once. */
#include "guest/misuse/zone_queue.h"

#include "guest/rt/lock_once.h"
#include "guest/rt/rt_map.h"

#include <string.h>

static struct {
	struct lock_once lock;
	struct head *first, *last;
	size_t bytes; /* weights of all */
} queue;

static bool
queue_take(void)
{
	return lock_once_enter(&queue.lock, lock_id());
}

/* What it keeps from the allocator, and not only what was asked for: that may be
 * nothing. */
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
	lock_once_drop(&queue.lock);
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
	lock_once_drop(&queue.lock);
	return h;
}

void
queue_each(void (*look)(struct head *h))
{
	if (!queue_take())
		return;
	/* The program may have closed the page that one of them is on. */
	for (struct head *h = queue.first;
	     h != NULL && (rt_sealed || room_can_read(h, sizeof(*h))); h = h->next)
		look(h);
	lock_once_drop(&queue.lock);
}

void
queue_forked(void)
{
	/* Another thread was in the middle of it, and is not here to end it. */
	if (lock_once_forked(&queue.lock, lock_id()))
		memset(&queue, 0, sizeof(queue));
}
