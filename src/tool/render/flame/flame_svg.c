/* SPDX-License-Identifier: MIT */
/* flame_svg.c -- the picture as it is without a script, and the data and the script
 * behind it.
 *
 * The boxes are drawn once here, so that any viewer shows them. The script (ui/svg.js)
 * leaves them alone until something changes, finds what is under the mouse from the data,
 * and draws anew when it has to: an element a box is read by nobody, which keeps large
 * graphs quick. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/figure.h"
#include "tool/render/flame/flame.h"
#include "tool/render/flame/flame_data.h"
#include "tool/render/flame/flame_text.h"
#include "tool/render/ui_parts.h"
#include "tool/util/fmt.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum {
	WIDTH = 1200,
	FRAME = 17,
	FONT = 12,
	SIDE = 10,
	TOP = 74,
	BOTTOM = 58,
	TEXT_MIN = 22,
	NARROW = 1
};

/* Narrow boxes of one colour. */
struct svg_path {
	const char *css; /* of the colour tables: the same colour is the same address */
	struct buf d;
};

struct svg_paths VEC_BODY(struct svg_path);

struct svg {
	struct buf *out;
	const struct graph *g;
	const struct flame_opts *o;
	struct flame_colours colours;
	const struct flame_tree *t; /* the one that is drawn */
	enum flame_width width;
	double px; /* a unit of the figure */
	double char_px;
	unsigned full, frame, height;
	double most; /* largest change of a box */
	struct svg_paths paths;
};

/* ---- figures ---- */

static void
add_figure(struct buf *b, const struct svg *s, double x)
{
	if (s->o->count_name != NULL)
		buf_printf(b, "%s %s", fmt_count_signed((int64_t)llround(x)).s + (x > 0),
			   s->o->count_name);
	else if (s->g->in_bytes)
		buf_add_str(b, fmt_size_signed((int64_t)llround(x)).s + (x >= 0.5));
	else
		buf_printf(b, "%s object%s",
			   fmt_count_signed((int64_t)llround(x)).s + (x >= 0.5),
			   llround(x) == 1 ? "" : "s");
}

static void
add_change(struct buf *b, const struct svg *s, double x)
{
	int64_t n = (int64_t)llround(x);

	if (s->o->count_name == NULL && s->g->in_bytes)
		buf_add_str(b, fmt_size_signed(n).s);
	else
		buf_add_str(b, fmt_count_signed(n).s);
}

static void
add_total(struct buf *b, const struct svg *s)
{
	const struct graph *g = s->g;

	if (s->o->what != NULL && *s->o->what != '\0')
		buf_printf(b, "%s ", s->o->what);
	if (g->has_base) {
		add_figure(b, s, g->was_total);
		buf_add_str(b, " \xe2\x86\x92 ");
		add_figure(b, s, g->total);
		buf_add_str(b, " (");
		add_change(b, s, g->total - g->was_total);
		buf_add_char(b, ')');
	} else if (g->sampled && g->in_bytes && s->o->count_name == NULL) {
		buf_add_str(b, figure_bytes((int64_t)g->total, g->var_total, false).s);
	} else if (g->sampled && s->o->count_name == NULL) {
		buf_add_str(b,
			    figure_things((int64_t)g->total, g->var_total, "object").s);
	} else {
		add_figure(b, s, g->total);
	}
	if (g->sampled && g->has_base) {
		buf_add_str(b, " \xc2\xb1 ");
		add_figure(b, s, figure_sqrt(g->var_total));
	}
	if (!g->has_base)
		buf_printf(b, " in %s stack%s", fmt_count(g->stacks).s,
			   g->stacks == 1 ? "" : "s");
	if (g->sampled)
		buf_add_str(b, ", sampled: figures are estimates (\xc2\xb1)");
}

/* ---- boxes ---- */

