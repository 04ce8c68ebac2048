/* SPDX-License-Identifier: MIT */
/* threads.h -- threads come and go: their records, their private state. */
#ifndef SEEP_THREADS_H
#define SEEP_THREADS_H

#include "guest/record/file/recorder.h"

/* Private state and record for the calling thread; NULL when there is no room (counted).
 * `late`: it has been here before and ended; it is not counted again. */
struct thread *threads_attach(struct recorder *r, bool late);

/* The stack is deeper than it was seen before: `sp`. Called where it is below
 * t->stack_low. */
void threads_stack_grew(struct thread *t, uintptr_t sp);

/* What the thread remembers of its last events, to find the same again, is void. */
void threads_forget(struct thread *t);

/* An event of this thread was left by longjmp and will never be finished: as if it had
 * not begun. What the thread remembers may be half written, and is forgotten; live bytes
 * are counted anew. Of several threads' sum there may be missing what one had just begun
 * to add, 4 KiB or one block. */
void threads_jumped(struct recorder *r, struct thread *t);

/* Its private memory goes: the recording has ended. */
void threads_free(struct thread *t);

/* The thread ends: fold its cells, hand its record and state to the next one. */
void threads_detach(struct recorder *r, struct thread *t);

#endif
