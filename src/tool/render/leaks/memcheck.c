/* SPDX-License-Identifier: MIT */
/* memcheck.c -- see memcheck.h.
 *
 * Indirectly lost bytes are told twice on purpose: in a record of their own, and with
 * the definitely lost ones that took them along. Lines begin with the pid between equal
 * signs, remarks of -v with dashes. */
#include "tool/render/leaks/memcheck.h"

#include <inttypes.h>
#include <stdarg.h>

#include "tool/model/loss_kinds.h"
#include "tool/render/figure.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"

struct memcheck {
	struct buf *out;
	const struct prof *p;
	const struct skip *s;
	const struct memcheck_opts *o;
	uint32_t process;
	uint32_t pid;
	struct loss_records r;
	struct loss_stack stack;
};

__attribute__((format(printf, 2, 3))) static void
memcheck_line(struct memcheck *m, const char *fmt, ...)
{
	va_list ap;

	buf_printf(m->out, "==%u== ", m->pid);
	va_start(ap, fmt);
	buf_vprintf(m->out, fmt, ap);
	va_end(ap);
	buf_add_char(m->out, '\n');
}

/* ---- stacks ---- */

static void
memcheck_frame(struct memcheck *m, const char *word, const struct loss_frame *f)
{
	buf_printf(m->out, "==%u==    %s 0x%" PRIX64 ": ", m->pid, word, f->address);
	clean_text(m->out, f->function != NULL ? f->function : "???");
	if (f->line != 0 && f->file != NULL) {
		buf_add_str(m->out, " (");
		clean_text(m->out, file_base(f->file));
		buf_printf(m->out, ":%u)", f->line);
	} else if (f->module != NULL) {
		buf_add_str(m->out, " (in ");
		clean_text(m->out, f->module);
		buf_add_char(m->out, ')');
	}
	buf_add_char(m->out, '\n');
}

static void
memcheck_stack(struct memcheck *m, uint32_t node, const char *called)
{
	loss_stack(m->p, m->process, node, called, m->o->records.callers, &m->stack);
	for (size_t i = 0; i < m->stack.shown; i++)
		memcheck_frame(m, i == 0 ? "at" : "by", &m->stack.frames.data[i]);
}

/* ---- records ---- */

void
memcheck_headline(struct buf *out, const struct loss_records *r, size_t row)
{
	const struct loss_record *x = &r->rows.data[row];

	if (x->indirect_bytes > 0)
		buf_printf(out, "%s (%s direct, %s indirect) bytes",
			   fmt_count(x->bytes + x->indirect_bytes).s,
			   fmt_count(x->bytes).s, fmt_count(x->indirect_bytes).s);
	else
		buf_printf(out, "%s bytes", fmt_count(x->bytes).s);
	buf_printf(out, " in %s blocks are %s in loss record %s of %s",
		   fmt_count(x->blocks).s, loss_kind_words[x->kind], fmt_count(row + 1).s,
		   fmt_count(r->rows.len).s);
}

void
memcheck_suppression(struct buf *out, const struct loss_record *r,
		     const struct loss_stack *stack)
{
	buf_printf(out,
		   "{\n   <insert_a_suppression_name_here>\n   Memcheck:Leak\n"
		   "   match-leak-kinds: %s\n",
		   loss_kind_names[r->kind]);
	for (size_t i = 0; i < stack->shown && i < SUPPRESS_FRAMES_MAX; i++) {
		const struct loss_frame *f = &stack->frames.data[i];

		buf_add_str(out, f->linkage != NULL ? "   fun:" : "   obj:");
		clean_text(out, f->linkage != NULL  ? f->linkage
				: f->module != NULL ? f->module
						    : "*");
		buf_add_char(out, '\n');
	}
	buf_add_str(out, "}\n");
}

static void
memcheck_record(struct memcheck *m, size_t row)
{
	const struct loss_record *x = &m->r.rows.data[row];

	buf_printf(m->out, "==%u== ", m->pid);
	memcheck_headline(m->out, &m->r, row);
	buf_add_char(m->out, '\n');
	memcheck_stack(m, m->p->sites[x->site].node, prof_text(m->p, x->called));
	memcheck_line(m, "%s", "");
	if (m->o->generate)
		memcheck_suppression(m->out, x, &m->stack);
}

