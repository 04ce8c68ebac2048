/* SPDX-License-Identifier: MIT */
/* top_rows.c -- the sites of a judged profile as rows, and the stacks of one of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/hash.h"
#include "tool/analyze/sites/choose.h"
#include "tool/session/top/top_impl.h"
#include "tool/util/clean.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum { FRAMES_SHOWN = 64 }; /* of a stack */

/* ---- frames in words ---- */

static const char *
keep(struct top_view *v, struct buf *b)
{
	const char *s = arena_memdup0(&v->text, buf_str(b), b->len);

	buf_clear(b);
	return s;
}

static void
module_name(struct buf *b, const struct prof *p, const struct prof_loc *l)
{
	clean_text(b, file_base(prof_text(p, p->modules[l->module].path)));
}

/* A location that has no name. */
static void
unnamed(struct buf *b, const struct prof *p, const struct prof_loc *l)
{
	switch (l->kind) {
	case PROF_LOC_TRUNCATED:
		buf_add_str(b, "\xe2\x80\xa6 (could not be followed further)");
		return;
	case PROF_LOC_ELIDED:
		buf_printf(b, "\xe2\x80\xa6 (about %s frames left out)",
			   fmt_count(l->offset).s);
		return;
	case PROF_LOC_CLASS:
		buf_add_str(b, prof_class_name(l->offset));
		return;
	}
	buf_printf(b, "0x%" PRIx64, l->offset);
	if (l->module != 0) {
		buf_add_str(b, " in ");
		module_name(b, p, l);
	}
}

static const char *
frame_name(struct top_view *v, const struct prof *p, struct skip_pos pos, struct buf *b)
{
	const struct prof_frame *f = skip_frame(p, pos);

	if (f == NULL || (f->function == 0 && f->line == 0))
		unnamed(b, p, skip_loc(p, pos));
	else if (f->function == 0)
		buf_add_char(b, '?');
	else
		clean_text(b, prof_text(p, f->function));
	return keep(v, b);
}

static const char *
frame_where(struct top_view *v, const struct prof *p, struct skip_pos pos, struct buf *b)
{
	const struct prof_frame *f = skip_frame(p, pos);
	const struct prof_loc *l = skip_loc(p, pos);

	if (f == NULL || (f->function == 0 && f->line == 0))
		return "";
	if (f->line != 0) {
		clean_text(b, file_base(prof_text(p, f->file)));
		buf_printf(b, ":%u", f->line);
	} else {
		if (f->symbol_off != 0)
			buf_printf(b, "+0x%x ", f->symbol_off);
		if (l->module != 0) {
			buf_add_str(b, "in ");
			module_name(b, p, l);
		}
	}
	return keep(v, b);
}

static uint64_t
hash_text(const char *s, uint64_t seed)
{
	return hash_bytes(s, strlen(s), seed);
}

/* By names, as numbers of strings are others in the next profile. */
static uint64_t
hash_frame(const struct prof *p, struct skip_pos pos, uint64_t seed)
{
	const struct prof_frame *f = skip_frame(p, pos);
	const struct prof_loc *l = skip_loc(p, pos);

	if (f == NULL || (f->function == 0 && f->line == 0))
		return hash_pair(
			hash_text(prof_text(p, p->modules[l->module].path), seed),
			l->offset);
	seed = hash_text(prof_text(p, f->function), seed);
	if (f->line != 0)
		return hash_pair(hash_text(prof_text(p, f->file), seed), f->line);
	return hash_pair(hash_text(prof_text(p, p->modules[l->module].path), seed),
			 f->symbol_off);
}

/* What a row is called, and the number by which it is found again in the next profile. */
static void
name_row(const struct top *t, const struct sites_row *row, struct top_view *v,
	 struct top_row *ret)
{
	struct skip_stack st = {0};
	struct buf b = {0};
	uint64_t id = 1;

	ret->name = "(no stack)";
	ret->where = ret->caller = "";
	if (row->node != 0)
		skip_stack(t->skip, row->node, &st);
	for (size_t i = 0; i < st.len && i < TOP_FRAMES; i++) {
		id = hash_frame(t->p, st.data[i], id);
		if (i == 0) {
			ret->name = frame_name(v, t->p, st.data[i], &b);
			ret->where = frame_where(v, t->p, st.data[i], &b);
		} else if (i == 1) {
			const char *name = frame_name(v, t->p, st.data[i], &b);
			const char *where = frame_where(v, t->p, st.data[i], &b);

			ret->caller = where[0] == '\0' ? name
						       : arena_printf(&v->text, "%s %s",
								      name, where);
		}
	}
	ret->id = id != 0 ? id : 1;
	vec_done(&st);
	buf_done(&b);
}

/* ---- figures ---- */

