/* SPDX-License-Identifier: MIT */
/* hp_data.c -- figures of stacks, differences, suppressions and places: see hp.h.
 *
 * Frames are the same if module, function, file and line are, wherever they were in
 * memory; of a frame only the innermost function counts, as heaptrack_print has it.
 * Stacks of two files are compared by these frames. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hp.h"
#include "shared/compiler.h"
#include "tool/analyze/verdict/suppress_match.h"
#include "tool/format/format.h"
#include "tool/model/prof.h"
#include "tool/session/names/names.h"
#include "tool/util/x.h"

/* ---- reading ---- */

static void
hp_lost(const struct ht *h, const char *path, struct buf *out)
{
	if (h->bad > 0)
		buf_printf(
			out,
			"%s: %llu lines that are not heaptrack's, the first is line %llu, "
			"at byte %llu unpacked\n",
			path, (unsigned long long)h->bad, (unsigned long long)h->bad_line,
			(unsigned long long)h->bad_off);
	if (h->too_long > 0)
		buf_printf(out, "%s: %llu lines of more than 1 MiB\n", path,
			   (unsigned long long)h->too_long);
	if (h->damage != NULL)
		buf_printf(out, "%s: %s, at byte %llu unpacked\n", path, h->damage,
			   (unsigned long long)h->damage_off);
}

int
hp_read(struct ht *h, const char *path, struct buf *ret_lost, struct err *e)
{
	struct prof *prof = NULL;
	bool is = false;
	int r = 0;

	if (strcmp(path, "-") != 0)
		r = ht_read_path(h, path, &is, e);
	if (r == 0 && is)
		hp_lost(h, path, ret_lost);
	if (r < 0 || is)
		return r;
	r = format_load(path, &prof, e);
	if (r < 0)
		return r;
	names_resolve(prof, NULL);
	for (uint32_t i = 1; i < prof->nprocesses; i++) {
		if (prof->processes[i].mode == PROF_SAMPLED) {
			buf_printf(ret_lost, "%s: sampled: figures are estimates\n",
				   path);
			break;
		}
	}
	for (uint32_t i = 0; i < prof->ndamages; i++)
		buf_printf(ret_lost, "%s: not read: %s\n", path,
			   prof_text(prof, prof->damages[i].what));
	ht_from_prof(h, prof);
	prof_free(prof);
	return 0;
}

/* ---- what is the same ---- */

bool
hp_is_stop(const struct ht *h, uint32_t function)
{
	static const char *const stops[] = {
		"main",
		"__libc_start_main",
		"__static_initialization_and_destruction_0",
	};

	for (size_t i = 0; i < ARRAY_LEN(stops); i++) {
		if (strcmp(ht_text(h, function), stops[i]) == 0)
			return true;
	}
	return false;
}

struct hp_key {
	uint32_t module, function, file, line;
};

/* Numbers addresses that are shown alike, in p->class_of_ip. */
static void
hp_classes(struct hp *p)
{
	struct strtab keys = {0};

	free(p->class_of_ip);
	p->class_of_ip = xcalloc(p->h.ips.len + 1, sizeof *p->class_of_ip);
	for (uint32_t i = 1; i <= p->h.ips.len; i++) {
		const struct ht_ip *ip = ht_ip(&p->h, i);
		struct hp_key key = {ip->module, ip->frame.function, ip->frame.file,
				     ip->frame.line};

		p->class_of_ip[i] = strtab_addn(&keys, &key, sizeof key);
	}
	strtab_done(&keys);
}

static int
hp_compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

/* The order of places, as their strings stand in the file. */
static int
hp_compare_ips(const struct ht *h, uint32_t a, uint32_t b)
{
	const struct ht_ip *x = ht_ip(h, a), *y = ht_ip(h, b);
	int r = hp_compare_u32(x->module, y->module);

	if (r == 0)
		r = hp_compare_u32(x->frame.function, y->frame.function);
	if (r == 0)
		r = hp_compare_u32(x->frame.file, y->frame.file);
	return r != 0 ? r : hp_compare_u32(x->frame.line, y->frame.line);
}

