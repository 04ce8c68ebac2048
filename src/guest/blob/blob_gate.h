/* SPDX-License-Identifier: MIT */
/* blob_gate.h -- the way from an injected hook into the recorder and out again.
 *
 * The same task as guest/hooks/gate.h in other surroundings: no TLS, no libc, no fork
 * handler, a tool that may be gone, and code that can be taken away while the process
 * runs. What is asked at each event: is this still the process that was attached to, does
 * anybody listen, is the thread the one that had this thread pointer before. */
#ifndef SEEP_BLOB_GATE_H
#define SEEP_BLOB_GATE_H

#include "guest/record/file/recorder.h"
#include "guest/record/sample.h"
#include "guest/rt/rt_tls.h"
#include "shared/inject.h"

/* The lowest bit of tls.busy: the real allocator works for us; what it calls by name
 * passes by. */
#define GATE_QUIET 1

#define GATE_NEVER                                                                       \
	(UINT64_MAX / 2) /* bytes until a thread looks again, when nobody listens */

/* Where the hook was called from, for the unwinder. In a function that is not inlined. */
#define GATE_HERE()                                                                      \
	{                                                                                \
		.pc = (uintptr_t)__builtin_return_address(0),                            \
		.sp = (uintptr_t)__builtin_dwarf_cfa(),                                  \
		.bp = *(const uintptr_t *)__builtin_frame_address(0),                    \
	}

extern SEEP_OWN struct blob_config blob;

struct gate {
	/* Addresses that may be known; all of them in exact mode. */
	const struct sample_filter *filter;
};

extern SEEP_OWN struct gate gate;

/* Is this free of no interest to anybody? */
static ALWAYS_INLINE bool
gate_free_passes(const void *p)
{
	return sample_is_none(__atomic_load_n(&gate.filter, __ATOMIC_RELAXED),
			      (uintptr_t)p);
}

extern SEEP_OWN uint32_t gate_old_bits[BLOB_OLD_BITS / 32];
extern struct blob_old gate_old[BLOB_OLD_SLOTS];

/* May this be a block from before the recording whose end somebody waits for? */
static ALWAYS_INLINE bool
gate_is_old(const void *p)
{
	uint32_t bit = blob_old_bit((uintptr_t)p);

	return (__atomic_load_n(&gate_old_bits[bit / 32], __ATOMIC_RELAXED) >> bit % 32 &
		1) != 0;
}

/* It goes: written down, if it is one. */
void gate_old_died(const void *p);

/* The thread's state, with the thread marked busy; NULL: do not record. To be left by
 * gate_leave. */
struct thread *gate_enter(struct tls *t, uintptr_t cfa);
void gate_leave(struct tls *t);

/* Around a call of the real allocator: what it calls by name passes by, and is not
 * counted twice. */
struct gate_quiet {
	uintptr_t busy;
	uint64_t left;
};

struct gate_quiet gate_quiet(struct tls *t, uintptr_t cfa);
void gate_unquiet(struct tls *t, struct gate_quiet was);

/* Is a request of `n` bytes to be recorded? Sampled: counts down and draws anew. */
bool gate_its_turn(struct tls *t, struct recorder *r, size_t n);

/* A new block: record it if its turn has come. */
void gate_allocated(struct tls *t, void *p, size_t n, enum rec_kind kind,
		    const struct unw_start *at);
/* A block is about to go. */
void gate_freeing(struct tls *t, void *p, uintptr_t cfa);

#endif
