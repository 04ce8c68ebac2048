/* SPDX-License-Identifier: MIT */
/* peer_flamegraph.c -- `seep flamegraph.pl [OPTIONS] [FILE ...]`: folded stacks in, SVG out.
 *
 * The options are those that recipes use. Lines with two figures, as difffolded.pl writes them,
 * make a red and blue picture. Colours depend on names alone, so --hash and --cp, which ask for
 * that, change nothing, and palette.map is neither read nor written. What draws time instead of
 * stacks (--flamechart) is refused. Any profile that seep reads is taken, not only folded ones. */
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

static struct {
	const char *title, *subtitle, *notes, *count_name, *name_type, *min_width, *font;
	const char *colours, *ignored;
	uint64_t width, height;
	double font_px, font_width, factor, total;
	bool inverted, reverse, negate, chart, hash;
} fg;

static const struct opt fg_opts[] = {
	{"title", 0, OPT_STRING, .to = &fg.title, .metavar = "TEXT", .help = "Heading."},
	{"subtitle", 0, OPT_STRING, .to = &fg.subtitle, .metavar = "TEXT",
	 .help = "Second line of the heading; without it, the total."},
	{"width", 0, OPT_U64, .to = &fg.width, .metavar = "PIXELS",
	 .help = "Width of the picture; without it, 1200 or the window's."},
	{"height", 0, OPT_U64, .to = &fg.height, .metavar = "PIXELS",
	 .help = "Height of a box."},
	{"minwidth", 0, OPT_STRING, .to = &fg.min_width, .metavar = "PIXELS|N%",
	 .help = "Leave out narrower boxes; 0.1 pixels without it."},
	{"fonttype", 0, OPT_STRING, .to = &fg.font, .metavar = "NAME", .help = "Font."},
	{"fontsize", 0, OPT_FLOAT, .to = &fg.font_px, .metavar = "PIXELS",
	 .help = "Size of the letters in boxes."},
	{"countname", 0, OPT_STRING, .to = &fg.count_name, .metavar = "WORD",
	 .help = "What is counted: samples, bytes."},
	{"nametype", 0, OPT_STRING, .to = &fg.name_type, .metavar = "WORD",
	 .help = "What a box is: Function."},
	{"colors", 0, OPT_STRING, .to = &fg.colours, .metavar = "THEME",
	 .help = "hot, mem, io, wakeup, chain, java, js, perl, red, green, blue, aqua, "
		 "yellow, purple or orange."},
	{"color", 0, OPT_STRING, .to = &fg.colours},
	{"bgcolors", 0, OPT_STRING, .to = &fg.ignored, .metavar = "COLOUR",
	 .help = "Accepted; the background follows the reader's light or dark."},
	{"hash", 0, OPT_NONE, .to = &fg.hash,
	 .help = "Colours by name: they always are."},
	{"cp", 0, OPT_NONE, .to = &fg.hash,
	 .help = "The same colours in every picture: they always are."},
	{"random", 0, OPT_NONE, .to = &fg.hash},
	{"fontwidth", 0, OPT_FLOAT, .to = &fg.font_width},
	{"encoding", 0, OPT_STRING, .to = &fg.ignored},
	{"factor", 0, OPT_FLOAT, .to = &fg.factor, .metavar = "N",
	 .help = "Multiply the figures."},
	{"total", 0, OPT_FLOAT, .to = &fg.total, .metavar = "N",
	 .help = "What the whole width stands for; at least the sum of the figures."},
	{"inverted", 0, OPT_NONE, .to = &fg.inverted, .help = "Icicles: callers on top."},
	{"reverse", 0, OPT_NONE, .to = &fg.reverse,
	 .help = "Merge stacks from the innermost frame outwards."},
	{"negate", 0, OPT_NONE, .to = &fg.negate,
	 .help = "In differences, blue is more and red is less."},
	{"flamechart", 0, OPT_NONE, .to = &fg.chart,
	 .help = "Refused: a heap profile has no order in time."},
	{"notes", 0, OPT_STRING, .to = &fg.notes, .metavar = "TEXT",
	 .help = "A line under the picture."},
	{0},
};

