/* SPDX-License-Identifier: MIT */
/* leak_report.c -- see leak_report.h. */
#include "tool/cli/leak_report.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/verdict/focus.h"
#include "tool/analyze/verdict/suppress_match.h"
#include "tool/cli/leak_gate.h"
#include "tool/cli/leak_opts.h"
#include "tool/cli/lsan_opts.h"
#include "tool/model/loss_kinds.h"
#include "tool/render/figure.h"
#include "tool/render/leak_xml.h"
#include "tool/render/lsan.h"
#include "tool/render/memcheck_errors.h"
#include "tool/render/sarif.h"
#include "tool/session/log_name.h"
#include "tool/session/names/names.h"
#include "tool/session/out_file.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

#ifndef SEEP_VERSION
#	define SEEP_VERSION "unknown"
#endif

static unsigned met;	  /* conditions of --fail-on */
static bool baseline;	  /* there is one, and what it has is marked */
static bool *focus;	  /* for every process: verdict and exit status are about it */
static bool file_failed;  /* a file could not be written */
static struct skip *skip; /* made while names are short: rules are written for those */
static struct memcheck_errors wrong; /* uses of the heap */

/* ---- suppressions ---- */

static void
suppress_record(struct prof *p, const struct loss_records *rs,
		const struct loss_record *r)
{
	for (uint32_t i = r->first; i != UINT32_MAX; i = rs->next[i]) {
		p->losses[i].was = p->losses[i].kind;
		p->losses[i].kind = PROF_LOSS_SUPPRESSED;
	}
}

static void
suppress_error(const struct prof *p, struct prof_error *e, struct loss_stack *stack)
{
	enum suppress_about about = memcheck_errors_about(e);
	size_t at = SIZE_MAX;

	if (about != SUPPRESS_OTHER && e->at != 0) {
		loss_stack(p, e->process, e->at, memcheck_errors_called(e),
			   leak_given.records.callers, stack);
		at = suppress_find(&leak_given.set, about, UINT_MAX, stack);
	}
	if (at == SIZE_MAX)
		return;
	suppress_used(&leak_given.set, at)->count += e->count - 1;
	e->suppressed = true;
}

static void
suppress_process(struct prof *p, const struct skip *s, uint32_t process)
{
	struct suppress_set *set = &leak_given.set;
	struct loss_records rs;
	struct loss_stack stack = {0};

	loss_records_init(&rs, p, s, process, &leak_given.records);
	for (size_t i = 0; i < rs.rows.len; i++) {
		const struct loss_record *r = &rs.rows.data[i];
		struct suppress *used;
		size_t at;

		if (r->suppressed)
			continue;
		loss_stack(p, process, p->sites[r->site].node, prof_text(p, r->called),
			   leak_given.records.callers, &stack);
		at = suppress_find(set, SUPPRESS_LEAK, 1u << r->kind, &stack);
		if (at == SIZE_MAX)
			continue;
		used = suppress_used(set, at);
		used->bytes += r->bytes;
		used->indirect_bytes += r->indirect_bytes;
		used->blocks += r->blocks;
		suppress_record(p, &rs, r);
	}
	for (uint32_t i = 0; i < p->nerrors; i++) {
		if (p->errors[i].process == process)
			suppress_error(p, &p->errors[i], &stack);
	}
	loss_stack_done(&stack);
	loss_records_done(&rs);
}

static bool
is_loss_of(const struct prof *p, const struct prof_loss *l, uint32_t pid, uint32_t origin)
{
	const struct prof_site *s = &p->sites[l->site];

	return s->origin == origin && p->processes[s->process].pid == pid;
}

/* LeakSanitizer follows what it suppresses: blocks that are lost because of such a block are no leaks either. */
static void
suppress_below(struct prof *p, const struct lsan_below *d)
{
	bool hidden = false;

	for (uint32_t i = 0; i < p->nlosses && !hidden; i++)
		hidden = p->losses[i].kind == PROF_LOSS_SUPPRESSED &&
			 p->losses[i].was == PROF_LOSS_DEFINITE &&
			 is_loss_of(p, &p->losses[i], d->pid, d->by);
	for (uint32_t i = 0; i < p->nlosses && hidden; i++) {
		struct prof_loss *l = &p->losses[i];

		if (l->kind != PROF_LOSS_INDIRECT || !is_loss_of(p, l, d->pid, d->origin))
			continue;
		l->blocks -= d->blocks < l->blocks ? d->blocks : l->blocks;
		l->bytes -= d->bytes < l->bytes ? d->bytes : l->bytes;
		if (l->blocks == 0) {
			l->was = l->kind;
			l->kind = PROF_LOSS_SUPPRESSED;
		}
		return;
	}
}

