/* SPDX-License-Identifier: MIT */
/* heap_jemalloc.c -- jemalloc's own heap profiles.
 *
 * 	heap_v2/524288                                   mean bytes between samples
 * 	  t*: 31: 12484 [0: 0]                           all threads; then each, with its name
 * 	  t0: 31: 12484 [0: 0] worker
 * 	@ 0x7f0012345678 0x55d8b9a9c19b …                a stack, innermost first
 * 	  t*: 3: 12288 [0: 0]                            live blocks: bytes [allocated so far]
 * 	  t0: 3: 12288 [0: 0]
 * 	                                                 (a blank line)
 * 	MAPPED_LIBRARIES:
 *
 * Figures of a stack become a site, those of its threads cells. Since 5.3.0 jemalloc
 * writes figures that come out right only after scaling line by line, so the totals at
 * the top are not the sum of the lines unless every allocation was recorded. */
#include <stdio.h>

#include "heap_in.h"
#include "tool/util/map.h"

struct heap_je {
	struct heap_in *h;
	struct map threads;  /* jemalloc's number -> row */
	bool in_stack;	     /* past the first '@' */
	uint32_t node, site; /* of the stack before; site 0 = no figures yet */
};

bool
heap_je_header(struct line l)
{
	uint64_t rate;

	return scan_text(&l, "heap_v2/") && scan_u64(&l, &rate);
}

/* Row of a thread; 0 = its number cannot be kept. */
static uint32_t
heap_je_thread(struct heap_je *j, uint64_t uid)
{
	uint64_t *row;

	if (uid > UINT32_MAX) {
		heap_in_bad(j->h, HEAP_BAD_THREAD);
		return 0;
	}
	row = map_add(&j->threads, uid);
	if (*row == 0) {
		*row = prof_add_thread(j->h->p);
		j->h->p->threads[*row].process = j->h->process;
		j->h->p->threads[*row].serial = (uint32_t)uid;
	}
	return (uint32_t)*row;
}

/* What a thread has of a stack. Cells know allocations and frees, so without the first
 * the live blocks stand in for them. */
static void
heap_je_cell(struct heap_je *j, uint32_t thread, const struct heap_counts *c)
{
	struct heap_counts w;
	struct prof_real real;
	struct prof_cell *to;
	uint32_t row = prof_add_cell(j->h->p);

	heap_in_scale(&j->h->rate, c, &w, &real);
	to = &j->h->p->cells[row];
	to->site = j->site;
	to->thread = thread;
	if (w.live_blocks < 0 || w.live_bytes < 0)
		return;
	to->allocs = (uint64_t)(w.allocs > w.live_blocks ? w.allocs : w.live_blocks);
	to->alloc_bytes =
		(uint64_t)(w.alloc_bytes > w.live_bytes ? w.alloc_bytes : w.live_bytes);
	to->frees = to->allocs - (uint64_t)w.live_blocks;
	to->free_bytes = to->alloc_bytes - (uint64_t)w.live_bytes;
}

/* `*: counts` or `N: counts name`, behind the t. */
static bool
heap_je_figures(struct heap_je *j, struct line l)
{
	struct heap_counts c;
	uint64_t uid = 0;
	bool all = scan_char(&l, '*');
	uint32_t thread;

	if ((!all && !scan_u64(&l, &uid)) || !scan_char(&l, ':') ||
	    !heap_in_counts(&l, &c))
		return false;
	scan_trim(&l);
	if (!j->in_stack && all) {
		j->h->total_bytes = c.live_bytes;
		j->h->has_allocs = c.allocs != 0 || c.alloc_bytes != 0;
		return true;
	}
	if (all && j->site == 0) {
		j->site = heap_in_site(j->h, j->node, &c);
		return true;
	}
	if (all || (j->in_stack && j->site == 0)) {
		heap_in_bad(j->h, HEAP_BAD_NO_STACK);
		return true;
	}
	thread = heap_je_thread(j, uid);
	if (j->in_stack)
		heap_je_cell(j, thread, &c);
	else if (thread != 0)
		j->h->p->threads[thread].name = prof_strn(j->h->p, l.at, line_len(&l));
	return true;
}

static void
heap_je_stack(struct heap_je *j, struct line l)
{
	bool bad = false;

	if (j->in_stack && j->site == 0)
		heap_in_bad(j->h, HEAP_BAD_NO_COUNTS);
	j->in_stack = true;
	j->site = 0;
	j->node = stack_text_node(&j->h->stacks, l, &bad);
	if (bad)
		heap_in_bad(j->h, HEAP_BAD_STACK);
}

bool
heap_je_read(struct heap_in *h, struct line header)
{
	struct heap_je j = {.h = h};
	uint64_t rate = 0;
	struct line l;

	if (!heap_je_header(header))
		return false;
	scan_text(&header, "heap_v2/");
	scan_u64(&header, &rate);
	h->rate = (struct heap_rate){HEAP_POISSON, (double)rate,
				     rate < INT64_MAX ? (int64_t)rate : INT64_MAX};
	h->total_is_sum = rate <= 1;
	snprintf(h->format, sizeof h->format, "heap_v2");
	h->p->processes[h->process].allocator = prof_str(h->p, "jemalloc");
	while (heap_in_line(h, &l)) {
		scan_trim(&l);
		if (scan_char(&l, '@'))
			heap_je_stack(&j, l);
		else if (l.at < l.end && *l.at != '#' &&
			 (!scan_char(&l, 't') || !heap_je_figures(&j, l)))
			heap_in_bad(h, HEAP_BAD_LINE);
	}
	if (j.in_stack && j.site == 0)
		heap_in_bad(h, HEAP_BAD_NO_COUNTS);
	map_done(&j.threads);
	return true;
}

static bool
heap_je_detect(const void *head, size_t bytes)
{
	struct lines in = lines_init(head, bytes);
	struct line l;

	return heap_in_header(&in, &l) && heap_je_header(l);
}

static int
heap_je_parse(struct input *in, const struct format_opts *o, struct prof *p,
	      struct err *e)
{
	return heap_in_read(in, 0, o, NULL, p, NULL, NULL, e);
}

const struct format format_jemalloc = {
	.name = "jemalloc",
	.what = "jemalloc heap profile (heap_v2)",
	.detect = heap_je_detect,
	.parse = heap_je_parse,
};
