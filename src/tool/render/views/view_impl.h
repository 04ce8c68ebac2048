/* SPDX-License-Identifier: MIT */
/* view_impl.h -- between the files of view.h: figures, names and rows as all views write
 * them. */
#ifndef SEEP_RENDER_VIEW_IMPL_H
#define SEEP_RENDER_VIEW_IMPL_H

#include "tool/render/figure.h"
#include "tool/render/views/view.h"
#include "tool/util/json.h"

#define VIEW_SEP " \xc2\xb7 "

/* ---- view.c ---- */

/* A figure of the view in its unit; with a variance, an estimate. */
struct figure_str view_amount(const struct view *v, double x, double var);

/* Its share of the whole, "50 %". */
struct figure_str view_share(const struct view *v, double x);
struct figure_str view_share_of(double x, double whole);

/* A bar for x, of 30 columns for `most`. */
void view_bar(struct buf *out, double x, double most, bool ascii);

/* What all shares are of. */
double view_whole(const struct view *v);

/* Is it too small a part of the whole to be shown in a tree or graph? */
bool view_is_small(const struct view *v, double x, double usual_fraction);

/* How many of `n` rows are listed. */
uint32_t view_limit(const struct view *v, uint32_t n);

/* Appends an entry's name; `from` is where its line begins in `out`, for cutting. */
void view_name(const struct view *v, struct buf *out, size_t from, uint32_t entry);

/* Appends foreign text, cut as a name is. */
void view_words(const struct view *v, struct buf *out, size_t from, const char *text);

/* Says how many rows were left out. */
void view_more(const struct view *v, struct buf *out, uint64_t n, const char *what,
	       double value);

/* Word for one entry: "function", "line" … */
const char *view_grain_word(const struct view *v);

/* Does the view's expression match the entry's name or file? */
bool view_matches(const struct view *v, uint32_t entry);

/* Members of JSON. */
void view_key_number(struct json *j, const char *key, double x);
void view_key_str(struct json *j, const char *key, const char *s);
void view_key_error(const struct view *v, struct json *j, const char *key, double var);

/* An entry's own members, and its figures. */
void view_entry_members(const struct view *v, struct json *j, uint32_t entry);
void view_entry_figures(const struct view *v, struct json *j, uint32_t entry);

/* "entries": all of them, entry i as element i - 1. */
void view_json_entries(const struct view *v, struct json *j);

/* ---- view_tree.c ---- */

/* Draws a tree of calls, whose root is nodes[0]. Children that are small are summed
 * up. */
void view_draw(struct buf *out, const struct view *v, const struct graph_node *nodes);

/* "nodes": all of them, parents first; and "entries". */
void view_json_nodes(const struct view *v, struct json *j, const struct graph_node *nodes,
		     uint32_t n);

/* ---- the views: text into `out`, members into an open object; see view_text ---- */

uint32_t view_top(struct buf *out, const struct view *v);
uint32_t view_top_json(struct json *j, const struct view *v);
uint32_t view_tree(struct buf *out, const struct view *v);
uint32_t view_tree_json(struct json *j, const struct view *v);
uint32_t view_bottom_up(struct buf *out, const struct view *v);
uint32_t view_bottom_up_json(struct json *j, const struct view *v);
uint32_t view_peek(struct buf *out, const struct view *v);
uint32_t view_peek_json(struct json *j, const struct view *v);
uint32_t view_list(struct buf *out, const struct view *v);
uint32_t view_list_json(struct json *j, const struct view *v);
uint32_t view_traces(struct buf *out, const struct view *v);
uint32_t view_traces_json(struct json *j, const struct view *v);
uint32_t view_tags(struct buf *out, const struct view *v);
uint32_t view_tags_json(struct json *j, const struct view *v);
uint32_t view_threads(struct buf *out, const struct view *v);
uint32_t view_threads_json(struct json *j, const struct view *v);
uint32_t view_sizes(struct buf *out, const struct view *v);
uint32_t view_sizes_json(struct json *j, const struct view *v);
uint32_t view_lifetimes(struct buf *out, const struct view *v);
uint32_t view_lifetimes_json(struct json *j, const struct view *v);
uint32_t view_timeline(struct buf *out, const struct view *v);
uint32_t view_timeline_json(struct json *j, const struct view *v);
/* view_lost.c: whether lost bytes are known of several moments; those at `ms` as text;
 * all of them, as a member. */
bool view_lost_has(const struct view *v, uint32_t process);
void view_lost_cell(struct buf *out, const struct view *v, uint32_t process, uint64_t ms,
		    size_t width);
void view_lost_json(struct json *j, const struct view *v, uint32_t process);
uint32_t view_graph(struct buf *out, const struct view *v);
uint32_t view_graph_json(struct json *j, const struct view *v);

#endif
