/* SPDX-License-Identifier: MIT */
/* report_json_impl.h -- what the parts of a JSON report share: its state, and one member
 * of an object in each of the forms there are. */
#ifndef SEEP_RENDER_REPORT_JSON_IMPL_H
#define SEEP_RENDER_REPORT_JSON_IMPL_H

#include "tool/analyze/growth/growth_places.h"
#include "tool/analyze/sites/sites.h"
#include "tool/analyze/sites/skip.h"
#include "tool/analyze/sites/types.h"
#include "tool/analyze/verdict/verdict.h"
#include "tool/render/report/report.h"
#include "tool/util/json.h"

struct report_json {
	struct json j;
	const struct prof *p;
	const struct report_opts *o;
	struct skip *skip;
	struct skip
		*folding; /* as the text report, whose sites are lines of the program */
	struct sites sites;
	struct verdict v;
	struct growth_places
		growth; /* of the places at the end; else its rows are NULL */
	/* for every location: number of its first frame, UINT32_MAX = not used */
	uint32_t *first;
	uint32_t *used; /* locations in the order of their frames' numbers */
	uint32_t nused, nframes;
	uint32_t listed; /* sites that are listed */
	bool *focus;	 /* for every process, see focus.h */
};

/* A number that is never 0 where it is known. */
void rj_known(struct report_json *r, const char *key, uint64_t n);
/* A figure of the columns in `of` (enum prof_columns); null where the profile lacks
 * them. */
void rj_column(struct report_json *r, const char *key, int64_t n, int of);
/* A string of the profile, null when there is none. */
void rj_id(struct report_json *r, const char *key, uint32_t id);
void rj_error(struct report_json *r, const char *key, double variance);

/* The figures of one row, or of all. */
void rj_total(struct report_json *r, const struct sites_total *t);

/* What can be said of the growth of all places together. */
void rj_growth_all(struct report_json *r);

/* Number of a frame, from now on one of "frames". */
uint32_t rj_frame_number(struct report_json *r, uint32_t loc, uint32_t inl);

/* "sites" and what is not in it; sites refer to frames by number. */
void rj_sites(struct report_json *r);

/* "lost_between" of a row, and "loss_checks" of all. */
void rj_moments(struct report_json *r, uint32_t row);
void rj_rounds(struct report_json *r);

/* "frames": those that were referred to, so it comes last. */
void rj_frames(struct report_json *r);

#endif
