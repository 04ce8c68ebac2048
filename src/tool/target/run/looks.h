/* SPDX-License-Identifier: MIT */
/* looks.h -- a recording looked at again and again while its process runs: what each site
 * had done by then. Growth is judged from these (tool/analyze/growth/growth.h).
 *
 * A look reads the sites and their cells, never the blocks, and neither stops nor asks
 * the process. A bounded number is kept: when there are too many, every second one goes
 * and the distance between them doubles, so that a week has as many as ten seconds. The
 * next look waits until the last one's cost is a five-hundredth of the time, so a
 * recording with a million sites is looked at less often, not more dearly.
 *
 * Sites are numbered from 0 in the order of the recording's site chunks, oldest first;
 * looks_ref says which ref a number stands for. */
#ifndef SEEP_TARGET_LOOKS_H
#define SEEP_TARGET_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/target/run/livefile.h"
#include "tool/util/vec.h"

enum {
	LOOKS_MAX = 41,	      /* kept; 21 of them after thinning: 20 intervals */
	LOOKS_SHARE = 500,    /* 1 / share of a core that looking may take */
	LOOKS_EVERY_MS = 250, /* the default */
};

/* What a site did since its row before, or for the first since its beginning. A look that
 * falls into an event may see half of it, and the next one less than before. */
struct looks_row {
	uint32_t site; /* its number */
	int64_t allocs, frees, alloc_bytes, free_bytes;
};

struct looks_rows VEC_BODY(struct looks_row);

struct looks_one {
	uint64_t ms; /* since the recording began */
	uint32_t rss_kib,
		own_kib; /* of the process, and the recorder's share; 0 = not known */
	struct looks_rows
		rows; /* by number; none for a site that has as much live as before */
};

/* Zeroed but for `every_ms` it is ready for use. */
struct looks {
	uint64_t every_ms; /* between looks; 0 = never, doubled by thinning */

	VEC(struct looks_one) kept;
	uint64_t next_ms; /* when the next one is due */
	uint64_t cost_ns; /* of the last one */

	/* private: by number of a chunk of sites, oldest first */
	VEC(struct looks_chunk *) chunks;
	uint64_t rows; /* in all looks that are kept */
	bool full;     /* no room for another row: the looks end here */
};

/* Whether a look is due at `ms`. Costs nothing, so it may be asked in every tick. */
bool looks_due(const struct looks *l, uint64_t ms);

/* Looks at `f` now, which is mapped whole for it. A time before the last look's is not
 * looked at, nor one when exit has begun: what happens then is no growth. */
void looks_take(struct looks *l, struct livefile *f, uint64_t ms);

/* The ref of the site with this number, 0 for none. */
uint32_t looks_ref(const struct looks *l, uint32_t site);

void looks_done(struct looks *l); /* legal on a zeroed one */

#endif
