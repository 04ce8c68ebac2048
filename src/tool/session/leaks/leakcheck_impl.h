/* SPDX-License-Identifier: MIT */
/* leakcheck_impl.h -- one look at a process, for the files that it is made of:
 * leakcheck.c (blocks, marking, the order of things) and leak_holes.c (memory
 * excluded from the root set). */
#ifndef SEEP_SESSION_LEAKCHECK_IMPL_H
#define SEEP_SESSION_LEAKCHECK_IMPL_H

#include "tool/leak/scan.h"
#include "tool/session/leaks/leakcheck.h"
#include "tool/session/leaks/scanmaps.h"
#include "tool/target/heap/liveblocks.h"
#include "tool/target/run/liveobjects.h"
#include "tool/target/trace/freeze.h"
#include "tool/util/map.h"

struct ranges VEC_BODY(struct scan_range);

enum { LOOK_SITES_NEAR = 64, LOOK_TRIES_MORE = 5, LOOK_NAP_NS = 1000000 };

struct look_site {
	uint32_t site; /* ref; 0 = none */
	bool from_loader;
};

/* All of one look. */
struct look {
	struct leakcheck *c;
	const struct leakcheck_how *how; /* never NULL */
	struct livefile *f;
	struct livefile table; /* its copy, once the process goes on */
	size_t table_room;     /* bytes there are for one; 0 = none is made */
	struct freeze z;
	const struct rec_hold *at;  /* NULL: it was stopped somewhere */
	const struct rec_hold *own; /* what is the recorder's; never NULL */
	VEC(struct scan_block) blocks;
	struct liveblocks source; /* where they are from */
	bool old_only;		  /* blocks allocated after newest_ms are roots */
	uint32_t newest_ms;
	size_t page_first; /* block: of the page that is being read */
	struct scanmaps maps;
	struct ranges holes;
	struct ranges pages; /* that have or had blocks */
	struct ranges heaps; /* of allocators */
	struct ranges live;  /* blocks in them that are not recorded: roots */
	/* ref of a site -> 1 no, 2 the loader asked for its blocks */
	struct map from_loader;
	struct look_site sites_near[LOOK_SITES_NEAR]; /* the last of them */
	struct scan_range loader;
	struct scan_space space;
};

/* The mappings of a process that stands still, into look.maps and look.space. */
void leak_holes_maps(struct look *k);

/* All that is no root into look.holes, once its blocks are there. Adds to look.heaps.
 * -EAGAIN: the tables of its allocator contradict each other at this moment. */
int leak_holes_find(struct look *k, struct err *e);

/* Compares glibc's heap with the recording: what nobody recorded becomes a root, what is
 * free is not judged. False: the heap cannot be read block by block. */
bool leak_unseen(struct look *k);

/* The same of allocators other than glibc's, whose heaps are in `glibc`. Returns 1 if
 * there are any. */
int leak_walk(struct look *k, const struct heapmap *glibc, struct err *e);

/* Parts of a look, for leak_running.c. look_closely: -EAGAIN means that another try may
 * help. look_table: a copy of the recording; false: there is no room. */
bool look_table(struct look *k);
int look_closely(struct look *k, struct err *e);
void look_mark(struct look *k, const struct scan_range *roots, uint32_t nroots);
void look_sum_up(struct look *k);
void look_done(struct look *k);

/* Looks at a process that cannot be stopped, three times: what is lost at each of them,
 * and was there well before, is lost. Registers cannot be seen, and what is in them is
 * not in them for long. */
int leak_running_look(struct livefile *f, int pid, const struct leakcheck_how *how,
		      struct leakcheck *c, struct err *e);

/* What the program does not want reported: those blocks become roots. Returns the list,
 * to be freed, for the memory with pointers that is in it as well. */
struct rec_spare *leak_spares(struct look *k, const struct scan_index *index,
			      uint32_t *ret_n);

#endif
