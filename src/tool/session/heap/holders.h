/* SPDX-License-Identifier: MIT */
/* holders.h -- what an address outside of the heap is called: a variable, a thread's
 * stack or register, a mapping.
 *
 * Binaries are opened when the first of their addresses is asked for. Everything that is
 * one root gets one number, so that blocks can be added up by who holds them. */
#ifndef SEEP_SESSION_HOLDERS_H
#define SEEP_SESSION_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "tool/session/heap/image.h"
#include "tool/sym/sym.h"
#include "tool/util/elf/elfview.h"
#include "tool/util/map.h"

/* A binary and what it has mapped. */
struct holders_module {
	const char *path; /* borrowed from the image's map */
	char *file;	  /* where it can be opened */
	uint64_t start, end, bias;
	struct elfview_id build_id;
	bool tried;
	struct objsym *symbols;
};

/* Numbers and names of roots; also of classes and other things that words point to. */
struct holders {
	const struct image *image;
	struct strtab names; /* number -> name; 0 = not known */
	VEC(bool)
	passing; /* by number: a stack or a register, where pointers come and go */
	/* private */
	struct map words; /* word -> type's number + 1 */
	VEC(struct holders_module) modules;
	uint64_t last_start, last_end; /* the root that was asked for last */
	uint32_t last_root;
	uint64_t tls_bytes; /* of each thread's variables, below its thread pointer */
};

/* Words that stand for registers, and for pointers that the kernel keeps: no memory is
 * there. */
#define HOLDERS_REGISTER (UINT64_C(0xffff) << 48)
#define HOLDERS_KERNEL (HOLDERS_REGISTER | UINT64_C(1) << 47)

/* `image` must be open, and outlive it. */
void holders_init(struct holders *ret, const struct image *image);
void holders_done(struct holders *h); /* legal on a zeroed one */

/* Number of the root that the word at `addr` is in; a paths_namer. */
uint32_t holders_root(void *holders, uint64_t addr);

/* Whether a root is a stack or a register. For dominators.passes. */
bool holders_passes(void *holders, uint32_t root);

/* The word for register `number` of thread `thread` (its place in image.threads). */
uint64_t holders_register(size_t thread, unsigned number);

/* The same for a word of image.z.kernel. */
uint64_t holders_kernel(size_t number);

/* The address in words: "cache+0x10 in app", "stack of thread 4711 (worker), in serve
 * api.c:93". */
void holders_address(struct holders *h, uint64_t addr, char *ret, size_t size);

/* The binaries, from the image's map; the one that holds an address, or NULL; its
 * symbols, if they can be had. */
void holders_modules(struct holders *h);
struct holders_module *holders_module(struct holders *h, uint64_t addr);
void holders_open(struct holders *h, struct holders_module *m);

/* Functions and lines of a binary; NULL when it is gone, or another by now. To be closed
 * with sym_close. */
struct sym *holders_sym(const struct holders_module *m);

/* ", in serve api.c:93": whose frame of the thread's stack holds `addr`; "" when that
 * cannot be told. */
void holders_frame(const struct holders *h, const struct image_thread *t, uint64_t addr,
		   char *ret, size_t size);

/* What a block is whose first word this is: number of "class Session", "ops in libx.so";
 * 0 = it leads to no constant of a file. */
uint32_t holders_type(struct holders *h, uint64_t word);

const char *holders_name(const struct holders *h, uint32_t number);

#endif
