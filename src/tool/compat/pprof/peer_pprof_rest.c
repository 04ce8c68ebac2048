/* SPDX-License-Identifier: MIT */
/* peer_pprof_rest.c -- -traces, -tags and -list of google/pprof. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/analyze/sites/skip.h"
#include "tool/analyze/sites/value.h"
#include "tool/compat/pprof/peer_pprof_impl.h"
#include "tool/render/figure.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/re.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

/* ---- samples ---- */

/* A number as labels show it: in `in_unit` where it is given in bytes, "auto" = the one
 * that suits. */
static void
pprof_label_text(struct buf *out, const struct prof *p, const struct prof_label *l,
		 const char *in_unit)
{
	const char *unit = prof_text(p, l->unit);
	struct pprof_opts o = {.unit = in_unit, .in_bytes = true};

	if (l->text != 0)
		clean_text(out, prof_text(p, l->text));
	else if (strcmp(unit, "bytes") == 0 || strcmp(prof_text(p, l->key), "bytes") == 0)
		pprof_figure(out, &o, (double)l->number);
	else {
		buf_printf(out, "%" PRId64, l->number);
		clean_text(out, unit);
	}
}

void
pprof_label_frame(struct buf *out, const struct prof *p, const struct prof_label *l)
{
	/* Labels of these names are read as bytes when the file gives no unit, and pprof
	 * leaves such numbers as they are. */
	static const char *const guessed[] = {"bytes", "alignment", "request"};
	struct pprof_opts o = {.unit = "auto", .in_bytes = true};
	bool plain = strcmp(prof_text(p, l->unit), "bytes") != 0;

	for (size_t i = 0; i < ARRAY_LEN(guessed); i++)
		plain = plain || strcmp(prof_text(p, l->key), guessed[i]) == 0;
	if (l->text != 0)
		buf_add_str(out, prof_text(p, l->text));
	else if (!plain)
		pprof_figure(out, &o, (double)l->number);
	else if (strcmp(prof_text(p, l->unit), "bytes") == 0)
		buf_printf(out, "%" PRId64, l->number);
	else
		buf_printf(out, "%" PRId64 "%s", l->number, prof_text(p, l->unit));
}

struct pprof_labels_of {
	uint32_t *first; /* for every site, and one more */
	uint32_t *rows;
};

static void
pprof_labels_init(struct pprof_labels_of *x, const struct prof *p)
{
	uint32_t *at = xcalloc(p->nsites, sizeof *at);

	x->first = xcalloc((size_t)p->nsites + 1, sizeof *x->first);
	x->rows = xcalloc(p->nlabels, sizeof *x->rows);
	for (uint32_t i = 0; i < p->nlabels; i++) {
		if (p->labels[i].site < p->nsites)
			x->first[p->labels[i].site + 1]++;
	}
	for (uint32_t i = 0; i < p->nsites; i++)
		x->first[i + 1] += x->first[i];
	for (uint32_t i = 0; i < p->nlabels; i++) {
		uint32_t site = p->labels[i].site;

		if (site < p->nsites)
			x->rows[x->first[site] + at[site]++] = i;
	}
	free(at);
}

static void
pprof_labels_done(struct pprof_labels_of *x)
{
	free(x->first);
	free(x->rows);
}

/* A line of all labels of one name, from row `k` on, which is the first of them; else
 * NULL. To be freed. */
static char *
pprof_label_line(const struct prof *p, const struct pprof_labels_of *x, uint32_t site,
		 uint32_t k)
{
	const struct prof_label *first = &p->labels[x->rows[k]];
	struct buf b = {0};

	for (uint32_t i = x->first[site]; i < x->first[site + 1]; i++) {
		const struct prof_label *l = &p->labels[x->rows[i]];

		if (l->key != first->key || (l->text == 0) != (first->text == 0))
			continue;
		if (i < k) {
			buf_done(&b);
			return NULL;
		}
		if (i == k) {
			char *key = clean_copy(prof_text(p, l->key));

			buf_printf(&b, "%10s:  ", key);
			free(key);
		} else {
			buf_add_char(&b, ' ');
		}
		pprof_label_text(&b, p, l, "auto");
	}
	return buf_take(&b);
}

