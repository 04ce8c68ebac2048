/* SPDX-License-Identifier: MIT */
/* leakcheck.h -- one look at a recorded process that stands still: which of its blocks
 * are lost.
 *
 * Joins the recording (blocks), the process (memory, registers) and src/tool/leak (the
 * verdict on each block), and sums up by place. */
#ifndef SEEP_SESSION_LEAKCHECK_H
#define SEEP_SESSION_LEAKCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/leak/classify.h"
#include "tool/leak/scan.h"
#include "tool/model/prof.h"
#include "tool/target/proc/procmem.h"
#include "tool/target/run/livefile.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

/* The blocks of one kind that a site has. There may be hundreds of thousands of these. */
struct leakcheck_site {
	uint32_t site; /* ref, as prof_site.origin */
	enum classify_kind kind;
	uint64_t blocks, bytes;
	uint64_t indirect_bytes;		  /* definite: lost because of these */
	uint64_t leftover_blocks, leftover_bytes; /* as in prof_loss */
};

/* A block from before the fork. It is judged in the process that allocated it; some
 * formats list it in both. */
struct leakcheck_inherited {
	uint64_t addr, bytes;
	enum classify_kind kind;
};

/* How the process was looked at. */
enum leakcheck_way {
	LEAKCHECK_HELD = 0, /* it stood at its end, by itself */
	LEAKCHECK_COPY,	    /* it was stopped, copied, and went on */
	LEAKCHECK_STOP,	    /* it was stopped for as long as it took */
	/* it could not be stopped, and was looked at again and again */
	LEAKCHECK_RUNNING,
};

const char *leakcheck_way_name(enum leakcheck_way way);

/* What the program says to LeakSanitizer: addresses of strings in the process, 0 =
 * none. */
struct leakcheck_wishes {
	uint64_t options, suppressions;
	bool off, asked; /* no check at exit; it has asked for this one and goes on */
};

/* How a check is made, and who wants to see more of it than its sums. A zeroed one, or
 * NULL: as usual. */
struct leakcheck_how {
	bool draconian; /* only what the program asked to ignore counts as a root */
	bool inherited; /* list blocks from before a fork */
	bool only_copy; /* no check at all where no copy can be had */
	/* What the functions below get first. */
	void *ctx;
	/* While the process stands still, before anything is judged. -ECANCELED: it wants
	 * no check. May be NULL. */
	int (*heed)(void *ctx, const struct procmem *mem,
		    const struct leakcheck_wishes *w, struct err *e);
	/* A check of that process begins; then every block of `all`, once all have their
	 * state. NULL: nobody. */
	void (*begin)(void *ctx, uint32_t pid);
	void (*block)(void *ctx, uint32_t pid, const struct scan_block *all,
		      const struct scan_block *b);
	/* Every block that is not reachable, and when it was allocated: ms since the
	 * start of the recording, 0 = not known. NULL: nobody. */
	void (*lost)(void *lost_ctx, const struct scan_block *b, uint32_t birth_ms);
	void *lost_ctx;
};

struct leakcheck {
	bool done;
	char why[512]; /* it was not done */
	/* not all blocks are known: what lies between them counted as roots */
	bool loose;
	bool compared; /* glibc's heap with the recording, block by block: */
	uint64_t unseen_blocks, unseen_bytes; /* handed out, but not recorded */
	uint64_t gone_blocks;		      /* recorded, but free */
	uint64_t libcs;			      /* loaded with dlmopen */
	enum leakcheck_way way;
	char instead[512]; /* why it was not the way that was wanted; "" = it was */
	uint64_t passed_over_bytes; /* reserved memory, too much to look through */
	unsigned threads;
	uint64_t stop_ns, pause_ns, cpu_ns; /* until it stood; from then on; our own */
	uint64_t at_ns; /* CLOCK_MONOTONIC, when all of it stood still */
	uint64_t words, root_bytes, nblocks;
	uint64_t heuristic_blocks[PROF_HEURISTICS], heuristic_bytes[PROF_HEURISTICS];
	VEC(struct leakcheck_site) sites;
	VEC(struct leakcheck_inherited) inherited;
};

/* Looks at process `pid`, whose recording `f` is. `at`: where it stands at its end, NULL
 * = it runs and is stopped first. Never fails: `done` and `why` say what came of it. Maps
 * all of `f`. */
struct rec_hold;
void leakcheck_run(struct livefile *f, int pid, const struct rec_hold *at,
		   const struct leakcheck_how *how, struct leakcheck *ret_check);
/* The same for a process that runs, and in the way that is wanted, if it can be had. */
void leakcheck_look(struct livefile *f, int pid, enum leakcheck_way way,
		    const struct leakcheck_how *how, struct leakcheck *ret_check);
void leakcheck_done(struct leakcheck *c); /* legal on a zeroed one */

/* A process waits at its end: looks at it and lets it go. False when it does not wait. */
bool leakcheck_held(struct livefile *f, bool seen_here, const struct leakcheck_how *how,
		    struct leakcheck *ret_check);

/* Adds what was found to `p`, whose row `process` was read from the same recording. */
void leakcheck_save(const struct leakcheck *c, struct prof *p, uint32_t process);

#endif
