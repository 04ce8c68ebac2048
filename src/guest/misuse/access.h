/* SPDX-License-Identifier: MIT */
/* access.h -- what an instruction that faulted was about to do. */
#ifndef SEEP_ACCESS_H
#define SEEP_ACCESS_H

#include "guest/unwind/unwind.h"

struct access {
	bool write;
	unsigned bytes; /* 0 = not known */
	struct unw_start at;
};

/* From the context that a SIGSEGV handler is given. */
struct access access_of(const void *context);

#endif
