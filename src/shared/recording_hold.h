/* SPDX-License-Identifier: MIT */
/* recording_hold.h -- what a live recording says beside its tables: programs that were
 * not recorded, and where the process stands while the tool looks for leaks. */
#ifndef SEEP_RECORDING_HOLD_H
#define SEEP_RECORDING_HOLD_H

#include <stdint.h>

/* ---- programs that were started and are not recorded ---- */

/* The same program, not recorded for the same reason, is one entry with a count. */
struct rec_unseen {
	uint32_t why;	/* enum rec_unseen_why, written last */
	uint32_t count; /* 0: exec failed, ignore */
	uint32_t pid;	/* of the first; 0 = not known */
	uint32_t ms;	/* when it was started */
	char text[496]; /* path, NUL, arguments with spaces between, NUL */
};

/* ---- the end of a process, held for a look at its memory ---- */

enum rec_hold_state {
	REC_HOLD_NONE = 0,
	REC_HOLD_WAITS = 1, /* the process stands at its last step and waits */
	REC_HOLD_LOOKS = 2, /* the tool looks */
	REC_HOLD_GO = 3,    /* it may go on; or it has stopped waiting */
};

enum rec_hold_why {
	REC_HOLD_EXIT = 1,   /* exit, or return from main: every destructor has run */
	REC_HOLD_LEAVE = 2,  /* _exit, quick_exit */
	REC_HOLD_SIGNAL = 3, /* a signal that will end it */
	REC_HOLD_ASKED = 4,  /* it goes on: the program has asked for a look, and waits */
};

enum { REC_HOLD_REGS = 18 };

/* What is ours and no root, from the beginning on; and where the program's own frames
 * begin, while head.hold is REC_HOLD_WAITS or REC_HOLD_LOOKS. Addresses are those of the
 * process. */
struct rec_hold {
	uint32_t why; /* enum rec_hold_why */
	uint32_t signal;
	uint32_t tid;
	uint32_t nregs;
	uint64_t sp;		       /* below this the stack is dead */
	uint64_t context;	       /* of a signal: its ucontext, 0 = none */
	uint64_t data_start, data_end; /* libseep's writable data */
	uint64_t maps;	    /* our mappings: { start u64, bytes u64 }, 0 = free slot */
	uint32_t maps_max;  /* slots in it */
	uint32_t maps_lost; /* mappings that found no slot */
	uint64_t regs[REC_HOLD_REGS];
	uint64_t spares;      /* what the program says is no leak: struct rec_spare */
	uint32_t nspares;     /* entries in it */
	uint32_t spares_lost; /* that found no room */
	uint64_t tp;	      /* thread pointer of `tid`; 0 = not known */
	uint64_t lsan_options, lsan_suppressions; /* strings of the program's, or 0 */
	uint32_t lsan_off;			  /* 1: no leak check at exit */
	uint32_t stood_ms; /* when it began to wait: CLOCK_MONOTONIC, the low 32 bits */
};

/* A block that is not to be reported, nor what only it leads to; or memory that holds
 * pointers. */
struct rec_spare {
	uint64_t start;
	uint64_t bytes; /* of the block; or one of the two below */
};
#define REC_SPARE_ANY_SIZE UINT64_MAX /* whatever block `start` is in */
#define REC_SPARE_REGION                                                                 \
	(UINT64_C(1) << 63) /* set: so many bytes of memory with pointers */

_Static_assert(sizeof(struct rec_hold) == 256, "hold");
_Static_assert(sizeof(struct rec_unseen) == 512, "unrecorded program");

#endif
