/* SPDX-License-Identifier: MIT */
/* heap_in.c -- what the readers of heap profiles share. See heap_in.h.
 *
 * The formulas are those of the tools, with their limits: a line is scaled as if all its
 * blocks were of its average size. Where a formula has no finite result (a line of empty
 * blocks), the line is left as it is. */
#include "heap_in.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tool/util/err.h"

static const char *const heap_bad_words[HEAP_BAD_MAX] = {
	[HEAP_BAD_LINE] = "lines that do not belong to a heap profile",
	[HEAP_BAD_STACK] = "stacks with a word that is not an address",
	[HEAP_BAD_NO_COUNTS] = "stacks without figures",
	[HEAP_BAD_NO_STACK] = "figures without a stack",
	[HEAP_BAD_NO_BLOCKS] = "lines with bytes in no blocks",
	[HEAP_BAD_THREAD] = "threads whose number is too large",
	[HEAP_BAD_CUT] = "last line breaks off",
};

/* ---- scaling ---- */

static int64_t
heap_in_whole(double v)
{
	if (!(v > -9.2e18))
		return v < 0 ? INT64_MIN : 0; /* NaN is 0 */
	return v < 9.2e18 ? (int64_t)v : INT64_MAX;
}

/* Factor for blocks of this average size; 1 where there is none. */
static double
heap_in_poisson(double blocks, double bytes, double rate)
{
	double f = 1 / (1 - exp(-(bytes / blocks) / rate));

	return isfinite(f) && f > 0 ? f : 1;
}

static double
heap_in_linear(double blocks, double bytes, double rate)
{
	double ratio = bytes / blocks / rate;

	return ratio > 0 && ratio < 1 ? 1 / ratio : 1;
}

static void
heap_in_scale_pair(const struct heap_rate *r, int64_t blocks, int64_t bytes,
		   int64_t ret_whole[2], double ret_real[2])
{
	double n = (double)blocks, s = (double)bytes, go = 1, perl = 1;

	if (r->go_bytes > 1 && blocks != 0 && bytes != 0)
		go = heap_in_poisson(n, s, (double)r->go_bytes);
	if (r->perl == HEAP_POISSON && r->go_bytes > 1)
		perl = go; /* the same rate, and exp() is not for nothing */
	else if (r->perl == HEAP_POISSON && blocks != 0 && bytes != 0)
		perl = heap_in_poisson(n, s, r->perl_bytes);
	else if (r->perl == HEAP_LINEAR && blocks != 0)
		perl = heap_in_linear(n, s, r->perl_bytes);
	ret_whole[0] = go != 1 ? heap_in_whole(n * go) : blocks;
	ret_whole[1] = go != 1 ? heap_in_whole(s * go) : bytes;
	ret_real[0] = n * perl;
	ret_real[1] = s * perl;
}

void
heap_in_scale(const struct heap_rate *r, const struct heap_counts *c,
	      struct heap_counts *ret_whole, struct prof_real *ret_real)
{
	int64_t live[2], all[2];
	double real_live[2], real_all[2];

	heap_in_scale_pair(r, c->live_blocks, c->live_bytes, live, real_live);
	heap_in_scale_pair(r, c->allocs, c->alloc_bytes, all, real_all);
	*ret_whole = (struct heap_counts){live[0], live[1], all[0], all[1]};
	*ret_real =
		(struct prof_real){real_live[0], real_live[1], real_all[0], real_all[1]};
}

/* Variance of an estimate made from `n` blocks of equal size, of which one in `f` was
 * seen. */
static double
heap_in_variance(double n, double real_n, double real_bytes)
{
	double f = n > 0 ? real_n / n : 1;

	return n > 0 && f > 1 ? n * (real_bytes / n) * (real_bytes / n) * (1 - 1 / f) : 0;
}

/* ---- reading ---- */

