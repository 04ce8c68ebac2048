/* SPDX-License-Identifier: MIT */
/* judge.c -- see judge.h. */
#include "tool/analyze/verdict/judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/analyze/process/managed.h"
#include "tool/analyze/verdict/report_data.h"
#include "tool/model/loss_kinds.h"
#include "tool/util/cmdline/opt.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

/* ---- conditions ---- */

/* Of the figures that are about losses the name is a kind, or leak for definite and
 * indirect ones, or lost for possible ones too, with one of these behind it. */
static const struct {
	const char *name, *unit;
} judge_units[] = {{"-blocks", "block"}, {"-bytes", NULL}, {"-records", "loss record"}};

static const struct {
	const char *name;
	size_t off;	  /* in struct judge_figures */
	const char *unit; /* of one; NULL = bytes */
	const char *words;
} judge_others[] = {
	{"peak", offsetof(struct judge_figures, peak_bytes), NULL, "at the peak"},
	{"rss", offsetof(struct judge_figures, rss_bytes), NULL, "of RSS at its peak"},
	{"left", offsetof(struct judge_figures, left_blocks), "block", "not freed"},
	{"left-blocks", offsetof(struct judge_figures, left_blocks), "block",
	 "not freed"},
	{"left-bytes", offsetof(struct judge_figures, left_bytes), NULL, "not freed"},
	{"growth", offsetof(struct judge_figures, growth), "site", "growing like a leak"},
	{"errors", offsetof(struct judge_figures, errors), "error", "reported"},
	{"wrong", offsetof(struct judge_figures, wrong), "site",
	 "using the heap wrongly"},
	{"allocs", offsetof(struct judge_figures, allocs), "allocation", "made"},
	{"allocated", offsetof(struct judge_figures, allocated_bytes), NULL, "allocated"},
};

static const struct {
	const char *sign;
	enum judge_op op;
} judge_ops[] = {
	{">=", JUDGE_GE}, {"<=", JUDGE_LE}, {"==", JUDGE_EQ}, {"!=", JUDGE_NE},
	{">", JUDGE_GT},  {"<", JUDGE_LT},  {"=", JUDGE_EQ},
};

static uint64_t
judge_of_kind(const struct judge_figures *f, unsigned kind, unsigned unit)
{
	return unit == 0   ? f->losses.blocks[kind]
	       : unit == 1 ? f->losses.bytes[kind]
			   : f->records[kind];
}

/* Fills in value, unit and words of the figure of that name; false when there is none. */
static bool
judge_value(const char *name, const struct judge_figures *f, struct judge_condition *c)
{
	const char *dash = strchr(name, '-');
	size_t n = dash != NULL ? (size_t)(dash - name) : strlen(name);
	unsigned unit = 0;

	for (size_t i = 0; i < ARRAY_LEN(judge_others); i++) {
		if (strcmp(name, judge_others[i].name) == 0) {
			c->value = *(const uint64_t *)((const char *)f +
						       judge_others[i].off);
			c->unit = judge_others[i].unit;
			c->words = judge_others[i].words;
			if (strcmp(name, "errors") == 0)
				c->kinds = JUDGE_WRONG | (JUDGE_WRONG - 1);
			if (strcmp(name, "wrong") == 0)
				c->kinds = JUDGE_WRONG;
			return true;
		}
	}
	while (dash != NULL && unit < ARRAY_LEN(judge_units) &&
	       strcmp(dash, judge_units[unit].name) != 0)
		unit++;
	if (unit == ARRAY_LEN(judge_units))
		return false;
	c->unit = judge_units[unit].unit;
	if (n == 4 && (strncmp(name, "lost", 4) == 0 || strncmp(name, "leak", 4) == 0)) {
		c->value = judge_of_kind(f, PROF_LOSS_DEFINITE, unit) +
			   judge_of_kind(f, PROF_LOSS_INDIRECT, unit);
		c->words = "definitely or indirectly lost";
		c->kinds = 1u << PROF_LOSS_DEFINITE | 1u << PROF_LOSS_INDIRECT;
		if (name[1] == 'o') {
			c->value += judge_of_kind(f, PROF_LOSS_POSSIBLE, unit);
			c->words = "definitely, indirectly or possibly lost";
			c->kinds |= 1u << PROF_LOSS_POSSIBLE;
		}
		return true;
	}
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		if (strlen(loss_kind_names[i]) == n &&
		    strncmp(name, loss_kind_names[i], n) == 0) {
			c->value = judge_of_kind(f, i, unit);
			c->words = loss_kind_words[i];
			c->kinds = 1u << i;
			return true;
		}
	}
	return false;
}

