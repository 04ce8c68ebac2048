/* SPDX-License-Identifier: MIT */
/* d->c -- see d->h. */
#include "tool/compat/leaks/leak_demand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/compat/leaks/leak_report.h"
#include "tool/session/leaks/leak_plan.h"
#include "tool/session/load.h"
#include "tool/session/run/save.h"
#include "tool/util/fmt.h"

static enum leak_last_only
only(const struct leak_demand *d)
{
	return d->changed     ? LEAK_LAST_CHANGED
	       : d->increased ? LEAK_LAST_INCREASED
	       : d->only_new  ? LEAK_LAST_NEW
			      : LEAK_LAST_ALL;
}

/* More than this is worth a word beforehand. */
#define PAUSE_TOLD_NS UINT64_C(100000000)

/* How it will be looked at; says so if it takes long. */
static int
plan(const struct leak_demand *d, struct livefile *f, bool json,
     struct leak_plan *ret_plan, struct err *e)
{
	struct buf b = {0};
	int r = leak_plan_make(f, f->pid, ret_plan, e);

	if (r < 0)
		return r;
	if (d->way != NULL) {
		ret_plan->way =
			strcmp(d->way, "copy") == 0 ? LEAKCHECK_COPY : LEAKCHECK_STOP;
		snprintf(ret_plan->why, sizeof ret_plan->why, "--way=%s", d->way);
		leak_plan_expect(ret_plan);
	}
	if (!d->dry_run && leak_plan_check(ret_plan, d->max_stop_ns, e) < 0)
		return -EBUSY;
	if (d->dry_run && json)
		leak_plan_json(ret_plan, f->pid, &b);
	else if (d->dry_run)
		leak_plan_text(ret_plan, f->pid, &b);
	else if (ret_plan->pause_ns > PAUSE_TOLD_NS)
		leak_plan_line(ret_plan, f->pid, &b);
	fputs(buf_str(&b), d->dry_run ? stdout : stderr);
	fflush(d->dry_run ? stdout : stderr);
	buf_done(&b);
	return 0;
}

int
leak_demand_look(struct leak_demand *d, struct leak_opts *l, struct livefile *f,
		 bool json, struct prof *p, struct leakcheck *ret_check, struct err *e)
{
	struct leakcheck_how how = leak_report_how(l);
	struct leak_plan way;
	int r = plan(d, f, json, &way, e);

	d->change.first = true;
	if (r < 0 || d->dry_run)
		return r;
	how.draconian = d->draconian;
	leakcheck_look(f, f->pid, way.way, &how, ret_check);
	if (!ret_check->done)
		return err_set(e, -EIO, "%d: %s", f->pid, ret_check->why);
	return leak_demand_take(d, f, p, ret_check, e);
}

int
leak_demand_take(struct leak_demand *d, struct livefile *f, struct prof *p,
		 struct leakcheck *check, struct err *e)
{
	uint32_t row = p->nprocesses;
	int r = leak_last_compare(f, check, only(d), &d->change, e);

	if (r == 0 && d->figures_fd > STDERR_FILENO)
		dprintf((int)d->figures_fd, "%" PRId64 " %" PRId64 "\n", d->change.bytes,
			d->change.blocks);
	if (r < 0 && only(d) == LEAK_LAST_ALL)
		r = 0; /* nobody asked */
	if (r == 0)
		r = save_load_file(f, p, e);
	if (r == 0) {
		load_look_at(p, f);
		leakcheck_save(check, p, row);
	}
	return r;
}

bool
leak_demand_since(const struct leak_demand *d)
{
	return only(d) != LEAK_LAST_ALL;
}

bool
leak_demand_given(const struct leak_demand *d)
{
	return only(d) != LEAK_LAST_ALL || d->way != NULL || d->dry_run ||
	       d->max_stop_ns != 0;
}

int
leak_demand_check(const struct leak_demand *d, const struct cmd *cmd)
{
	if (d->way != NULL && strcmp(d->way, "copy") != 0 && strcmp(d->way, "stop") != 0)
		return cmd_usage(cmd, "--way: copy or stop");
	if (d->only_new + d->increased + d->changed > 1)
		return cmd_usage(cmd,
				 "--new, --increased and --changed exclude each other");
	return 0;
}

/* ---- afterwards ---- */

bool
leak_demand_nothing(const struct leak_demand *d, const struct leakcheck *c)
{
	if (only(d) == LEAK_LAST_ALL)
		return false;
	for (size_t i = 0; i < c->sites.len; i++) {
		if (c->sites.data[i].kind != CLASSIFY_REACHABLE &&
		    c->sites.data[i].blocks > 0)
			return false;
	}
	return true;
}

/* In milliseconds, finer than fmt_duration: it is what the process pays. */
static struct fmt_str
milliseconds(uint64_t ns)
{
	struct fmt_str t;

	snprintf(t.s, sizeof t.s, ns < 100000000 ? "%.2f ms" : "%.0f ms",
		 (double)ns / 1e6);
	return t;
}

void
leak_demand_end(const struct leak_demand *d, FILE *to, const struct leakcheck *c)
{
	struct buf b = {0};

	if (!d->change.first || only(d) != LEAK_LAST_ALL)
		leak_last_text(&d->change, only(d), &b);
	fputs(buf_str(&b), to);
	buf_done(&b);
	if (c->way == LEAKCHECK_RUNNING) {
		fprintf(to,
			"could not be stopped (%s): checked three times while it ran; "
			"memory allocated in the last second is not judged\n",
			c->instead);
		return;
	}
	if (c->instead[0] != '\0')
		fprintf(to, "could not be copied (%s): the process was stopped instead\n",
			c->instead);
	if (c->passed_over_bytes > 0)
		fprintf(to,
			"not searched: %s of reserved memory; from Linux 6.7 on, its "
			"used part is\n",
			fmt_size(c->passed_over_bytes).s);
	fprintf(to, "stopped %s + %s, %u thread%s, %s blocks; %s\n",
		milliseconds(c->stop_ns).s, milliseconds(c->pause_ns).s, c->threads,
		c->threads == 1 ? "" : "s", fmt_count(c->nblocks).s,
		c->way == LEAKCHECK_COPY ? "checked on a copy" : "checked while stopped");
}
