/* SPDX-License-Identifier: MIT */
/* hold.h -- the last step of a recorded process, at which the tool looks for leaks. */
#ifndef SEEP_HOLD_H
#define SEEP_HOLD_H

#include <signal.h>
#include <stdint.h>

#include "shared/recording.h"

/* From where on the caller's stack is the program's own, with the registers that the
 * caller may still need put there first. In the exported function itself, which must not
 * return. */
#if defined(__x86_64__)
#	define HOLD_HERE()                                                              \
		(__builtin_unwind_init(), (uintptr_t)__builtin_dwarf_cfa() - 7 * 8)
#else
#	define HOLD_HERE()                                                              \
		(__builtin_unwind_init(), (uintptr_t)__builtin_frame_address(0))
#endif

/* The process will stand still at its end for the tool with this pid, and as long as that
 * lives. 0: it will not. */
void hold_wanted(uint32_t tool);

/* main has returned or exit was called: what lies below `sp` is dead from now on. The
 * first call in a process counts. */
void hold_exit_begins(uintptr_t sp);

/* What it said, if this thread called it; else `sp`. */
uintptr_t hold_exit_sp(uintptr_t sp);

/* The last step: waits until the tool has looked, has gone, or takes too long. Returns at
 * once when nobody is to look. Signal-safe; leaves errno alone. */
void hold_now(enum rec_hold_why why, uintptr_t sp);

/* The same for a signal that is about to end the process. */
void hold_signal(int sig, const void *context);

/* The program asks for a look and waits for it in this thread: below `sp` its stack is
 * ours. 0: it is over. */
void hold_asked(uintptr_t sp);

/* Says again in the recording what memory is ours, and what the program wants spared
 * (spare.c). */
void hold_tell(void);

/* A recording has begun: says in it what memory is ours; and handles the signals that end
 * a process, if that is to be looked at, as long as the program leaves them at their
 * default. */
void hold_install(void);

#endif
