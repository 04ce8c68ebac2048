/* SPDX-License-Identifier: MIT */
/* rt_tls_blob.h -- what each thread carries where we have no TLS: 64 bytes in a table,
 * found by the thread pointer.
 *
 * A thread's place is the first of a few slots, from a hash of its thread pointer on,
 * that has its key; usually the very first. Slots are claimed and never given back: a
 * thread that ends leaves its own to the next one with the same thread pointer, and libc
 * uses those again. Whether it is the same thread still is told by `tid`
 * (guest/blob/blob_gate.c). All zero: `left` = 0 sends the first allocation to the slow
 * path. */
#ifndef SEEP_RT_TLS_BLOB_H
#define SEEP_RT_TLS_BLOB_H

#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <stddef.h>
#include <stdint.h>

struct thread; /* guest/record/file/recorder.h */

struct tls {
	uintptr_t key; /* the thread pointer; 0 = free */
	uint64_t left; /* bytes that may be allocated before we look: 0 = look always */
	struct thread *self; /* NULL: not attached */
	uint64_t random;
	uint64_t drawn; /* the distance that `left` counts down */
	uintptr_t
		busy; /* CFA of the hook that records now, 0 = none; lowest bit: quiet */
	uintptr_t
		busy_ra; /* its return address, to see whether its frame is still there */
	uint32_t tid;	 /* of the thread that `self` is of */
	uint32_t rate;	 /* number of the rate that `drawn` was drawn at */
};

enum {
	TLS_SLOTS_BITS = 13,
	TLS_PROBES = 32, /* beyond them a thread passes unrecorded */
};

_Static_assert(sizeof(struct tls) == 64, "a cache line each");

extern __attribute__((
	visibility("hidden"))) struct tls tls_table[(1 << TLS_SLOTS_BITS) + TLS_PROBES];

/* No two living threads have the same. */
static ALWAYS_INLINE uintptr_t
tls_key(void)
{
	return thread_pointer();
}

/* Where the thread's slot is, if no other thread was there first. */
static ALWAYS_INLINE struct tls *
tls_home(uintptr_t key)
{
	return &tls_table[(uint32_t)(key >> 6) * UINT32_C(0x9E3779B1) >>
			  (32 - TLS_SLOTS_BITS)];
}

/* The calling thread's slot, claimed at the first call; NULL when there is none left. */
struct tls *tls_slot(uintptr_t key);

#endif
