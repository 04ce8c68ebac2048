/* SPDX-License-Identifier: MIT */
/* junit.c -- see junit.h. */
#include "tool/render/leaks/junit.h"

#include <inttypes.h>

#include "tool/analyze/process/managed.h"
#include "tool/analyze/verdict/report_data.h"
#include "tool/model/loss_kinds.h"
#include "tool/render/leaks/leak_xml.h"
#include "tool/util/file.h"

struct junit {
	struct buf *out;
	const struct prof *p;
	const struct memcheck_opts *o;
	const struct judge *g;
	const struct verdict *v;
	const struct skip *s;
	const struct junit_opts *more;
	struct loss_stack stack;
	unsigned tests, failures;
};

/* What it is, and where: the innermost frame that is neither an allocator's nor a
 * library's. */
static void
junit_place(struct junit *j, const char *words, uint32_t node)
{
	const struct prof_frame *f;

	leak_xml_text(j->out, words);
	if (node == 0)
		return;
	f = skip_frame(j->p, managed_user_frame(j->p, j->s, node));
	buf_add_str(j->out, " in ");
	leak_xml_text(j->out, f != NULL && f->function != 0 ? prof_text(j->p, f->function)
							    : "???");
	if (f != NULL && f->file != 0 && f->line != 0) {
		buf_add_char(j->out, ' ');
		leak_xml_text(j->out, file_base(prof_text(j->p, f->file)));
		buf_printf(j->out, ":%u", f->line);
	}
}

/* Whether what was found is a failure: where there are conditions, one that is about its
 * kind must be met. Beside a baseline everything that is left is new. */
static bool
junit_fails(const struct junit *j, uint32_t kind)
{
	if (j->g->len == 0)
		return true;
	for (size_t i = 0; i < j->g->len; i++) {
		const struct judge_condition *c = &j->g->data[i];

		if (c->met && ((c->kinds & kind) != 0 ||
			       (j->more->baseline && c->losses && kind != JUDGE_WRONG)))
			return true;
	}
	return false;
}

static void
junit_stack(struct junit *j)
{
	for (size_t i = 0; i < j->stack.shown; i++) {
		const struct loss_frame *f = &j->stack.frames.data[i];

		buf_add_str(j->out, i == 0 ? "   at " : "   by ");
		leak_xml_text(j->out, f->function != NULL ? f->function : "???");
		buf_add_str(j->out, " (");
		if (f->file != NULL && f->line != 0) {
			leak_xml_text(j->out, f->file);
			buf_printf(j->out, ":%u", f->line);
		} else {
			buf_add_str(j->out, "in ");
			leak_xml_text(j->out, f->module != NULL ? f->module : "???");
		}
		buf_add_str(j->out, ")\n");
	}
}

struct junit_finding {
	const char *suite, *words, *type, *message;
	uint32_t node;
	uint32_t kind; /* as in judge_condition.kinds */
};

/* A test that did not pass, unless conditions say what passes: j->stack and what it is
 * about. */
static void
junit_case(struct junit *j, const struct junit_finding *x)
{
	bool fails = junit_fails(j, x->kind);
	const char *tag = fails ? "failure" : "system-out";

	buf_add_str(j->out, "    <testcase classname=\"");
	leak_xml_text(j->out, x->suite);
	buf_add_str(j->out, "\" name=\"");
	junit_place(j, x->words, x->node);
	buf_printf(j->out, "\">\n      <%s", tag);
	if (fails) {
		buf_printf(j->out, " type=\"%s\" message=\"", x->type);
		leak_xml_text(j->out, x->message);
		buf_add_char(j->out, '"');
	}
	buf_add_char(j->out, '>');
	leak_xml_text(j->out, x->message);
	buf_add_char(j->out, '\n');
	junit_stack(j);
	buf_printf(j->out, "</%s>\n    </testcase>\n", tag);
	j->tests++;
	j->failures += fails;
}

static void
junit_record(struct junit *j, const struct loss_records *rs, size_t row,
	     const char *suite, uint32_t process)
{
	const struct loss_record *r = &rs->rows.data[row];
	struct buf message = {0};

	loss_stack(j->p, process, j->p->sites[r->site].node, prof_text(j->p, r->called),
		   j->o->records.callers, &j->stack);
	memcheck_headline(&message, rs, row);
	junit_case(j, &(struct junit_finding){.suite = suite,
					      .words = loss_kind_words[r->kind],
					      .type = loss_kind_names[r->kind],
					      .message = buf_str(&message),
					      .node = j->p->sites[r->site].node,
					      .kind = 1u << r->kind});
	buf_done(&message);
}

static void
junit_wrong(struct junit *j, const struct memcheck_error *x, const char *suite)
{
	loss_stack(j->p, x->process, x->at.node, x->at.called, j->o->records.callers,
		   &j->stack);
	junit_case(j, &(struct junit_finding){.suite = suite,
					      .words = x->kind,
					      .type = x->kind,
					      .message = x->what,
					      .node = x->at.node,
					      .kind = JUDGE_WRONG});
}

static void
junit_head(struct buf *out, const char *element, int indent, const char *name,
	   const struct junit *j)
{
	buf_printf(out, "%*s<%s name=\"", indent, "", element);
	leak_xml_text(out, name);
	buf_printf(out, "\" tests=\"%u\" failures=\"%u\" errors=\"0\"", j->tests,
		   j->failures);
}