/* The order of stacks: shorter ones first, then from the outermost frame on. */
static int
hp_compare_traces(const struct ht *h, uint32_t a, uint32_t b)
{
	int r = 0;

	while (a != b) {
		struct ht_trace x = ht_trace(h, a), y = ht_trace(h, b);
		int here;

		if (x.ip == 0 || y.ip == 0)
			return x.ip == y.ip ? r : x.ip != 0 ? 1 : -1;
		here = hp_compare_ips(h, x.ip, y.ip);
		if (here != 0)
			r = here;
		a = x.parent;
		b = y.parent;
	}
	return r;
}

/* ---- stable sorting ---- */

typedef int hp_compare_fn(const struct hp_alloc *a, const struct hp_alloc *b,
			  const void *ctx);

static void
hp_merge_sort(struct hp_alloc *a, struct hp_alloc *spare, size_t n,
	      hp_compare_fn *compare, const void *ctx)
{
	size_t half = n / 2, i = 0, j = half, to = 0;

	if (n < 2)
		return;
	hp_merge_sort(a, spare, half, compare, ctx);
	hp_merge_sort(a + half, spare, n - half, compare, ctx);
	while (i < half && j < n)
		spare[to++] = compare(&a[i], &a[j], ctx) <= 0 ? a[i++] : a[j++];
	while (i < half)
		spare[to++] = a[i++];
	while (j < n)
		spare[to++] = a[j++];
	memcpy(a, spare, n * sizeof *a);
}

static void
hp_sort_with(struct hp_alloc *a, size_t n, hp_compare_fn *compare, const void *ctx)
{
	struct hp_alloc *spare = xcalloc(n + 1, sizeof *spare);

	hp_merge_sort(a, spare, n, compare, ctx);
	free(spare);
}

static int
hp_compare_stacks(const struct hp_alloc *a, const struct hp_alloc *b, const void *ctx)
{
	return hp_compare_traces(ctx, a->trace, b->trace);
}

static int
hp_compare_places(const struct hp_alloc *a, const struct hp_alloc *b, const void *ctx)
{
	return hp_compare_ips(ctx, a->ip, b->ip);
}

/* ---- figures ---- */

static void
hp_add(int64_t *to, const int64_t *v, int64_t sign)
{
	for (unsigned i = 0; i < HP_FIGURES; i++) {
		if (__builtin_add_overflow(to[i], sign * v[i], &to[i]))
			to[i] = sign * v[i] < 0 ? INT64_MIN : INT64_MAX;
	}
}

static void
hp_stacks(const struct ht *h, struct hp_allocs *to)
{
	for (size_t i = 0; i < h->rows.len; i++) {
		const struct ht_row *r = &h->rows.data[i];

		vec_push(to,
			 (struct hp_alloc){.v = {(int64_t)r->allocs, (int64_t)r->temps,
						 r->live_bytes, r->peak_bytes},
					   .trace = r->trace});
	}
}

static void
hp_totals(const struct ht *h, int64_t *total, int64_t *ret_ms, int64_t *ret_rss)
{
	total[HP_ALLOCATIONS] = (int64_t)h->total.allocs;
	total[HP_TEMPORARY] = (int64_t)h->total.temps;
	total[HP_LEAKED] = h->total.live_bytes;
	total[HP_PEAK] = h->total.peak_bytes;
	*ret_ms = (int64_t)h->last_ms + 1;
	*ret_rss = (int64_t)(h->rss_peak_pages * h->page_bytes);
}

void
hp_figures(struct hp *p)
{
	hp_stacks(&p->h, &p->stacks);
	hp_totals(&p->h, p->total, &p->total_ms, &p->rss_bytes);
}

