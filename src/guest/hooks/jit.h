/* SPDX-License-Identifier: MIT */
/* jit.h -- unwind tables that a program registers for code it makes at run time. */
#ifndef SEEP_JIT_H
#define SEEP_JIT_H

#include "guest/unwind/unwind.h"

/* The table that covers pc, for the unwinder: true, and it stays until jit_done().
 * Lock-free, signal-safe. */
bool jit_find(uintptr_t pc, struct unw_module *ret);
void jit_done(void);

/* In a forked child. */
void jit_forked(void);

#endif