/* For each row of the sites its row in the growth, or UINT32_MAX. */
static uint32_t *
growth_rows(const struct top *t)
{
	const struct report_data *d = &t->d;
	uint32_t *rows = xcalloc(d->sites.nrows, sizeof *rows);

	memset(rows, 0xff, d->sites.nrows * sizeof *rows);
	for (uint32_t i = 1; i < t->p->nsites && d->growth_sites.nrows > 0; i++) {
		if (d->sites.row_of_site[i] != UINT32_MAX)
			rows[d->sites.row_of_site[i]] = d->growth_sites.row_of_site[i];
	}
	return rows;
}

static void
judge_row(const struct top *t, uint32_t g, struct top_row *ret)
{
	const struct report_data *d = &t->d;
	const struct growth_place *x;

	ret->verdict = VERDICT_NO_VERDICT;
	if (g == UINT32_MAX || d->growth.rows == NULL)
		return;
	x = &d->growth.rows[g];
	ret->verdict = verdict_of_site(&d->v, x, &d->growth_sites.rows[g]);
	ret->has_rate = x->v.word != GROWTH_UNKNOWN;
	ret->slope = x->slope;
	ret->error = x->error;
}

/* The age of each row's oldest live block. */
static uint64_t *
oldest(const struct top *t)
{
	uint64_t *age = xcalloc(t->d.sites.nrows, sizeof *age);

	for (uint32_t i = 0; i < t->d.sites.nrows; i++)
		age[i] = TOP_AGE_UNKNOWN;
	for (uint32_t i = 0; i < t->p->nblocks && t->p->blocks_dropped == 0; i++) {
		const struct prof_block *b = &t->p->blocks[i];
		uint32_t row = t->d.sites.row_of_site[b->site];
		uint64_t end = t->p->processes[b->process].duration_ms;
		uint64_t ms = end > b->ms ? end - b->ms : 0;

		if (row != UINT32_MAX && (age[row] == TOP_AGE_UNKNOWN || ms > age[row]))
			age[row] = ms;
	}
	return age;
}

/* Live bytes at the mark that is chosen. */
static void
compare_rows(struct top *t, struct top_view *v)
{
	int64_t *bytes, *blocks;

	choose_mark_figures(t->p, t->mark, &bytes, &blocks);
	for (uint32_t i = 1; i < t->p->nsites; i++) {
		uint32_t row = t->d.sites.row_of_site[i];

		if (row == UINT32_MAX)
			continue;
		v->rows.data[row].mark_bytes += bytes[i];
		v->rows.data[row].mark_blocks += blocks[i];
	}
	free(bytes);
	free(blocks);
}

/* Live bytes of every row at the looks, and now. Of a recording of several processes,
 * whose looks are at different times, there are none. */
static void
add_trends(const struct top *t, struct top_view *v)
{
	const struct prof *p = t->p;
	uint32_t n = p->nlooks, skip = n > TOP_TREND - 1 ? n - (TOP_TREND - 1) : 0;
	unsigned len = n - skip + 1;
	int64_t *all, *now;

	if (n == 0 || t->d.v.nrecorded != 1)
		return;
	all = arena_alloc(&v->text, v->rows.len * len * sizeof *all);
	now = xcalloc(v->rows.len, sizeof *now);
	for (uint32_t k = 0; k < n; k++) {
		const struct prof_look *l = &p->looks[k];

		for (uint32_t i = l->rows; i < l->rows + l->nrows; i++) {
			const struct prof_look_row *x = &p->look_rows[i];
			uint32_t row = t->d.sites.row_of_site[x->site];

			if (row != UINT32_MAX)
				now[row] += x->alloc_bytes - x->free_bytes;
		}
		for (size_t row = 0; row < v->rows.len && k >= skip; row++)
			all[row * len + (k - skip)] = now[row];
	}
	for (size_t row = 0; row < v->rows.len; row++) {
		all[row * len + len - 1] = v->rows.data[row].live_bytes;
		v->rows.data[row].trend = all + row * len;
		v->rows.data[row].ntrend = len;
	}
	free(now);
}

static void
add_row(struct top *t, uint32_t i, uint32_t growth, uint64_t age, struct top_view *v)
{
	const struct sites_row *row = &t->d.sites.rows[i];
	struct top_row *r = vec_add(&v->rows);

	name_row(t, row, v, r);
	r->kept = row->kept != NULL;
	r->live_bytes = row->t.live_bytes;
	r->live_blocks = row->t.live_blocks;
	r->var_live_bytes = row->t.var_live_bytes;
	r->var_live_blocks = row->t.var_live_blocks;
	r->allocs = row->t.allocs;
	r->frees = row->t.frees;
	r->age_ms = row->t.live_blocks > 0 ? age : TOP_AGE_UNKNOWN;
	judge_row(t, growth, r);
}

/* ---- rates ---- */

static double
per_second(double n, uint64_t ns)
{
	return ns > 0 ? n * 1e9 / (double)ns : 0;
}