/* Brings the tables of `base` behind those of `h`; returns how much its stacks move. */
static uint32_t
hp_import(struct ht *h, const struct ht *base)
{
	uint32_t *string = xcalloc(base->strings.len + 1, sizeof *string);
	uint32_t ips = (uint32_t)h->ips.len, traces = (uint32_t)h->traces.len;
	uint32_t inlined = (uint32_t)h->inlined.len;
	struct map known = {0};

	for (size_t i = h->strings.len; i-- > 0;)
		*map_add(&known, h->strings.data[i]) = i + 1;
	for (uint32_t i = 1; i <= base->strings.len; i++) {
		uint32_t id = strtab_add(&h->texts, ht_text(base, i));
		uint64_t *at = map_add(&known, id);

		if (*at == 0) {
			vec_push(&h->strings, id);
			*at = h->strings.len;
		}
		string[i] = (uint32_t)*at;
	}
	for (size_t i = 0; i < base->inlined.len; i++) {
		struct ht_frame f = base->inlined.data[i];

		f.function = string[f.function];
		f.file = string[f.file];
		vec_push(&h->inlined, f);
	}
	for (size_t i = 0; i < base->ips.len; i++) {
		struct ht_ip ip = base->ips.data[i];

		ip.module = string[ip.module];
		ip.frame.function = string[ip.frame.function];
		ip.frame.file = string[ip.frame.file];
		ip.inlined += inlined;
		vec_push(&h->ips, ip);
	}
	for (size_t i = 0; i < base->traces.len; i++) {
		struct ht_trace t = base->traces.data[i];

		t.ip += t.ip != 0 ? ips : 0;
		t.parent += t.parent != 0 ? traces : 0;
		vec_push(&h->traces, t);
	}
	map_done(&known);
	free(string);
	return traces;
}

void
hp_subtract(struct hp *p, struct ht *base)
{
	int64_t total[HP_FIGURES], ms, rss;
	uint32_t moved = hp_import(&p->h, base);
	struct hp_allocs less = {0};
	size_t to = 0;

	hp_totals(base, total, &ms, &rss);
	hp_add(p->total, total, -1);
	p->total_ms -= ms;
	p->rss_bytes -= rss;
	hp_stacks(base, &less);
	for (size_t i = 0; i < less.len; i++) {
		struct hp_alloc a = {.trace = less.data[i].trace};

		a.trace += a.trace != 0 ? moved : 0;
		hp_add(a.v, less.data[i].v, -1);
		vec_push(&p->stacks, a);
	}
	vec_done(&less);
	hp_sort_with(p->stacks.data, p->stacks.len, hp_compare_stacks, &p->h);
	for (size_t i = 0; i < p->stacks.len; i++) {
		struct hp_alloc *a = &p->stacks.data[i];

		if (to > 0 &&
		    hp_compare_traces(&p->h, p->stacks.data[to - 1].trace, a->trace) == 0)
			hp_add(p->stacks.data[to - 1].v, a->v, 1);
		else
			p->stacks.data[to++] = *a;
	}
	p->stacks.len = to;
	to = 0;
	for (size_t i = 0; i < p->stacks.len; i++) {
		static const int64_t none[HP_FIGURES];

		if (memcmp(p->stacks.data[i].v, none, sizeof none) != 0)
			p->stacks.data[to++] = p->stacks.data[i];
	}
	p->stacks.len = to;
}

/* ---- what is left out ---- */

bool
hp_suppress_line(struct hp *p, const char *line)
{
	size_t n;

	line += strspn(line, " \t\r");
	n = strcspn(line, "\r\n");
	while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		n--;
	if (n == 0 || *line == '#')
		return true;
	if (strncmp(line, "leak:", 5) != 0)
		return false;
	if (n > 5)
		vec_push(&p->suppressions,
			 (struct hp_suppression){.pattern = xmemdup0(line + 5, n - 5)});
	return true;
}

/* Number + 1 of the first suppression that names a string of the file; 0 = none. */
static uint32_t
hp_suppressed_by(const struct hp *p, const char *text)
{
	for (size_t i = 0; i < p->suppressions.len; i++) {
		const char *pattern = p->suppressions.data[i].pattern;

		if (strcmp(pattern, text) == 0 || suppress_template(pattern, text))
			return (uint32_t)i + 1;
	}
	return 0;
}

