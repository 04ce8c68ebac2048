/* SPDX-License-Identifier: MIT */
/* foreign.h -- a process whose blocks cannot be walked: which malloc it has, and what can
 * be done instead. */
#ifndef SEEP_SESSION_FOREIGN_H
#define SEEP_SESSION_FOREIGN_H

#include "tool/session/heap/image.h"
#include "tool/util/err.h"

/* Name of the allocator that is not glibc's: "jemalloc", "musl's malloc"; NULL when none
 * is recognised. Static. */
const char *foreign_allocator(const struct image *i);

/* Name of the allocator that is linked into the program `path`: by its symbols, or by its
 * messages if it is stripped; NULL when there is none. Static. */
const char *foreign_linked(const char *path);

/* The runtime in the process whose blocks are never called lost (runtimes.h): its name,
 * or NULL. Static. */
const char *foreign_collects(const struct image *i);

/* The runtime in the process that keeps its objects in a heap of its own: its name, or
 * NULL. Static. */
const char *foreign_objects(const struct image *i);

/* Where a program like this keeps memory besides malloc's: half a sentence, or NULL.
 * Static. */
const char *foreign_hides(const struct image *i);

/* The same by the names of the libraries that are mapped. */
const char *foreign_library(const struct memmap *map);

/* Why blocks of the allocator `name`, NULL = not recognised, could not be read by the
 * walk `h`. */
void foreign_why(const char *name, const struct heapblocks *h, char *ret, size_t size);

/* Returns -ENOTSUP with a message that says which allocator it is, or why that is not
 * known, and what to ask instead. ret_why: the reason alone; "" for a program without any
 * malloc. */
int foreign_refuse(const struct image *i, const struct heapblocks *h, char *ret_why,
		   size_t size, struct err *e);

#endif
