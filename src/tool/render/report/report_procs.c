/* SPDX-License-Identifier: MIT */
/* report_procs.c -- the processes of a run: how they ended and what they left.
 *
 * Those without a finding are folded into one line for each kind, those that the report
 * is about are named, and programs that came along with them share a line if they
 * leak. */
#include <stdlib.h>

#include "tool/analyze/sites/choose.h"
#include "tool/render/figure.h"
#include "tool/render/report/report_impl.h"
#include "tool/util/fmt.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

enum {
	REPORT_PROCESSES = 10, /* lines of them before the rest is only counted, */
	REPORT_FEW = 3,	       /* and in a report that must fit on a screen */
	REPORT_SAME = 3,       /* more of one program than this share a line */
	REPORT_OTHERS = 5,     /* programs that the report is not about */
};

#define REPORT_TIMES " \xc3\x97 "

void
report_process(struct report *r, uint32_t process)
{
	clean_text(r->out, choose_process_name(r->p, process).s);
	if (r->p->processes[process].pid != 0)
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
		if (pr->replaced_by != 0) {
			buf_add_str(r->out, "replaced by exec of ");
			clean_text(r->out, prof_text(r->p, pr->replaced_by));
			break;
		}
		buf_add_str(r->out,
			    pr->exit_ms != 0
				    ? "exited, status not known,"
				    : "ended (how is unknown: seep did not wait for it)");
	}
	buf_printf(r->out, " after %s", figure_ms(pr->duration_ms).s);
}

/* Bytes that the verdict is about. */
static int64_t
report_finding(const struct verdict_figures *f)
{
	return verdict_is_leak(f->answer.word) ? verdict_lost(f->loss_bytes) : f->bytes;
}

void
report_amount(struct report *r, const struct verdict_figures *f, bool places)
{
	bool leak = verdict_is_leak(f->answer.word); /* then only that is the finding */

	buf_printf(
		r->out, "%s%s in %s%s", f->var_bytes > 0 ? "about " : "",
		figure_bytes(report_finding(f), leak ? 0 : f->var_bytes, r->o->bytes).s,
		figure_things(leak ? verdict_lost(f->loss_blocks) : f->blocks,
			      leak ? 0 : f->var_blocks, "block")
			.s,
		leak ? " lost" : "");
	if (places)
		buf_printf(r->out, " at %s", figure_things(f->places, 0, "site").s);
}

/* The programs that were not recorded for the same reason as process `first`.
 * `processes`: how many are of a program and a reason; 0 afterwards. */
static void
report_not_recorded_like(struct report *r, uint32_t first, struct map *processes)
{
	uint32_t reason = r->p->processes[first].not_recorded, named = 0, more = 0;

	for (uint32_t i = first; i < r->p->nprocesses; i++) {
		const struct prof_process *pr = &r->p->processes[i];
		uint64_t *n, same;

		if (!report_chose(r, i) || pr->not_recorded != reason)
			continue;
		n = map_find(processes, (uint64_t)pr->exe << 32 | reason);
		same = *n;
		*n = 0;
		if (same == 0)
			continue;
		if (named == REPORT_OTHERS && !r->o->all) {
			more++;
			continue;
		}
		buf_add_str(r->out, named++ > 0 ? ", " : "");
		if (same == 1) {
			report_process(r, i);
		} else {
			clean_text(r->out, choose_process_name(r->p, i).s);
			buf_printf(r->out, REPORT_TIMES "%s", fmt_count(same).s);
		}
	}
	if (more > 0)
		buf_printf(r->out, " and %s more (--all)",
			   figure_things(more, 0, "program").s);
	buf_add_str(r->out, " not recorded: ");
	clean_text(r->out, prof_text(r->p, reason));
	buf_add_char(r->out, '\n');
}

/* A line for each reason why programs were not recorded. */
static void
report_not_recorded(struct report *r)
{
	struct map processes = {0};

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		const struct prof_process *pr = &r->p->processes[i];

		if (report_chose(r, i) && pr->not_recorded != 0)
			++*map_add(&processes,
				   (uint64_t)pr->exe << 32 | pr->not_recorded);
	}
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		const struct prof_process *pr = &r->p->processes[i];

		if (report_chose(r, i) && pr->not_recorded != 0 &&
		    *map_find(&processes, (uint64_t)pr->exe << 32 | pr->not_recorded) > 0)
			report_not_recorded_like(r, i, &processes);
	}
	map_done(&processes);
}

/* Has nothing been found against it, and is it not among those that the report is
 * about? */
static bool
report_is_quiet(const struct report *r, uint32_t i)
{
	const struct verdict_answer *a = &r->v.each[i].answer;

	if (r->v.state[i] != VERDICT_JUDGED)
		return false;
	/* One that hardly allocated, beside others that did. */
	if (a->why == VERDICT_WHY_FEW_SAMPLES &&
	    r->v.all.answer.why != VERDICT_WHY_FEW_SAMPLES)
		return r->v.each[i].bytes == 0 || r->v.all.answer.word <= VERDICT_STEADY;
	return a->word <= VERDICT_STEADY;
}