static const char *
fill(const struct svg *s, const struct flame_box *b)
{
	bool by_module = s->o->colour == FLAME_BY_MODULE ||
			 (s->o->colour == FLAME_AUTO && s->colours.several_modules);

	if (s->g->has_base)
		return s->colours
			.diff[flame_diff_step(b->total - b->was_total, s->most,
					      s->o->negate)]
			.css;
	if (b->depth == 0)
		return "#d9dce1";
	return by_module ? s->colours.by_module[s->colours.module_of[b->entry]].css
			 : s->colours.by_name[s->colours.name_of[b->entry]].css;
}

static void
box_name(const struct svg *s, const struct flame_box *b, struct buf *ret)
{
	struct buf raw = {0};

	if (b->depth == 0)
		buf_add_str(&raw, "all");
	else
		graph_entry_text(s->g, &s->g->entries[b->entry], &raw);
	flame_clean(ret, buf_str(&raw), FLAME_NAME_BYTES);
	buf_done(&raw);
}

static void
box_title(struct svg *s, const struct flame_box *b, const char *name)
{
	const struct flame_box *root = &s->t->boxes[0];
	struct buf t = {0};

	buf_printf(&t, "%s (", name);
	if (s->g->has_base) {
		add_figure(&t, s, b->was_total);
		buf_add_str(&t, " \xe2\x86\x92 ");
		add_figure(&t, s, b->total);
		buf_add_str(&t, ", ");
		add_change(&t, s, b->total - b->was_total);
	} else {
		add_figure(&t, s, b->total);
		if (root->total != 0)
			buf_printf(&t, ", %.2f%%", 100 * b->total / root->total);
	}
	buf_add_char(&t, ')');
	buf_add_str(s->out, "<title>");
	flame_escape(s->out, buf_str(&t));
	buf_add_str(s->out, "</title>");
	buf_done(&t);
}

static void
draw_rect(struct svg *s, const struct flame_box *b, double x, double w, unsigned y)
{
	bool gone = s->g->has_base && b->total == 0 && b->was_total > 0;

	buf_printf(s->out,
		   "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" "
		   "fill=\"%s\"%s/>",
		   x, y, w > 2 ? w - 0.6 : w, s->frame - 1, fill(s, b),
		   gone ? " class=\"gone\"" : "");
}

/* What nobody can point at, most boxes of a large graph, needs no element of its own: all
 * of one colour are one path. */
static void
add_narrow(struct svg *s, const char *css, double x, double w, unsigned y)
{
	struct svg_path *p = NULL;

	for (size_t i = 0; i < s->paths.len && p == NULL; i++) {
		if (s->paths.data[i].css == css)
			p = &s->paths.data[i];
	}
	if (p == NULL) {
		p = vec_add(&s->paths);
		p->css = css;
	}
	buf_printf(&p->d, "M%.2f %uh%.2fv%uh-%.2fz", x, y, w, s->frame - 1, w);
}

static void
draw_narrow(struct svg *s)
{
	for (size_t i = 0; i < s->paths.len; i++) {
		struct svg_path *p = &s->paths.data[i];

		buf_printf(s->out, "<path fill=\"%s\" d=\"%s\"/>\n", p->css,
			   buf_str(&p->d));
		buf_done(&p->d);
	}
	vec_done(&s->paths);
}

static void
draw_box(struct svg *s, const struct flame_box *b, double x)
{
	double w = b->width[s->width] * s->px;
	unsigned level = s->o->inverted ? b->depth : s->t->depth - b->depth;
	unsigned y = TOP + level * s->frame;
	struct buf name = {0};

	if (w < NARROW) {
		add_narrow(s, fill(s, b), x, w, y);
		return;
	}
	box_name(s, b, &name);
	buf_add_str(s->out, "<g>");
	box_title(s, b, buf_str(&name));
	draw_rect(s, b, x, w, y);
	if (w >= TEXT_MIN) {
		struct buf cut = {0};

		flame_cut(&cut, buf_str(&name), (size_t)((w - 6) / s->char_px));
		buf_printf(s->out, "<text x=\"%.2f\" y=\"%u\">", x + 3,
			   y + s->frame * 3 / 4 - 1);
		flame_escape(s->out, buf_str(&cut));
		buf_add_str(s->out, "</text>");
		buf_done(&cut);
	}
	buf_add_str(s->out, "</g>\n");
	buf_done(&name);
}