static int
pprof_line_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Labels of a sample: text, then numbers, each in order. */
static void
pprof_sample_labels(struct buf *out, const struct prof *p,
		    const struct pprof_labels_of *x, uint32_t site)
{
	VEC(char *) lines = {0};

	for (unsigned numbers = 0; numbers < 2; numbers++) {
		lines.len = 0;
		for (uint32_t k = x->first[site]; k < x->first[site + 1]; k++) {
			bool number = p->labels[x->rows[k]].text == 0;
			char *line = number == (numbers != 0)
					     ? pprof_label_line(p, x, site, k)
					     : NULL;

			if (line != NULL)
				vec_push(&lines, line);
		}
		vec_sort(&lines, pprof_line_order);
		for (size_t i = 0; i < lines.len; i++) {
			buf_printf(out, "%s\n", lines.data[i]);
			free(lines.data[i]);
		}
	}
	vec_done(&lines);
}

struct pprof_trace {
	const struct prof *p;
	const struct graph_query *q;
	const struct filter_run *run;
	const uint32_t *slots;
	VEC(uint32_t) locs; /* of one stack, innermost first */
	struct buf stack;
};

/* A frame without a name: its module. */
static void
pprof_trace_bare(struct buf *b, const struct prof *p, const struct prof_loc *l)
{
	const char *module =
		l->module != 0 ? prof_text(p, p->modules[l->module].path) : "";

	if (module[0] == '\0') {
		buf_add_str(b, "<unknown>");
		return;
	}
	buf_add_char(b, '[');
	clean_text(b, file_base(module));
	buf_add_char(b, ']');
}

/* One frame; the value stands before the first. */
static void
pprof_trace_frame(struct pprof_trace *t, const struct prof_loc *l, uint32_t i,
		  const char *value)
{
	const struct prof *p = t->p;
	const struct prof_frame *f = i < l->nframes ? &p->frames[l->frames + i] : NULL;
	struct buf *b = &t->stack;
	bool addresses = t->q->grain == GRAPH_ADDRESSES;
	bool lines = t->q->grain == GRAPH_LINES || addresses;

	buf_printf(b, "%10s   ", b->len == 0 ? value : "");
	if (addresses && l->offset != 0)
		buf_printf(b, "%016" PRIx64 " ", l->offset);
	if (f == NULL || (f->function == 0 && f->file == 0))
		pprof_trace_bare(b, p, l);
	else if (f->function == 0 && !lines)
		buf_add_str(b, "<unknown>");
	else
		clean_text(b, prof_text(p, f->function));
	if (f != NULL && lines && f->file != 0) {
		if (f->function != 0)
			buf_add_char(b, ' ');
		clean_text(b, prof_text(p, f->file));
		if (f->line != 0)
			buf_printf(b, ":%" PRIu32, f->line);
	}
	buf_add_str(b, i + 1 < l->nframes ? " (inline)\n" : "\n");
}

/* The first location of the stack that is shown: frames that the profile asks to drop end
 * it, with what they call, but not above the first that is none of them. */
static size_t
pprof_trace_first(const struct pprof_trace *t)
{
	bool user = false;

	for (size_t k = t->run->drops ? t->locs.len : 0; k-- > 0;) {
		uint32_t first = t->slots[t->locs.data[k]];
		uint32_t end = t->slots[t->locs.data[k] + 1];
		uint8_t any = 0;

		for (uint32_t i = first; i < end; i++)
			any |= t->run->slots[i];
		if ((any & FILTER_IS_DROPPED) == 0)
			user = true;
		else if (user)
			return k + ((t->run->slots[end - 1] & FILTER_IS_DROPPED) != 0);
	}
	return 0;
}

static void
pprof_trace_stack(struct pprof_trace *t, uint32_t node, const char *value)
{
	const struct prof *p = t->p;

	buf_clear(&t->stack);
	t->locs.len = 0;
	for (; node != 0; node = p->nodes[node].parent < node ? p->nodes[node].parent : 0)
		vec_push(&t->locs, p->nodes[node].loc);
	for (size_t k = pprof_trace_first(t); k < t->locs.len; k++) {
		uint32_t loc = t->locs.data[k];
		uint32_t n = t->slots[loc + 1] - t->slots[loc];

		for (uint32_t i = 0; i < n; i++) {
			uint8_t flags = t->run->slots != NULL
						? t->run->slots[t->slots[loc] + i]
						: 0;

			if ((flags & FILTER_IS_HIDDEN) == 0)
				pprof_trace_frame(t, &p->locs[loc], i, value);
		}
	}
}