/* "no leak, 1.05 MiB still reachable": only where leaks were looked for it is known what
 * is reachable. */
static void
report_no_finding(struct report *r, bool checked, bool few, bool runs, int64_t bytes)
{
	bool partial = r->v.all.answer.word == VERDICT_PARTIAL;

	buf_add_str(r->out, checked	       ? "no leak"
			    : bytes > 0 || few ? "no finding"
					       : "everything freed");
	if (partial)
		buf_add_str(r->out, " in what was recorded");
	if (bytes > 0)
		buf_printf(r->out, ", %s %s", figure_bytes(bytes, 0, r->o->bytes).s,
			   checked ? "still reachable"
			   : runs  ? "live"
				   : "not freed");
}

/* A line for processes without a finding, or for those replaced by exec. */
static void
report_fold(struct report *r, enum verdict_state state)
{
	bool checked = true, few = false, runs = false;
	int64_t bytes = 0;
	uint32_t n = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (!report_chose(r, i) || r->v.state[i] != state ||
		    (state == VERDICT_JUDGED && !report_is_quiet(r, i)))
			continue;
		n++;
		bytes += r->v.each[i].bytes;
		checked = checked && r->v.each[i].checked;
		few = few || r->v.each[i].answer.why == VERDICT_WHY_FEW_SAMPLES;
		runs = runs || r->p->processes[i].end == PROF_END_RUNNING;
	}
	if (n == 0)
		return;
	buf_printf(r->out, "%u process%s: ", n, n == 1 ? "" : "es");
	if (state == VERDICT_JUDGED)
		report_no_finding(r, checked, few, runs, bytes);
	else
		buf_add_str(r->out, "replaced by exec");
	if (state != VERDICT_JUDGED && bytes > 0)
		buf_printf(r->out, ", %s live then",
			   figure_bytes(bytes, 0, r->o->bytes).s);
	buf_add_char(r->out, '\n');
}

/* A process with a finding; those of one program stand together. */
struct report_rank {
	int64_t bytes, program_bytes;
	uint64_t program; /* the same for all of them that are, or are not, in focus */
	uint32_t process, processes;
	bool focus;
};

struct report_ranks VEC_BODY(struct report_rank);

static int
report_compare(const void *pa, const void *pb)
{
	const struct report_rank *a = pa, *b = pb;

	if (a->focus != b->focus)
		return a->focus ? -1 : 1;
	if (a->program_bytes != b->program_bytes)
		return a->program_bytes > b->program_bytes ? -1 : 1;
	if (a->program != b->program)
		return a->program > b->program ? 1 : -1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->process > b->process ? 1 : -1;
}

/* Processes with a finding, the programs in focus first, then by bytes. */
static void
report_rank_processes(const struct report *r, struct report_ranks *ret)
{
	struct map bytes = {0}, processes = {0};

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		uint64_t program = (uint64_t)r->p->processes[i].exe << 1 | r->focus[i];

		if (!report_chose(r, i) || r->v.state[i] != VERDICT_JUDGED ||
		    report_is_quiet(r, i))
			continue;
		vec_push(ret, (struct report_rank){.bytes = report_finding(&r->v.each[i]),
						   .process = i,
						   .program = program,
						   .focus = r->focus[i]});
		*map_add(&bytes, program) += (uint64_t)report_finding(&r->v.each[i]);
		++*map_add(&processes, program);
	}
	for (size_t i = 0; i < ret->len; i++) {
		struct report_rank *a = &ret->data[i];

		a->program_bytes = (int64_t)*map_find(&bytes, a->program);
		a->processes = (uint32_t)*map_find(&processes, a->program);
	}
	map_done(&bytes);
	map_done(&processes);
	vec_sort(ret, report_compare);
}

/* Did a process of this program lose memory? */
static bool
report_leaks(const struct report *r, const struct report_rank *first)
{
	for (uint32_t i = 0; i < first->processes; i++) {
		if (verdict_is_leak(r->v.each[first[i].process].answer.word))
			return true;
	}
	return false;
}

/* Appends "cc1 × 8: 14.8 MiB in 21,905 blocks" for the processes of one program. */
static void
report_program(struct report *r, const struct report_rank *first)
{
	struct verdict_figures sum = {0};

	for (uint32_t i = 0; i < first->processes; i++) {
		const struct verdict_figures *f = &r->v.each[first[i].process];

		sum.bytes += report_finding(f);
		sum.blocks += verdict_is_leak(f->answer.word)
				      ? verdict_lost(f->loss_blocks)
				      : f->blocks;
		sum.var_bytes += f->var_bytes;
		sum.var_blocks += f->var_blocks;
	}
	if (first->processes == 1) {
		report_process(r, first->process);
	} else {
		clean_text(r->out, choose_process_name(r->p, first->process).s);
		buf_printf(r->out, REPORT_TIMES "%u", first->processes);
	}
	buf_add_str(r->out, ": ");
	report_amount(r, &sum, false);
}