void
leak_report_suppress(struct prof *p, const struct skip *s)
{
	for (uint32_t i = 1; leak_given.set.all.len > 0 && i < p->nprocesses; i++)
		suppress_process(p, s, i);
	for (size_t i = 0; i < lsan_given.extra.below.len; i++)
		suppress_below(p, &lsan_given.extra.below.data[i]);
}

bool
leak_report_foreign(void)
{
	return leak_given.format != LEAK_SEEP;
}

bool
leak_report_inherited(void)
{
	const struct leak_opts *l = &leak_given;

	return (l->format == LEAK_MEMCHECK || l->format == LEAK_XML) &&
	       !leak_gate_given() && l->junit == NULL && l->sarif == NULL && !l->github;
}

/* Where the files really are: /lib is a link to /usr/lib, and others know only that. */
static void
real_paths(struct prof *p)
{
	for (uint32_t i = 1; i < p->nmodules; i++) {
		const char *path = prof_text(p, p->modules[i].path);
		char *real = path[0] == '/' ? realpath(path, NULL) : NULL;

		if (real != NULL)
			p->modules[i].path = prof_str(p, real);
		free(real);
	}
}

void
leak_report_prepare(struct prof *p)
{
	const struct leak_opts *l = &leak_given;

	if (leak_report_foreign() || l->set.all.len > 0 || leak_gate_given() ||
	    l->error_exitcode != 0 || l->xml_file != NULL || l->junit != NULL ||
	    l->sarif != NULL || l->github || l->generate != NULL)
		skip = skip_new(p, NULL);
	if (leak_report_foreign())
		names_full(p);
	if (leak_report_foreign() || l->xml_file != NULL || l->set.all.len > 0 ||
	    l->generate != NULL)
		real_paths(p);
	leak_report_suppress(p, skip);
	baseline = leak_gate_mark_known(p, skip);
	if (skip != NULL)
		memcheck_errors_init(&wrong, p);
}

/* ---- processes ---- */

/* The parent in the profile of a forked process that runs the same program, or 0. */
static uint32_t
forked_from(const struct prof *p, uint32_t i)
{
	if ((p->processes[i].flags & REC_FLAG_FORKED) == 0)
		return 0;
	for (uint32_t k = 1; k < p->nprocesses; k++) {
		if (k != i && p->processes[k].pid == p->processes[i].ppid &&
		    p->processes[k].exe == p->processes[i].exe)
			return k;
	}
	return 0;
}

bool
leak_report_choose(const struct prof *p, bool *chosen)
{
	bool all = true, more = true;
	uint32_t first = 0; /* what the program became by exec is another one */

	if (leak_given.only < LEAK_ONLY_FORKS)
		return false;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (p->processes[i].pid == leak_given.program_pid &&
		    (first == 0 ||
		     p->processes[i].start_ns < p->processes[first].start_ns))
			first = i;
	}
	chosen[first] = first != 0;
	while (more && leak_given.only == LEAK_ONLY_FORKS) {
		more = false;
		for (uint32_t i = 1; i < p->nprocesses; i++) {
			if (!chosen[i] && chosen[forked_from(p, i)])
				chosen[i] = more = true;
		}
	}
	for (uint32_t i = 1; i < p->nprocesses; i++)
		all = all && chosen[i];
	return !all;
}

/* ---- reports ---- */

static struct memcheck_opts
memcheck_opts(bool file)
{
	static const char *const preamble[] = {
		"Memcheck's leak report, by seep " SEEP_VERSION, NULL};
	const struct leak_opts *l = &leak_given;

	return (struct memcheck_opts){
		.show = l->show != NULL ? l->show_kinds : LOSS_KINDS_ERRORS,
		.errors = l->error_kinds,
		.records = l->records,
		.level = l->level,
		.preamble = preamble,
		.parent = file,
		.quiet = l->quiet,
		.set = l->verbose ? &l->set : NULL,
		.generate = l->generate != NULL && strcmp(l->generate, "no") != 0,
		.wrong = wrong.rows.data,
		.nwrong = wrong.rows.len,
	};
}

static void
add_xml(struct buf *out, const struct prof *p, const struct skip *s, uint32_t process)
{
	struct memcheck_opts o = memcheck_opts(true);
	const struct leak_xml_args args = {
		.tool = leak_opts_words(),
		.program = p->processes[process].pid == leak_given.program_pid
				   ? leak_given.program
				   : NULL,
	};

	o.set = &leak_given.set;
	o.level = MEMCHECK_FULL;
	leak_xml(out, p, s, process, &o, &args);
}

static void
add_process(struct buf *out, const struct prof *p, const struct skip *s, uint32_t process,
	    bool file)
{
	struct memcheck_opts o = memcheck_opts(file);

	switch (leak_given.format) {
	case LEAK_XML:
		add_xml(out, p, s, process);
		break;
	case LEAK_LSAN:
		o.set = &leak_given.set;
		lsan_text(out, p, s, process, &o, &lsan_given.extra);
		break;
	default:
		memcheck_text(out, p, s, process, &o);
	}
}