/* Counts of this look beside those of the one before. */
static void
count_rows(struct top *t, struct top_view *v)
{
	struct top_counts *now = &t->now;

	if (!t->fresh)
		return;
	t->fresh = false;
	map_done(&t->before.allocs);
	t->before = *now;
	*now = (struct top_counts){
		.ns = t->looked_ns, .all_allocs = v->allocs, .live_bytes = v->live_bytes};
	for (size_t i = 0; i < v->rows.len; i++)
		*map_add(&now->allocs, v->rows.data[i].id) += v->rows.data[i].allocs;
}

/* Of the time since the last look; for the first one, and of what is finished, on average
 * since the beginning. */
static void
add_rates(struct top *t, struct top_view *v)
{
	const struct top_counts *was = &t->before;
	uint64_t ns = v->recorded_ms * 1000000;
	bool since = was->ns != 0 && !t->ended;

	if (since)
		ns = t->now.ns - was->ns;
	for (size_t i = 0; i < v->rows.len; i++) {
		struct top_row *r = &v->rows.data[i];
		const uint64_t *at = map_find(&was->allocs, r->id);
		uint64_t old = since && at != NULL ? *at : 0;

		r->allocs_per_s =
			per_second(r->allocs > old ? (double)(r->allocs - old) : 0, ns);
	}
	v->allocs_per_s =
		per_second((double)v->allocs - (since ? (double)was->all_allocs : 0), ns);
	v->live_per_s =
		since ? per_second((double)(v->live_bytes - was->live_bytes), ns) : 0;
	if (v->allocs_per_s < 0)
		v->allocs_per_s = 0;
}

void
top_rows(struct top *t, struct top_view *v)
{
	uint32_t *growth = growth_rows(t);
	uint64_t *age = oldest(t);

	vec_reserve(&v->rows, t->d.sites.nrows + 1);
	for (uint32_t i = 0; i < t->d.sites.nrows; i++)
		add_row(t, i, growth[i], age[i], v);
	if (t->mark != NULL)
		compare_rows(t, v);
	add_trends(t, v);
	count_rows(t, v);
	add_rates(t, v);
	free(age);
	free(growth);
}

/* ---- the stacks of a row ---- */

struct stack_sum {
	uint32_t node;
	struct top_stack s;
};

static int
compare_stacks(const void *a, const void *b)
{
	const struct stack_sum *x = a, *y = b;

	if (x->s.live_bytes != y->s.live_bytes)
		return x->s.live_bytes > y->s.live_bytes ? -1 : 1;
	if (x->s.allocs != y->s.allocs)
		return x->s.allocs > y->s.allocs ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static void
add_frames(const struct top *t, const struct stack_sum *sum, struct top_view *v)
{
	struct skip_stack st = {0};
	struct buf b = {0};
	struct top_frame *frames;
	struct top_stack *s = vec_add(&v->stacks);

	skip_stack(t->skip, sum->node, &st);
	*s = sum->s;
	s->nframes = st.len < FRAMES_SHOWN ? (unsigned)st.len : FRAMES_SHOWN;
	s->frames = frames = arena_alloc(&v->text, s->nframes * sizeof *frames);
	for (unsigned i = 0; i < s->nframes; i++) {
		const struct prof_frame *f = skip_frame(t->p, st.data[i]);

		frames[i].name = frame_name(v, t->p, st.data[i], &b);
		frames[i].where = frame_where(v, t->p, st.data[i], &b);
		frames[i].source = "";
		if (f != NULL && f->source != 0) {
			clean_text(&b, prof_text(t->p, f->source));
			frames[i].source = keep(v, &b);
		}
	}
	vec_done(&st);
	buf_done(&b);
}

void
top_stacks(const struct top *t, uint64_t open, struct top_view *v)
{
	struct map known = {0}; /* node -> place in `sums`, from 1 on */
	VEC(struct stack_sum) sums = {0};
	uint32_t row = 0;

	while (row < v->rows.len && v->rows.data[row].id != open)
		row++;
	for (uint32_t i = 1; i < t->p->nsites && row < v->rows.len; i++) {
		const struct prof_site *x = &t->p->sites[i];
		struct stack_sum *sum;
		uint64_t *at;

		if (t->d.sites.row_of_site[i] != row || x->node == 0)
			continue;
		at = map_add(&known, x->node);
		if (*at == 0) {
			sum = vec_add(&sums);
			sum->node = x->node;
			*at = sums.len;
		}
		sum = &sums.data[*at - 1];
		sum->s.live_bytes += x->live_bytes;
		sum->s.live_blocks += x->live_blocks;
		sum->s.var_live_bytes += x->var_live_bytes;
		sum->s.allocs += x->allocs;
		sum->s.frees += x->frees;
	}
	vec_sort(&sums, compare_stacks);
	for (size_t i = 0; i < sums.len && i < TOP_STACKS; i++)
		add_frames(t, &sums.data[i], v);
	if (row < v->rows.len)
		v->open = open;
	v->stacks_left_out =
		sums.len > TOP_STACKS ? (unsigned)(sums.len - TOP_STACKS) : 0;
	map_done(&known);
	vec_done(&sums);
}
