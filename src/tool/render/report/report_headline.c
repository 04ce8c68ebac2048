/* SPDX-License-Identifier: MIT */
/* report_headline.c -- the first lines of a report alone, for screens that show the rest
 * in their own way. */
#include <stdlib.h>

#include "tool/render/report/report_impl.h"

void
report_headline(const struct prof *p, struct skip *s, const struct report_data *d,
		struct report_headline *ret)
{
	struct report_opts o = {0};
	struct report r = {
		.p = p, .o = &o, .plan = report_usual, .skip = s, .depth = REPORT_FRAMES};

	report_take(&r, d);
	report_find(&r);
	r.out = &ret->verdict;
	report_verdict(&r);
	r.out = &ret->exact;
	report_exactness(&r);
	r.out = &ret->end;
	report_ends(&r);
	free(r.found);
	free(r.growth_told);
	free(r.told);
}
