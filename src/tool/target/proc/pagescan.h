/* SPDX-License-Identifier: MIT */
/* pagescan.h -- which pages of a process have ever been touched, run by run.
 *
 * Address space is cheap: sanitizers and managed languages reserve terabytes and use a
 * little of it here and there. Whoever looks through memory must find the little without
 * asking page by page. Linux 6.7 tells runs of pages (PAGEMAP_SCAN), for any range at
 * once; before that /proc/PID/pagemap is read, which costs 8 bytes a page, touched or
 * not, so a range of more than a terabyte is passed over; and where neither can be had,
 * all pages count as touched, but for ranges of more than four gigabytes. What was passed
 * over is counted. */
#ifndef SEEP_TARGET_PAGESCAN_H
#define SEEP_TARGET_PAGESCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/target/proc/procmem.h"

struct pagescan_run {
	uint64_t start, end;
};

enum { PAGESCAN_RUNS = 512 };

/* How it is told. */
enum pagescan_way {
	PAGESCAN_RUNS_TOLD = 0, /* by PAGEMAP_SCAN */
	PAGESCAN_WORDS,		/* by a word for every page */
	PAGESCAN_BLIND,		/* not at all */
};

/* Caller's storage; zeroed, then pagescan_init. */
struct pagescan {
	int fd;
	uint64_t page_bytes;
	enum pagescan_way way;
	bool private_only; /* set by the caller: without pages that belong to a file */
	uint64_t passed_over_bytes;
	/* private: runs that are known for [from, to) */
	uint64_t from, to, ahead_bytes;
	uint32_t nruns, at;
	struct pagescan_run runs[PAGESCAN_RUNS];
};

/* Borrows the descriptor of `m`. */
void pagescan_init(struct pagescan *s, const struct procmem *m);

/* Nothing is known any more: the process has run meanwhile. */
void pagescan_forget(struct pagescan *s);

/* The first touched pages in [start, end), cut to it; false: there are none. Pages that
 * were only read, and so hold zeroes, may be left out. */
bool pagescan_next(struct pagescan *s, uint64_t start, uint64_t end,
		   struct pagescan_run *ret_run);

#endif