static bool
judge_is_losses(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(judge_others); i++) {
		if (strcmp(name, judge_others[i].name) == 0)
			return strcmp(name, "errors") == 0;
	}
	return true;
}

/* One condition, of `n` characters. */
static int
judge_read_one(struct judge *g, const char *text, size_t n, struct err *e)
{
	static const struct judge_figures none;
	struct judge_condition c = {0};
	size_t to = 0, name, sign = 0;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == ' ' || text[i] == '\t')
			continue;
		if (to == sizeof c.text - 1)
			return err_set(e, -EINVAL, "\"%.*s\": too long",
				       (int)(n < 80 ? n : 80), text);
		c.text[to++] = text[i];
	}
	/* "leak" alone is "leak>0". */
	if (to > 0 && strcspn(c.text, "<>=!") == to && to + 2 < sizeof c.text)
		memcpy(c.text + to, ">0", 3);
	name = strcspn(c.text, "<>=!");
	while (sign < ARRAY_LEN(judge_ops) && strncmp(c.text + name, judge_ops[sign].sign,
						      strlen(judge_ops[sign].sign)) != 0)
		sign++;
	if (name == 0 || sign == ARRAY_LEN(judge_ops))
		return err_set(e, -EINVAL,
			       "\"%s\": want a condition such as leak or peak>200M",
			       c.text);
	c.op = judge_ops[sign].op;
	if (opt_size(c.text + name + strlen(judge_ops[sign].sign), &c.limit) < 0)
		return err_set(e, -EINVAL, "\"%s\": want a number behind the %s", c.text,
			       judge_ops[sign].sign);
	c.text[name] = '\0';
	c.losses = judge_is_losses(c.text);
	if (!judge_value(c.text, &none, &c)) {
		struct buf b = {0};

		judge_names(&b);
		err_set(e, -EINVAL, "\"%s\": no such figure; there are %s", c.text,
			buf_str(&b));
		buf_done(&b);
		return -EINVAL;
	}
	c.text[name] = judge_ops[sign].sign[0];
	vec_push(g, c);
	return 0;
}

void
judge_names(struct buf *out)
{
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++)
		buf_printf(out, "%s, ", loss_kind_names[i]);
	buf_add_str(out, "leak, lost (each also with -bytes or -records behind it)");
	for (size_t i = 0; i < ARRAY_LEN(judge_others); i++)
		buf_printf(out, ", %s", judge_others[i].name);
}

int
judge_read(struct judge *ret_judge, const char *text, struct err *e)
{
	for (;;) {
		size_t n = strcspn(text, ",");
		int r = judge_read_one(ret_judge, text, n, e);

		if (r < 0)
			return r;
		if (text[n] == '\0')
			return 0;
		text += n + 1;
	}
}

static bool
judge_holds(enum judge_op op, uint64_t a, uint64_t b)
{
	switch (op) {
	case JUDGE_GT:
		return a > b;
	case JUDGE_GE:
		return a >= b;
	case JUDGE_LT:
		return a < b;
	case JUDGE_LE:
		return a <= b;
	case JUDGE_EQ:
		return a == b;
	case JUDGE_NE:
		break;
	}
	return a != b;
}

unsigned
judge_all(struct judge *g, const struct judge_figures *f)
{
	unsigned met = 0;

	for (size_t i = 0; i < g->len; i++) {
		struct judge_condition *c = &g->data[i];
		char name[sizeof c->text];

		snprintf(name, sizeof name, "%.*s", (int)strcspn(c->text, "<>=!"),
			 c->text);
		judge_value(name, f, c);
		c->met = judge_holds(c->op, c->value, c->limit);
		met += c->met;
	}
	return met;
}

void
judge_words(struct buf *out, const struct judge_condition *c)
{
	buf_add_str(out, c->more ? "+" : "");
	if (c->unit != NULL)
		buf_printf(out, "%s %s%s", fmt_count(c->value).s, c->unit,
			   c->value == 1 ? "" : "s");
	else if (c->value < 1024)
		buf_printf(out, "%s byte%s", fmt_count(c->value).s,
			   c->value == 1 ? "" : "s");
	else
		buf_printf(out, "%s (%s bytes)", fmt_size(c->value).s,
			   fmt_count(c->value).s);
	buf_printf(out, " %s%s", c->words, c->more ? " since the baseline" : "");
}

