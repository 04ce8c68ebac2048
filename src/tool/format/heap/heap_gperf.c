/* SPDX-License-Identifier: MIT */
/* heap_gperf.c -- heap profiles of gperftools and tcmalloc, and Go's text (`debug=1`).
 *
 * 	heap profile:  120:  6430720 [ 120: 6430720] @ heapprofile
 * 	    80:  3235840 [  80: 3235840] @ 0x55d8b9a9c19b 0x55d8b9a9c1f0
 * 	#	0x45d3ab	main.leak+0x4b	/src/main.go:12          Go's text only
 *
 * 	MAPPED_LIBRARIES:
 *
 * live blocks: bytes [allocated so far] @ stack, innermost first. The label says how the
 * lines are to be scaled; where the perl tools and Go's pprof disagree, both results are
 * kept (heap_in.h). Lines that Go's text has for people name the functions; several with
 * one address are functions inlined into the last of them. */
#include <stdio.h>

#include "heap_in.h"
#include "shared/compiler.h"

enum {
	HEAP_GPERF_RATE = 128 << 10, /* of the perl tools when none is given */
	HEAP_GPERF_INLINED_MAX = 64,
};

/* How a label's figures are scaled. Without a rate in the file, Go leaves them alone. */
struct heap_label {
	const char *name;
	enum heap_scaling perl;
	unsigned half; /* the file has so many times the rate */
};

static const struct heap_label heap_labels[] = {
	{"heapprofile", HEAP_AS_IS, 1},	  {"heap_v2", HEAP_POISSON, 1},
	{"heapz_v2", HEAP_POISSON, 1},	  {"heap", HEAP_LINEAR, 2},
	{"growth", HEAP_AS_IS, 1},	  {"growthz", HEAP_AS_IS, 1},
	{"fragmentation", HEAP_AS_IS, 1}, {"fragmentationz", HEAP_AS_IS, 1},
};

/* A function that a line of Go's text names. */
struct heap_go_frame {
	struct line function, file;
	uint64_t line, offset;
};

struct heap_gperf {
	struct heap_in *h;
	struct heap_go_frame
		frames[HEAP_GPERF_INLINED_MAX]; /* of `pc`, innermost first */
	unsigned nframes;
	uint64_t pc;
};

bool
heap_gperf_header(struct line l)
{
	struct heap_counts c;

	scan_blanks(&l);
	return scan_text(&l, "heap profile:") && heap_in_counts(&l, &c);
}

/* A label that is in no table: what the perl tools would do, and Go would refuse. Without
 * any, equal columns are taken for the oldest kind of samples. */
static struct heap_label
heap_gperf_guess(struct line name, const struct heap_counts *c)
{
	struct heap_label l = {"heap profile", HEAP_AS_IS, 1};

	if (memmem(name.at, line_len(&name), "heap", 4) != NULL)
		l.perl = memmem(name.at, line_len(&name), "_v2", 3) != NULL ? HEAP_POISSON
									    : HEAP_LINEAR;
	if (name.at == name.end && c->live_blocks == c->allocs &&
	    c->live_bytes == c->alloc_bytes)
		l.perl = HEAP_LINEAR;
	if (l.perl == HEAP_LINEAR)
		l.half = 2;
	return l;
}

static void
heap_gperf_rate(struct heap_in *h, struct line l, const struct heap_counts *c)
{
	struct line name = {l.at, l.at};
	struct heap_label label;
	uint64_t rate = 0;

	while (l.at < l.end && *l.at != '/' && !scan_is_blank(*l.at))
		l.at++;
	name.end = l.at;
	if (scan_char(&l, '/'))
		scan_u64(&l, &rate);
	label = heap_gperf_guess(name, c);
	for (size_t i = 0; i < ARRAY_LEN(heap_labels); i++) {
		struct line rest = name;

		if (scan_text(&rest, heap_labels[i].name) && rest.at == rest.end)
			label = heap_labels[i];
	}
	snprintf(h->format, sizeof h->format, "%s", label.name);
	/* The heap profiler counts what was freed as well; samplers forget it. */
	if (scan_text(&name, "heapprofile"))
		h->has_allocs = c->allocs != 0;
	if (label.perl == HEAP_AS_IS)
		return;
	rate /= label.half;
	h->rate.perl = label.perl;
	h->rate.perl_bytes = rate != 0 ? (double)rate : HEAP_GPERF_RATE;
	h->rate.go_bytes = rate < INT64_MAX ? (int64_t)rate : INT64_MAX;
}

/* The header is the sum of all lines but those of mapped memory, so the lines may have
 * more. */
static void
heap_gperf_start(struct heap_in *h, struct line l)
{
	struct heap_counts c = {0};

	scan_blanks(&l);
	scan_text(&l, "heap profile:");
	heap_in_counts(&l, &c);
	h->total_bytes = c.live_bytes;
	h->total_is_sum = true;
	h->has_allocs = (c.allocs != c.live_blocks && c.allocs != 0) ||
			(c.alloc_bytes != c.live_bytes && c.alloc_bytes != 0);
	scan_blanks(&l);
	if (scan_char(&l, '@'))
		scan_blanks(&l);
	heap_gperf_rate(h, l, &c);
	h->p->processes[h->process].allocator = prof_str(h->p, "tcmalloc");
}

