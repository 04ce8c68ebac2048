/* SPDX-License-Identifier: MIT */
/* memcheck_errors.h -- wrong uses of the heap in the format of valgrind's memcheck, for
 * its text and its XML. */
#ifndef SEEP_RENDER_MEMCHECK_ERRORS_H
#define SEEP_RENDER_MEMCHECK_ERRORS_H

#include "tool/model/prof.h"
#include "tool/model/suppress.h"
#include "tool/render/leaks/memcheck.h"
#include "tool/util/vec.h"

struct memcheck_errors {
	VEC(struct memcheck_error) rows; /* one for each of the profile's */
};

/* Borrows names from `p`. Free with memcheck_errors_done. */
void memcheck_errors_init(struct memcheck_errors *ret_errors, const struct prof *p);
void memcheck_errors_done(struct memcheck_errors *x); /* legal on a zeroed one */

/* The function that was called, as in the symbol table: it is no part of the stack. NULL
 * = none was. */
const char *memcheck_errors_called(const struct prof_error *e);

/* What suppressions call it. */
enum suppress_about memcheck_errors_about(const struct prof_error *e);

#endif
