/* SPDX-License-Identifier: MIT */
/* account.h -- where a process's resident memory is: every KiB of it in one part.
 *
 * Parts add up to the RSS, always. What malloc holds is split into live and freed where
 * its own state or a recording tells; where nothing does, it is one part, "live or free
 * unknown". Anonymous memory of a process whose allocator is not known is unexplained,
 * not guessed at. */
#ifndef SEEP_ANALYZE_ACCOUNT_H
#define SEEP_ANALYZE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/process/regions.h"
#include "tool/model/memmap.h"

enum account_part {
	ACCOUNT_LIVE,	  /* blocks that the program holds, with malloc's headers */
	ACCOUNT_FREED,	  /* freed, but kept by malloc */
	ACCOUNT_MALLOC,	  /* malloc's, live or free unknown */
	ACCOUNT_RUNTIME,  /* heaps of Go, Java, V8, pymalloc */
	ACCOUNT_MAPPINGS, /* anonymous memory that somebody mapped */
	ACCOUNT_STACKS,
	ACCOUNT_FILES,	/* and static data, where that is small */
	ACCOUNT_STATIC, /* zeroed data of programs and libraries */
	ACCOUNT_SHARED,
	ACCOUNT_SEEP,
	ACCOUNT_UNEXPLAINED,
	ACCOUNT_PARTS,
};

/* What a recording of the process says; all zero when there is none. */
struct account_recording {
	bool there;
	bool exact;	     /* else live_bytes is an estimate */
	uint64_t live_bytes; /* asked for and not freed */
	uint64_t own_bytes;  /* private memory of the recorder */
};

struct account {
	uint64_t rss_kib;
	uint64_t kib[ACCOUNT_PARTS];
	bool told_by_malloc;	/* live and freed are from malloc's own state */
	bool told_by_recording; /* or from a recording */
	bool estimate;		/* and that one samples */
};

/* `rss_kib` is the whole as the kernel adds it up; 0: the sum of the mappings. `heap` may
 * be NULL. */
void account_init(struct account *ret_account, const struct memmap *map,
		  const struct regions *rs, const struct heapmap *heap,
		  const struct account_recording *recording, uint64_t rss_kib);

/* "live", "free but kept by malloc" … as reports and metrics name the parts. */
const char *account_part_name(enum account_part part);
const char *account_part_key(enum account_part part);

#endif
