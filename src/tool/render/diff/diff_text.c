/* SPDX-License-Identifier: MIT */
/* diff_text.c -- a comparison as text: verdict and sum, the table, what limits it, next
 * step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/diff/diff_page.h"
#include "tool/render/figure.h"
#include "tool/render/verdict_colour.h"
#include "tool/render/wrap.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum { DIFF_REBUILT_MAX = 3 };

/* "812.4 → 868.1 MiB", with more digits where the two would read the same. */
static void
diff_pair(struct diff_page *g, int64_t old, int64_t new, bool in_bytes)
{
	double most = (double)(fmt_abs(old) > fmt_abs(new) ? fmt_abs(old) : fmt_abs(new));
	unsigned unit = diff_unit(most);
	char *a = NULL, *b = NULL;

	if (!in_bytes || g->o->bytes) {
		a = diff_exactly(old);
		b = diff_exactly(new);
	} else {
		for (unsigned more = 0; more < 4; more++) {
			free(a);
			free(b);
			a = diff_in_unit((double)old, unit, more);
			b = diff_in_unit((double)new, unit, more);
			if (old == new || strcmp(a, b) != 0)
				break;
		}
	}
	buf_printf(g->out, "%s" DIFF_TO "%s%s", a, b,
		   !in_bytes	 ? ""
		   : g->o->bytes ? " bytes"
				 : " ");
	if (in_bytes && !g->o->bytes)
		buf_add_str(g->out, diff_units[unit]);
	free(a);
	free(b);
}

/* A word that a shell takes as it is? */
static bool
diff_is_plain(const char *s)
{
	return s[0] != '\0' && s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_:@%+=,./-")] == '\0';
}

/* ", +499 %": nothing for a change of less than one in a thousand. */
static void
diff_percent(struct diff_page *g, int64_t old, int64_t new, const char *between)
{
	if (old > 0 && new >= 0 && new != old &&
	    fmt_abs(new - old) >= (uint64_t)old / 1000)
		buf_printf(g->out, "%s%s", between,
			   fmt_change((uint64_t)old, (uint64_t) new).s);
}

/* "peak 3.2 → 19.4 MiB (+499 %; seep diff a.rec@peak b.rec@peak)" */
static void
diff_peaks(struct diff_page *g)
{
	const int64_t *peak = g->d->peak;
	const char *const *words = g->o->target;

	buf_add_str(g->out, "peak ");
	diff_pair(g, peak[DIFF_OLD], peak[DIFF_NEW], true);
	buf_add_str(g->out, " (");
	diff_percent(g, peak[DIFF_OLD], peak[DIFF_NEW], "");
	if (words[0] != NULL && words[1] != NULL && diff_is_plain(words[0]) &&
	    diff_is_plain(words[1]))
		buf_printf(g->out, "%sseep diff %s@peak %s@peak",
			   peak[DIFF_OLD] > 0 ? "; " : "", words[0], words[1]);
	buf_add_char(g->out, ')');
}

/* What makes the next recording have more samples. */
static const char *
diff_rate_option(const struct prof *p)
{
	const char *format = prof_text(p, p->format);

	if (format[0] == '\0')
		return "--sample";
	if (strcmp(format, "heap_v2") == 0)
		return "lg_prof_sample (MALLOC_CONF=prof:true,lg_prof_sample:12)";
	return "interval between samples";
}

/* Why the first word is that one, where the totals do not say it. */
static void
diff_why(struct diff_page *g)
{
	const struct diff *d = g->d;

	if (d->lost_blocks > 0)
		buf_printf(g->out, "; %s in %s lost at %s",
			   figure_bytes(d->lost_bytes, 0, g->o->bytes).s,
			   figure_things(d->lost_blocks, 0, "block").s,
			   figure_things(d->nfound, 0, "site").s);
	else if (d->apart && d->nfound > 0)
		buf_printf(g->out, "; %s of the later recording grow%s",
			   figure_things(d->nfound, 0, "site").s,
			   d->nfound == 1 ? "s" : "");
	else if (d->apart)
		buf_add_str(
			g->out,
			"; what came before an attach is not counted, so the two cannot "
			"be compared; use marks of one attach: seep attach PID --around COMMAND");
	else if (!d->grew && d->nfound > 0)
		buf_printf(g->out, "; %s at %s",
			   g->o->bytes ? fmt_count_signed(d->found_bytes).s
				       : fmt_size_signed(d->found_bytes).s,
			   figure_things(d->nfound, 0, "site").s);
	else if (d->answer.why == VERDICT_WHY_FEW_SAMPLES)
		buf_printf(g->out, "; too few samples, record with a smaller %s",
			   diff_rate_option(g->o->p[DIFF_NEW]));
	else if (d->answer.word <= VERDICT_STEADY && d->limit > 0)
		buf_printf(g->out, "; growth under %s may not show",
			   figure_bytes((int64_t)d->limit, 0, g->o->bytes).s);
}

