/* SPDX-License-Identifier: MIT */
/* report_errors.c -- wrong uses of the heap at the head of the report, each with its
 * stacks. */
#include "tool/render/error_words.h"
#include "tool/render/figure.h"
#include "tool/render/report/report_impl.h"
#include "tool/util/fmt.h"

static void
report_error_stack(struct report *r, const char *head, uint32_t node)
{
	if (node == 0)
		return;
	buf_printf(r->out, "    %s:\n", head);
	report_stack_of(r, node);
}

static void
report_error(struct report *r, const struct prof_error *e, unsigned number)
{
	buf_printf(r->out, "%2u  ", number);
	error_title(r->out, r->p, e);
	if (e->count > 1)
		buf_printf(r->out, ", %s times", fmt_count(e->count).s);
	if (r->one == 0) {
		buf_add_str(r->out, " in ");
		report_process(r, e->process);
	}
	buf_add_char(r->out, '\n');
	if (e->at == 0 && e->kind == REC_ERROR_BOUNDS)
		buf_add_str(r->out, "    found at the end of the program\n");
	report_error_stack(r, error_stack_name(e), e->at);
	report_error_stack(r, "freed here", e->freed);
	report_error_stack(r, "allocated here", e->alloc);
}

void
report_errors(struct report *r)
{
	uint64_t times = 0;
	unsigned records = 0, number = 0, shown = r->o->all ? UINT32_MAX : 10;

	for (uint32_t i = 0; i < r->p->nerrors; i++) {
		if (r->p->errors[i].suppressed ||
		    !report_chose(r, r->p->errors[i].process))
			continue;
		times += r->p->errors[i].count;
		records++;
	}
	if (records == 0)
		return;
	report_coloured(r, "WRONG", TERM_BAD);
	buf_printf(r->out, "  %s of the heap",
		   figure_things((int64_t)times, 0, "wrong use").s);
	if (times != records)
		buf_printf(r->out, " at %s", figure_things(records, 0, "site").s);
	buf_add_char(r->out, '\n');
	for (uint32_t i = 0; i < r->p->nerrors; i++) {
		if (r->p->errors[i].suppressed ||
		    !report_chose(r, r->p->errors[i].process))
			continue;
		if (++number <= shown)
			report_error(r, &r->p->errors[i], number);
	}
	if (number > shown)
		buf_printf(r->out, "    %s more (--all)\n", fmt_count(number - shown).s);
}
