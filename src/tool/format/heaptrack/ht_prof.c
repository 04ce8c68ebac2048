/* SPDX-License-Identifier: MIT */
/* ht_prof.c -- a data file of heaptrack as a profile.
 *
 * A stack is a site. Frames are known by function, file and line alone: the file has the
 * addresses of that process and no memory map, so they say nothing about another run.
 * Frames without a function are one for each module, "[libc.so.6]". What a file of
 * heaptrack does not have: lifetimes, threads, and which block was freed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ht.h"
#include "tool/format/format.h"
#include "tool/format/lines.h"
#include "tool/format/stream.h"
#include "tool/model/named.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

struct ht_prof {
	const struct ht *h;
	struct prof *p;
	uint32_t *loc_of_ip, *node_of_trace, *string_of; /* made when asked for */
	VEC(struct prof_frame) frames;
};

static uint32_t
ht_prof_string(struct ht_prof *w, uint32_t string)
{
	if (string == 0)
		return 0;
	if (w->string_of[string] == 0)
		w->string_of[string] = prof_str(w->p, ht_text(w->h, string));
	return w->string_of[string];
}

static void
ht_prof_frame(struct ht_prof *w, const struct ht_frame *f)
{
	struct prof_frame *to = vec_add(&w->frames);

	to->function = ht_prof_string(w, f->function);
	to->file = ht_prof_string(w, f->file);
	to->line = f->line;
}

/* What stands for the function where only the module is known: "[libc.so.6]". */
static uint32_t
ht_prof_unknown(struct ht_prof *w, const struct ht_ip *ip)
{
	struct buf b = {0};
	uint32_t id;

	buf_printf(&b, "[%s]",
		   ip->module != 0 ? file_base(ht_text(w->h, ip->module)) : "unknown");
	id = prof_str(w->p, buf_str(&b));
	buf_done(&b);
	return id;
}

static uint32_t
ht_prof_loc(struct ht_prof *w, uint32_t number)
{
	const struct ht_ip *ip = ht_ip(w->h, number);
	uint32_t module;

	if (number == 0 || w->loc_of_ip[number] != 0)
		return w->loc_of_ip[number];
	w->frames.len = 0;
	ht_prof_frame(w, &ip->frame);
	if (ip->frame.function == 0)
		w->frames.data[0].function = ht_prof_unknown(w, ip);
	for (uint32_t i = 0; i < ip->ninlined; i++) {
		vec_last(&w->frames)->inlined = 1;
		ht_prof_frame(w, &w->h->inlined.data[ip->inlined + i]);
	}
	module = ip->module == 0 ? 0
				 : prof_module(w->p, ht_text(w->h, ip->module), NULL, 0);
	w->loc_of_ip[number] =
		named_loc(w->p, module, w->frames.data, (uint32_t)w->frames.len);
	return w->loc_of_ip[number];
}

/* Nodes of the stacks that rows have, and of those they lead to; a stack stands behind
 * its caller. */
static void
ht_prof_nodes(struct ht_prof *w)
{
	const struct ht *h = w->h;
	bool *used = xcalloc(h->traces.len + 1, sizeof *used);

	for (size_t i = 0; i < h->rows.len; i++)
		used[h->rows.data[i].trace] = true;
	for (size_t i = h->traces.len; i > 0; i--) {
		if (used[i])
			used[h->traces.data[i - 1].parent] = true;
	}
	for (size_t i = 1; i <= h->traces.len; i++) {
		const struct ht_trace *t = &h->traces.data[i - 1];

		if (used[i])
			w->node_of_trace[i] = prof_node(w->p, w->node_of_trace[t->parent],
							ht_prof_loc(w, t->ip));
	}
	free(used);
}

static void
ht_prof_site(struct ht_prof *w, const struct ht_row *r)
{
	uint32_t row = prof_add_site(w->p);
	struct prof_site *s = &w->p->sites[row];

	s->process = 1;
	s->node = w->node_of_trace[r->trace];
	s->allocs = r->allocs;
	s->frees = r->frees;
	s->alloc_bytes = r->alloc_bytes;
	s->free_bytes = r->free_bytes;
	s->temps = r->temps;
	s->temp_bytes = r->temp_bytes;
	s->live_blocks = s->at_exit_blocks = r->live_blocks;
	s->live_bytes = s->at_exit_bytes = r->live_bytes;
	s->at_peak_bytes = r->peak_bytes;
	s->at_peak_blocks = r->peak_blocks;
	s->peak_bytes = r->most_bytes;
	s->peak_ms = r->most_ms;
	s->first_ms = r->first_ms;
}

/* Sizes of the blocks of each site; kinds of a site may stand anywhere. */
static void
ht_prof_sizes(struct ht_prof *w)
{
	const struct ht *h = w->h;
	struct prof_hist *hists = xcalloc(h->rows.len + 1, sizeof *hists);

	for (size_t i = 0; i < h->kinds.len; i++) {
		const struct ht_kind *k = &h->kinds.data[i];
		unsigned bucket = 0;

		while (bucket + 1 < PROF_SIZE_BUCKETS && k->bytes > UINT64_C(16)
									    << bucket)
			bucket++;
		hists[k->row].sizes[bucket] += k->allocs;
	}
	for (size_t i = 0; i < h->rows.len; i++)
		prof_set_hist(w->p, (uint32_t)i + 1, &hists[i]);
	free(hists);
}