static void
diff_first_line(struct diff_page *g)
{
	static const char *const words[SITES_BY_MAX] = {
		[SITES_LIVE] = "live",		 [SITES_PEAK] = "at the peak",
		[SITES_COUNT] = "allocations",	 [SITES_ALLOCATED] = "allocated",
		[SITES_TEMPORARY] = "temporary",
	};
	const struct diff *d = g->d;
	int64_t old = d->value[DIFF_OLD], new = d->value[DIFF_NEW];
	uint64_t most = fmt_abs(old) > fmt_abs(new) ? fmt_abs(old) : fmt_abs(new);
	char *by = diff_change(diff_less(new, old), d->var, g->o->bytes || !d->in_bytes,
			       diff_unit((double)most));
	/* What was freed before the end is all that grew? */
	bool peak = d->peak_grew && !d->grew && d->nfound == 0;

	verdict_colour(g->out, d->answer.word, g->o->term);
	buf_add_str(g->out, "  ");
	if (peak) {
		diff_peaks(g);
		buf_add_str(g->out, "; at the end ");
	}
	buf_printf(g->out, "%s ", words[g->o->by]);
	diff_pair(g, old, new, d->in_bytes);
	buf_printf(g->out, " (%s", d->apart ? "each since its own attach" : by);
	if (!d->apart)
		diff_percent(g, old, new, ", ");
	buf_add_char(g->out, ')');
	free(by);
	if (d->has_ms)
		buf_printf(g->out, " in %s", figure_ms(d->ms).s);
	if (d->has_rss) {
		buf_add_str(g->out, "; RSS ");
		diff_pair(g, (int64_t)(d->rss_kib[DIFF_OLD] << 10),
			  (int64_t)(d->rss_kib[DIFF_NEW] << 10), true);
	}
	diff_why(g);
	if (d->peak_grew && !peak) {
		buf_add_str(g->out, "; ");
		diff_peaks(g);
	}
	buf_add_char(g->out, '\n');
}

uint64_t
diff_missed(const struct prof *p)
{
	uint64_t n = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const uint64_t *lost = p->processes[i].lost;

		n += lost[REC_LOST_SPACE] + lost[REC_LOST_REENTRY] + lost[REC_LOST_LOCK] +
		     lost[REC_LOST_ADDRESS] + lost[REC_LOST_BOOT] +
		     p->processes[i].paused_allocs;
	}
	return n;
}

static void
diff_notes(struct diff_page *g)
{
	static const char *const sides[] = {"before", "after"};
	const struct diff *d = g->d;

	if (g->o->series > 2)
		buf_printf(g->out,
			   "%u snapshots of one process: the first against the last, %u "
			   "lie between\n",
			   g->o->series, g->o->series - 2);
	if (d->scale > 0)
		buf_printf(g->out, "after is scaled by %.4g to the total of before\n",
			   d->scale);
	if (d->nmoved > 0)
		buf_printf(g->out,
			   "%s site%s matched by function and file: lines moved in the "
			   "rebuild\n",
			   fmt_count(d->nmoved).s, d->nmoved == 1 ? "" : "s");
	for (unsigned s = 0; s < 2; s++) {
		const struct prof *p = g->o->p[s];
		uint64_t missed = diff_missed(p);

		if (missed > 0)
			buf_printf(g->out, "%s: %s missed\n", sides[s],
				   figure_things((int64_t)missed, 0, "event").s);
		for (uint32_t i = 0; i < p->ndamages; i++) {
			buf_printf(g->out, "%s, not read: ", sides[s]);
			clean_text(g->out, prof_text(p, p->damages[i].what));
			buf_printf(g->out, " (%s)\n", fmt_count(p->damages[i].count).s);
		}
	}
}

