/* SPDX-License-Identifier: MIT */
/* modules.h -- which ELF objects are mapped where, and since when. */
#ifndef SEEP_MODULES_H
#define SEEP_MODULES_H

#include "guest/record/file/recorder.h"

/* For the unwinder: the module covering pc, entered into the recording when it is new. */
bool modules_find(uintptr_t pc, struct unw_module *ret);

/* Modules came or went: mark what is gone and forget its unwinding rules. */
bool modules_check(struct recorder *r, struct thread *t);

/* The same for every sample, which is too rare to see the loader at work: looks at
 * modules that may go, and at none of their memory, for another thread may be unloading
 * them. */
void modules_check_late(struct recorder *r, struct thread *t);

#endif
