/* SPDX-License-Identifier: MIT */
/* lsan.h -- leaks in the format of LeakSanitizer.
 *
 * It knows two kinds: direct leaks are those definitely lost, indirect ones those
 * indirectly lost. What is only possibly lost is not a leak there: a pointer into the
 * middle of a block counts for it. */
#ifndef SEEP_RENDER_LSAN_H
#define SEEP_RENDER_LSAN_H

#include "tool/render/leaks/memcheck.h"
#include "tool/util/vec.h"

/* A lost block: of process `pid`, from the site whose prof_site.origin this is. */
struct lsan_object {
	uint32_t pid, origin;
	uint8_t kind; /* enum prof_loss_kind */
	uint64_t addr, bytes;
};

/* Blocks of process `pid` from the site `origin` that are lost because of blocks from the
 * site `by`. */
struct lsan_below {
	uint32_t pid, by, origin;
	uint64_t blocks, bytes;
};

struct lsan_extra {
	bool no_uses;	    /* of suppressions */
	bool list_objects;  /* the address of each block */
	uint64_t max_leaks; /* 0 = all of them */
	VEC(struct lsan_object) objects;
	VEC(struct lsan_below) below; /* only where there are suppressions */
};

/* Appends the report on a process; nothing when it lost nothing. Uses of `o` kinds to
 * show, the stacks and the suppressions, whose uses are told. */
void lsan_text(struct buf *out, const struct prof *p, const struct skip *s,
	       uint32_t process, const struct memcheck_opts *o,
	       const struct lsan_extra *more);

#endif