/* ---- wrong use of the heap ---- */

static void
memcheck_wrong(struct memcheck *m, const struct memcheck_error *x)
{
	buf_printf(m->out, "==%u== ", m->pid);
	clean_text(m->out, x->what);
	buf_add_char(m->out, '\n');
	memcheck_stack(m, x->at.node, x->at.called);
	if (x->about != NULL) {
		buf_printf(m->out, "==%u==  ", m->pid);
		clean_text(m->out, x->about);
		buf_add_char(m->out, '\n');
		memcheck_stack(m, x->freed.node, x->freed.called);
	}
	if (x->block != NULL) {
		buf_printf(m->out, "==%u==  ", m->pid);
		clean_text(m->out, x->block);
		buf_add_char(m->out, '\n');
		memcheck_stack(m, x->allocated.node, x->allocated.called);
	}
	memcheck_line(m, "%s", "");
}

struct memcheck_count
memcheck_count(const struct loss_records *r, const struct memcheck_opts *o,
	       uint32_t process)
{
	struct memcheck_count n = {0};

	for (size_t i = 0; o->level == MEMCHECK_FULL && i < r->rows.len; i++) {
		if ((o->errors & 1u << r->rows.data[i].kind) != 0)
			*(r->rows.data[i].suppressed ? &n.suppressed : &n.errors) += 1;
	}
	n.contexts = n.errors;
	n.suppressed_contexts = n.suppressed;
	for (size_t i = 0; i < o->nwrong; i++) {
		const struct memcheck_error *x = &o->wrong[i];

		if (x->process != process)
			continue;
		*(x->suppressed ? &n.suppressed : &n.errors) += x->count;
		*(x->suppressed ? &n.suppressed_contexts : &n.contexts) += 1;
	}
	return n;
}

/* ---- summaries ---- */

static void
memcheck_kind(struct memcheck *m, const char *words, unsigned kind)
{
	memcheck_line(m, "%18s: %s bytes in %s blocks", words,
		      fmt_count(m->r.bytes[kind]).s, fmt_count(m->r.blocks[kind]).s);
}

/* What of it is so only by a guess. */
static void
memcheck_heuristics(struct memcheck *m)
{
	static const char *const names[PROF_HEURISTICS] = {
		"stdstring", "length64", "newarray", "multipleinheritance"};
	const struct prof_check *c = prof_check_of(m->p, m->process);
	bool any = false;

	for (unsigned i = 0; i < PROF_HEURISTICS; i++) {
		if (c->heuristic_blocks[i] == 0)
			continue;
		if (!any)
			memcheck_line(m, "%22sof which reachable via heuristic:", "");
		any = true;
		memcheck_line(m, "%24s%-19s: %s bytes in %s blocks", "", names[i],
			      fmt_count(c->heuristic_bytes[i]).s,
			      fmt_count(c->heuristic_blocks[i]).s);
	}
}

static void
memcheck_leaks(struct memcheck *m)
{
	uint64_t lost = m->r.used_blocks - m->r.blocks[PROF_LOSS_SUPPRESSED];

	memcheck_line(m, "LEAK SUMMARY:");
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		memcheck_kind(m, loss_kind_words[i], i);
		if (i == PROF_LOSS_REACHABLE)
			memcheck_heuristics(m);
	}
	if (m->o->level == MEMCHECK_SUMMARY && lost > 0)
		memcheck_line(
			m,
			"Rerun with --leak-check=full to see details of leaked memory");
	if (m->o->level == MEMCHECK_FULL && m->r.blocks[PROF_LOSS_REACHABLE] > 0 &&
	    (m->o->show & 1u << PROF_LOSS_REACHABLE) == 0) {
		memcheck_line(m, "Reachable blocks (those to which a pointer was found) "
				 "are not shown.");
		memcheck_line(m, "To see them, rerun with: --leak-check=full "
				 "--show-leak-kinds=all");
	}
	memcheck_line(m, "%s", "");
}

