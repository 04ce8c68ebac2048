/* SPDX-License-Identifier: MIT */
/* regions.h -- what each part of a process's memory is: heap, arenas, stacks, files, the
 * heaps of language runtimes.
 *
 * A region is what a person would call one thing: all mappings of a file with the zeroed
 * data behind them, an arena with its reserve, neighbouring mappings of one kind. Names
 * come from the kernel's where it has them, from what malloc itself says (heapmap), from
 * where threads' stack pointers are, and from the shapes that glibc and runtimes give
 * their mappings; what fits none of these is a plain mapping. Pure: looks at nothing but
 * its arguments. */
#ifndef SEEP_ANALYZE_REGIONS_H
#define SEEP_ANALYZE_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/model/memmap.h"
#include "tool/model/runtimes.h"
#include "tool/util/vec.h"

enum region_kind {
	REGION_HEAP,	 /* grows with brk */
	REGION_ARENA,	 /* glibc's other heaps */
	REGION_CHUNK,	 /* blocks of malloc with mappings of their own */
	REGION_JEMALLOC, /* whatever jemalloc mapped */
	REGION_TCMALLOC,
	REGION_MIMALLOC,
	REGION_PYTHON, /* pymalloc's arenas */
	REGION_GO,
	REGION_JAVA,
	REGION_V8,
	REGION_DOTNET,
	REGION_PHP,
	REGION_RUBY,
	REGION_BEAM,
	REGION_LUAJIT,
	REGION_MAPPING, /* anonymous, of no kind we know */
	REGION_STACK,
	REGION_THREAD_STACK,
	REGION_FILE,
	/* much zeroed data of a program or library: its size is fixed */
	REGION_STATIC,
	REGION_SHARED,	/* shm, memfd, shared anonymous memory */
	REGION_SEEP,	/* recording and recorder */
	REGION_KERNEL,	/* vdso and the like */
	REGION_RESERVE, /* addresses without access: guard pages, room to grow */
	REGION_KINDS,
};

/* What is known about the program, as bits. */
enum region_program {
	REGION_HAS_JEMALLOC = 1 << 0,
	REGION_HAS_TCMALLOC = 1 << 1,
	REGION_HAS_MIMALLOC = 1 << 2,
	/* Runtimes (runtimes.h), one bit each from here on. */
	REGION_RUNTIMES = 3,
	REGION_HAS_GO = 1 << (REGION_RUNTIMES + RUNTIME_GO),
	REGION_HAS_JVM = 1 << (REGION_RUNTIMES + RUNTIME_JVM),
	REGION_HAS_V8 = 1 << (REGION_RUNTIMES + RUNTIME_V8),
	REGION_HAS_PYTHON = 1 << (REGION_RUNTIMES + RUNTIME_PYTHON),
};

/* Memory of an allocator other than glibc's: all that nothing else explains, so that
 * mappings of the program's own are in it. */
bool region_is_guessed(enum region_kind kind);

/* The runtime whose heap a kind is; RUNTIMES = none. */
enum runtime region_runtime(enum region_kind kind);

struct region_facts {
	uint32_t program;	/* enum region_program */
	const uint64_t *stacks; /* stack pointers of threads, in any order */
	size_t nstacks;
	const struct heapmap *heap; /* may be NULL */
	bool guess_heap;	    /* the map does not name it, as pmap -x does not */
};

struct region {
	enum region_kind kind;
	const char *name;    /* as shown and as `seep dump` takes it: "heap",
			      * "arena@7f0a4c000000"; borrowed from struct regions */
	uint64_t start, end; /* first and last address; files have others between */
	uint64_t kib[MEMMAP_FIGURES];
	unsigned areas;
};

struct regions {
	VEC(struct region) list; /* by first address */
	uint32_t *of_area;	 /* index in `list` of each of the map's areas */
	size_t nareas;
	struct arena strings;
};

/* enum region_program that the libraries in a map tell: allocators and runtimes. `names`:
 * a program that is called like a runtime is taken for one; for maps without a process to
 * look at. */
uint32_t regions_program(const struct memmap *map, bool names);

/* Names all of `map`. Free with regions_done. */
void regions_init(struct regions *ret_regions, const struct memmap *map,
		  const struct region_facts *facts);
void regions_done(struct regions *rs); /* legal on a zeroed one */

/* Region that `addr` is in, by the map that it was made of, or NULL. */
const struct region *regions_find(const struct regions *rs, const struct memmap *map,
				  uint64_t addr);

/* Region of that name: as shown, a kind's word if there is but one of it ("stack"), or
 * the file's last part. NULL when there is none. */
const struct region *regions_named(const struct regions *rs, const char *name);

/* "heap", "arena", "mmapped chunk", and for several of them. */
const char *region_kind_name(enum region_kind kind);
const char *region_kind_plural(enum region_kind kind);

/* Private memory that the program asked for: what can leak. */
bool region_can_leak(enum region_kind kind);

#endif
