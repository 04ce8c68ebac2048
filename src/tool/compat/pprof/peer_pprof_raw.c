/* SPDX-License-Identifier: MIT */
/* peer_pprof_raw.c -- see peer_pprof_raw.h. */
#include "tool/compat/pprof/peer_pprof_raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/render/figure.h"
#include "tool/util/x.h"

static void
pprof_raw_head(struct buf *out, const struct prof *p)
{
	uint64_t period = p->nprocesses > 1 ? p->processes[1].rate_bytes : 0;
	time_t when = (time_t)(p->time_ns / 1000000000u);
	char text[40], part[16];
	struct tm tm;
	size_t n;

	buf_printf(out, "PeriodType: space bytes\nPeriod: %" PRIu64 "\n",
		   period > 0 ? period : 1);
	if (p->time_ns != 0 && gmtime_r(&when, &tm) != NULL) {
		strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
		/* A fraction without the zeros at its end, and none when it is 0. */
		n = (size_t)snprintf(part, sizeof part, ".%09" PRIu64,
				     p->time_ns % 1000000000u);
		while (n > 0 && (part[n - 1] == '0' || n == 1))
			part[--n] = '\0';
		buf_printf(out, "Time: %s%s +0000 UTC\n", text, part);
	}
}

/* Numbers of locations: 1, 2, 3 … in the order in which samples meet them. */
struct pprof_ids {
	uint32_t *of;	 /* for every location; 0 = not met */
	uint32_t *order; /* the locations by number */
	uint32_t n;
};

static void
pprof_raw_sample(struct buf *out, const struct prof *p, uint32_t i, bool two_columns,
		 struct pprof_ids *ids)
{
	const struct prof_site *s = &p->sites[i];
	uint32_t node = s->node;

	if ((p->columns & PROF_HAS_ALLOCS) != 0 && !two_columns)
		buf_printf(out, "%11" PRIu64 " %10" PRIu64, s->allocs, s->alloc_bytes);
	if ((p->columns & PROF_HAS_LIVE) != 0)
		buf_printf(out, " %10" PRId64 " %10" PRId64, s->live_blocks,
			   s->live_bytes);
	buf_add_str(out, ": ");
	for (; node != 0;
	     node = p->nodes[node].parent < node ? p->nodes[node].parent : 0) {
		uint32_t loc = p->nodes[node].loc;

		if (ids->of[loc] == 0) {
			ids->order[ids->n] = loc;
			ids->of[loc] = ++ids->n;
		}
		buf_printf(out, "%" PRIu32 " ", ids->of[loc]);
	}
	buf_add_char(out, '\n');
}

static void
pprof_raw_loc(struct buf *out, const struct prof *p, uint32_t i, uint32_t id)
{
	const struct prof_loc *l = &p->locs[i];

	buf_printf(out, "%6" PRIu32 ": 0x%" PRIx64 " ", id,
		   l->offset - (!l->exact && l->offset > 0));
	if (l->module != 0)
		buf_printf(out, "M=%" PRIu32 " ", l->module);
	for (uint32_t k = 0; k < l->nframes; k++) {
		const struct prof_frame *f = &p->frames[l->frames + k];

		if (k > 0)
			buf_add_str(out, "             ");
		clean_text(out, prof_text(p, f->function));
		buf_add_char(out, ' ');
		clean_text(out, prof_text(p, f->file));
		buf_printf(out, ":%" PRIu32 " s=0\n", f->line);
	}
	if (l->nframes == 0)
		buf_add_char(out, '\n');
}

/* Where a module was; formats without a map have it nowhere. */
static void
pprof_raw_module(struct buf *out, const struct prof *p, uint32_t i)
{
	uint64_t start = 0, end = 0;

	for (uint32_t k = 0; k < p->nranges; k++) {
		if (p->ranges[k].module == i && (end == 0 || p->ranges[k].start < start))
			start = p->ranges[k].start;
		if (p->ranges[k].module == i && p->ranges[k].end > end)
			end = p->ranges[k].end;
	}
	buf_printf(out, "%" PRIu32 ": 0x%" PRIx64 "/0x%" PRIx64 "/0x0 ", i, start, end);
	clean_text(out, prof_text(p, p->modules[i].path));
	buf_add_char(out, ' ');
	for (unsigned k = 0; k < p->modules[i].build_id_bytes; k++)
		buf_printf(out, "%02x", p->modules[i].build_id[k]);
	clean_text(out, prof_text(p, p->modules[i].other_id));
	buf_add_str(out, " [FN]\n");
}

void
pprof_raw(struct buf *out, const struct prof *p, bool two_columns)
{
	uint32_t *labels = xcalloc(p->nsites, sizeof *labels); /* first label + 1 */
	bool *used = xcalloc(p->nmodules, sizeof *used);
	struct pprof_ids ids = {.of = xcalloc(p->nlocs, sizeof *ids.of),
				.order = xcalloc(p->nlocs, sizeof *ids.order)};

	for (uint32_t i = p->nlabels; i-- > 0;) {
		if (p->labels[i].site < p->nsites)
			labels[p->labels[i].site] = i + 1;
	}
	pprof_raw_head(out, p);
	buf_add_str(out, "Samples:\n");
	if ((p->columns & PROF_HAS_ALLOCS) != 0 && !two_columns)
		buf_add_str(out, "alloc_objects/count alloc_space/bytes ");
	buf_add_str(out, two_columns ? "objects/count space/bytes\n"
			 : (p->columns & PROF_HAS_LIVE) != 0
				 ? "inuse_objects/count inuse_space/bytes\n"
				 : "\n");
	for (uint32_t i = 1; i < p->nsites; i++) {
		pprof_raw_sample(out, p, i, two_columns, &ids);
		for (uint32_t k = labels[i]; k != 0 && k <= p->nlabels; k++) {
			const struct prof_label *l = &p->labels[k - 1];

			if (l->site != i)
				break;
			buf_printf(out, "%16s", "");
			clean_text(out, prof_text(p, l->key));
			buf_add_str(out, ":[");
			if (l->text != 0)
				clean_text(out, prof_text(p, l->text));
			else
				buf_printf(out, "%" PRId64, l->number);
			buf_add_str(out, "]\n");
		}
	}
	buf_add_str(out, "Locations\n");
	for (uint32_t i = 0; i < ids.n; i++) {
		pprof_raw_loc(out, p, ids.order[i], i + 1);
		used[p->locs[ids.order[i]].module] = true;
	}
	buf_add_str(out, "Mappings\n");
	for (uint32_t i = 1; i < p->nmodules; i++) {
		if (used[i])
			pprof_raw_module(out, p, i);
	}
	free(used);
	free(ids.of);
	free(ids.order);
	free(labels);
}