/* ---- Go's lines for people ---- */

/* Gives the names gathered for one address to its location. */
static void
heap_go_flush(struct heap_gperf *g)
{
	struct prof *p = g->h->p;
	uint32_t loc = stack_text_loc(&g->h->stacks, g->pc + 1);
	uint32_t first = p->nframes;

	if (loc == 0)
		loc = stack_text_loc(&g->h->stacks, g->pc);
	for (unsigned i = 0; loc != 0 && p->locs[loc].nframes == 0 && i < g->nframes;
	     i++) {
		const struct heap_go_frame *f = &g->frames[i];
		uint32_t function = prof_strn(p, f->function.at, line_len(&f->function));
		uint32_t file = prof_strn(p, f->file.at, line_len(&f->file));
		uint32_t row = prof_add_frame(p);

		p->frames[row].function = function;
		p->frames[row].file = file;
		p->frames[row].line = f->line < UINT32_MAX ? (uint32_t)f->line : 0;
		p->frames[row].symbol_off =
			f->offset < UINT32_MAX ? (uint32_t)f->offset : 0;
		p->frames[row].inlined = i + 1 < g->nframes;
		p->frames[row].lang = PROF_GO;
	}
	if (p->nframes > first) {
		p->locs[loc].frames = first;
		p->locs[loc].nframes = p->nframes - first;
	}
	g->nframes = 0;
}

/* Cuts `+0x4b` off the end of a name. */
static void
heap_go_offset(struct heap_go_frame *f)
{
	const char *plus = memrchr(f->function.at, '+', line_len(&f->function));
	struct line off = {plus != NULL ? plus + 1 : NULL, f->function.end};

	if (plus != NULL && scan_hex(&off, &f->offset) && off.at == off.end)
		f->function.end = plus;
}

/* `#\t0xPC\tname+0xOFF\tfile:line`; other comments are for people alone. */
static void
heap_go_line(struct heap_gperf *g, struct line l)
{
	struct heap_go_frame f = {0};
	const char *colon;
	uint64_t pc;

	scan_blanks(&l);
	if (!scan_text(&l, "0x") || !scan_hex(&l, &pc))
		return;
	g->h->no_reals = g->h->no_map = true;
	if (g->nframes > 0 && pc != g->pc)
		heap_go_flush(g);
	scan_blanks(&l);
	if (!scan_word(&l, &f.function))
		return;
	heap_go_offset(&f);
	scan_trim(&l);
	colon = l.at < l.end ? memrchr(l.at, ':', line_len(&l)) : NULL;
	if (colon != NULL) {
		struct line number = {colon + 1, l.end};

		scan_u64(&number, &f.line);
		f.file = (struct line){l.at, colon};
	}
	if (g->nframes < HEAP_GPERF_INLINED_MAX)
		g->frames[g->nframes++] = f;
	g->pc = pc;
}

/* ---- all ---- */

/* `counts @ stack`; false when it is none. */
static bool
heap_gperf_sample(struct heap_gperf *g, struct line l)
{
	struct heap_counts c;
	bool bad = false;
	uint32_t node;

	if (!heap_in_counts(&l, &c))
		return false;
	scan_blanks(&l);
	/* A last line without its end may lack half an address. */
	if (!scan_char(&l, '@') || (g->h->lines.cut && l.at < l.end))
		return false;
	node = stack_text_node(&g->h->stacks, l, &bad);
	if (bad)
		heap_in_bad(g->h, HEAP_BAD_STACK);
	heap_in_site(g->h, node, &c);
	return true;
}

bool
heap_gperf_read(struct heap_in *h, struct line header)
{
	struct heap_gperf g = {.h = h};
	struct line l;

	if (!heap_gperf_header(header))
		return false;
	heap_gperf_start(h, header);
	while (heap_in_line(h, &l)) {
		scan_trim(&l);
		if (scan_char(&l, '#')) {
			heap_go_line(&g, l);
			continue;
		}
		if (g.nframes > 0)
			heap_go_flush(&g);
		if (l.at < l.end && !heap_gperf_sample(&g, l))
			heap_in_bad(h, HEAP_BAD_LINE);
	}
	heap_go_flush(&g);
	if (h->no_map)
		h->p->processes[h->process].allocator = prof_str(h->p, "Go");
	return true;
}

static bool
heap_gperf_detect(const void *head, size_t bytes)
{
	struct lines in = lines_init(head, bytes);
	struct line l;

	return heap_in_header(&in, &l) && heap_gperf_header(l);
}

static int
heap_gperf_parse(struct input *in, const struct format_opts *o, struct prof *p,
		 struct err *e)
{
	return heap_in_read(in, 0, o, NULL, p, NULL, NULL, e);
}

const struct format format_gperf = {
	.name = "gperftools",
	.what = "gperftools or tcmalloc heap profile, or Go's as text",
	.detect = heap_gperf_detect,
	.parse = heap_gperf_parse,
};
