/* SPDX-License-Identifier: MIT */
/* watch_view.h -- one process as it was watched: what reports on it are made of. */
#ifndef SEEP_SESSION_WATCH_VIEW_H
#define SEEP_SESSION_WATCH_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/process/account.h"
#include "tool/analyze/process/regions.h"
#include "tool/analyze/process/track.h"
#include "tool/model/memmap.h"

/* Everything is borrowed from whoever watches. */
struct watch_view {
	int pid;
	const char *name;
	uint64_t up_ns; /* since it was started */
	unsigned threads;
	const struct memmap *map;      /* last snapshot */
	const struct regions *regions; /* of it */
	const struct track *track;
	const struct account *account; /* NULL: not made yet */
	const struct heapmap *heap;    /* behind the account; may be NULL */
	uint64_t limit_bytes, limit_used_bytes;
	bool limit_machine;
	const char *limit_group;
	/* what was not referenced for so long is cold; 0 = not asked */
	double cold_seconds;
	const char *coverage; /* where its memory hides from the recorder, or NULL */
	const char *recorded; /* "exact, 2.02 GiB live", or NULL: it is not recorded */
	const char *next;     /* command to run next */
	bool ended;
};

#endif
