/* SPDX-License-Identifier: MIT */
/* gperf_wake.c -- recording begins in a program that runs, with threads that nobody
 * looked at.
 *
 * Such a thread has so many bytes left before it asks again that it never does. Its count
 * is its own, so nobody else can set it. But all hooks reach the allocator through struct
 * next: functions put there see who came the short way, and send it the long one. */
#include "guest/dropin/gperftools/gperf.h"

#include "guest/hooks/next.h"
#include "guest/rt/rt_tls.h"

#include <stdlib.h>

static struct next under; /* what struct next held before */

static void *
wake_malloc(size_t n)
{
	if (LIKELY(tls.left == 0))
		return under.malloc(n);
	tls.left = 0;
	return malloc(n); /* a jump: the hook must find the program's frame */
}

static void *
wake_calloc(size_t count, size_t each)
{
	if (LIKELY(tls.left == 0))
		return under.calloc(count, each);
	tls.left = 0;
	return calloc(count, each);
}

static void *
wake_realloc(void *p, size_t n)
{
	if (LIKELY(tls.left == 0))
		return under.realloc(p, n);
	tls.left = 0;
	return realloc(p, n);
}

void
gperf_wake(void)
{
	if (under.malloc != NULL)
		return;
	tls.left = 0;
	under = next;
	__atomic_store_n(&next.calloc, wake_calloc, __ATOMIC_RELEASE);
	__atomic_store_n(&next.realloc, wake_realloc, __ATOMIC_RELEASE);
	__atomic_store_n(&next.malloc, wake_malloc, __ATOMIC_RELEASE);
}