void
pprof_traces(struct buf *out, const struct prof *p, const struct graph *g,
	     const struct graph_query *q, const struct pprof_opts *o)
{
	static const char rule[] =
		"-----------+-------------------------------------------------------\n";
	struct pprof_labels_of labels;
	struct filter_run run;
	uint32_t *slots = filter_slots(p);
	struct pprof_trace t = {.p = p, .q = q, .run = &run, .slots = slots};
	struct values v;

	filter_run_init(&run, q->filter, p, slots, q->drop_frames);
	values_load(&v, p, q);
	pprof_labels_init(&labels, p);
	pprof_head(out, p, o);
	for (uint32_t i = 1; i < p->nsites; i++) {
		struct buf value = {0};

		/* Filters are answered by the graph, which does not know samples of 0. */
		if (q->filter != NULL && g->node_of_site[i] == 0)
			continue;
		pprof_figure(&value, o, v.v[i]);
		pprof_trace_stack(&t, p->sites[i].node, buf_str(&value));
		buf_done(&value);
		if (t.stack.len == 0)
			continue;
		buf_add_str(out, rule);
		pprof_sample_labels(out, p, &labels, i);
		buf_add(out, buf_str(&t.stack), t.stack.len);
	}
	buf_add_str(out, rule);
	buf_done(&t.stack);
	vec_done(&t.locs);
	pprof_labels_done(&labels);
	values_done(&v);
	filter_run_done(&run);
	free(slots);
}

/* ---- labels ---- */

struct pprof_tag {
	uint32_t key, text; /* ids of one table */
	double value;
	const char *name;
};

static int
pprof_tag_order(const void *a, const void *b)
{
	const struct pprof_tag *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (fabs(x->value) != fabs(y->value))
		return fabs(x->value) < fabs(y->value) ? 1 : -1;
	return strcmp(x->name, y->name);
}

struct pprof_tag_table {
	struct strtab text;
	struct map at;
	VEC(struct pprof_tag) tags;
};

static void
pprof_tag_add(struct pprof_tag_table *t, const struct prof *p, const struct prof_label *l,
	      const char *unit, double v)
{
	struct buf b = {0};
	uint32_t key = strtab_add(&t->text, prof_text(p, l->key)), text;
	uint64_t *at;

	pprof_label_text(&b, p, l, unit);
	text = strtab_addn(&t->text, buf_str(&b), b.len);
	buf_done(&b);
	at = map_add(&t->at, (uint64_t)key << 32 | text);
	if (*at == 0) {
		vec_push(&t->tags,
			 (struct pprof_tag){.key = key,
					    .text = text,
					    .name = strtab_str(&t->text, text)});
		*at = t->tags.len;
	}
	t->tags.data[*at - 1].value += v;
}

/* The rows of one key, in columns that end at the same place. */
static void
pprof_tag_print(struct buf *out, const char *key, const struct pprof_tag *tags, size_t n,
		const struct pprof_opts *o)
{
	VEC(char *) cells = {0};
	double total = 0, v;
	int width = 0;
	const char *unit;

	for (size_t i = 0; i < n; i++)
		total += tags[i].value;
	for (size_t i = 0; i < n; i++) {
		struct buf b = {0};

		v = tags[i].value;
		unit = pprof_unit_name(o, &v);
		buf_printf(&b, "%.1f%s", v, unit);
		if (total > 0) {
			buf_add_str(&b, " (");
			pprof_percent(&b, tags[i].value, total);
			buf_add_char(&b, ')');
		}
		buf_add_char(&b, ':');
		width = (int)b.len > width ? (int)b.len : width;
		vec_push(&cells, buf_take(&b));
	}
	v = total;
	unit = pprof_unit_name(o, &v);
	buf_add_char(out, ' ');
	clean_text(out, key);
	buf_printf(out, ": Total %.1f%s\n", v, unit);
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "%*s%*s %s\n", (int)strlen(key) + 2, "", width + 1,
			   cells.data[i], tags[i].name);
		free(cells.data[i]);
	}
	buf_add_char(out, '\n');
	vec_done(&cells);
}

void
pprof_tags(struct buf *out, const struct prof *p, const struct graph *g,
	   const struct graph_query *q, const struct pprof_opts *o)
{
	struct pprof_tag_table t = {0};
	struct values v;

	values_load(&v, p, q);
	for (uint32_t i = 0; i < p->nlabels; i++) {
		const struct prof_label *l = &p->labels[i];

		if (l->site >= p->nsites ||
		    (q->filter != NULL && g->node_of_site[l->site] == 0) ||
		    !filter_shows_tag(q->filter, prof_text(p, l->key)))
			continue;
		pprof_tag_add(&t, p, l, o->unit, v.v[l->site]);
	}
	vec_sort(&t.tags, pprof_tag_order);
	for (size_t i = 0, from = 0; i < t.tags.len; i++) {
		if (i + 1 < t.tags.len && t.tags.data[i + 1].key == t.tags.data[i].key)
			continue;
		pprof_tag_print(out, strtab_str(&t.text, t.tags.data[i].key),
				&t.tags.data[from], i + 1 - from, o);
		from = i + 1;
	}
	values_done(&v);
	vec_done(&t.tags);
	map_done(&t.at);
	strtab_done(&t.text);
}

