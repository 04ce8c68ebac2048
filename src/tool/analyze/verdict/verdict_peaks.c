/* SPDX-License-Identifier: MIT */
/* verdict_peaks.c -- the highest peak that a verdict mentions; see verdict.h. */
#include <stdlib.h>

#include "tool/analyze/verdict/verdict.h"
#include "tool/util/x.h"

/* The highest peak of a single process, and what was largest then. */
static struct verdict_peak
verdict_find_peak(const struct prof *p, const struct sites *ss, const bool *chosen)
{
	int64_t *bytes = xcalloc(ss->nrows, sizeof *bytes), most = 0;
	struct verdict_peak peak = {.row = UINT32_MAX};

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((chosen == NULL || chosen[i]) &&
		    (peak.process == 0 || p->processes[i].peak_bytes > peak.bytes)) {
			peak.bytes = p->processes[i].peak_bytes;
			peak.process = i;
		}
	}
	peak.var = (double)p->processes[peak.process].peak_error_bytes;
	peak.var *= peak.var;
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].process == peak.process &&
		    ss->row_of_site[i] != UINT32_MAX)
			bytes[ss->row_of_site[i]] += p->sites[i].at_peak_bytes;
	}
	for (uint32_t i = 0; i < ss->nrows; i++) {
		if (bytes[i] > most) {
			most = bytes[i];
			peak.row = i;
		}
	}
	free(bytes);
	return peak;
}

void
verdict_find_peaks(struct verdict *v, const struct prof *p, const struct sites *ss,
		   const bool *chosen, const bool *focus)
{
	v->peak = verdict_find_peak(p, ss, chosen);
	v->focus_peak = verdict_find_peak(p, ss, focus);
}
