/* SPDX-License-Identifier: MIT */
/* peer_flamegraph.c -- `seep flamegraph.pl [OPTIONS] [FILE ...]`: folded stacks in, SVG
 * out.
 *
 * The options are those that recipes use. Lines with two figures, as difffolded.pl writes
 * them, make a red and blue picture. Colours depend on names alone, so --hash and --cp,
 * which ask for that, change nothing, and palette.map is neither read nor written. What
 * draws time instead of stacks (--flamechart) is refused. Any profile that seep reads is
 * taken, not only folded ones. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/graph/graph.h"
#include "tool/analyze/sites/value.h"
#include "tool/compat/compat.h"
#include "tool/format/format.h"
#include "tool/model/prof.h"
#include "tool/render/flame/flame.h"
#include "tool/session/names/names.h"

struct fg_args {
	const char *title, *subtitle, *notes, *count_name, *name_type, *min_width, *font;
	const char *colours;
	uint64_t width, height;
	double font_px, factor, total;
	bool inverted, reverse, negate, chart;
};

#define AT(member) .at = offsetof(struct fg_args, member)

static const struct opt fg_opts[] = {
	{"title", 0, OPT_STRING, AT(title), .metavar = "TEXT",
	 .help = "Heading of the picture."},
	{"subtitle", 0, OPT_STRING, AT(subtitle), .metavar = "TEXT",
	 .help = "Second line of the heading (the total)."},
	{"width", 0, OPT_U64, AT(width), .metavar = "PIXELS",
	 .help = "Width of the picture (1200, or the width of the window)."},
	{"height", 0, OPT_U64, AT(height), .metavar = "PIXELS",
	 .help = "Height of each box."},
	{"minwidth", 0, OPT_STRING, AT(min_width), .metavar = "PIXELS|N%",
	 .help = "Omit boxes narrower than this (0.1 pixels)."},
	{"fonttype", 0, OPT_STRING, AT(font), .metavar = "NAME",
	 .help = "Font of the text."},
	{"fontsize", 0, OPT_FLOAT, AT(font_px), .metavar = "PIXELS",
	 .help = "Size of the text."},
	{"countname", 0, OPT_STRING, AT(count_name), .metavar = "WORD",
	 .help = "Name of the counted unit, such as samples or bytes."},
	{"nametype", 0, OPT_STRING, AT(name_type), .metavar = "WORD",
	 .help = "Name of a box's kind (Function)."},
	{"colors", 0, OPT_STRING, AT(colours), .metavar = "THEME",
	 .help = "Use these colours: hot, mem, io, wakeup, chain, java, js, perl, "
		 "red, green, blue, aqua, yellow, purple or orange."},
	{"color", 0, OPT_STRING, AT(colours)},
	{"bgcolors", 0, OPT_STRING, .set = opt_ignore, .metavar = "COLOUR",
	 .help = "Accepted: the background follows the viewer's light or dark mode."},
	{"hash", 0, OPT_NONE, .set = opt_ignore,
	 .help = "Accepted: colours always depend on the name."},
	{"cp", 0, OPT_NONE, .set = opt_ignore,
	 .help = "Accepted: colours are always the same in every picture."},
	{"random", 0, OPT_NONE, .set = opt_ignore},
	{"fontwidth", 0, OPT_FLOAT, .set = opt_ignore},
	{"encoding", 0, OPT_STRING, .set = opt_ignore},
	{"factor", 0, OPT_FLOAT, AT(factor), .metavar = "N",
	 .help = "Multiply the figures by N."},
	{"total", 0, OPT_FLOAT, AT(total), .metavar = "N",
	 .help = "Total that the whole width stands for, at least the sum of the "
		 "figures."},
	{"inverted", 0, OPT_NONE, AT(inverted),
	 .help = "Draw an icicle graph: callers on top."},
	{"reverse", 0, OPT_NONE, AT(reverse),
	 .help = "Merge stacks from the innermost frame outwards."},
	{"negate", 0, OPT_NONE, AT(negate),
	 .help = "In a difference, draw growth blue and shrinkage red."},
	{"flamechart", 0, OPT_NONE, AT(chart),
	 .help = "Refused: a heap profile has no order in time; leave the option "
		 "out."},
	{"notes", 0, OPT_STRING, AT(notes), .metavar = "TEXT",
	 .help = "Line of text under the picture."},
	{0},
};

/* Lines that are not folded stacks are left out, as the script does; a file without any
 * other line is an error. */
static int
fg_load_one(const char *file, struct prof **ret, struct err *e)
{
	struct format_opts o = {.otherwise = &format_folded};
	struct prof *p = NULL;
	int r = format_load_with(file, &o, &p, e);

	if (r == 0 && p->ndamages > 0 && p->nsites <= 1)
		r = err_set(e, -EINVAL, "%s: no folded stacks in it", file);
	for (uint32_t i = 0; r == 0 && i < p->ndamages; i++)
		cmd_note("%s: ignored %" PRIu64 " %s", file, p->damages[i].count,
			 prof_text(p, p->damages[i].what));
	if (r == 0)
		*ret = p;
	else
		prof_free(p);
	return r;
}