/* The verdict on a process, as in every other report. */
static void
junit_verdict(struct junit *j, uint32_t process)
{
	const struct verdict_answer *a = &j->v->each[process].answer;

	if (j->v->state[process] != VERDICT_JUDGED)
		return;
	buf_printf(j->out,
		   "    <properties>\n      <property name=\"verdict\" value=\"%s\"/>\n"
		   "      <property name=\"severity\" value=\"%s\"/>\n",
		   verdict_word_name(a->word),
		   verdict_severity_name(verdict_severity(a->word)));
	if (j->v->each[process].loss_limit_bytes > 0)
		buf_printf(j->out,
			   "      <property name=\"loss_limit_bytes\" value=\"%" PRIu64
			   "\"/>\n",
			   j->v->each[process].loss_limit_bytes);
	buf_add_str(j->out, "    </properties>\n");
}

static void
junit_process(struct junit *all, uint32_t process)
{
	const struct prof_process *pr = &all->p->processes[process];
	const struct prof_check *c = prof_check_of(all->p, process);
	const char *name = prof_text(all->p, pr->cmdline);
	struct buf cases = {0};
	struct junit j = *all;
	struct loss_records rs;

	j.out = &cases;
	j.tests = j.failures = 0;
	junit_verdict(&j, process);
	for (size_t i = 0; i < j.o->nwrong; i++) {
		if (j.o->wrong[i].process == process && !j.o->wrong[i].suppressed)
			junit_wrong(&j, &j.o->wrong[i], name);
	}
	loss_records_init(&rs, j.p, j.s, process, &j.o->records);
	for (size_t i = rs.rows.len; i > 0; i--) {
		if (!rs.rows.data[i - 1].suppressed &&
		    (j.o->errors & 1u << rs.rows.data[i - 1].kind) != 0)
			junit_record(&j, &rs, i - 1, name, process);
	}
	if (j.tests == 0) {
		bool looked = c != NULL && c->done;

		buf_add_str(&cases, "    <testcase classname=\"");
		leak_xml_text(&cases, name);
		buf_printf(&cases, "\" name=\"no %sleak\"%s\n",
			   j.more->baseline ? "new " : "",
			   looked ? "/>"
				  : "><skipped message=\"no leak check\"/></testcase>");
		j.tests = 1;
	}
	junit_head(all->out, "testsuite", 2, name, &j);
	buf_printf(all->out, " time=\"%" PRIu64 ".%03u\">\n%s  </testsuite>\n",
		   pr->duration_ms / 1000, (unsigned)(pr->duration_ms % 1000),
		   buf_str(&cases));
	all->tests += j.tests;
	all->failures += j.failures;
	all->stack = j.stack;
	loss_records_done(&rs);
	buf_done(&cases);
}

/* Each is a case, but for one that nobody gave: that has been told already by what
 * failed. */
static void
junit_conditions(struct junit *all, struct buf *out)
{
	struct buf cases = {0};
	struct junit j = {0};

	for (size_t i = 0; i < all->g->len; i++) {
		const struct judge_condition *c = &all->g->data[i];

		if (all->more->implied && (!c->met || all->failures > 0))
			continue;
		buf_add_str(&cases, "    <testcase classname=\"fail-on\" name=\"");
		leak_xml_text(&cases, c->text);
		if (c->met) {
			buf_add_str(&cases,
				    "\">\n      <failure type=\"fail-on\" message=\"");
			leak_xml_text(&cases, c->text);
			buf_add_str(&cases, ": ");
			judge_words(&cases, c);
			buf_add_str(&cases, "\"/>\n    </testcase>\n");
		} else if (all->more->blind && c->losses) {
			buf_add_str(
				&cases,
				"\"><skipped message=\"no leak check\"/></testcase>\n");
		} else {
			buf_add_str(&cases, "\"/>\n");
		}
		j.tests++;
		j.failures += c->met;
	}
	if (j.tests > 0) {
		junit_head(out, "testsuite", 2, "fail-on", &j);
		buf_printf(out, ">\n%s  </testsuite>\n", buf_str(&cases));
	}
	all->tests += j.tests;
	all->failures += j.failures;
	buf_done(&cases);
}

void
junit_xml(struct buf *out, const struct prof *p, const struct skip *s, const bool *chosen,
	  const struct memcheck_opts *o, const struct judge *g,
	  const struct junit_opts *more)
{
	struct buf suites = {0}, conditions = {0};
	struct junit j = {.out = &suites, .p = p, .o = o, .g = g, .s = s, .more = more};
	const struct report_query q = {.chosen = chosen, .everyone = true};
	struct report_data d;

	report_data_init(&d, p, s, &q);
	j.v = &d.v;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (chosen == NULL || chosen[i])
			junit_process(&j, i);
	}
	junit_conditions(&j, &conditions);
	buf_add_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	junit_head(out, "testsuites", 0, "seep", &j);
	buf_printf(out, ">\n%s%s</testsuites>\n", buf_str(&conditions), buf_str(&suites));
	report_data_done(&d);
	loss_stack_done(&j.stack);
	buf_done(&conditions);
	buf_done(&suites);
}