/* What is left when nobody looked how it is lost. */
static void
memcheck_left(struct memcheck *m)
{
	for (uint32_t i = 1; i < m->p->nsites; i++) {
		const struct prof_site *x = &m->p->sites[i];

		if (x->process != m->process || x->live_blocks <= 0 ||
		    skip_kept_by_libc(m->s, x) != NULL)
			continue;
		m->r.used_blocks += (uint64_t)x->live_blocks;
		m->r.used_bytes += (uint64_t)(x->live_bytes > 0 ? x->live_bytes : 0);
	}
	m->r.frees = m->r.allocs > m->r.used_blocks ? m->r.allocs - m->r.used_blocks : 0;
}

static void
memcheck_heap(struct memcheck *m)
{
	memcheck_line(m, "%s", "");
	memcheck_line(m, "HEAP SUMMARY:");
	memcheck_line(m, "    in use at exit: %s bytes in %s blocks",
		      fmt_count(m->r.used_bytes).s, fmt_count(m->r.used_blocks).s);
	memcheck_line(m, "  total heap usage: %s allocs, %s frees, %s bytes allocated",
		      fmt_count(m->r.allocs).s, fmt_count(m->r.frees).s,
		      fmt_count(m->r.alloc_bytes).s);
	memcheck_line(m, "%s", "");
}

static void
memcheck_preamble(struct memcheck *m)
{
	const struct prof_process *pr = &m->p->processes[m->process];

	if (m->o->preamble == NULL)
		return;
	for (size_t i = 0; m->o->preamble[i] != NULL; i++)
		memcheck_line(m, "%s", m->o->preamble[i]);
	buf_printf(m->out, "==%u== Command: ", m->pid);
	clean_text(m->out, prof_text(m->p, pr->cmdline));
	buf_add_char(m->out, '\n');
	if (m->o->parent)
		memcheck_line(m, "Parent PID: %u", pr->ppid);
	memcheck_line(m, "%s", "");
	if (pr->end == PROF_END_SIGNAL) {
		memcheck_line(m, "%s", "");
		memcheck_line(m,
			      "Process terminating with default action of signal %d (%s)",
			      pr->status, figure_signal(pr->status).s);
	}
}

/* Which suppressions were used; false when none was. */
static bool
memcheck_uses(struct memcheck *m)
{
	const struct suppress_set *set = m->o->set;
	bool any = false;

	for (size_t i = set != NULL ? set->order.len : 0; i > 0; i--) {
		const struct suppress *x = &set->all.data[set->order.data[i - 1]];

		if (x->count == 0)
			continue;
		if (!any)
			buf_printf(m->out, "--%u-- \n", m->pid);
		any = true;
		buf_printf(m->out, "--%u-- used_suppression: %6" PRIu64 " ", m->pid,
			   x->count);
		clean_text(m->out, x->name);
		buf_add_char(m->out, ' ');
		clean_text(m->out, set->files.data[x->file]);
		buf_printf(m->out, ":%u", x->line);
		if (x->blocks > 0)
			buf_printf(m->out, " suppressed: %s bytes in %s blocks",
				   fmt_count(x->bytes + x->indirect_bytes).s,
				   fmt_count(x->blocks).s);
		buf_add_char(m->out, '\n');
	}
	if (any)
		memcheck_line(m, "%s", "");
	return any;
}

