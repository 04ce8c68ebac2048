/* SPDX-License-Identifier: MIT */
/* leak_rounds.c -- see leak_rounds.h. */
#include "tool/compat/leaks/leak_rounds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/sites/skip.h"
#include "tool/compat/leaks/leak_report.h"
#include "tool/session/leaks/leak_plan.h"
#include "tool/session/loop.h"
#include "tool/session/names/names.h"
#include "tool/session/run/save.h"
#include "tool/util/clean.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

#define LEAST_NS UINT64_C(100000000)

struct rounds {
	const struct leak_demand *d;
	struct leak_opts *l;
	struct livefile *f;
	bool quiet;
	struct leakcheck last; /* the last check that was made */
	struct loss_watch watch;
	struct map known; /* site -> number of its name + 1 */
	VEC(char *) names;
};

int
leak_rounds_check(const struct leak_rounds *o, const struct leak_demand *d,
		  const struct cmd *cmd)
{
	int status = leak_demand_check(d, cmd);

	if (status == 0 && o->every_ns == 0 && (o->for_ns > 0 || o->count > 0))
		return cmd_usage(cmd, "--for and --count need --every");
	if (status != 0 || o->every_ns == 0)
		return status;
	if (o->every_ns < LEAST_NS)
		return cmd_usage(cmd, "--every: at least 100ms");
	if (d->dry_run || (d->way != NULL && strcmp(d->way, "copy") != 0))
		return cmd_usage(
			cmd, "--every checks copies of the process; remove --way stop "
			     "and --dry-run");
	return 0;
}

/* ---- the line ---- */

/* Where the blocks of a site are allocated. The recording is read for it, so only names
 * that were not needed before are looked up. Borrowed; NULL: not known. */
static const char *
place_of(struct rounds *r, uint32_t site)
{
	uint64_t *number = map_add(&r->known, site);
	struct prof *p;

	if (*number != 0)
		return r->names.data[*number - 1];
	vec_push(&r->names, NULL);
	*number = r->names.len;
	p = prof_new();
	if (save_load_file(r->f, p, NULL) == 0) {
		struct skip *skip;

		names_resolve(p, &(struct names_opts){.pid = r->f->pid});
		skip = skip_new(p, NULL);
		for (uint32_t i = 1; i < p->nsites; i++) {
			struct skip_pos at;
			const struct prof_frame *fr;

			if (p->sites[i].origin != site || p->sites[i].node == 0)
				continue;
			at = skip_first(skip, p->sites[i].node);
			fr = skip_frame(p, at);
			if (fr == NULL || fr->function == 0)
				continue;
			*vec_last(&r->names) =
				fr->line > 0
					? xasprintf("%s %s:%u",
						    prof_text(p, fr->function),
						    file_base(prof_text(p, fr->file)),
						    fr->line)
					: xstrdup(prof_text(p, fr->function));
			break;
		}
		skip_free(skip);
	}
	prof_free(p);
	return *vec_last(&r->names);
}

static void
add_amount(struct buf *out, const char *word, uint64_t blocks, uint64_t bytes)
{
	buf_add_str(out, word);
	if (blocks == 0)
		buf_add_char(out, '0');
	else
		buf_printf(out, "%s in %s block%s", fmt_size(bytes).s,
			   fmt_count(blocks).s, blocks == 1 ? "" : "s");
}

void
leak_rounds_line(struct buf *out, const struct loss_watch *w, const char *place)
{
	const struct loss_watch_round *x = vec_last(&w->rounds);

	buf_printf(out, "%8.1f s  ", (double)x->row.ms / 1e3);
	if (x->why != NULL) {
		buf_printf(out, "no check: %s\n", x->why);
		return;
	}
	add_amount(out, "lost ", x->row.lost_blocks, x->row.lost_bytes);
	add_amount(out, ", possibly ", x->row.possible_blocks, x->row.possible_bytes);
	add_amount(out, " \xc2\xb7 new ", w->new_blocks, w->new_bytes);
	if (place != NULL) {
		buf_add_str(out,
			    w->new_site_bytes < w->new_bytes ? ", most of it " : ": ");
		clean_text(out, place);
	}
	if (x->row.again_blocks > 0)
		add_amount(out, " \xc2\xb7 found again ", x->row.again_blocks,
			   x->row.again_bytes);
	buf_add_char(out, '\n');
}

