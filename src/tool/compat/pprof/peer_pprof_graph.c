/* SPDX-License-Identifier: MIT */
/* peer_pprof_graph.c -- trimming, units and headers as google/pprof has them; see
 * peer_pprof_graph.h. */
#include "tool/compat/pprof/peer_pprof_graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "shared/compiler.h"
#include "shared/hash.h"
#include "tool/analyze/sites/skip.h"
#include "tool/compat/pprof/peer_pprof_impl.h"
#include "tool/render/figure.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

/* ---- figures ---- */

static const struct {
	const char *name;
	double factor;
} pprof_units[] = {
	{"B", 1},
	{"kB", 1024.0},
	{"MB", 1048576.0},
	{"GB", 1073741824.0},
	{"TB", 1099511627776.0},
	{"PB", 1125899906842624.0},
};

/* Units by the names that -unit takes. */
static int
pprof_unit_of(const char *word)
{
	static const char *const names[][3] = {
		{"b", "byte", "bytes"},		 {"kb", "kilobyte", "kilobytes"},
		{"mb", "megabyte", "megabytes"}, {"gb", "gigabyte", "gigabytes"},
		{"tb", "terabyte", "terabytes"}, {"pb", "petabyte", "petabytes"},
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (unsigned k = 0; k < 3; k++) {
			if (strcasecmp(word, names[i][k]) == 0)
				return (int)i;
		}
	}
	return -1;
}

static uint8_t
pprof_unit_for(double v)
{
	uint8_t i = 0;

	while (i + 1u < ARRAY_LEN(pprof_units) && fabs(v) >= pprof_units[i + 1].factor)
		i++;
	return i;
}

void
pprof_figure_in(struct buf *out, const struct pprof_opts *o, uint8_t unit, double v)
{
	char text[64];
	size_t n;

	if (o->ratio > 0 && o->ratio != 1)
		v = trunc(v * o->ratio);
	if (unit == PPROF_OWN_UNIT)
		unit = pprof_unit_for(v);
	if (o->in_bytes)
		v /= pprof_units[unit].factor;
	n = (size_t)snprintf(text, sizeof text, "%.2f", v);
	if (n > 3 && strcmp(text + n - 3, ".00") == 0)
		text[n - 3] = '\0';
	if (strcmp(text, "0") == 0 || strcmp(text, "-0") == 0)
		buf_add_char(out, '0');
	else
		buf_printf(out, "%s%s", text, o->in_bytes ? pprof_units[unit].name : "");
}

/* The unit that was asked for, else each figure's own. */
static uint8_t
pprof_given_unit(const struct pprof_opts *o)
{
	int unit = pprof_unit_of(o->unit);

	return unit >= 0 ? (uint8_t)unit : PPROF_OWN_UNIT;
}

void
pprof_figure(struct buf *out, const struct pprof_opts *o, double v)
{
	pprof_figure_in(out, o, pprof_given_unit(o), v);
}

const char *
pprof_unit_name(const struct pprof_opts *o, double *v)
{
	uint8_t unit = pprof_given_unit(o);

	if (o->ratio > 0 && o->ratio != 1)
		*v = trunc(*v * o->ratio);
	if (!o->in_bytes)
		return "";
	if (unit == PPROF_OWN_UNIT)
		unit = pprof_unit_for(*v);
	*v /= pprof_units[unit].factor;
	return pprof_units[unit].name;
}

void
pprof_percent(struct buf *out, double v, double total)
{
	double share = total != 0 ? fabs(v) / total * 100 : 0;

	if (share >= 99.95 && share <= 100.05)
		buf_add_str(out, "  100%");
	else if (share >= 1)
		buf_printf(out, "%5.2f%%", share);
	else
		buf_printf(out, "%5.2g%%", share);
}

uint64_t *
pprof_label_keys(const struct prof *p)
{
	uint64_t *keys = xcalloc(p->nsites, sizeof *keys);

	for (uint32_t i = 0; i < p->nlabels; i++) {
		const struct prof_label *l = &p->labels[i];

		if (l->site < p->nsites)
			keys[l->site] += hash_pair(hash_pair(l->key, l->text),
						   (uint64_t)l->number);
	}
	return keys;
}

double
pprof_total(const struct prof *p, uint32_t nsites, enum prof_value value, bool objects)
{
	uint64_t *keys = pprof_label_keys(p);
	VEC(double) sums = {0};
	struct map at = {0};
	double total = 0;

	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];
		double v = value == PROF_ALLOCATED
				   ? (double)(objects ? s->allocs : s->alloc_bytes)
			   : value == PROF_PEAK ? (double)(objects ? s->at_peak_blocks
								   : s->at_peak_bytes)
			   : value == PROF_TEMPORARY
				   ? (double)(objects ? s->temps : s->temp_bytes)
				   : (double)(objects ? s->live_blocks : s->live_bytes);
		uint64_t *row = map_add(&at, hash_pair(s->node, keys[i]));

		if (*row == 0) {
			vec_push(&sums, 0);
			*row = sums.len;
		}
		sums.data[*row - 1] += i < nsites ? v : -v;
	}
	for (size_t i = 0; i < sums.len; i++)
		total += fabs(sums.data[i]);
	vec_done(&sums);
	map_done(&at);
	free(keys);
	return total;
}

