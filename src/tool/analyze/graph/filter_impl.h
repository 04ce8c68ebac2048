/* SPDX-License-Identifier: MIT */
/* filter_impl.h -- between the files of filter.h. */
#ifndef SEEP_ANALYZE_FILTER_IMPL_H
#define SEEP_ANALYZE_FILTER_IMPL_H

#include "tool/analyze/graph/filter.h"
#include "tool/util/map.h"
#include "tool/util/re.h"

struct filter_tag; /* --tagfocus or --tagignore */

struct graph_filter {
	struct re *re[FILTER_OPTIONS];
	struct filter_tag *tags[2]; /* focus, ignore */
	struct filter_blocks blocks;
	char *thread;
	bool has_blocks;
	uint32_t given; /* bits by enum filter_option */
};

/* ---- filter_tag.c ---- */

int filter_tag_new(const char *text, struct filter_tag **ret_tag, struct err *e);
void filter_tag_free(struct filter_tag *t);

/* Fills r->sites and the bits of the two options in r->unmatched. */
void filter_run_tags(struct filter_run *r, const struct graph_filter *f,
		     const struct prof *p);

#endif