static void
print_line(struct rounds *r)
{
	struct buf b = {0};

	if (r->quiet)
		return;
	leak_rounds_line(&b, &r->watch,
			 vec_last(&r->watch.rounds)->why == NULL &&
					 r->watch.new_blocks > 0
				 ? place_of(r, r->watch.new_site)
				 : NULL);
	fputs(buf_str(&b), stdout);
	fflush(stdout);
	buf_done(&b);
}

/* ---- the checks ---- */

/* One check, on a copy and within --max-stop. */
static int
check(struct rounds *r, struct leakcheck *ret_found, struct err *e)
{
	struct leakcheck_how how = leak_report_how(r->l);
	struct leak_plan plan;
	int ret = leak_plan_make(r->f, r->f->pid, &plan, e);

	how.draconian = r->d->draconian;
	how.only_copy = true;
	how.lost = loss_watch_lost;
	how.lost_ctx = &r->watch;
	loss_watch_begin(&r->watch);
	if (ret == 0 && plan.way != LEAKCHECK_COPY && r->d->way == NULL)
		ret = err_set(e, -ENOMEM, "%s", plan.why);
	if (ret == 0)
		ret = leak_plan_check(&plan, r->d->max_stop_ns, e);
	if (ret < 0)
		return ret;
	leakcheck_look(r->f, r->f->pid, LEAKCHECK_COPY, &how, ret_found);
	return ret_found->done ? 0 : err_set(e, -EIO, "%s", ret_found->why);
}

static int
round_step(void *ctx, double seconds, struct err *e)
{
	struct rounds *r = ctx;
	struct leakcheck found = {0};
	struct err why = {0};
	int ret;

	(void)seconds;
	(void)e;
	if (!livefile_alive(r->f))
		return LOOP_END;
	ret = check(r, &found, &why);
	if (ret == 0) {
		loss_watch_take(&r->watch, &found, livefile_head(r->f).start_mono_ns,
				r->d->max_stop_ns);
		leakcheck_done(&r->last);
		r->last = found;
		print_line(r);
		return LOOP_GO_ON;
	}
	leakcheck_done(&found);
	if (!livefile_alive(r->f))
		return LOOP_END;
	loss_watch_failed(&r->watch, livefile_age_ms(r->f), why.msg);
	print_line(r);
	return LOOP_GO_ON;
}

static int
take_result(struct rounds *r, struct leak_demand *d, struct prof *p,
	    struct leakcheck *ret_check, struct err *e)
{
	const struct loss_watch_round *last =
		r->watch.rounds.len > 0 ? vec_last(&r->watch.rounds) : NULL;
	uint32_t row = p->nprocesses;
	int ret;

	if (r->watch.made == 0)
		return err_set(e, -EIO, "%d: no check could be made: %s", r->f->pid,
			       last != NULL ? last->why : "it has ended");
	*ret_check = r->last;
	r->last = (struct leakcheck){0};
	ret = leak_demand_take(d, r->f, p, ret_check, e);
	if (ret == 0)
		loss_watch_save(&r->watch, p, row);
	return ret;
}

int
leak_rounds_look(const struct leak_rounds *o, struct leak_demand *d, struct leak_opts *l,
		 struct livefile *f, bool quiet, struct prof *p,
		 struct leakcheck *ret_check, struct err *e)
{
	struct rounds r = {.d = d, .l = l, .f = f, .quiet = quiet};
	struct loop_steps steps = {.every_ns = o->every_ns,
				   .for_ns = o->for_ns,
				   .count = o->count,
				   .step = round_step,
				   .ctx = &r};
	int ret = loop_steps(&steps, e);

	if (ret == 0)
		ret = take_result(&r, d, p, ret_check, e);
	leakcheck_done(&r.last);
	loss_watch_done(&r.watch);
	for (size_t i = 0; i < r.names.len; i++)
		free(r.names.data[i]);
	vec_done(&r.names);
	map_done(&r.known);
	return ret;
}
