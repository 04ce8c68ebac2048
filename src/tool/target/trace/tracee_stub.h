/* SPDX-License-Identifier: MIT */
/* tracee_stub.h -- the instructions by which a stopped thread makes system calls: where
 * they lie, and what they are made of. tracee_call.c has a thread execute them. */
#ifndef SEEP_TARGET_TRACEE_STUB_H
#define SEEP_TARGET_TRACEE_STUB_H

#include <sys/user.h>

#include "tool/target/trace/tracee_impl.h"

/* Offsets in the stub. */
enum {
	STUB_END = 0,	  /* here the thread waits for us when it has made all calls, */
	STUB_BACK = 20,	  /* and from here on it goes back by itself */
	STUB_ENTRY = 320, /* here it begins; all behind is calls */
	STUB_ROOM = TRACEE_STUB_BYTES,
	STUB_CALLS_MAX = 14, /* in one stub: offsets of results fit a byte */
};

/* Words below the thread's stack pointer, as it is in the stub. */
#define STUB_DONE_OFF (-8) /* 1: it has made all calls */
#define STUB_SLOT_OFF(i) (-16 - 8 * (int)(i))
#define STUB_GATE_OFF STUB_SLOT_OFF(STUB_CALLS_MAX)
#define STUB_FRAME_WORDS (STUB_CALLS_MAX + 2)

/* No system call returns this. */
#define STUB_SENTINEL UINT64_C(0x5ee95ee95ee95ee9)

/* One run of a stub. */
struct stub_run {
	struct tracee_call *calls;
	unsigned n; /* how many are wanted; then how many are in the stub */
	/* whose result is an argument of later ones, if it is among these */
	struct tracee_call *first;
	unsigned gate; /* the call that waits for its `before`; 0 = none */
	uint16_t after[STUB_CALLS_MAX]; /* offsets: the call has been made */
};

/* Writes a stub for as many of the calls as fit. `before`: what the thread goes back
 * to. */
int tracee_stub_write(struct tracee *t, const struct user_regs_struct *before,
		      struct stub_run *run);

#endif
