/* SPDX-License-Identifier: MIT */
/* rt_tls.h -- what each thread carries: 64 bytes of static TLS.
 *
 * Injected code has no TLS of its own; there a table takes its place (rt_tls_blob.h).
 *
 * Initial-exec, so that reaching it is one instruction and never calls the loader. All
 * zero in a new thread but for `owner`: `left` = 0 sends the first allocation to the slow
 * path, which attaches. */
#ifndef SEEP_RT_TLS_H
#define SEEP_RT_TLS_H

#ifdef SEEP_BLOB
#	include "guest/rt/rt_tls_blob.h"
#else
#	include "shared/compiler.h"

#	include <stddef.h>
#	include <stdint.h>

struct thread;	/* guest/record/file/recorder.h */
struct forward; /* guest/hooks/gate.h */

struct tls {
	/* bytes that may still be allocated before we look: 0 = look always */
	uint64_t left;
	struct thread *self; /* NULL: not attached */
	uint64_t owner;	     /* which recorder `self` belongs to; another after fork */
	/* CFA of the hook that is recording now, 0 = none; lowest bit: see gate.h */
	uintptr_t busy;
	uintptr_t
		busy_ra; /* its return address, to see whether its frame is still there */
	const struct forward
		*forward;	/* operator new is under way; malloc takes it from here */
	uintptr_t forward_free; /* operator delete has recorded this one already */
	/* the thread's destructors have run: attach for one event at a time */
	uint32_t ended;
	uint32_t resolving; /* 1: the real functions are being looked up; 2: under.h */
};

/* `owner` of a thread that is not attached. Not 0: that is the recorder's id in a forked
 * child, whose page was wiped, and the two must not agree. */
#	define TLS_NOBODY (UINT64_MAX - 1)

_Static_assert(sizeof(struct tls) == 64, "static TLS room is scarce");

extern SEEP_OWN TLS_STATIC struct tls tls;

/* No two living threads have the same. */
static ALWAYS_INLINE uintptr_t
tls_key(void)
{
	return (uintptr_t)&tls;
}

#endif
#endif
