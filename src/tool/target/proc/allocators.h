/* SPDX-License-Identifier: MIT */
/* allocators.h -- which functions of a process allocate and free: the malloc that its
 * loader binds everybody to, and those under names of their own that are linked into its
 * objects. */
#ifndef SEEP_TARGET_ALLOCATORS_H
#define SEEP_TARGET_ALLOCATORS_H

#include "shared/inject.h"
#include "tool/target/proc/objects.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

struct alloc_function {
	const char *name;   /* without the prefix; static */
	const char *prefix; /* "", "je_", "_rjem_" …; static */
	uint64_t addr, bytes;
	size_t object;	 /* number in objects.all */
	uint8_t shape;	 /* enum blob_shape */
	uint8_t kind;	 /* enum rec_kind */
	bool needed;	 /* without it nothing can be recorded */
	bool alias;	 /* another name of one that comes before */
	bool by_name;	 /* others are bound to it by the loader: malloc and kin */
	unsigned family; /* functions of one allocator */
};

struct alloc_functions VEC_BODY(struct alloc_function);

struct allocators {
	struct alloc_functions functions;
	unsigned families;
	uint64_t dl_find_object, clock_gettime; /* of libc and vDSO; 0 = none */
	uint64_t start_main, start_main_bytes;	/* __libc_start_main; 0 = none */
	uint64_t mallctl;			/* there is a jemalloc; 0 = none */
	bool libseep;				/* our own library is loaded */
	bool sanitizer;
	bool stripped_program; /* it has no symbols but for the loader */
};

/* Start with `= {0}`. -ENOENT: there is no function to be found that allocates. */
int allocators_find(const struct tracee *t, const struct objects *os,
		    struct allocators *ret, struct err *e);
void allocators_done(struct allocators *a);

#endif