/* ---- names ---- */

static void
pprof_module(struct buf *b, const char *before, const char *module)
{
	buf_add_str(b, before);
	clean_text(b, file_base(module));
	buf_add_char(b, ']');
}

char *
pprof_name(const struct graph *g, const struct graph_entry *x)
{
	const char *function = graph_text(g, x->function);
	const char *file = graph_text(g, x->file);
	const char *module = graph_text(g, x->module);
	struct buf b = {0};

	if (x->no_name && x->address != 0) {
		buf_printf(&b, "%016" PRIx64, x->address);
		if (module[0] != '\0')
			pprof_module(&b, " [", module);
		else
			buf_add_str(&b, " <unknown>");
		return buf_take(&b);
	}
	if (x->address != 0)
		buf_printf(&b, "%016" PRIx64 " ", x->address);
	clean_text(&b, function);
	if (file[0] != '\0' && (x->line != 0 || g->grain != GRAPH_FUNCTIONS)) {
		if (function[0] != '\0')
			buf_add_char(&b, ' ');
		clean_text(&b, file);
		if (x->line != 0)
			buf_printf(&b, ":%" PRIu32, x->line);
	}
	if (b.len == 0 && module[0] != '\0')
		pprof_module(&b, "[", module);
	if (b.len == 0)
		buf_add_str(&b, "<unknown>");
	return buf_take(&b);
}

double
pprof_flat(const struct graph *g, uint32_t entry)
{
	return g->entries[entry].flat - g->entries[entry].was_flat;
}

double
pprof_cum(const struct graph *g, uint32_t entry)
{
	return g->entries[entry].cum - g->entries[entry].was_cum;
}

/* ---- trimming ---- */

struct pprof_key {
	double first, second;
	const char *name;
	uint32_t entry;
};

