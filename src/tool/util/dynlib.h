/* SPDX-License-Identifier: MIT */
/* dynlib.h -- a library that is only opened when it is needed. Its header is included to
 * build; nothing is linked. */
#ifndef SEEP_UTIL_DYNLIB_H
#define SEEP_UTIL_DYNLIB_H

#include <stddef.h>

#include "tool/util/err.h"

struct dynlib_symbol {
	const char *name;
	void *to; /* a pointer to a function */
};

/* Opens the first of the libraries `names`, which ends with NULL, and sets the `n`
 * symbols. The library stays loaded. -ENOSYS with the message `missing` when there is
 * none, or when it lacks a symbol; the other symbols are then undefined. */
int dynlib_load(const char *const *names, const struct dynlib_symbol *symbols, size_t n,
		const char *missing, struct err *e);

#endif
