/* SPDX-License-Identifier: MIT */
/* leak_report.c -- see leak_report.h. */
#include "tool/compat/leaks/leak_report.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/verdict/focus.h"
#include "tool/analyze/verdict/suppress_match.h"
#include "tool/compat/leaks/leak_gate.h"
#include "tool/compat/leaks/leak_opts.h"
#include "tool/compat/leaks/lsan_opts.h"
#include "tool/model/loss_kinds.h"
#include "tool/render/figure.h"
#include "tool/render/leaks/leak_xml.h"
#include "tool/render/leaks/lsan.h"
#include "tool/render/leaks/memcheck_errors.h"
#include "tool/render/leaks/sarif.h"
#include "tool/session/log_name.h"
#include "tool/session/names/names.h"
#include "tool/session/out_file.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

#ifndef SEEP_VERSION
#	define SEEP_VERSION "unknown"
#endif

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
suppress_error(struct leak_opts *l, const struct prof *p, struct prof_error *e,
	       struct loss_stack *stack)
{
	enum suppress_about about = memcheck_errors_about(e);
	size_t at = SIZE_MAX;

	if (about != SUPPRESS_OTHER && e->at != 0) {
		loss_stack(p, e->process, e->at, memcheck_errors_called(e),
			   l->records.callers, stack);
		at = suppress_find(&l->set, about, UINT_MAX, stack);
	}
	if (at == SIZE_MAX)
		return;
	suppress_used(&l->set, at)->count += e->count - 1;
	e->suppressed = true;
}