void
leak_report_more(struct buf *out, const struct prof *p)
{
	struct memcheck_opts o = memcheck_opts(false);
	const struct suppress_set *set = &leak_given.set;
	struct loss_stack stack = {0};

	/* Seep's own verdict counts indirect losses too; hidden roots would leave them. */
	if (leak_given.show == NULL)
		o.show |= 1u << PROF_LOSS_INDIRECT;
	for (size_t i = leak_given.verbose ? set->order.len : 0; i > 0; i--) {
		const struct suppress *x = &set->all.data[set->order.data[i - 1]];

		if (x->count > 0)
			buf_printf(out, "suppressed by %s (%s:%u): %s in %s\n", x->name,
				   set->files.data[x->file], x->line,
				   figure_bytes((int64_t)x->bytes, 0, false).s,
				   figure_things((int64_t)x->blocks, 0, "block").s);
	}
	for (uint32_t i = 1; o.generate && i < p->nprocesses; i++) {
		struct loss_records rs;

		if (!focus[i])
			continue;
		loss_records_init(&rs, p, skip, i, &o.records);
		for (size_t k = 0; k < rs.rows.len; k++) {
			const struct loss_record *r = &rs.rows.data[k];

			if (r->suppressed || (o.show & 1u << r->kind) == 0)
				continue;
			loss_stack(p, i, p->sites[r->site].node, prof_text(p, r->called),
				   o.records.callers, &stack);
			memcheck_suppression(out, r, &stack);
		}
		loss_records_done(&rs);
	}
	loss_stack_done(&stack);
}

static void
write_file(const char *pattern, uint32_t pid, uint32_t number, const struct buf *b)
{
	struct err e = {0};
	char *name = NULL;

	if (log_name(pattern, pid, number, &name, &e) < 0 ||
	    out_check_log(name, &e) < 0 || file_write(name, buf_str(b), b->len, &e) < 0)
		file_failed = cmd_fail(&e) != CMD_OK;
	free(name);
}

void
leak_report_text(struct buf *out, const struct prof *p, const char *log)
{
	bool each = log != NULL && log_name_differs(log);
	uint32_t pid = leak_given.program_pid, n = 1;
	struct buf b = {0};

	lsan_opts_help(out);

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (!focus[i])
			continue;
		if (pid == 0)
			pid = p->processes[i].pid;
		if (leak_given.format == LEAK_LSAN && lsan_given.log_path != NULL) {
			buf_clear(&b);
			add_process(&b, p, skip, i, true);
			if (!lsan_opts_log(p->processes[i].pid, &b))
				buf_add(out, b.data, b.len);
			continue;
		}
		if (!each || p->processes[i].pid == pid) {
			add_process(out, p, skip, i, log != NULL);
			continue;
		}
		buf_clear(&b);
		add_process(&b, p, skip, i, true);
		write_file(log, p->processes[i].pid, n++, &b);
	}
	buf_done(&b);
}

/* ---- the end ---- */

static uint64_t
count_errors(const struct prof *p)
{
	struct memcheck_opts o = memcheck_opts(false);
	uint64_t n = 0;

	/* LeakSanitizer's own status is for leaks: its report has nothing else. */
	if (leak_given.format == LEAK_LSAN && lsan_given.status_is_theirs)
		o.nwrong = 0;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		struct loss_records rs;

		if (!focus[i])
			continue;
		loss_records_init(&rs, p, skip, i, &o.records);
		n += memcheck_count(&rs, &o, i).errors;
		/* A child's error does not end up in its parent's exit status. */
		for (size_t k = 0; p->inherited_sites != 0 && k < rs.rows.len; k++)
			n -= rs.rows.data[k].site >= p->inherited_sites &&
			     !rs.rows.data[k].suppressed && o.level == MEMCHECK_FULL &&
			     (o.errors & 1u << rs.rows.data[k].kind) != 0;
		loss_records_done(&rs);
	}
	return n;
}

/* One document for each process; without %p or %n only the first chosen has a name for it. */
static void
write_xml(const struct prof *p)
{
	bool each = log_name_differs(leak_given.xml_file);
	struct buf b = {0};
	uint32_t n = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (!focus[i] || (n > 0 && !each) ||
		    (!each && leak_given.program_pid != 0 &&
		     p->processes[i].pid != leak_given.program_pid))
			continue;
		buf_clear(&b);
		add_xml(&b, p, skip, i);
		write_file(leak_given.xml_file, p->processes[i].pid, n++, &b);
	}
	buf_done(&b);
}