static uint64_t
ht_kib(const struct ht *h, uint64_t pages)
{
	uint64_t kib = h->page_bytes >> 10;

	return kib == 0 || pages > UINT32_MAX / kib ? 0 : pages * kib;
}

static void
ht_prof_point(struct ht_prof *w, uint64_t ms, int64_t live, uint64_t rss_pages)
{
	uint32_t row = prof_add_point(w->p);

	w->p->points[row] = (struct prof_point){
		.process = 1,
		.ms = (uint32_t)ms,
		.live_bytes = live,
		.rss_kib = (uint32_t)ht_kib(w->h, rss_pages),
	};
}

/* The peak lies between two points as a rule. */
static void
ht_prof_points(struct ht_prof *w)
{
	const struct ht *h = w->h;
	bool peak = h->total.peak_bytes == 0;

	for (size_t i = 0; i < h->points.len; i++) {
		const struct ht_point *t = &h->points.data[i];

		if (!peak && t->ms > h->peak_ms) {
			ht_prof_point(w, h->peak_ms, h->total.peak_bytes,
				      i > 0 ? t[-1].rss_pages : 0);
			peak = true;
		}
		ht_prof_point(w, t->ms, t->live_bytes, t->rss_pages);
	}
}

static void
ht_prof_process(struct ht_prof *w, const char *exe)
{
	const struct ht *h = w->h;
	const char *command = strtab_str(&h->texts, h->command);
	uint32_t path = exe != NULL ? prof_str(w->p, exe)
				    : prof_strn(w->p, command, strcspn(command, " "));
	uint32_t cmdline = prof_str(w->p, command);
	struct prof_process *pr = &w->p->processes[1];

	pr->exe = path;
	pr->cmdline = cmdline;
	pr->mode = PROF_EXACT;
	pr->duration_ms = h->last_ms;
	pr->live_bytes = h->total.live_bytes;
	pr->peak_bytes = h->total.peak_bytes;
	pr->peak_ms = h->peak_ms;
	pr->rss_peak_kib = ht_kib(h, h->rss_peak_pages);
	pr->rss_kib = ht_kib(h, h->rss_pages);
	if (h->attached)
		w->p->comments = prof_str(w->p, "heaptrack was attached while it ran: "
						"earlier allocations are not in it");
}

static void
ht_prof_damage(struct ht_prof *w)
{
	const struct ht *h = w->h;
	char text[160];

	if (h->bad > 0) {
		snprintf(text, sizeof text,
			 "lines that are not heaptrack's (%s line %" PRIu64
			 ", at byte %" PRIu64 " unpacked)",
			 h->bad > 1 ? "first is" : "it is", h->bad_line, h->bad_off);
		prof_add_damage(w->p, text, h->bad);
	}
	if (h->damage != NULL) {
		snprintf(text, sizeof text, "%s (at byte %" PRIu64 " unpacked)",
			 h->damage, h->damage_off);
		prof_add_damage(w->p, text, 1);
	}
	prof_add_damage(w->p, "lines of more than 1 MiB", h->too_long);
}

static void
ht_to_prof(const struct ht *h, const char *exe, struct prof *p)
{
	struct ht_prof w = {.h = h, .p = p};

	w.loc_of_ip = xcalloc(h->ips.len + 1, sizeof *w.loc_of_ip);
	w.node_of_trace = xcalloc(h->traces.len + 1, sizeof *w.node_of_trace);
	w.string_of = xcalloc(h->strings.len + 1, sizeof *w.string_of);
	prof_add_process(p);
	p->columns = PROF_HAS_LIVE | PROF_HAS_ALLOCS | PROF_HAS_PEAK | PROF_HAS_TEMPS;
	p->format = prof_str(p, "heaptrack");
	p->has_names = true;
	ht_prof_process(&w, exe);
	ht_prof_nodes(&w);
	for (size_t i = 0; i < h->rows.len; i++)
		ht_prof_site(&w, &h->rows.data[i]);
	ht_prof_sizes(&w);
	ht_prof_points(&w);
	ht_prof_damage(&w);
	vec_done(&w.frames);
	free(w.loc_of_ip);
	free(w.node_of_trace);
	free(w.string_of);
}

static int
ht_load(struct stream *in, const struct format_opts *o, struct prof *p, struct err *e)
{
	struct ht h = {0};
	int r = ht_read(&h, in, e);

	if (r == 0)
		ht_to_prof(&h, o->exe, p);
	ht_done(&h);
	return r;
}

const struct format format_heaptrack = {
	.name = "heaptrack",
	.what = "data file of heaptrack",
	.detect = ht_detect,
	.stream = ht_load,
};