/* Lines that are not folded stacks are left out, as the script does; a file without any other line
 * is an error. */
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
fg_widen(struct graph *g)
{
	double more = fg.total - g->total;

	if (more < 0 && fg.total != 0)
		cmd_note("--total %g is less than the sum of the figures, %g; ignored",
			 fg.total, g->total);
	if (more <= 0 || g->nnodes == 0)
		return;
	g->total += more;
	g->nodes[0].total += more;
	g->nodes[0].self += more; /* --reverse adds up these */
}

/* "0.1" pixels, or "0.5%" of the width. */
static int
fg_min_width(const char *text, double *ret_px, struct err *e)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || !isfinite(v) || v < 0 ||
	    (*end != '\0' && strcmp(end, "%") != 0))
		return err_set(e, -EINVAL, "--minwidth: \"%s\" is no number", text);
	*ret_px = *end == '%' ? v / 100 * (fg.width != 0 ? (double)fg.width : 1200) : v;
	return 0;
}

static int
fg_check(struct flame_opts *o, struct err *e)
{
	if (fg.chart)
		return err_set(e, -EINVAL,
			       "--flamechart: a heap profile has no order in time; see "
			       "--inverted, --reverse");
	for (size_t i = 0; fg.colours != NULL && o->theme == NULL; i++) {
		if (flame_themes[i] == NULL)
			return err_set(e, -EINVAL, "--colors: no theme \"%s\"",
				       fg.colours);
		if (strcmp(flame_themes[i], fg.colours) == 0)
			o->theme = flame_themes[i];
	}
	if (fg.width > 100000 || fg.height > 1000 || fg.font_px < 0 || fg.font_px > 500)
		return err_set(e, -EINVAL, "a size is out of range");
	return fg.min_width != NULL ? fg_min_width(fg.min_width, &o->min_px, e) : 0;
}

/* Figures are counts of whatever they are of, under the names that they have, one box a name. */
static void
fg_draw(struct prof *p, const struct flame_opts *o)
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
	if (fg.factor != 0)
		fg_scale(&g, fg.factor);
	fg_widen(&g);
	flame_svg(&out, &g, o);
	fwrite(buf_str(&out), 1, out.len, stdout);
	graph_done(&g);
	buf_done(&out);
}

static int
fg_run(void *opts, int argc, char **argv)
{
	struct flame_opts o = {
		.colour = FLAME_BY_NAME, .by_name = true, .width = FLAME_BY_NOW};
	struct names_opts names = {0};
	struct prof *p = NULL;
	struct err e = {0};

	(void)opts;
	if (fg_check(&o, &e) < 0)
		return cmd_usage(&cmd_flamegraph, "%s", e.msg);
	if (fg_load(argc, argv, &p, &e) < 0)
		return cmd_fail(&e);
	o.title = fg.title != NULL ? fg.title
		  : fg.inverted	   ? "Icicle Graph"
				   : "Flame Graph";
	o.subtitle = fg.subtitle;
	o.notes = fg.notes;
	o.count_name = fg.count_name != NULL ? fg.count_name : "samples";
	o.name_type = fg.name_type;
	o.font = fg.font;
	o.font_px = (unsigned)fg.font_px;
	o.width_px = (unsigned)fg.width;
	o.frame_px = (unsigned)fg.height;
	o.inverted = fg.inverted;
	o.callers = fg.reverse;
	o.negate = fg.negate;
	names_resolve(p, &names);
	fg_draw(p, &o);
	prof_free(p);
	return CMD_OK;
}

const struct cmd cmd_flamegraph = {
	.name = "flamegraph.pl",
	.args = "[FILE ...]",
	.help = "draw folded stacks as flamegraph.pl does",
	.man = "seep-flamegraph.pl",
	.opts = fg_opts,
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.run = fg_run,
};
