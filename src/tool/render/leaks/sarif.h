/* SPDX-License-Identifier: MIT */
/* sarif.h -- leaks and wrong uses of the heap for code review: SARIF 2.1.0, and
 * annotations of GitHub's workflows. Suppressed findings, and those that a baseline has,
 * are left out of both. */
#ifndef SEEP_RENDER_SARIF_H
#define SEEP_RENDER_SARIF_H

#include "tool/render/leaks/memcheck.h"

struct sarif_opts {
	const char *root;    /* folder of the sources, without a slash at its end */
	const char *version; /* of seep */
};

/* Appends a SARIF log with one run. Files below the root are relative to it. */
void sarif_json(struct buf *out, const struct prof *p, const struct skip *s,
		const bool *chosen, const struct memcheck_opts *o,
		const struct sarif_opts *more);

/* Appends a line "::error file=…,line=…,title=…::…" for each finding; ::warning for
 * possible losses. */
void sarif_annotations(struct buf *out, const struct prof *p, const struct skip *s,
		       const bool *chosen, const struct memcheck_opts *o,
		       const struct sarif_opts *more);

#endif