static uint32_t
hp_suppressed_ip(const struct ht *h, const uint32_t *by, const struct ht_ip *ip)
{
	uint32_t found = by[ip->module];

	if (found == 0)
		found = by[ip->frame.function];
	if (found == 0)
		found = by[ip->frame.file];
	for (uint32_t i = 0; found == 0 && i < ip->ninlined; i++) {
		const struct ht_frame *f = &h->inlined.data[ip->inlined + i];

		found = by[f->function] != 0 ? by[f->function] : by[f->file];
	}
	return found;
}

/* Takes the leaks out whose stack has a frame that is suppressed; the outermost one
 * counts. */
void
hp_suppress(struct hp *p)
{
	const struct ht *h = &p->h;
	uint32_t *by = xcalloc(h->strings.len + 1, sizeof *by);
	uint32_t *by_trace = xcalloc(h->traces.len + 1, sizeof *by_trace);

	for (uint32_t i = 1; i <= h->strings.len; i++)
		by[i] = hp_suppressed_by(p, ht_text(h, i));
	for (uint32_t i = 1; i <= h->traces.len; i++) {
		struct ht_trace t = ht_trace(h, i);

		by_trace[i] = by_trace[t.parent];
		if (by_trace[i] == 0 && t.ip != 0)
			by_trace[i] = hp_suppressed_ip(h, by, ht_ip(h, t.ip));
	}
	for (size_t i = 0; i < p->stacks.len; i++) {
		struct hp_alloc *a = &p->stacks.data[i];
		struct hp_suppression *s;

		if (by_trace[a->trace] == 0)
			continue;
		s = &p->suppressions.data[by_trace[a->trace] - 1];
		s->matches++;
		s->leaked += a->v[HP_LEAKED];
		p->suppressed += a->v[HP_LEAKED];
		p->total[HP_LEAKED] -= a->v[HP_LEAKED];
		a->v[HP_LEAKED] = 0;
	}
	free(by);
	free(by_trace);
}

/* Whether a function that the filter names is on the stack, before main. */
static bool
hp_passes(const struct hp *p, uint32_t trace)
{
	const struct ht *h = &p->h;
	struct ht_trace t = ht_trace(h, trace);

	for (; t.ip != 0; t = ht_trace(h, t.parent)) {
		const struct ht_ip *ip = ht_ip(h, t.ip);

		if (hp_is_stop(h, ip->frame.function))
			return false;
		if (strstr(ht_text(h, ip->frame.function), p->filter) != NULL)
			return true;
		for (uint32_t i = 0; i < ip->ninlined; i++) {
			const struct ht_frame *f = &h->inlined.data[ip->inlined + i];

			if (strstr(ht_text(h, f->function), p->filter) != NULL)
				return true;
		}
	}
	return false;
}

/* ---- places ---- */

void
hp_merge(struct hp *p)
{
	size_t to = 0;

	for (size_t i = 0; *p->filter != '\0' && i < p->stacks.len; i++) {
		if (hp_passes(p, p->stacks.data[i].trace))
			p->stacks.data[to++] = p->stacks.data[i];
	}
	if (*p->filter != '\0')
		p->stacks.len = to;
	hp_classes(p);
	for (size_t i = 0; i < p->stacks.len; i++) {
		struct hp_alloc a = p->stacks.data[i];

		a.ip = ht_trace(&p->h, a.trace).ip;
		vec_push(&p->traces, a);
	}
	hp_sort_with(p->traces.data, p->traces.len, hp_compare_places, &p->h);
	for (size_t i = 0; i < p->traces.len; i++) {
		const struct hp_alloc *a = &p->traces.data[i];
		struct hp_alloc *last = p->places.len > 0 ? vec_last(&p->places) : NULL;

		if (last == NULL || p->class_of_ip[last->ip] != p->class_of_ip[a->ip]) {
			last = vec_add(&p->places);
			last->ip = a->ip;
			last->first = i;
		}
		hp_add(last->v, a->v, 1);
		last->n++;
	}
}

void
hp_done(struct hp *p)
{
	ht_done(&p->h);
	vec_done(&p->stacks);
	vec_done(&p->places);
	vec_done(&p->traces);
	for (size_t i = 0; i < p->suppressions.len; i++)
		free(p->suppressions.data[i].pattern);
	vec_done(&p->suppressions);
	free(p->class_of_ip);
	buf_done(&p->out);
}
