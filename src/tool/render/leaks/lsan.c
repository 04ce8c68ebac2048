/* SPDX-License-Identifier: MIT */
/* lsan.c -- see lsan.h: LeakSanitizer's report. The largest leaks come first, direct
 * ones before indirect. */
#include "tool/render/leaks/lsan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tool/render/figure.h"
#include "tool/util/x.h"

struct lsan {
	struct buf *out;
	const struct prof *p;
	const struct memcheck_opts *o;
	const struct lsan_extra *more;
	uint32_t process;
	struct loss_records r;
	struct loss_stack stack;
};

/* Offset in its module of an address, for frames without a line. */
static uint64_t
lsan_offset(const struct lsan *l, const struct loss_frame *f)
{
	for (uint32_t i = 0; i < l->p->nranges; i++) {
		const struct prof_range *r = &l->p->ranges[i];

		if (r->process == l->process && f->address >= r->start &&
		    f->address < r->end)
			return f->address - r->bias;
	}
	return f->address;
}

static void
lsan_frame(struct lsan *l, size_t number, const struct loss_frame *f)
{
	buf_printf(l->out, "    #%zu 0x%012" PRIx64, number, f->address);
	if (f->function != NULL) {
		buf_add_str(l->out, " in ");
		clean_text(l->out, f->whole != NULL ? f->whole : f->function);
	}
	if (f->file != NULL && f->line != 0) {
		buf_add_char(l->out, ' ');
		clean_text(l->out, f->file);
		buf_printf(l->out, ":%u", f->line);
	} else if (f->module != NULL) {
		buf_add_str(l->out, f->function != NULL ? " (" : "  (");
		clean_text(l->out, f->module);
		buf_printf(l->out, "+0x%" PRIx64 ")", lsan_offset(l, f));
	}
	buf_add_char(l->out, '\n');
}

/* The blocks that a loss is made of. */
static void
lsan_objects(struct lsan *l, const struct prof_loss *loss)
{
	for (size_t i = 0; i < l->more->objects.len; i++) {
		const struct lsan_object *o = &l->more->objects.data[i];

		if (o->origin == l->p->sites[loss->site].origin &&
		    o->kind == loss->kind && o->pid == l->p->processes[l->process].pid)
			buf_printf(l->out, "0x%012" PRIx64 " (%" PRIu64 " bytes)\n",
				   o->addr, o->bytes);
	}
}

static void
lsan_leak(struct lsan *l, const struct loss_record *r)
{
	buf_printf(l->out,
		   "%s leak of %" PRIu64 " byte(s) in %" PRIu64
		   " object(s) allocated from:\n",
		   r->kind == PROF_LOSS_DEFINITE ? "Direct" : "Indirect", r->bytes,
		   r->blocks);
	loss_stack(l->p, l->process, l->p->sites[r->site].node,
		   prof_text(l->p, r->called), l->o->records.callers, &l->stack);
	for (size_t i = 0; i < l->stack.frames.len; i++)
		lsan_frame(l, i, &l->stack.frames.data[i]);
	buf_add_char(l->out, '\n');
	if (l->more->list_objects) {
		buf_add_str(l->out, "Objects leaked above:\n");
		for (uint32_t i = r->first; i != UINT32_MAX; i = l->r.next[i])
			lsan_objects(l, &l->p->losses[i]);
		buf_add_char(l->out, '\n');
	}
}

/* Direct ones first, then by size, without what they took along. */
static int
lsan_compare(const void *pa, const void *pb)
{
	const struct loss_record *a = pa, *b = pb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static void
lsan_uses(struct lsan *l)
{
	static const char line[] =
		"-----------------------------------------------------\n";
	const struct suppress_set *set = l->o->set;
	bool any = false;

	for (size_t i = 0; set != NULL && !l->more->no_uses && i < set->all.len; i++) {
		const struct suppress *x = &set->all.data[i];

		if (x->blocks == 0)
			continue;
		if (!any)
			buf_printf(l->out, "%sSuppressions used:\n%s", line,
				   "  count      bytes template\n");
		any = true;
		buf_printf(l->out, "%7" PRIu64 " %10" PRIu64 " ", x->blocks, x->bytes);
		clean_text(l->out, x->name);
		buf_add_char(l->out, '\n');
	}
	if (any)
		buf_printf(l->out, "%s\n", line);
}

void
lsan_text(struct buf *out, const struct prof *p, const struct skip *s, uint32_t process,
	  const struct memcheck_opts *o, const struct lsan_extra *more)
{
	struct lsan l = {.out = out, .p = p, .o = o, .process = process, .more = more};
	uint64_t bytes, blocks, leaks, told = 0;

	loss_records_init(&l.r, p, s, process, &o->records);
	bytes = l.r.bytes[PROF_LOSS_DEFINITE] + l.r.bytes[PROF_LOSS_INDIRECT];
	blocks = l.r.blocks[PROF_LOSS_DEFINITE] + l.r.blocks[PROF_LOSS_INDIRECT];
	if (blocks > 0)
		buf_printf(
			out,
			"\n================================================================="
			"\n==%u==ERROR: LeakSanitizer: detected memory leaks\n\n",
			p->processes[process].pid);
	leaks = loss_records_count(&l.r,
				   1u << PROF_LOSS_DEFINITE | 1u << PROF_LOSS_INDIRECT);
	if (more->max_leaks > 0 && more->max_leaks < leaks)
		buf_printf(out, "The %" PRIu64 " top leak(s):\n", more->max_leaks);
	vec_sort(&l.r.rows, lsan_compare);
	for (size_t i = 0; i < l.r.rows.len; i++) {
		const struct loss_record *r = &l.r.rows.data[i];

		if (r->kind > PROF_LOSS_INDIRECT || r->suppressed ||
		    (more->max_leaks > 0 && told == more->max_leaks))
			continue;
		lsan_leak(&l, r);
		told++;
	}
	if (told < leaks)
		buf_printf(out, "Omitting %" PRIu64 " more leak(s).\n", leaks - told);
	lsan_uses(&l);
	if (blocks > 0)
		buf_printf(out,
			   "SUMMARY: LeakSanitizer: %" PRIu64
			   " byte(s) leaked in %" PRIu64 " allocation(s).\n",
			   bytes, blocks);
	loss_records_done(&l.r);
	loss_stack_done(&l.stack);
}