static void
suppress_process(struct leak_opts *l, struct prof *p, const struct skip *s,
		 uint32_t process)
{
	struct suppress_set *set = &l->set;
	struct loss_records rs;
	struct loss_stack stack = {0};

	loss_records_init(&rs, p, s, process, &l->records);
	for (size_t i = 0; i < rs.rows.len; i++) {
		const struct loss_record *r = &rs.rows.data[i];
		struct suppress *used;
		size_t at;

		if (r->suppressed)
			continue;
		loss_stack(p, process, p->sites[r->site].node, prof_text(p, r->called),
			   l->records.callers, &stack);
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
			suppress_error(l, p, &p->errors[i], &stack);
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

/* LeakSanitizer follows what it suppresses: blocks that are lost because of such a block
 * are no leaks either. */
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
leak_report_suppress(struct leak_opts *l, struct prof *p, const struct skip *s)
{
	for (uint32_t i = 1; l->set.all.len > 0 && i < p->nprocesses; i++)
		suppress_process(l, p, s, i);
	for (size_t i = 0; i < l->lsan.extra.below.len; i++)
		suppress_below(p, &l->lsan.extra.below.data[i]);
}

bool
leak_report_foreign(const struct leak_opts *l)
{
	return l->format != LEAK_SEEP;
}

struct leakcheck_how
leak_report_how(struct leak_opts *l)
{
	/* Blocks that a forked child has from its parent are listed in both. */
	bool inherited = (l->format == LEAK_MEMCHECK || l->format == LEAK_XML) &&
			 !leak_gate_given(&l->gate) && l->junit == NULL &&
			 l->sarif == NULL && !l->github;

	return (struct leakcheck_how){.inherited = inherited,
				      .ctx = l,
				      .heed = lsan_opts_heed,
				      .begin = lsan_opts_begin,
				      .block = lsan_opts_block};
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
leak_report_prepare(struct leak_report *r, struct prof *p)
{
	struct leak_opts *l = r->o;
	bool foreign = leak_report_foreign(l);

	if (foreign || l->set.all.len > 0 || leak_gate_given(&l->gate) ||
	    l->error_exitcode != 0 || l->xml_file != NULL || l->junit != NULL ||
	    l->sarif != NULL || l->github || l->generate != NULL)
		r->skip = skip_new(p, NULL);
	if (foreign)
		names_full(p);
	if (foreign || l->xml_file != NULL || l->set.all.len > 0 || l->generate != NULL)
		real_paths(p);
	leak_report_suppress(l, p, r->skip);
	r->baseline = leak_gate_mark_known(&l->gate, p, r->skip);
	if (r->skip != NULL)
		memcheck_errors_init(&r->wrong, p);
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
leak_report_choose(const struct leak_opts *l, const struct prof *p, bool *chosen)
{
	bool all = true, more = true;
	uint32_t first = 0; /* what the program became by exec is another one */

	if (l->only < LEAK_ONLY_FORKS)
		return false;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (p->processes[i].pid == l->program_pid &&
		    (first == 0 ||
		     p->processes[i].start_ns < p->processes[first].start_ns))
			first = i;
	}
	chosen[first] = first != 0;
	while (more && l->only == LEAK_ONLY_FORKS) {
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
memcheck_opts(const struct leak_report *r, bool file)
{
	static const char *const preamble[] = {
		"Memcheck's leak report, by seep " SEEP_VERSION, NULL};
	const struct leak_opts *l = r->o;

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
		.wrong = r->wrong.rows.data,
		.nwrong = r->wrong.rows.len,
	};
}

/* Our own command line without the program's, ended by NULL. Lives as long as `r`. */
static const char *const *
command_words(struct leak_report *r)
{
	size_t program = 0;

	if (r->words.len > 0)
		return r->words.data;
	buf_read_file(&r->words_text, "/proc/self/cmdline", NULL);
	for (const char *at = buf_str(&r->words_text);
	     at < buf_str(&r->words_text) + r->words_text.len; at += strlen(at) + 1)
		vec_push(&r->words, at);
	while (r->o->program != NULL && r->o->program[program] != NULL)
		program++;
	r->words.len -= program < r->words.len ? program : 0;
	vec_push(&r->words, NULL);
	return r->words.data;
}

static void
add_xml(struct leak_report *r, struct buf *out, const struct prof *p, uint32_t process)
{
	struct memcheck_opts o = memcheck_opts(r, true);
	const struct leak_xml_args args = {
		.tool = command_words(r),
		.program = p->processes[process].pid == r->o->program_pid ? r->o->program
									  : NULL,
	};

	o.set = &r->o->set;
	o.level = MEMCHECK_FULL;
	leak_xml(out, p, r->skip, process, &o, &args);
}

static void
add_process(struct leak_report *r, struct buf *out, const struct prof *p,
	    uint32_t process, bool file)
{
	struct memcheck_opts o = memcheck_opts(r, file);

	switch (r->o->format) {
	case LEAK_XML:
		add_xml(r, out, p, process);
		break;
	case LEAK_LSAN:
		o.set = &r->o->set;
		lsan_text(out, p, r->skip, process, &o, &r->o->lsan.extra);
		break;
	default:
		memcheck_text(out, p, r->skip, process, &o);
	}
}

void
leak_report_more(struct leak_report *r, struct buf *out, const struct prof *p)
{
	struct memcheck_opts o = memcheck_opts(r, false);
	const struct suppress_set *set = &r->o->set;
	struct loss_stack stack = {0};

	/* Seep's own verdict counts indirect losses too; hidden roots would leave
	 * them. */
	if (r->o->show == NULL)
		o.show |= 1u << PROF_LOSS_INDIRECT;
	for (size_t i = r->o->verbose ? set->order.len : 0; i > 0; i--) {
		const struct suppress *x = &set->all.data[set->order.data[i - 1]];

		if (x->count > 0)
			buf_printf(out, "suppressed by %s (%s:%u): %s in %s\n", x->name,
				   set->files.data[x->file], x->line,
				   figure_bytes((int64_t)x->bytes, 0, false).s,
				   figure_things((int64_t)x->blocks, 0, "block").s);
	}
	for (uint32_t i = 1; o.generate && i < p->nprocesses; i++) {
		struct loss_records rs;

		if (!r->focus[i])
			continue;
		loss_records_init(&rs, p, r->skip, i, &o.records);
		for (size_t k = 0; k < rs.rows.len; k++) {
			const struct loss_record *x = &rs.rows.data[k];

			if (x->suppressed || (o.show & 1u << x->kind) == 0)
				continue;
			loss_stack(p, i, p->sites[x->site].node, prof_text(p, x->called),
				   o.records.callers, &stack);
			memcheck_suppression(out, x, &stack);
		}
		loss_records_done(&rs);
	}
	loss_stack_done(&stack);
}

static void
write_file(struct leak_report *r, const char *pattern, uint32_t pid, uint32_t number,
	   const struct buf *b)
{
	struct err e = {0};
	char *name = NULL;

	if (log_name(pattern, pid, number, &name, &e) < 0 ||
	    out_check_log(name, &e) < 0 || file_write(name, buf_str(b), b->len, &e) < 0)
		r->file_failed = cmd_fail(&e) != CMD_OK;
	free(name);
}

void
leak_report_text(struct leak_report *r, struct buf *out, const struct prof *p,
		 const char *log)
{
	bool each = log != NULL && log_name_differs(log);
	uint32_t pid = r->o->program_pid, n = 1;
	struct buf b = {0};

	lsan_opts_help(&r->o->lsan, out);
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (!r->focus[i])
			continue;
		if (pid == 0)
			pid = p->processes[i].pid;
		if (r->o->format == LEAK_LSAN && r->o->lsan.log_path != NULL) {
			buf_clear(&b);
			add_process(r, &b, p, i, true);
			if (!lsan_opts_log(&r->o->lsan, p->processes[i].pid, &b))
				buf_add(out, b.data, b.len);
			continue;
		}
		if (!each || p->processes[i].pid == pid) {
			add_process(r, out, p, i, log != NULL);
			continue;
		}
		buf_clear(&b);
		add_process(r, &b, p, i, true);
		write_file(r, log, p->processes[i].pid, n++, &b);
	}
	buf_done(&b);
}

/* ---- the end ---- */

static uint64_t
count_errors(const struct leak_report *r, const struct prof *p)
{
	struct memcheck_opts o = memcheck_opts(r, false);
	uint64_t n = 0;

	/* LeakSanitizer's own status is for leaks: its report has nothing else. */
	if (r->o->format == LEAK_LSAN && r->o->lsan.status_is_theirs)
		o.nwrong = 0;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		struct loss_records rs;

		if (!r->focus[i])
			continue;
		loss_records_init(&rs, p, r->skip, i, &o.records);
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

/* One document for each process; without %p or %n only the first chosen has a name for
 * it. */
static void
write_xml(struct leak_report *r, const struct prof *p)
{
	bool each = log_name_differs(r->o->xml_file);
	struct buf b = {0};
	uint32_t n = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (!r->focus[i] || (n > 0 && !each) ||
		    (!each && r->o->program_pid != 0 &&
		     p->processes[i].pid != r->o->program_pid))
			continue;
		buf_clear(&b);
		add_xml(r, &b, p, i);
		write_file(r, r->o->xml_file, p->processes[i].pid, n++, &b);
	}
	buf_done(&b);
}

/* What is shown beside the source. Possibly lost memory is no finding, unless it is asked
 * for. */
static void
write_review(struct leak_report *r, const struct prof *p)
{
	struct memcheck_opts o = memcheck_opts(r, true);
	struct sarif_opts more = {.version = SEEP_VERSION,
				  .root = getenv("GITHUB_WORKSPACE")};
	char *here = getcwd(NULL, 0);
	struct buf b = {0};

	if (r->o->errors == NULL && !leak_report_foreign(r->o))
		o.errors &= ~(1u << PROF_LOSS_POSSIBLE);
	o.records.judged = !leak_report_foreign(r->o);
	if (more.root == NULL || more.root[0] != '/')
		more.root = here != NULL ? here : "";
	if (r->o->sarif != NULL) {
		sarif_json(&b, p, r->skip, r->focus, &o, &more);
		write_file(r, r->o->sarif,
			   r->o->program_pid != 0 ? r->o->program_pid
			   : p->nprocesses > 1	  ? p->processes[1].pid
						  : 0,
			   0, &b);
	}
	buf_clear(&b);
	if (r->o->github) {
		sarif_annotations(&b, p, r->skip, r->focus, &o, &more);
		fputs(buf_str(&b), stderr);
	}
	buf_done(&b);
	free(here);
}

void
leak_report_judge(struct leak_report *r, const struct prof *p, struct report_opts *o)
{
	r->focus = xcalloc(p->nprocesses, sizeof *r->focus);
	if (r->o->only == LEAK_ONLY_FOCUS && !o->everyone)
		focus_of(p, o->chosen, r->focus);
	else
		for (uint32_t i = 1; i < p->nprocesses; i++)
			r->focus[i] = o->chosen == NULL || o->chosen[i];
	r->met = 0;
	if (leak_gate_given(&r->o->gate))
		r->met = leak_gate_judge(r->o, p, r->skip, r->focus);
	o->judged = leak_gate_result(&r->o->gate);
	o->baseline = r->baseline;
	if (r->o->set.files.len > 0)
		o->suppressions = &r->o->set;
}

/* Programs that are neither counted nor, in another tool's words, reported on: which lost
 * memory. */
static void
tell_others(const struct leak_report *r, const struct prof *p, const bool *chosen)
{
	bool *told = xcalloc(p->nprocesses, sizeof *told);
	struct buf names = {0};
	uint64_t blocks = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		struct judge_figures f;
		uint64_t lost;
		uint32_t same = 1;

		if (r->focus[i] || (chosen != NULL && !chosen[i]))
			continue;
		memset(told, 0, p->nprocesses * sizeof *told);
		told[i] = true;
		judge_sum(p, r->skip, told, &r->o->records, &f, NULL);
		lost = f.losses.blocks[PROF_LOSS_DEFINITE] +
		       f.losses.blocks[PROF_LOSS_INDIRECT];
		if (lost == 0)
			continue;
		blocks += lost;
		while (same < i &&
		       (r->focus[same] || p->processes[same].exe != p->processes[i].exe))
			same++;
		if (same == i)
			buf_printf(&names, "%s%s", names.len > 0 ? ", " : "",
				   file_base(prof_text(p, p->processes[i].exe)));
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
leak_report_end(struct leak_report *r, struct prof *p, const bool *chosen, int status,
		bool tell)
{
	struct memcheck_opts o = memcheck_opts(r, true);
	const char *why;

	if (!leak_report_foreign(r->o) &&
	    (r->o->xml_file != NULL || r->o->junit != NULL || r->o->sarif != NULL))
		names_full(p); /* not sooner: the report is for people */
	if (r->o->xml_file != NULL)
		write_xml(r, p);
	if (tell)
		leak_gate_tell(&r->o->gate);
	if (tell && (leak_gate_given(&r->o->gate) || r->o->error_exitcode != 0 ||
		     leak_report_foreign(r->o)))
		tell_others(r, p, chosen);
	if (!leak_gate_given(&r->o->gate) && r->o->error_exitcode != 0 &&
	    count_errors(r, p) > 0)
		status = (int)r->o->error_exitcode;
	write_review(r, p);
	if (!leak_gate_junit(r->o, p, r->skip, r->focus, &o))
		r->file_failed = true;
	memcheck_errors_done(&r->wrong);
	why = leak_gate_blind(&r->o->gate, p, r->skip, r->focus);
	if (why != NULL && r->met == 0) {
		if (tell)
			cmd_note("--fail-on: %s, so it cannot be judged", why);
		r->met += status == CMD_OK;
		if (status == CMD_OK && r->o->error_exitcode == 0)
			status = CMD_FAILED;
	}
	skip_free(TAKE(r->skip));
	free(TAKE(r->focus));
	vec_done(&r->words);
	buf_done(&r->words_text);
	if (r->met > 0 && r->o->error_exitcode != 0)
		status = (int)r->o->error_exitcode;
	else if (r->met > 0 && status == CMD_OK)
		status = CMD_FOUND;
	/* A run has the program's status: what went wrong besides is only told. */
	if (r->file_failed && status == CMD_OK && r->o->program_pid == 0)
		status = CMD_FAILED;
	return status;
}