/* "exact", "sampled, one per ~512 KiB" of a side. */
static void
diff_mode(char *text, size_t room, const struct prof *p)
{
	uint64_t rate = 0;
	unsigned mode = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (p->processes[i].mode > mode)
			mode = p->processes[i].mode;
		if (p->processes[i].rate_bytes > rate)
			rate = p->processes[i].rate_bytes;
	}
	if (mode == PROF_SAMPLED && rate > 0)
		snprintf(text, room, "sampled, one per ~%s", fmt_size(rate).s);
	else
		snprintf(text, room, "%s",
			 mode == PROF_SAMPLED ? "sampled"
			 : mode == PROF_EXACT ? "exact"
					      : "sampled or not is not said");
}

static void
diff_builds(struct diff_page *g)
{
	const struct diff *d = g->d;
	const struct prof *p = g->o->p[DIFF_NEW];

	switch (d->build) {
	case DIFF_BUILD_SAME:
		buf_add_str(g->out, ", same build");
		return;
	case DIFF_BUILD_FOREIGN:
		buf_add_str(g->out, ", another program");
		return;
	case DIFF_BUILD_UNKNOWN:
		buf_add_str(g->out, ", builds not known");
		return;
	case DIFF_BUILD_OTHER:
		break;
	}
	buf_add_str(g->out, ", rebuilt: ");
	for (uint32_t i = 0; i < d->nrebuilt && i < DIFF_REBUILT_MAX; i++) {
		buf_add_str(g->out, i > 0 ? ", " : "");
		clean_text(g->out,
			   file_base(prof_text(p, p->modules[d->rebuilt[i]].path)));
	}
	if (d->nrebuilt > DIFF_REBUILT_MAX)
		buf_printf(g->out, " and %u more", d->nrebuilt - DIFF_REBUILT_MAX);
}

/* The function that grew most; NULL when none did, or its name is not plain. */
static const char *
diff_grown(const struct diff_page *g)
{
	for (uint32_t i = 0; i < g->d->nplaces; i++) {
		const struct diff_place *x = &g->d->places[i];
		const struct prof *p = g->o->p[DIFF_NEW];
		const struct prof_frame *f;

		if (x->noise || x->value[DIFF_NEW] <= x->value[DIFF_OLD] ||
		    x->node[DIFF_NEW] == 0)
			continue;
		f = skip_frame(p, skip_first(g->o->skip[DIFF_NEW], x->node[DIFF_NEW]));
		if (f == NULL || f->function == 0 ||
		    !diff_is_plain(prof_text(p, f->function)))
			return NULL;
		return prof_text(p, f->function);
	}
	return NULL;
}

static void
diff_last_line(struct diff_page *g)
{
	const struct prof *const *p = g->o->p;
	const char *grown = diff_grown(g), *target = g->o->target[DIFF_NEW];
	char mode[2][80];

	for (unsigned s = 0; s < 2; s++)
		diff_mode(mode[s], sizeof mode[s], p[s]);
	if (strcmp(mode[0], mode[1]) == 0)
		buf_add_str(g->out, mode[0]);
	else
		buf_printf(g->out, "%s" DIFF_TO "%s", mode[0], mode[1]);
	if (g->d->process_known)
		buf_add_str(g->out, g->d->same_process || g->d->apart
					    ? ", same process"
					    : ", another process");
	if (p[0]->nprocesses > 2 || p[1]->nprocesses > 2)
		buf_printf(g->out, ", of %u" DIFF_TO "%u processes", p[0]->nprocesses - 1,
			   p[1]->nprocesses - 1);
	diff_builds(g);
	if (target != NULL && target[0] != '-' && diff_is_plain(target)) {
		buf_add_str(g->out, DIFF_DOT "next: seep report ");
		if (grown != NULL)
			buf_printf(g->out, "--peek %s ", grown);
		if (g->o->reading != NULL)
			buf_add_str(g->out, g->o->reading);
		buf_add_str(g->out, target);
	}
	buf_add_char(g->out, '\n');
}

void
diff_text(struct buf *out, const struct diff *d, const struct diff_opts *o)
{
	struct diff_page g = {.out = out, .d = d, .o = o};
	struct diff_folded folded[DIFF_FOLDS] = {{0}};
	size_t from = out->len;

	diff_choose_rows(&g, folded);
	diff_first_line(&g);
	diff_table(&g);
	diff_folds(&g, folded);
	diff_notes(&g);
	diff_last_line(&g);
	if (o->ascii)
		figure_to_ascii(out, from);
	wrap_term(out, from, o->term);
	diff_rows_done(&g);
}
