/* SPDX-License-Identifier: MIT */
/* mapdiff.h -- saved memory maps of a process compared: which region grew. */
#ifndef SEEP_RENDER_MAPDIFF_H
#define SEEP_RENDER_MAPDIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/analyze/process/track.h"
#include "tool/model/memmap.h"
#include "tool/util/buf.h"

struct mapdiff_opts {
	const struct memmap *maps; /* oldest first */
	size_t n;
	const char *const *names; /* of their files */
	bool timed;		  /* seconds of the track are times, not numbers */
	bool all, ascii;
	uint32_t rows; /* 0 = 10 */
};

void mapdiff_text(struct buf *out, const struct track *t, const struct mapdiff_opts *o);
void mapdiff_json(struct buf *out, const struct track *t, const struct mapdiff_opts *o);

#endif
