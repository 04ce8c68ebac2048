/* SPDX-License-Identifier: MIT */
/* report_procs.c -- the processes of a run: how they ended and what they left.
 *
 * Those without a finding are folded into one line for each kind, the others are named. */
#include <stdlib.h>

#include "analyze/choose.h"
#include "render/figure.h"
#include "render/report_impl.h"
#include "util/vec.h"

/* Processes that are named one by one before the rest is only counted. */
enum { REPORT_PROCESSES = 10 };

void
report_process(struct report *r, uint32_t process)
{
	figure_text(r->out, choose_process_name(r->p, process).s);
	buf_printf(r->out, " (%u)", r->p->processes[process].pid);
}

/* How a process ended, "exited 0". */
static void
report_end(struct report *r, const struct prof_process *pr)
{
	switch (pr->end) {
	case PROF_END_RUNNING:
		buf_printf(r->out, "running for %s", figure_ms(pr->duration_ms).s);
		if (pr->paused)
			buf_add_str(r->out, ", recording paused");
		return;
	case PROF_END_EXITED:
		if (pr->status >= 0)
			buf_printf(r->out, "exited %d", pr->status);
		else
			buf_add_str(r->out, "exited, status not known,");
		break;
	case PROF_END_SIGNAL:
		buf_printf(r->out, "killed by %s", figure_signal(pr->status).s);
		break;
	case PROF_END_EXEC:
		buf_add_str(r->out, "replaced by exec");
		break;
	default:
		buf_add_str(r->out, pr->exit_ms != 0 ? "exited, status not known,"
						     : "gone, how is not known,");
	}
	buf_printf(r->out, " after %s", figure_ms(pr->duration_ms).s);
}

void
report_amount(struct report *r, const struct verdict_figures *f, bool places)
{
	double var = f->live_samples > 0 ? (double)f->blocks * (double)f->blocks /
						   (double)f->live_samples
					 : 0;

	buf_printf(r->out, "%s%s in %s", f->var_bytes > 0 ? "about " : "",
		   figure_bytes(f->bytes, f->var_bytes, r->o->bytes).s,
		   figure_things(f->blocks, var, "block").s);
	if (places)
		buf_printf(r->out, " at %s", figure_things(f->places, 0, "place").s);
}

static void
report_not_recorded(struct report *r)
{
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (!report_chose(r, i) || r->p->processes[i].not_recorded == 0)
			continue;
		report_process(r, i);
		buf_add_str(r->out, " not recorded: ");
		figure_text(r->out, prof_text(r->p, r->p->processes[i].not_recorded));
		buf_add_char(r->out, '\n');
	}
}

/* Processes that share a verdict that needs no names. */
static void
report_fold(struct report *r, enum verdict_word word, const char *what)
{
	uint32_t n = r->v.count[word];
	int64_t bytes = 0;

	if (n == 0 || (word == r->v.all.word && word != VERDICT_OK))
		return;
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (report_chose(r, i) && r->v.each[i].word == word)
			bytes += r->v.each[i].bytes;
	}
	buf_printf(r->out, "%u process%s: %s", n, n == 1 ? "" : "es", what);
	if (bytes > 0)
		buf_printf(r->out, ", %s live then",
			   figure_bytes(bytes, 0, r->o->bytes).s);
	buf_add_char(r->out, '\n');
}

/* A process with a finding, and the bytes it is ranked by. */
struct report_rank {
	int64_t bytes;
	uint32_t process;
};

static int
report_compare(const void *pa, const void *pb)
{
	const struct report_rank *a = pa, *b = pb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->process > b->process ? 1 : -1;
}

void
report_processes(struct report *r)
{
	VEC(struct report_rank) found = {0};

	if (r->v.nchosen < 2)
		return;
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (report_chose(r, i) && r->v.each[i].word >= VERDICT_LIVE)
			vec_push(&found, (struct report_rank){r->v.each[i].bytes, i});
	}
	vec_sort(&found, report_compare);
	for (size_t i = 0; i < found.len; i++) {
		uint32_t process = found.data[i].process;

		if (i == REPORT_PROCESSES && !r->o->all) {
			buf_printf(r->out, "%zu more processes with findings (--all)\n",
				   found.len - i);
			break;
		}
		report_process(r, process);
		buf_add_str(r->out, ": ");
		report_amount(r, &r->v.each[process], true);
		buf_add_str(r->out, REPORT_DOT);
		report_end(r, &r->p->processes[process]);
		buf_add_char(r->out, '\n');
	}
	vec_done(&found);
	report_fold(r, VERDICT_OK, "everything freed");
	report_fold(r, VERDICT_HELD,
		    "everything freed, much of it only after exit began");
	report_fold(r, VERDICT_REPLACED, "replaced by exec");
	report_not_recorded(r);
}

void
report_ends(struct report *r)
{
	uint32_t ok = 0, failed = 0, exited = 0, killed = 0, running = 0, replaced = 0,
		 other = 0;
	const struct {
		const uint32_t *n;
		const char *what;
	} kinds[] = {{&ok, "exited 0"},
		     {&failed, "exited otherwise"},
		     {&exited, "exited with a status not known"},
		     {&killed, "killed"},
		     {&running, "running"},
		     {&replaced, "replaced by exec"},
		     {&other, "end not known"}};
	const char *comma = ": ";

	if (r->one != 0) {
		report_end(r, &r->p->processes[r->one]);
		return;
	}
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		const struct prof_process *pr = &r->p->processes[i];

		if (!report_chose(r, i))
			continue;
		if (choose_is_replaced(r->p, i))
			replaced++;
		else if (pr->end == PROF_END_SIGNAL)
			killed++;
		else if (pr->end == PROF_END_RUNNING)
			running++;
		else if (pr->end == PROF_END_EXITED && pr->status >= 0)
			(*(pr->status == 0 ? &ok : &failed))++;
		else
			(*(pr->exit_ms != 0 || pr->end == PROF_END_EXITED ? &exited
									  : &other))++;
	}
	buf_printf(r->out, "%u processes", r->v.nchosen);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (*kinds[i].n == 0)
			continue;
		buf_printf(r->out, "%s%u %s", comma, *kinds[i].n, kinds[i].what);
		comma = ", ";
	}
}
