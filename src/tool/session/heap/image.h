/* SPDX-License-Identifier: MIT */
/* image.h -- the memory of a process that nobody prepared, or of one that has died:
 * mappings, bytes, registers, and what of it is a root.
 *
 * A running process is stopped for as long as it takes; a core file stands still by
 * itself. What comes after need not know which of the two it is. */
#ifndef SEEP_SESSION_IMAGE_H
#define SEEP_SESSION_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/format/core/core.h"
#include "tool/leak/roots.h"
#include "tool/leak/scan.h"
#include "tool/session/leaks/scanmaps.h"
#include "tool/target/heap/heapblocks.h"
#include "tool/target/trace/freeze.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

struct image_thread {
	int tid;
	uint64_t sp, pc, tp;
	size_t regs; /* first of its registers in image.words */
	char name[32];
};

struct image_ranges VEC_BODY(struct scan_range);

/* Start with `= IMAGE_NONE`; image_close is legal at any time. */
struct image {
	int pid;    /* of the process, also of a dead one; 0 = not known */
	char *name; /* of its program */
	char *path; /* of the core file; NULL = a process */
	char *exe;  /* path of the program; NULL = not known */
	const struct procmem *mem;
	const struct memmap *map;
	VEC(struct image_thread) threads;
	const struct procmem_words *words; /* registers of all threads */
	struct scanmaps maps;
	struct scan_space space;
	uint64_t stop_ns, pause_ns; /* until it stood still; from then on */
	bool copied;		    /* it is a copy that is looked at */
	char instead[512];	    /* why it is not; "" = that was not wanted */
	struct roots_stack *stacks; /* of threads, as libc knows them */
	uint32_t nstacks;
	struct image_ranges own; /* a recorder's memory in it: no roots */
	/* private */
	struct freeze z;
	struct core *core;
	struct procmem core_mem;
	struct procmem_source source;
	struct procmem_words core_words;
	uint64_t stood_ns;		 /* clock, when it stood */
	const struct scan_map *last_map; /* that was looked at */
	struct image_page {
		uint64_t addr; /* 0 = none */
		unsigned char data[4096];
	} * pages; /* of files, that were read last */
	bool stopped;
};

#define IMAGE_NONE                                                                       \
	{                                                                                \
		.z = FREEZE_NONE, .core_mem = PROCMEM_NONE                               \
	}

/* Opens; nothing is stopped yet. Messages name what it is, and what is in the way. */
int image_open_process(int pid, struct image *ret, struct err *e);
int image_open_core(const char *path, const char *program, struct image *ret,
		    struct err *e);
void image_close(struct image *i);

/* From now on nothing changes in it, until image_go. With `copy` the process goes on at
 * once, and a copy of it is looked at; where that cannot be had it stands still, and
 * `instead` says why. */
int image_stop(struct image *i, bool copy, struct err *e);
void image_go(struct image *i);

/* Lets it go on and forgets all that was read, for another image_stop. */
int image_again(struct image *i, struct err *e);

/* "4711 (api-server)", or the core's path with the name of its program. */
const char *image_what(const struct image *i, char *ret, size_t size);

/* Where its roots are: all that can be written but the heap, malloc's lists, dead stacks,
 * and what a recorder of ours has in it. What of the heap could not be read counts. */
void image_roots(struct image *i, const struct heapblocks *h, struct image_ranges *ret);

/* Bytes at `addr` into `to`, across whatever pieces they are read in; how many are there
 * from `addr` on. */
size_t image_read(const struct image *i, uint64_t addr, void *to, size_t bytes);

/* Name of a register by its number among those of a thread, or NULL for vectors. */
const char *image_register(unsigned number);

enum { IMAGE_REGS = 27 }; /* general ones, before the vectors */

#endif