static int
pprof_key_order(const void *a, const void *b)
{
	const struct pprof_key *x = a, *y = b;
	int by_name;

	if (x->first != y->first)
		return x->first < y->first ? 1 : -1;
	by_name = strcmp(x->name, y->name);
	if (by_name != 0)
		return by_name;
	if (x->second != y->second)
		return x->second < y->second ? 1 : -1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

static void
pprof_sort(struct pprof_graph *x)
{
	struct pprof_key *keys = xcalloc(x->n, sizeof *keys);

	for (uint32_t i = 0; i < x->n; i++) {
		double flat = fabs(pprof_flat(x->g, x->order[i]));
		double cum = fabs(pprof_cum(x->g, x->order[i]));

		keys[i] = (struct pprof_key){.first = x->o->by_cum ? cum : flat,
					     .second = x->o->by_cum ? flat : cum,
					     .name = x->names[x->order[i]],
					     .entry = x->order[i]};
	}
	if (x->n > 1)
		qsort(keys, x->n, sizeof *keys, pprof_key_order);
	for (uint32_t i = 0; i < x->n; i++)
		x->order[i] = keys[i].entry;
	free(keys);
}

/* What comes to nothing is no node; what is too small is one that was dropped. */
static void
pprof_keep(struct pprof_graph *x, double cutoff)
{
	for (uint32_t i = 1; i < x->g->nentries; i++) {
		double flat = pprof_flat(x->g, i), cum = pprof_cum(x->g, i);

		if ((flat == 0 && cum == 0) ||
		    (x->o->drop_negative && (flat < 0 || (flat == 0 && cum < 0))))
			continue;
		if (cutoff > 0 && fabs(cum) < cutoff)
			x->dropped++;
		else
			x->order[x->n++] = i;
	}
}

struct pprof_edges {
	struct pprof_graph *x;
	struct map at;	    /* pair -> edge + 1 */
	struct map inlined; /* pairs that are inlined calls all of them */
	bool *kept;
	VEC(uint32_t) seen; /* edges: the last stack that counted into it */
};

/* Was the frame of this node inlined into its caller, whichever of them is shown? */
static bool
pprof_is_inlined(const struct pprof_edges *e, uint32_t node)
{
	const struct graph_node *n = &e->x->g->nodes[node];
	uint64_t caller = e->x->g->nodes[n->parent].entry;

	return n->parent != 0 && map_find(&e->inlined, caller << 32 | n->entry) != NULL;
}

/* Counts the calls of one stack; edges lead past nodes that were dropped. */
static void
pprof_count_edges(struct pprof_edges *e, uint32_t node, uint32_t stack)
{
	const struct graph *g = e->x->g;
	double value = g->nodes[node].self - g->nodes[node].was_self;
	uint32_t callee = 0;
	bool inlined = false;

	for (; node != 0; node = g->nodes[node].parent) {
		uint32_t entry = g->nodes[node].entry;
		uint64_t key = (uint64_t)entry << 32 | callee, *at;
		struct pprof_edge *x;

		if (!e->kept[entry])
			continue;
		if (callee != 0 && callee != entry) {
			at = map_add(&e->at, key);
			if (*at == 0) {
				vec_push(&e->x->edges,
					 (struct pprof_edge){.from = entry,
							     .to = callee,
							     .inlined = true});
				vec_push(&e->seen, 0);
				*at = e->x->edges.len;
			}
			x = &e->x->edges.data[*at - 1];
			x->inlined = x->inlined && inlined;
			if (e->seen.data[*at - 1] != stack)
				x->weight += value;
			e->seen.data[*at - 1] = stack;
		}
		callee = entry;
		inlined = pprof_is_inlined(e, node);
	}
}

static void
pprof_find_edges(struct pprof_graph *x)
{
	const struct graph *g = x->g;
	struct pprof_edges e = {.x = x};
	double cutoff = fabs(trunc(x->o->edge_fraction * (g->total - g->was_total)));
	size_t kept = 0;

	e.kept = xcalloc(g->nentries, sizeof *e.kept);
	for (uint32_t i = 0; i < x->n; i++)
		e.kept[x->order[i]] = true;
	for (uint32_t i = 0; i < g->nedges; i++) {
		if (g->edges[i].inlined)
			*map_add(&e.inlined,
				 (uint64_t)g->edges[i].from << 32 | g->edges[i].to) = 1;
	}
	for (uint32_t i = 1; i < g->nnodes; i++) {
		if (g->nodes[i].self != 0 || g->nodes[i].was_self != 0)
			pprof_count_edges(&e, i, i);
	}
	for (size_t i = 0; i < x->edges.len; i++) {
		if (fabs(x->edges.data[i].weight) >= cutoff)
			x->edges.data[kept++] = x->edges.data[i];
	}
	x->edges.len = kept;
	free(e.kept);
	map_done(&e.at);
	map_done(&e.inlined);
	vec_done(&e.seen);
}

/* One unit for all: that of the smallest figure, or of its hundredfold where units
 * differ. */
static void
pprof_choose_unit(struct pprof_graph *x)
{
	double least = 0, most = x->o->total;
	double ratio = x->o->ratio > 0 ? x->o->ratio : 1;

	x->unit = pprof_given_unit(x->o);
	if (strcmp(x->o->unit, "minimum") != 0)
		return;
	for (uint32_t i = 0; i < x->n; i++) {
		double v = fabs(pprof_flat(x->g, x->order[i]));

		if (v == 0)
			v = fabs(pprof_cum(x->g, x->order[i]));
		if (v > 0 && (least == 0 || v < least))
			least = v;
	}
	if (least == 0)
		least = most;
	least = trunc(least * ratio);
	most = trunc(most * ratio);
	x->unit = pprof_unit_for(least);
	if (x->unit != pprof_unit_for(most) && least * 100 < most)
		x->unit = pprof_unit_for(least * 100);
}

void
pprof_graph_init(struct pprof_graph *ret, const struct graph *g,
		 const struct pprof_opts *o)
{
	struct pprof_graph x = {.g = g, .o = o};

	x.names = xcalloc(g->nentries, sizeof *x.names);
	x.order = xcalloc(g->nentries, sizeof *x.order);
	for (uint32_t i = 1; i < g->nentries; i++)
		x.names[i] = pprof_name(g, &g->entries[i]);
	pprof_keep(&x, fabs(trunc(o->node_fraction * (g->total - g->was_total))));
	pprof_sort(&x);
	x.all = x.n;
	if (o->node_count > 0 && o->node_count < x.n)
		x.n = (uint32_t)o->node_count;
	pprof_find_edges(&x);
	pprof_choose_unit(&x);
	*ret = x;
}

void
pprof_graph_done(struct pprof_graph *x)
{
	for (uint32_t i = 1; x->g != NULL && i < x->g->nentries; i++)
		free(x->names[i]);
	free(x->names);
	free(x->order);
	vec_done(&x->edges);
}

/* ---- headers ---- */

static void
pprof_comments(struct buf *out, const struct prof *p)
{
	for (const char *s = prof_text(p, p->comments); *s != '\0';) {
		size_t n = strcspn(s, "\n");
		char *line = xmemdup0(s, n);

		if (n > 0 && line[0] != '#') {
			clean_text(out, line);
			buf_add_char(out, '\n');
		}
		free(line);
		s += n + (s[n] == '\n');
	}
}

/* How long a profile of pprof's covers, in its largest unit. Other formats do not say. */
static void
pprof_duration(struct buf *out, const struct prof *p, const struct pprof_opts *o,
	       uint8_t in_unit)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = {{"hrs", 3600e3}, {"s", 1e3}, {"ms", 1}};
	uint64_t ms = p->nprocesses > 1 ? p->processes[1].duration_ms : 0;
	char text[40];
	size_t unit = 0, n;

	if (ms == 0 || strcmp(prof_text(p, p->format), "pprof") != 0)
		return;
	while ((double)ms < units[unit].ms)
		unit++;
	n = (size_t)snprintf(text, sizeof text, "%.2f", (double)ms / units[unit].ms);
	if (strcmp(text + n - 3, ".00") == 0)
		text[n - 3] = '\0';
	buf_printf(out, "Duration: %s%s, Total samples = ", text, units[unit].name);
	pprof_figure_in(out, o, in_unit, o->total);
	buf_add_str(out, " \n"); /* a share of the time would follow, of processor time */
}