void
heap_in_init(struct heap_in *h, struct input *in, size_t off, const struct format_opts *o,
	     const char *binary, struct prof *p)
{
	const char *data = (const char *)in->data;
	size_t body;
	struct lines map;

	*h = (struct heap_in){.in = in, .o = o, .p = p};
	h->process = prof_add_process(p);
	h->maps_off = off + maps_where(data + off, in->bytes - off, &body);
	map = lines_init(data + off + body, in->bytes - off - body);
	maps_read(&h->maps, p, h->process, map, o->exe != NULL ? o->exe : binary);
	stack_text_init(&h->stacks, p, &h->maps);
	h->lines = lines_init(data + off, in->bytes - off);
	h->label_bytes = prof_str(p, "bytes");
}

void
heap_in_done(struct heap_in *h)
{
	stack_text_done(&h->stacks);
	maps_done(&h->maps);
}

bool
heap_in_header(struct lines *in, struct line *ret)
{
	while (lines_next(in, ret)) {
		if (ret->at == ret->end || *ret->at != '%')
			return true;
	}
	return false;
}

bool
heap_in_line(struct heap_in *h, struct line *ret)
{
	/* The stack before this line is still compared with the next one. */
	size_t done = (size_t)(h->lines.at - (const char *)h->in->data);
	size_t keep =
		h->stacks.last.at != NULL ? (size_t)(h->lines.at - h->stacks.last.at) : 0;

	input_release(h->in, done > keep ? done - keep : 0);
	return lines_next(&h->lines, ret) && !maps_begins(ret);
}

void
heap_in_bad(struct heap_in *h, enum heap_bad_kind kind)
{
	struct heap_bad *b = &h->bad[h->lines.cut ? HEAP_BAD_CUT : kind];

	if (b->count++ == 0)
		b->first = h->lines.number;
}

bool
heap_in_counts(struct line *l, struct heap_counts *ret)
{
	struct line at = *l;
	struct heap_counts c;

	scan_blanks(&at);
	if (!scan_i64(&at, &c.live_blocks) || !scan_char(&at, ':'))
		return false;
	scan_blanks(&at);
	if (!scan_i64(&at, &c.live_bytes))
		return false;
	scan_blanks(&at);
	if (!scan_char(&at, '['))
		return false;
	scan_blanks(&at);
	if (!scan_i64(&at, &c.allocs) || !scan_char(&at, ':'))
		return false;
	scan_blanks(&at);
	if (!scan_i64(&at, &c.alloc_bytes))
		return false;
	scan_blanks(&at);
	if (!scan_char(&at, ']'))
		return false;
	*ret = c;
	*l = at;
	return true;
}

/* ---- what comes of it ---- */

/* The size of one block, as Go's pprof labels a stack with it. */
static void
heap_in_label(struct heap_in *h, uint32_t site, const struct heap_counts *c)
{
	int64_t blocks = c->live_blocks != 0 ? c->live_blocks : c->allocs;
	int64_t bytes = c->live_blocks != 0 ? c->live_bytes : c->alloc_bytes;
	uint32_t row;

	if (blocks == 0)
		return;
	row = prof_add_label(h->p);
	h->p->labels[row].site = site;
	h->p->labels[row].key = h->label_bytes;
	h->p->labels[row].unit = h->label_bytes;
	h->p->labels[row].number = bytes / blocks;
}

static uint64_t
heap_in_less(int64_t all, int64_t part)
{
	return all > part ? (uint64_t)all - (uint64_t)part : 0;
}

