/* SPDX-License-Identifier: MIT */
/* oldblocks.h -- blocks that are older than a recording: how fast do they go?
 *
 * A recorder that comes late sees every allocation, but of the frees only those of blocks
 * that it saw come. A cache whose entries live longer than anybody looks would seem to
 * keep everything. So some blocks of every size are picked from malloc's own lists before
 * the recorder goes in, and it is told to write down when one of them is freed. That
 * costs it nothing until then.
 *
 * Works where heapwalk.h does: with glibc's malloc. */
#ifndef SEEP_TARGET_OLDBLOCKS_H
#define SEEP_TARGET_OLDBLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/inject.h"
#include "tool/model/memmap.h"
#include "tool/target/proc/procmem.h"
#include "tool/target/run/livefile.h"
#include "tool/target/trace/tracee.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

struct oldblocks_list VEC_BODY(struct blob_old);

/* Start with `= {0}`; oldblocks_done is legal at any time. */
struct oldblocks {
	bool known; /* malloc's lists could be read */
	struct oldblocks_list chosen;
};

/* Picks blocks of the process, which goes on meanwhile. `map` must have been read just
 * now. */
void oldblocks_choose(const struct procmem *m, const struct memmap *map,
		      struct oldblocks *ret);

/* Tells the recorder in the process, whose struct blob_config is at `config`. No thread
 * stops. */
int oldblocks_watch(const struct tracee *t, uint64_t config, const struct oldblocks *o,
		    struct err *e);

/* What became of those that were chosen, by whomever; `died_ms` says. -ENOENT: this
 * recording is not one that was put into a running process. */
int oldblocks_read(struct livefile *f, struct oldblocks *ret, struct err *e);

void oldblocks_done(struct oldblocks *o);

#endif