/* What is shown beside the source. Possibly lost memory is no finding, unless it is asked for. */
static void
write_review(const struct prof *p)
{
	struct memcheck_opts o = memcheck_opts(true);
	struct sarif_opts more = {.version = SEEP_VERSION,
				  .root = getenv("GITHUB_WORKSPACE")};
	char *here = getcwd(NULL, 0);
	struct buf b = {0};

	if (leak_given.errors == NULL && !leak_report_foreign())
		o.errors &= ~(1u << PROF_LOSS_POSSIBLE);
	o.records.judged = !leak_report_foreign();
	if (more.root == NULL || more.root[0] != '/')
		more.root = here != NULL ? here : "";
	if (leak_given.sarif != NULL) {
		sarif_json(&b, p, skip, focus, &o, &more);
		write_file(leak_given.sarif,
			   leak_given.program_pid != 0 ? leak_given.program_pid
			   : p->nprocesses > 1	       ? p->processes[1].pid
						       : 0,
			   0, &b);
	}
	buf_clear(&b);
	if (leak_given.github) {
		sarif_annotations(&b, p, skip, focus, &o, &more);
		fputs(buf_str(&b), stderr);
	}
	buf_done(&b);
	free(here);
}

void
leak_report_judge(const struct prof *p, struct report_opts *o)
{
	focus = xcalloc(p->nprocesses, sizeof *focus);
	if (leak_given.only == LEAK_ONLY_FOCUS && !o->everyone)
		focus_of(p, o->chosen, focus);
	else
		for (uint32_t i = 1; i < p->nprocesses; i++)
			focus[i] = o->chosen == NULL || o->chosen[i];
	met = 0;
	if (leak_gate_given())
		met = leak_gate_judge(p, skip, focus);
	o->judged = leak_gate_result();
	o->baseline = baseline;
	if (leak_given.set.files.len > 0)
		o->suppressions = &leak_given.set;
}

/* Programs that are neither counted nor, in another tool's words, reported on: which lost memory. */
static void
tell_others(const struct prof *p, const bool *chosen)
{
	bool *told = xcalloc(p->nprocesses, sizeof *told);
	struct buf names = {0};
	uint64_t blocks = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		struct judge_figures f;
		uint64_t lost;
		uint32_t same = 1;

		if (focus[i] || (chosen != NULL && !chosen[i]))
			continue;
		memset(told, 0, p->nprocesses * sizeof *told);
		told[i] = true;
		judge_sum(p, skip, told, &leak_given.records, &f, NULL);
		lost = f.losses.blocks[PROF_LOSS_DEFINITE] +
		       f.losses.blocks[PROF_LOSS_INDIRECT];
		if (lost == 0)
			continue;
		blocks += lost;
		while (same < i &&
		       (focus[same] || p->processes[same].exe != p->processes[i].exe))
			same++;
		if (same == i)
			buf_printf(&names, "%s%s", names.len > 0 ? ", " : "",
				   skip_basename(prof_text(p, p->processes[i].exe)));
	}
	if (blocks > 0)
		cmd_note(
			"not counted: %s lost by other programs (%s); --process all counts "
			"every program",
			figure_things((int64_t)blocks, 0, "block").s, buf_str(&names));
	buf_done(&names);
	free(told);
}

int
leak_report_end(struct prof *p, const bool *chosen, int status, bool tell)
{
	struct memcheck_opts o = memcheck_opts(true);

	if (!leak_report_foreign() &&
	    (leak_given.xml_file != NULL || leak_given.junit != NULL ||
	     leak_given.sarif != NULL))
		names_full(p); /* not sooner: the report is for people */
	if (leak_given.xml_file != NULL)
		write_xml(p);
	if (tell)
		leak_gate_tell();
	if (tell && (leak_gate_given() || leak_given.error_exitcode != 0 ||
		     leak_report_foreign()))
		tell_others(p, chosen);
	if (!leak_gate_given() && leak_given.error_exitcode != 0 && count_errors(p) > 0)
		status = (int)leak_given.error_exitcode;
	write_review(p);
	if (!leak_gate_junit(p, skip, focus, &o))
		file_failed = true;
	skip_free(skip);
	skip = NULL;
	memcheck_errors_done(&wrong);
	if (leak_gate_given() && leak_gate_blind(p, focus)) {
		if (tell)
			cmd_note("--fail-on: nothing was looked at for leaks, so nothing "
				 "can pass");
		met += status == CMD_OK;
		if (status == CMD_OK && leak_given.error_exitcode == 0)
			status = CMD_FAILED;
	}
	free(TAKE(focus));
	if (met > 0 && leak_given.error_exitcode != 0)
		status = (int)leak_given.error_exitcode;
	else if (met > 0 && status == CMD_OK)
		status = CMD_FOUND;
	/* A run has the program's status: what went wrong besides is only told. */
	if (file_failed && status == CMD_OK && leak_given.program_pid == 0)
		status = CMD_FAILED;
	return status;
}