static int
fg_load(int argc, char **argv, struct prof **ret, struct err *e)
{
	struct prof *all = NULL;
	int r = 0;

	if (argc == 0)
		return fg_load_one("-", ret, e);
	for (int i = 0; i < argc && r == 0; i++) {
		struct prof *p = NULL;

		r = fg_load_one(argv[i], &p, e);
		if (r == 0 && all == NULL) {
			all = p;
			continue;
		}
		if (r == 0)
			prof_merge(all, p);
		prof_free(p);
	}
	if (r == 0)
		*ret = all;
	else
		prof_free(all);
	return r;
}

static void
fg_scale(struct graph *g, double by)
{
	for (uint32_t i = 0; i < g->nentries; i++) {
		struct graph_entry *x = &g->entries[i];

		x->flat *= by, x->cum *= by, x->was_flat *= by, x->was_cum *= by;
		x->var_flat *= by * by, x->var_cum *= by * by;
	}
	for (uint32_t i = 0; i < g->nnodes; i++) {
		struct graph_node *n = &g->nodes[i];

		n->self *= by, n->total *= by, n->was_self *= by, n->was_total *= by;
	}
	g->total *= by, g->was_total *= by, g->var_total *= by * by;
}

/* --total: the whole width is more than the stacks have. */
static void
fg_widen(const struct fg_args *a, struct graph *g)
{
	double more = a->total - g->total;

	if (more < 0 && a->total != 0)
		cmd_note("--total %g is less than the sum of the figures, %g; ignored",
			 a->total, g->total);
	if (more <= 0 || g->nnodes == 0)
		return;
	g->total += more;
	g->nodes[0].total += more;
	g->nodes[0].self += more; /* --reverse adds up these */
}

/* "0.1" pixels, or "0.5%" of the width. */
static int
fg_min_width(const struct fg_args *a, double *ret_px, struct err *e)
{
	const char *text = a->min_width;
	char *end;
	double v = strtod(text, &end);

	if (end == text || !isfinite(v) || v < 0 ||
	    (*end != '\0' && strcmp(end, "%") != 0))
		return err_set(e, -EINVAL, "--minwidth: \"%s\" is not a number", text);
	*ret_px = *end == '%' ? v / 100 * (a->width != 0 ? (double)a->width : 1200) : v;
	return 0;
}

static int
fg_check(const struct fg_args *a, struct flame_opts *o, struct err *e)
{
	if (a->chart)
		return err_set(e, -EINVAL,
			       "--flamechart: a heap profile has no order in time; see "
			       "--inverted, --reverse");
	for (size_t i = 0; a->colours != NULL && o->theme == NULL; i++) {
		if (flame_themes[i] == NULL)
			return err_set(e, -EINVAL, "--colors: no theme \"%s\"",
				       a->colours);
		if (strcmp(flame_themes[i], a->colours) == 0)
			o->theme = flame_themes[i];
	}
	if (a->width > 100000 || a->height > 1000 || a->font_px < 0 || a->font_px > 500)
		return err_set(e, -EINVAL, "a size is out of range");
	return a->min_width != NULL ? fg_min_width(a, &o->min_px, e) : 0;
}

/* Figures are counts of whatever they are of, under the names that they have, one box a
 * name. */
static void
fg_draw(const struct fg_args *a, struct prof *p, const struct flame_opts *o)
{
	struct graph_query q = {.merge_names = true, .no_edges = true};
	struct graph_query before;
	bool pairs = p->nmarks > 0 && strcmp(prof_text(p, p->format), "folded") == 0;
	struct buf out = {0};
	struct graph g;

	q.value = value_default(p, &q.objects);
	before = q;
	before.point.at = SITES_AT_MARK;
	snprintf(before.point.mark, sizeof before.point.mark, "before");
	graph_init(&g, p, &q, pairs ? p : NULL, pairs ? &before : NULL);
	if (a->factor != 0)
		fg_scale(&g, a->factor);
	fg_widen(a, &g);
	flame_svg(&out, &g, o);
	fwrite(buf_str(&out), 1, out.len, stdout);
	graph_done(&g);
	buf_done(&out);
}

static int
fg_run(void *opts, int argc, char **argv)
{
	const struct fg_args *a = opts;
	struct flame_opts o = {
		.colour = FLAME_BY_NAME, .by_name = true, .width = FLAME_BY_NOW};
	struct names_opts names = {0};
	struct prof *p = NULL;
	struct err e = {0};

	if (fg_check(a, &o, &e) < 0)
		return cmd_usage(&cmd_flamegraph, "%s", e.msg);
	if (fg_load(argc, argv, &p, &e) < 0)
		return cmd_fail(&e);
	o.title = a->title != NULL ? a->title
		  : a->inverted	   ? "Icicle Graph"
				   : "Flame Graph";
	o.subtitle = a->subtitle;
	o.notes = a->notes;
	o.count_name = a->count_name != NULL ? a->count_name : "samples";
	o.name_type = a->name_type;
	o.font = a->font;
	o.font_px = (unsigned)a->font_px;
	o.width_px = (unsigned)a->width;
	o.frame_px = (unsigned)a->height;
	o.inverted = a->inverted;
	o.callers = a->reverse;
	o.negate = a->negate;
	names_resolve(p, &names);
	fg_draw(a, p, &o);
	prof_free(p);
	return CMD_OK;
}

const struct cmd cmd_flamegraph = {
	.name = "flamegraph.pl",
	.args = "[FILE ...]",
	.help = "draw folded stacks as flamegraph.pl does",
	.man = "seep-flamegraph.pl",
	.opts = fg_opts,
	.opts_bytes = sizeof(struct fg_args),
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.run = fg_run,
};