/* ---- source ---- */

enum { PPROF_MARGIN = 5 };

struct pprof_place {
	const char *function, *file;
	uint32_t line;
	double flat, cum;
};

static int
pprof_place_order(const void *a, const void *b)
{
	const struct pprof_place *x = a, *y = b;
	int r = strcmp(x->function, y->function);

	if (r == 0)
		r = strcmp(x->file, y->file);
	if (r != 0)
		return r;
	return (x->line > y->line) - (x->line < y->line);
}

static void
pprof_list_figures(struct buf *out, const struct pprof_opts *o, double flat, double cum,
		   bool dots)
{
	for (unsigned i = 0; i < 2; i++) {
		double v = i == 0 ? flat : cum;
		struct buf b = {0};

		if (dots && v == 0)
			buf_add_char(&b, '.');
		else
			pprof_figure(&b, o, v);
		buf_printf(out, "%10s ", buf_str(&b));
		buf_done(&b);
	}
}

static void
pprof_list_text(struct buf *out, const char *text)
{
	for (; *text == '\t' || *text == ' '; text++)
		buf_add_char(out, *text);
	clean_text(out, text);
}

static void
pprof_no_source(struct buf *out, const char *function)
{
	buf_add_str(out, "No source information for ");
	clean_text(out, function);
	buf_add_char(out, '\n');
}

/* One function in one file. */
static void
pprof_list_one(struct buf *out, const struct pprof_place *x, size_t n,
	       const struct pprof_opts *o, pprof_source *source, void *ctx)
{
	uint32_t first = x[0].line, last = x[n - 1].line;
	double flat = 0, cum = 0;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		flat += x[i].flat;
		cum += x[i].cum;
	}
	buf_add_str(out, "ROUTINE ======================== ");
	clean_text(out, x->function);
	buf_add_str(out, " in ");
	clean_text(out, x->file);
	buf_add_char(out, '\n');
	pprof_list_figures(out, o, flat, cum, false);
	buf_add_str(out, "(flat, cum) ");
	pprof_percent(out, cum, o->total);
	buf_add_str(out, " of Total\n");
	if (source(ctx, x->file, first) == NULL) {
		buf_add_str(out, " Error: could not find file ");
		clean_text(out, x->file);
		buf_add_str(out, " on path\n");
		return;
	}
	for (uint32_t i = first > PPROF_MARGIN ? first - PPROF_MARGIN : 1;
	     i <= last + PPROF_MARGIN; i++) {
		const char *text = source(ctx, x->file, i);
		double line_flat = 0, line_cum = 0;

		if (text == NULL)
			break;
		for (; at < n && x[at].line == i; at++) {
			line_flat += x[at].flat;
			line_cum += x[at].cum;
		}
		pprof_list_figures(out, o, line_flat, line_cum, true);
		buf_printf(out, "%6" PRIu32 ":", i);
		pprof_list_text(out, text);
		buf_add_char(out, '\n');
	}
}

uint32_t
pprof_list(struct buf *out, const struct graph *g, const struct pprof_opts *o,
	   const struct re *re, pprof_source *source, void *ctx)
{
	VEC(struct pprof_place) places = {0};
	uint32_t met = 0;

	for (uint32_t i = 1; i < g->nentries; i++) {
		const struct graph_entry *x = &g->entries[i];

		if (x->no_name || !re_matches(re, graph_text(g, x->function)))
			continue;
		vec_push(&places,
			 (struct pprof_place){.function = graph_text(g, x->function),
					      .file = graph_text(g, x->file),
					      .line = x->line,
					      .flat = pprof_flat(g, i),
					      .cum = pprof_cum(g, i)});
	}
	vec_sort(&places, pprof_place_order);
	buf_add_str(out, "Total: ");
	pprof_figure(out, o, o->total);
	buf_add_char(out, '\n');
	for (size_t i = 0, from = 0; i < places.len; i++) {
		const struct pprof_place *x = &places.data[i], *next = x + 1;

		if (i + 1 < places.len && strcmp(x->function, next->function) == 0 &&
		    strcmp(x->file, next->file) == 0)
			continue;
		met++;
		if (x->file[0] != '\0')
			pprof_list_one(out, &places.data[from], i + 1 - from, o, source,
				       ctx);
		else
			pprof_no_source(out, x->function);
		from = i + 1;
	}
	vec_done(&places);
	return met;
}
