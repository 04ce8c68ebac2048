/* SPDX-License-Identifier: MIT */
/* peer_dump.h -- jemalloc's heap profile, written by raw system calls. */
#ifndef SEEP_PEER_DUMP_H
#define SEEP_PEER_DUMP_H

#include "guest/record/census/census.h"

#include <stdbool.h>
#include <stdint.h>

/* What goes into a profile besides the census. */
struct dump {
	unsigned lg_sample;
	bool sampled;
	bool unbias; /* write what jeprof's formula will turn into the right figures */
	bool accum;  /* cumulative figures too */
	bool kernel_names;   /* of threads */
	uint32_t frames_max; /* 0 = all */
	/* Name given to a thread by thread.prof.name; NULL when none. */
	const char *(*thread_name)(uint32_t serial);
};

/* What is live, as a leak summary wants it. */
struct dump_live {
	uint64_t bytes, blocks, sites;
};

/* Write a profile of what `c` has to `path`, replacing what is there. Returns 0 or
 * -errno; a file that could not be finished is removed. *ret_opened: the file could be
 * made. */
int dump_write(const struct dump *d, const struct census *c, const char *path,
	       bool *ret_opened);

struct dump_live dump_live_of(const struct census *c);

#endif