/* ---- figures ---- */

void
judge_places_add(struct judge_places *g, const char *key, unsigned kind, uint64_t blocks,
		 uint64_t bytes)
{
	uint32_t id = strtab_add(&g->keys, key);

	while (g->rows.len <= id)
		vec_add(&g->rows);
	g->rows.data[id].blocks[kind] += blocks;
	g->rows.data[id].bytes[kind] += bytes;
}

void
judge_places_done(struct judge_places *g)
{
	strtab_done(&g->keys);
	vec_done(&g->rows);
}

void
judge_key(const struct prof *p, const struct skip *s, uint32_t node, struct buf *ret_key)
{
	struct skip_pos pos = skip_first(s, node);

	buf_clear(ret_key);
	do {
		const struct prof_frame *f = skip_frame(p, pos);
		uint32_t name = f == NULL	  ? 0
				: f->linkage != 0 ? f->linkage
						  : f->function;

		buf_printf(ret_key, "%s%s", ret_key->len > 0 ? ";" : "",
			   name != 0 ? prof_text(p, name) : "?");
	} while (skip_next(s, &pos));
}

static void
judge_sum_process(const struct prof *p, const struct skip *s, uint32_t process,
		  const struct loss_opts *o, struct judge_figures *f)
{
	const struct prof_process *pr = &p->processes[process];
	struct loss_opts judged = *o;
	struct loss_records r;

	judged.judged = true;
	loss_records_init(&r, p, s, process, &judged);
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		f->losses.blocks[i] += r.blocks[i];
		f->losses.bytes[i] += r.bytes[i];
	}
	for (size_t i = 0; i < r.rows.len; i++)
		f->records[r.rows.data[i].suppressed ? PROF_LOSS_SUPPRESSED
						     : r.rows.data[i].kind]++;
	f->allocs += r.allocs;
	f->allocated_bytes += r.alloc_bytes;
	loss_records_done(&r);
	if (pr->peak_bytes > 0 && (uint64_t)pr->peak_bytes > f->peak_bytes)
		f->peak_bytes = (uint64_t)pr->peak_bytes;
	if (pr->rss_peak_kib << 10 > f->rss_bytes)
		f->rss_bytes = pr->rss_peak_kib << 10;
}

/* Sites that make the verdict LEAK or LEAK likely. */
static uint64_t
judge_growth(const struct prof *p, const struct skip *s, const bool *chosen)
{
	const struct report_query q = {.chosen = chosen, .everyone = true};
	struct report_data d;
	bool *counted;
	uint64_t n = 0;

	report_data_init(&d, p, s, &q);
	counted = xcalloc(d.growth_sites.nrows + 1, sizeof *counted);
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct verdict_figures *f = &d.v.each[i];
		unsigned words = f->answer.also | 1u << f->answer.word;

		if ((chosen != NULL && !chosen[i]) || d.v.state[i] != VERDICT_JUDGED)
			continue;
		if ((words >> VERDICT_LEAK & 1) != 0)
			n += f->places;
		for (uint32_t k = 0;
		     (words >> VERDICT_LEAK_LIKELY & 1) != 0 && k < d.growth.nparts;
		     k++) {
			const struct growth_part *x = &d.growth.parts[k];

			if (x->process != i || x->word != GROWTH_LEAK || counted[x->row])
				continue;
			counted[x->row] = true;
			n++;
		}
	}
	free(counted);
	report_data_done(&d);
	return n;
}

void
judge_sum(const struct prof *p, const struct skip *s, const bool *chosen,
	  const struct loss_opts *o, struct judge_figures *ret_figures,
	  struct judge_places *ret_places)
{
	const struct runtime_info **managed = managed_losses(p, s);
	struct buf key = {0};

	*ret_figures = (struct judge_figures){.growth = judge_growth(p, s, chosen)};
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (chosen == NULL || chosen[i])
			judge_sum_process(p, s, i, o, ret_figures);
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *x = &p->sites[i];