/* A line for each process in focus that left something, or for each program that many
 * ran. */
static size_t
report_in_focus(struct report *r, const struct report_ranks *found)
{
	unsigned lines = 0, most = report_must_fit(r) ? REPORT_FEW : REPORT_PROCESSES;
	size_t i = 0;

	while (i < found->len && found->data[i].focus) {
		const struct report_rank *a = &found->data[i];

		/* The few sites of a minor leak name their processes themselves. */
		if (report_lead(r) == VERDICT_LEAK_MINOR && !r->o->all) {
			i++;
			continue;
		}
		if (lines++ == most && !r->o->all) {
			size_t rest = i;

			while (rest < found->len && found->data[rest].focus)
				rest++;
			buf_printf(r->out, "%zu more processes with findings (--all)\n",
				   rest - i);
			return rest;
		}
		if (a->processes > REPORT_SAME && !r->o->all) {
			report_program(r, a);
			buf_add_char(r->out, '\n');
			i += a->processes;
			continue;
		}
		report_process(r, a->process);
		buf_add_str(r->out, ": ");
		report_amount(r, &r->v.each[a->process], true);
		buf_add_str(r->out, REPORT_DOT);
		report_end(r, &r->p->processes[a->process]);
		buf_add_char(r->out, '\n');
		i++;
	}
	return i;
}

/* Programs that the list of sites leaves out: how many leak, and which; the rest is
 * counted. */
static void
report_beside_focus(struct report *r, const struct report_ranks *found, size_t i)
{
	unsigned programs = 0, undecided = 0, shown = 0;

	for (size_t k = i; k < found->len; k += found->data[k].processes) {
		if (report_leaks(r, &found->data[k]))
			programs++;
		else
			undecided += found->data[k].processes;
	}
	if (programs > 0)
		buf_printf(r->out, "%u other program%s:", programs,
			   programs == 1 ? " leaks" : "s leak");
	for (; i < found->len && shown < REPORT_OTHERS; i += found->data[i].processes) {
		if (!report_leaks(r, &found->data[i]))
			continue;
		buf_add_str(r->out, shown++ > 0 ? ", " : " ");
		report_program(r, &found->data[i]);
	}
	if (programs > shown)
		buf_printf(r->out, ", %u more", programs - shown);
	if (programs > 0)
		buf_add_str(r->out, " (--process NAME lists their sites)\n");
	if (undecided > 0)
		buf_printf(r->out, "%u process%s of other programs: no verdict\n",
			   undecided, undecided == 1 ? "" : "es");
}

void
report_processes(struct report *r)
{
	struct report_ranks found = {0};

	if (r->v.nchosen < 2)
		return;
	report_rank_processes(r, &found);
	report_beside_focus(r, &found, report_in_focus(r, &found));
	vec_done(&found);
	report_fold(r, VERDICT_JUDGED);
	report_fold(r, VERDICT_REPLACED);
	report_not_recorded(r);
}

void
report_ends(struct report *r)
{
	uint32_t ok = 0, failed = 0, exited = 0, killed = 0, running = 0, replaced = 0,
		 unseen = 0, other = 0, quiet = (uint32_t)report_quiet(r);
	const char *nothing = r->sampled ? "had no sample" : "allocated nothing";
	const struct {
		const uint32_t *n;
		const char *what;
	} kinds[] = {{&ok, "exited 0"},
		     {&failed, "exited otherwise"},
		     {&exited, "exited with a status not known"},
		     {&killed, "killed"},
		     {&running, "running"},
		     {&replaced, "replaced by exec"},
		     {&unseen, "not recorded"},
		     {&quiet, nothing},
		     {&other, "end not known"}};
	const char *comma = ": ";

	if (r->one != 0) {
		report_end(r, &r->p->processes[r->one]);
		if (quiet > 0)
			buf_printf(r->out, "; %u forked child%s %s", quiet,
				   quiet == 1 ? "" : "ren", nothing);
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
		else if (pr->not_recorded != 0)
			unseen++;
		else
			(*(pr->exit_ms != 0 || pr->end == PROF_END_EXITED ? &exited
									  : &other))++;
	}
	buf_printf(r->out, "%u processes", r->v.nchosen + quiet);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (*kinds[i].n == 0)
			continue;
		buf_printf(r->out, "%s%u %s", comma, *kinds[i].n, kinds[i].what);
		comma = ", ";
	}
}