static int
memcheck_compare(const void *pa, const void *pb)
{
	const struct memcheck_error *a = *(const struct memcheck_error *const *)pa;
	const struct memcheck_error *b = *(const struct memcheck_error *const *)pb;

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Wrong uses once more, those that happened most often last; false when there are
 * none. */
static bool
memcheck_contexts(struct memcheck *m, uint64_t contexts)
{
	VEC(const struct memcheck_error *) list = {0};
	bool any;

	for (size_t i = 0; i < m->o->nwrong; i++) {
		if (m->o->wrong[i].process == m->process && !m->o->wrong[i].suppressed)
			vec_push(&list, &m->o->wrong[i]);
	}
	vec_sort(&list, memcheck_compare);
	for (size_t i = 0; i < list.len; i++) {
		memcheck_line(m, "%s", "");
		memcheck_line(m, "%" PRIu64 " errors in context %zu of %" PRIu64 ":",
			      list.data[i]->count, i + 1, contexts);
		memcheck_wrong(m, list.data[i]);
	}
	any = list.len > 0;
	vec_done(&list);
	return any;
}

static void
memcheck_total(struct memcheck *m, const struct memcheck_count *n)
{
	memcheck_line(m,
		      "ERROR SUMMARY: %" PRIu64 " errors from %" PRIu64
		      " contexts (suppressed: %" PRIu64 " from %" PRIu64 ")",
		      n->errors, n->contexts, n->suppressed, n->suppressed_contexts);
}

static void
memcheck_errors(struct memcheck *m)
{
	struct memcheck_count n = memcheck_count(&m->r, m->o, m->process);
	bool listed;

	if (m->o->set == NULL)
		memcheck_line(m, "For lists of detected and suppressed errors, rerun "
				 "with: -s");
	memcheck_total(m, &n);
	if (m->o->set == NULL)
		return;
	listed = memcheck_contexts(m, n.contexts);
	listed = memcheck_uses(m) || listed;
	if (listed) /* again: the first one has gone up the screen */
		memcheck_total(m, &n);
}

/* Why there is nothing. */
static void
memcheck_not_looked(struct memcheck *m, const struct prof_check *c)
{
	const struct prof_process *pr = &m->p->processes[m->process];
	uint32_t why = c != NULL ? c->why : pr->not_recorded;

	buf_printf(m->out, "==%u== No leak check", m->pid);
	if (why != 0) {
		buf_add_str(m->out, ": ");
		clean_text(m->out, prof_text(m->p, why));
	} else if (pr->end == PROF_END_SIGNAL) {
		buf_printf(m->out, ": %s ended it", figure_signal(pr->status).s);
	} else if (pr->end == PROF_END_EXEC) {
		buf_add_str(m->out, ": it became another program");
	}
	buf_add_char(m->out, '\n');
}

/* What can be said of leaks: where, how much, or why nothing. */
static void
memcheck_body(struct memcheck *m, bool looked, const struct prof_check *c)
{
	const struct memcheck_opts *o = m->o;

	for (size_t i = 0; looked && o->level == MEMCHECK_FULL && i < m->r.rows.len;
	     i++) {
		if (!m->r.rows.data[i].suppressed &&
		    (o->show & 1u << m->r.rows.data[i].kind) != 0)
			memcheck_record(m, i);
	}
	if (o->quiet)
		return;
	if (looked && m->r.rows.len > 0) {
		memcheck_leaks(m);
		return;
	}
	if (looked) {
		memcheck_line(m, "All heap blocks were freed -- no leaks are possible");
	} else if (o->level == MEMCHECK_NO) {
		memcheck_line(m, "For a detailed leak analysis, rerun with: "
				 "--leak-check=full");
	} else {
		memcheck_not_looked(m, c);
	}
	memcheck_line(m, "%s", "");
}

void
memcheck_text(struct buf *out, const struct prof *p, const struct skip *s,
	      uint32_t process, const struct memcheck_opts *o)
{
	const struct prof_check *c = prof_check_of(p, process);
	struct memcheck m = {.out = out,
			     .p = p,
			     .s = s,
			     .o = o,
			     .process = process,
			     .pid = p->processes[process].pid};
	bool looked = c != NULL && c->done && o->level != MEMCHECK_NO;

	loss_records_init(&m.r, p, s, process, &o->records);
	if (!looked)
		memcheck_left(&m);
	if (!o->quiet)
		memcheck_preamble(&m);
	for (size_t i = 0; i < o->nwrong; i++) {
		if (o->wrong[i].process == process && !o->wrong[i].suppressed)
			memcheck_wrong(&m, &o->wrong[i]);
	}
	if (!o->quiet)
		memcheck_heap(&m);
	memcheck_body(&m, looked, c);
	if (!o->quiet)
		memcheck_errors(&m);
	loss_records_done(&m.r);
	loss_stack_done(&m.stack);
}
