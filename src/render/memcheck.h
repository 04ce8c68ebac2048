/* SPDX-License-Identifier: MIT */
/* memcheck.h -- what was lost, in the words of valgrind's memcheck, for whoever reads or parses those. */
#ifndef SEEP_RENDER_MEMCHECK_H
#define SEEP_RENDER_MEMCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/skip.h"
#include "model/prof.h"
#include "util/buf.h"

struct memcheck_opts {
	unsigned kinds;	  /* bits 1 << enum prof_loss_kind: records to list */
	unsigned callers; /* frames of each; 0 = 12 */
};

/* Appends HEAP SUMMARY, loss records, LEAK SUMMARY and ERROR SUMMARY of a process that was looked at;
 * of another one why it was not. What libc keeps counts as freed, as it does there. */
void memcheck_text(struct buf *out, const struct prof *p, const struct skip *s,
		   uint32_t process, const struct memcheck_opts *o);

/* How many loss records of a process are errors: definitely or possibly lost. */
uint32_t memcheck_errors(const struct prof *p, const struct skip *s, uint32_t process);

#endif