		if ((chosen != NULL && !chosen[x->process]) || x->live_blocks <= 0 ||
		    skip_kept_by_libc(s, x) != NULL)
			continue;
		ret_figures->left_blocks += (uint64_t)x->live_blocks;
		ret_figures->left_bytes += (uint64_t)x->live_bytes;
	}
	for (uint32_t i = 0; i < p->nerrors; i++) {
		if (!p->errors[i].suppressed &&
		    (chosen == NULL || chosen[p->errors[i].process]))
			ret_figures->wrong++;
	}
	for (uint32_t i = 0; ret_places != NULL && i < p->nlosses; i++) {
		const struct prof_loss *l = &p->losses[i];
		const struct prof_site *x = &p->sites[l->site];

		if ((chosen != NULL && !chosen[x->process]) || x->node == 0 ||
		    managed[i] != NULL || skip_kept_by_libc(s, x) != NULL)
			continue;
		judge_key(p, s, x->node, &key);
		judge_places_add(ret_places, buf_str(&key), l->known ? l->was : l->kind,
				 l->blocks, l->bytes);
	}
	free(managed);
	buf_done(&key);
}

static uint64_t
judge_more(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* As judge_more, by kind. */
static void
judge_more_kinds(const uint64_t *now, const uint64_t *before, uint64_t *ret_more)
{
	static const unsigned other[] = {[PROF_LOSS_DEFINITE] = PROF_LOSS_INDIRECT,
					 [PROF_LOSS_INDIRECT] = PROF_LOSS_DEFINITE};

	for (unsigned k = 0; k < PROF_LOSS_KINDS; k++) {
		ret_more[k] = judge_more(now[k], before[k]);
		if (k <= PROF_LOSS_INDIRECT)
			ret_more[k] = judge_more(
				ret_more[k], judge_more(before[other[k]], now[other[k]]));
	}
}

/* How many blocks are new where they are larger than before: as many as have the bytes
 * that are more. A few more blocks explain as many bytes, unless all of them are twice as
 * large. */
static uint64_t
judge_larger(const struct judge_losses *now, const struct judge_losses *base, unsigned k,
	     const struct judge_losses *more)
{
	double blocks = (double)now->blocks[k], bytes = (double)now->bytes[k];

	if (more->bytes[k] == 0 ||
	    (more->blocks[k] > 0 &&
	     bytes * (double)base->blocks[k] < 2 * blocks * (double)base->bytes[k]))
		return more->blocks[k];
	blocks = ceil(blocks * (double)more->bytes[k] / bytes);
	return blocks > (double)more->blocks[k] ? (uint64_t)blocks : more->blocks[k];
}

struct judge_losses
judge_more_losses(const struct judge_losses *now, const struct judge_losses *base)
{
	struct judge_losses more = {0};

	judge_more_kinds(now->blocks, base->blocks, more.blocks);
	judge_more_kinds(now->bytes, base->bytes, more.bytes);
	for (unsigned k = 0; k < PROF_LOSS_KINDS; k++)
		more.blocks[k] = judge_larger(now, base, k, &more);
	return more;
}

const struct judge_losses *
judge_places_find(const struct judge_places *g, const char *key, size_t len)
{
	uint32_t at;

	if (!strtab_find(&g->keys, key, len, &at) || at >= g->rows.len)
		return NULL;
	return &g->rows.data[at];
}

void
judge_subtract(struct judge_figures *f, struct judge_places *now,
	       const struct judge_figures *base_f, const struct judge_places *base)
{
	static const struct judge_losses none;

	f->losses = none;
	memset(f->records, 0, sizeof f->records);
	for (uint32_t id = 0; id < now->rows.len; id++) {
		struct judge_losses *x = &now->rows.data[id];
		const struct judge_losses *b = judge_places_find(
			base, strtab_str(&now->keys, id), strtab_len(&now->keys, id));

		*x = judge_more_losses(x, b != NULL ? b : &none);
		for (unsigned k = 0; k < PROF_LOSS_KINDS; k++) {
			f->losses.blocks[k] += x->blocks[k];
			f->losses.bytes[k] += x->bytes[k];
			f->records[k] += x->blocks[k] > 0 || x->bytes[k] > 0;
		}
	}
	f->peak_bytes = judge_more(f->peak_bytes, base_f->peak_bytes);
	f->rss_bytes = judge_more(f->rss_bytes, base_f->rss_bytes);
	f->left_bytes = judge_more(f->left_bytes, base_f->left_bytes);
	f->left_blocks = judge_more(f->left_blocks, base_f->left_blocks);
	f->allocs = judge_more(f->allocs, base_f->allocs);
	f->allocated_bytes = judge_more(f->allocated_bytes, base_f->allocated_bytes);
	f->wrong = judge_more(f->wrong, base_f->wrong);
	f->growth = judge_more(f->growth, base_f->growth);
}