/* `unit` is that of figures. */
static void
pprof_head_in(struct buf *out, const struct prof *p, const struct pprof_opts *o,
	      uint8_t unit)
{
	time_t when = (time_t)(p->time_ns / 1000000000u);
	char day[32], clock[16], zone[16];
	struct tm tm;

	if (o->file != NULL) {
		buf_add_str(out, "File: ");
		clean_text(out, file_base(o->file));
		buf_add_char(out, '\n');
	}
	for (uint32_t i = 1; i < 2 && i < p->nmodules; i++) {
		const struct prof_module *m = &p->modules[i];

		if (m->build_id_bytes == 0 && m->other_id == 0)
			break;
		buf_add_str(out, "Build ID: ");
		for (unsigned k = 0; k < m->build_id_bytes; k++)
			buf_printf(out, "%02x", m->build_id[k]);
		clean_text(out, prof_text(p, m->other_id));
		buf_add_char(out, '\n');
	}
	pprof_comments(out, p);
	buf_printf(out, "Type: %s\n", o->type);
	if (p->time_ns != 0 && localtime_r(&when, &tm) != NULL) {
		strftime(day, sizeof day, "%b %-d, %Y", &tm);
		strftime(clock, sizeof clock, "%-I:%M%P", &tm);
		strftime(zone, sizeof zone, "%Z", &tm);
		buf_printf(out, "Time: %s at %s (%s)\n", day, clock, zone);
	}
	pprof_duration(out, p, o, unit);
}

void
pprof_head(struct buf *out, const struct prof *p, const struct pprof_opts *o)
{
	pprof_head_in(out, p, o, pprof_given_unit(o));
}

static void
pprof_filters(struct buf *out, const struct filter_opts *f)
{
	bool any = false;

	for (unsigned i = 0; f != NULL && i < FILTER_OPTIONS; i++) {
		if (f->of[i] == NULL)
			continue;
		if (!any)
			buf_add_str(out, "Active filters:\n");
		any = true;
		buf_printf(out, "   %s=", filter_names[i]);
		/* As long as pprof lets them be. */
		if (strlen(f->of[i]) > 80)
			buf_printf(out, "%.80s…\n", f->of[i]);
		else
			buf_printf(out, "%s\n", f->of[i]);
	}
}

void
pprof_labels(struct buf *out, const struct prof *p, const struct pprof_graph *x)
{
	const struct pprof_opts *o = x->o;
	struct buf share = {0};
	double flat = 0;

	for (uint32_t i = 0; i < x->n; i++)
		flat += pprof_flat(x->g, x->order[i]);
	if (!o->compact)
		pprof_head_in(out, p, o, x->unit);
	pprof_filters(out, o->filters);
	buf_add_str(out, "Showing nodes accounting for ");
	pprof_figure_in(out, o, x->unit, flat);
	pprof_percent(&share, flat, o->total);
	buf_printf(out, ", %s of ", buf_str(&share) + strspn(buf_str(&share), " "));
	pprof_figure_in(out, o, x->unit, o->total);
	buf_add_str(out, " total\n");
	if (o->total != 0 && x->dropped > 0) {
		buf_printf(out, "Dropped %" PRIu32 " node%s (cum <= ", x->dropped,
			   x->dropped > 1 ? "s" : "");
		pprof_figure_in(out, o, x->unit,
				fabs(trunc(o->total * o->node_fraction)));
		buf_add_str(out, ")\n");
	}
	if (o->total != 0 && o->node_count > 0 && o->node_count < x->all)
		buf_printf(out, "Showing top %" PRIu64 " nodes out of %" PRIu32 "\n",
			   o->node_count, x->all);
	buf_done(&share);
}