uint32_t
heap_in_site(struct heap_in *h, uint32_t node, const struct heap_counts *c)
{
	uint32_t row = prof_add_site(h->p);
	struct prof_site *s = &h->p->sites[row];
	struct heap_counts w;
	struct prof_real r;

	heap_in_scale(&h->rate, c, &w, &r);
	s->process = h->process;
	s->node = node;
	s->live_blocks = s->at_exit_blocks = w.live_blocks;
	s->live_bytes = s->at_exit_bytes = w.live_bytes;
	s->allocs = w.allocs > 0 ? (uint64_t)w.allocs : 0;
	s->alloc_bytes = w.alloc_bytes > 0 ? (uint64_t)w.alloc_bytes : 0;
	s->frees = heap_in_less(w.allocs, w.live_blocks);
	s->free_bytes = heap_in_less(w.alloc_bytes, w.live_bytes);
	if (h->rate.go_bytes > 1) {
		/* Without the other column, what is live is all that is known. */
		s->samples = (uint64_t)(c->allocs > 0	     ? c->allocs
					: c->live_blocks > 0 ? c->live_blocks
							     : 0);
		s->live_samples = c->live_blocks > 0 ? (uint64_t)c->live_blocks : 0;
		s->var_live_bytes = heap_in_variance((double)c->live_blocks,
						     r.live_blocks, r.live_bytes);
		s->var_alloc_bytes =
			heap_in_variance((double)c->allocs, r.allocs, r.alloc_bytes);
	}
	line_sum(&h->p->processes[h->process].live_bytes, w.live_bytes);
	line_sum(&h->raw_bytes, c->live_bytes);
	if ((c->live_blocks == 0 && c->live_bytes != 0) ||
	    (c->allocs == 0 && c->alloc_bytes != 0))
		heap_in_bad(h, HEAP_BAD_NO_BLOCKS);
	if (h->rate.perl != HEAP_AS_IS) {
		while (h->p->nreals < row)
			prof_add_real(h->p); /* the blank row */
		prof_add_real(h->p);
		h->p->reals[row] = r;
	}
	heap_in_label(h, row, c);
	return row;
}

static void
heap_in_tell(struct heap_in *h)
{
	char text[160];

	for (unsigned i = 0; i < HEAP_BAD_MAX; i++) {
		if (h->bad[i].count == 0)
			continue;
		snprintf(text, sizeof text, "%s (%s line %" PRIu64 ")", heap_bad_words[i],
			 h->bad[i].count > 1 ? "first is" : "it is", h->bad[i].first);
		prof_add_damage(h->p, text, h->bad[i].count);
	}
}

/* What the whole file, not one line of it, lacks. */
static void
heap_in_check(struct heap_in *h)
{
	if (h->maps_off == h->in->bytes && !h->no_map)
		prof_add_damage(h->p,
				"memory map is missing (cut off, or it could not be "
				"written): addresses have no names",
				1);
	if (h->total_is_sum && h->total_bytes > h->raw_bytes && h->raw_bytes >= 0)
		prof_add_damage(h->p, "bytes of the header's total that are in no stack",
				(uint64_t)h->total_bytes - (uint64_t)h->raw_bytes);
}

int
heap_in_finish(struct heap_in *h, struct err *e)
{
	struct prof_process *pr = &h->p->processes[h->process];
	size_t end = (size_t)(h->lines.at - (const char *)h->in->data);

	/* A second profile behind this one has a map of its own. */
	if (h->maps_off < h->in->bytes && end <= h->maps_off)
		return err_set(e, -EINVAL,
			       "holds several profiles (the first ends in line %" PRIu64
			       "): they must be read one by one",
			       h->lines.number);
	pr->mode = h->rate.go_bytes > 1 ? PROF_SAMPLED : PROF_EXACT;
	pr->rate_bytes = h->rate.go_bytes > 1 ? (uint64_t)h->rate.go_bytes : 0;
	h->p->format = prof_str(h->p, h->format);
	h->p->columns = PROF_HAS_LIVE | (h->has_allocs ? PROF_HAS_ALLOCS : 0);
	if (h->no_reals)
		h->p->nreals = 0;
	heap_in_tell(h);
	heap_in_check(h);
	return 0;
}

int
heap_in_read(struct input *in, size_t off, const struct format_opts *o,
	     const char *binary, struct prof *p,
	     void (*after)(struct heap_in *h, void *ctx), void *ctx, struct err *e)
{
	struct line header = {0};
	struct heap_in h;
	int r;

	heap_in_init(&h, in, off, o, binary, p);
	heap_in_header(&h.lines, &header);
	if (heap_je_read(&h, header) || heap_gperf_read(&h, header))
		r = heap_in_finish(&h, e);
	else
		r = err_set(e, -EINVAL, "no heap profile begins in line %" PRIu64,
			    h.lines.number);
	if (r == 0 && after != NULL)
		after(&h, ctx);
	heap_in_done(&h);
	return r;
}