static void
draw_boxes(struct svg *s)
{
	const struct flame_tree *t = s->t;
	double *next_x = xcalloc(t->depth + 2, sizeof *next_x); /* by depth */

	next_x[0] = SIDE;
	buf_add_str(s->out, "<g id=\"boxes\">\n");
	for (uint32_t i = 0; i < t->nboxes; i++) {
		const struct flame_box *b = &t->boxes[i];
		double w = b->width[s->width] * s->px;
		double x = next_x[b->depth];

		next_x[b->depth] = x + w;
		next_x[b->depth + 1] = x;
		if (w > 0)
			draw_box(s, b, x);
	}
	draw_narrow(s);
	buf_add_str(s->out, "</g>\n");
	free(next_x);
}

/* ---- around them ---- */

static void
text_at(struct svg *s, const char *id, unsigned x, unsigned y, const char *text)
{
	buf_printf(s->out, "<text id=\"%s\" x=\"%u\" y=\"%u\">", id, x, y);
	flame_escape(s->out, text);
	buf_add_str(s->out, "</text>\n");
}

/* The font of the boxes. It stands inside <style>, so it is held to what names of fonts
 * are made of. */
static void
box_style(struct svg *s)
{
	const char *font = s->o->font;

	buf_printf(s->out, "#boxes text { font-size: %upx;",
		   s->o->font_px != 0 ? s->o->font_px : FONT);
	if (font != NULL && *font != '\0' && strlen(font) < 200 &&
	    font[strspn(font, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789 ,-_")] == '\0')
		buf_printf(s->out, " font-family: %s;", font);
	buf_add_str(s->out, " }\n");
}

static void
head(struct svg *s)
{
	const char *title = s->o->title != NULL ? s->o->title : "Flame graph";
	struct buf total = {0};

	add_total(&total, s);
	buf_printf(s->out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
		   "width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n"
		   "<!-- made by seep " SEEP_VERSION " -->\n<title>",
		   s->full, s->height, s->full, s->height);
	flame_escape(s->out, title);
	buf_add_str(s->out, "</title>\n<style>\n");
	buf_add_str(s->out, ui_svg_css);
	box_style(s);
	buf_add_str(s->out,
		    "</style>\n<rect id=\"back\" width=\"100%\" height=\"100%\"/>\n");
	buf_printf(
		s->out,
		"<g id=\"head\"><rect class=\"cover\" width=\"100%%\" height=\"%u\"/>\n",
		TOP - 3);
	text_at(s, "heading", SIDE, 26, title);
	text_at(s, "total", SIDE, 46,
		s->o->subtitle != NULL ? s->o->subtitle : buf_str(&total));
	buf_add_str(s->out, "</g>\n");
	buf_done(&total);
}

static void
foot(struct svg *s)
{
	unsigned y = TOP + (s->t->depth + 1) * s->frame;
	struct buf note = {0};

	if (s->t->left_out > 0)
		buf_printf(&note, "%s %s%s too small to draw",
			   fmt_count(s->t->left_out).s,
			   s->o->callers ? "branch" : "frame",
			   s->t->left_out == 1 ? ""
			   : s->o->callers     ? "es"
					       : "s");
	if (s->o->notes != NULL && *s->o->notes != '\0')
		buf_printf(&note, "%s%s", note.len > 0 ? " \xc2\xb7 " : "", s->o->notes);
	buf_printf(s->out,
		   "<g id=\"foot\"><rect id=\"ground\" class=\"cover\" width=\"100%%\" "
		   "height=\"%u\" y=\"%u\"/>\n",
		   BOTTOM - 3, y + 3);
	text_at(s, "details", SIDE, y + 20, "");
	text_at(s, "note", SIDE, y + 42, buf_str(&note));
	buf_add_str(s->out, "</g>\n");
	buf_done(&note);
}

static void
options(struct svg *s, struct flame_data *d)
{
	const struct flame_opts *o = s->o;
	static const char *const widths[] = {"max", "now", "was"};

	json_member_obj(&d->j, "options");
	flame_data_text(d, "nameType", o->name_type != NULL ? o->name_type : "Function");
	flame_data_text(d, "width", widths[s->width]);
	json_member_u64(&d->j, "fullWidth", o->width_px);
	json_member_u64(&d->j, "frame", s->frame);
	json_member_bool(&d->j, "inverted", o->inverted);
	json_member_bool(&d->j, "callers", o->callers);
	json_member_bool(&d->j, "byName", o->by_name);
	json_member_bool(&d->j, "negate", o->negate);
	json_member_bool(&d->j, "byModule",
			 o->colour == FLAME_BY_MODULE ||
				 (o->colour == FLAME_AUTO && s->colours.several_modules));
	json_obj_end(&d->j);
}

static void
script(struct svg *s, const struct flame_view *v)
{
	struct flame_data d;

	buf_add_str(s->out, "<script id=\"data\" type=\"application/json\">");
	flame_data_init(&d, s->out, &s->colours);
	options(s, &d);
	json_member_arr(&d.j, "views");
	flame_data_view(&d, s->g, v, NULL);
	json_arr_end(&d.j);
	flame_data_done(&d);
	buf_add_str(s->out, "</script>\n<script><![CDATA[\n");
	buf_add_str(s->out, ui_svg_js);
	buf_add_str(s->out, "]]></script>\n</svg>\n");
}

static double
largest_change(const struct flame_tree *t)
{
	double most = 0;

	for (uint32_t i = t->nboxes > 1; i < t->nboxes; i++) {
		double x = fabs(t->boxes[i].total - t->boxes[i].was_total);

		most = x > most ? x : most;
	}
	return most;
}

static void
measure(struct svg *s)
{
	const struct flame_opts *o = s->o;
	double all;

	s->width = s->g->has_base ? o->width : FLAME_BY_NOW;
	s->full = o->width_px != 0 ? o->width_px : WIDTH;
	if (s->full < 100)
		s->full = 100;
	s->frame = o->frame_px != 0 ? o->frame_px : FRAME;
	s->height = TOP + (s->t->depth + 1) * s->frame + BOTTOM;
	s->char_px = (o->font_px != 0 ? o->font_px : FONT) * 0.56;
	s->most = largest_change(s->t);
	all = s->t->boxes[0].width[s->width];
	s->px = all > 0 ? (s->full - 2.0 * SIDE) / all : 0;
}

void
flame_svg(struct buf *out, const struct graph *g, const struct flame_opts *o)
{
	static const struct flame_opts none = {0};
	struct svg s = {.out = out, .g = g, .o = o != NULL ? o : &none};
	struct flame_view v = {
		.what = s.o->what, .count_name = s.o->count_name, .colours = &s.colours};
	double min_px = s.o->min_px > 0 ? s.o->min_px : 0.1;
	double share = min_px / (s.o->width_px != 0 ? s.o->width_px : WIDTH);

	flame_colours_init(&s.colours, g, s.o->theme);
	flame_tree_down(&v.down, g, share, s.o->by_name);
	flame_tree_up(&v.up, g, share, s.o->by_name);
	s.t = s.o->callers ? &v.up : &v.down;
	measure(&s);
	head(&s);
	draw_boxes(&s);
	foot(&s);
	script(&s, &v);
	flame_tree_done(&v.down);
	flame_tree_done(&v.up);
	flame_colours_done(&s.colours);
}
