/* SPDX-License-Identifier: MIT */
/* memcheck.c -- see memcheck.h.
 *
 * A loss record is what was lost in one way at one stack; the biggest comes last. Indirectly
 * lost bytes are counted twice on purpose: in a record of their own, and with the definitely lost ones that
 * took them along. */
#include "render/memcheck.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/recording.h"
#include "render/figure.h"
#include "util/fmt.h"
#include "util/vec.h"
#include "util/x.h"

enum { CALLERS = 12 };

struct records VEC_BODY(struct prof_loss);

static const char *const kind_words[PROF_LOSS_KINDS] = {
	[PROF_LOSS_DEFINITE] = "definitely lost",
	[PROF_LOSS_INDIRECT] = "indirectly lost",
	[PROF_LOSS_POSSIBLE] = "possibly lost",
	[PROF_LOSS_REACHABLE] = "still reachable",
};

struct memcheck {
	struct buf *out;
	const struct prof *p;
	const struct skip *s;
	const struct memcheck_opts *o;
	uint32_t process;
	uint32_t pid;
	struct records records;
	uint8_t *alloc_kinds; /* for every site: enum rec_kind of its blocks */
	uint64_t bytes[PROF_LOSS_KINDS], blocks[PROF_LOSS_KINDS];
};

/* ---- records ---- */

/* By bytes, with what they took along; then the better kinds first. */
static int
compare(const void *pa, const void *pb)
{
	const struct prof_loss *a = pa, *b = pb;
	uint64_t x = a->bytes + a->indirect_bytes, y = b->bytes + b->indirect_bytes;

	if (x != y)
		return x > y ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? 1 : -1;
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? 1 : -1;
	return a->site > b->site ? 1 : a->site < b->site ? -1 : 0;
}

static void
collect(struct memcheck *m)
{
	for (uint32_t i = 0; i < m->p->nlosses; i++) {
		const struct prof_loss *l = &m->p->losses[i];
		const struct prof_site *site = &m->p->sites[l->site];

		if (site->process != m->process || skip_kept_by_libc(m->s, site) != NULL)
			continue;
		vec_push(&m->records, *l);
		m->bytes[l->kind] += l->bytes;
		m->blocks[l->kind] += l->blocks;
	}
	vec_sort(&m->records, compare);
}

static bool
is_error(const struct prof_loss *l)
{
	return l->kind == PROF_LOSS_DEFINITE || l->kind == PROF_LOSS_POSSIBLE;
}

static uint32_t
count_errors(const struct records *r)
{
	uint32_t n = 0;

	for (size_t i = 0; i < r->len; i++)
		n += is_error(&r->data[i]);
	return n;
}

/* ---- stacks ---- */

static void
find_alloc_kinds(struct memcheck *m)
{
	m->alloc_kinds = xcalloc(m->p->nsites, sizeof *m->alloc_kinds);
	for (uint32_t i = 0; i < m->p->nblocks; i++) {
		if (m->p->blocks[i].site < m->p->nsites)
			m->alloc_kinds[m->p->blocks[i].site] = m->p->blocks[i].kind;
	}
}

static const char *
allocator_name(const struct memcheck *m, uint32_t site)
{
	static const char *const names[] = {
		[REC_KIND_MALLOC] = "malloc",
		[REC_KIND_ALIGNED] = "memalign",
		[REC_KIND_NEW] = "operator new(unsigned long)",
		[REC_KIND_NEW_ARRAY] = "operator new[](unsigned long)",
	};

	return names[m->alloc_kinds[site] <= REC_KIND_NEW_ARRAY ? m->alloc_kinds[site]
								: 0];
}

/* Address in the process of a location. */
static uint64_t
address(const struct memcheck *m, const struct prof_loc *l)
{
	uint64_t at = l->exact ? l->offset : l->offset - 1;

	for (uint32_t i = 0; i < m->p->nranges; i++) {
		const struct prof_range *r = &m->p->ranges[i];

		if (r->process == m->process && r->module == l->module && l->module != 0)
			return at + r->bias;
	}
	return at;
}

static void
add_frame(struct memcheck *m, const char *word, const struct prof_loc *l,
	  const struct prof_frame *f)
{
	const char *module = prof_text(m->p, m->p->modules[l->module].path);

	buf_printf(m->out, "==%u==    %s 0x%" PRIX64 ": ", m->pid, word, address(m, l));
	if (f != NULL && f->function != 0)
		figure_text(m->out, prof_text(m->p, f->function));
	else
		buf_add_str(m->out, "???");
	if (f != NULL && f->line != 0) {
		buf_add_str(m->out, " (");
		figure_text(m->out, skip_basename(prof_text(m->p, f->file)));
		buf_printf(m->out, ":%u)", f->line);
	} else if (module[0] != '\0') {
		buf_add_str(m->out, " (in ");
		figure_text(m->out, module);
		buf_add_char(m->out, ')');
	}
	buf_add_char(m->out, '\n');
}

static void
add_stack(struct memcheck *m, uint32_t site)
{
	unsigned left = m->o->callers > 0 ? m->o->callers : CALLERS;

	/* The allocator's own frame is left out of recordings: it says nothing but this. */
	buf_printf(m->out, "==%u==    at 0x0: %s (in libseep.so)\n", m->pid,
		   allocator_name(m, site));
	for (uint32_t n = m->p->sites[site].node;
	     n != 0 && !skip_is_tail(m->s, n) && --left > 0; n = m->p->nodes[n].parent) {
		const struct prof_loc *l = &m->p->locs[m->p->nodes[n].loc];

		if (l->kind != PROF_LOC_CODE)
			continue;
		for (uint32_t i = 0; i < l->nframes; i++)
			add_frame(m, "by", l, &m->p->frames[l->frames + i]);
		if (l->nframes == 0)
			add_frame(m, "by", l, NULL);
	}
}

/* ---- text ---- */

static void
add_record(struct memcheck *m, const struct prof_loss *l, size_t number)
{
	buf_printf(m->out, "==%u== ", m->pid);
	if (l->indirect_bytes > 0)
		buf_printf(m->out, "%s (%s direct, %s indirect) bytes",
			   fmt_count(l->bytes + l->indirect_bytes).s,
			   fmt_count(l->bytes).s, fmt_count(l->indirect_bytes).s);
	else
		buf_printf(m->out, "%s bytes", fmt_count(l->bytes).s);
	buf_printf(m->out, " in %s blocks are %s in loss record %s of %s\n",
		   fmt_count(l->blocks).s, kind_words[l->kind], fmt_count(number).s,
		   fmt_count(m->records.len).s);
	add_stack(m, l->site);
	buf_printf(m->out, "==%u== \n", m->pid);
}

static void
add_summary(struct memcheck *m)
{
	buf_printf(m->out, "==%u== LEAK SUMMARY:\n", m->pid);
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++)
		buf_printf(m->out, "==%u== %18s: %s bytes in %s blocks\n", m->pid,
			   kind_words[i], fmt_count(m->bytes[i]).s,
			   fmt_count(m->blocks[i]).s);
	buf_printf(m->out, "==%u== %18s: 0 bytes in 0 blocks\n", m->pid, "suppressed");
	if (m->blocks[PROF_LOSS_REACHABLE] > 0 &&
	    (m->o->kinds & 1u << PROF_LOSS_REACHABLE) == 0)
		buf_printf(
			m->out,
			"==%u== Reachable blocks (those to which a pointer was found) are "
			"not shown.\n"
			"==%u== To see them, rerun with: --leak-kinds=all\n",
			m->pid, m->pid);
	buf_printf(m->out, "==%u== \n", m->pid);
}

static void
add_heap(struct memcheck *m)
{
	uint64_t allocs = 0, bytes = 0, used = 0, blocks = 0;

	for (uint32_t i = 1; i < m->p->nsites; i++) {
		if (m->p->sites[i].process != m->process)
			continue;
		allocs += m->p->sites[i].allocs;
		bytes += m->p->sites[i].alloc_bytes;
	}
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		used += m->bytes[i];
		blocks += m->blocks[i];
	}
	buf_printf(m->out,
		   "==%u== HEAP SUMMARY:\n"
		   "==%u==     in use at exit: %s bytes in %s blocks\n"
		   "==%u==   total heap usage: %s allocs, %s frees, %s bytes allocated\n"
		   "==%u== \n",
		   m->pid, m->pid, fmt_count(used).s, fmt_count(blocks).s, m->pid,
		   fmt_count(allocs).s,
		   fmt_count(allocs > blocks ? allocs - blocks : 0).s, fmt_count(bytes).s,
		   m->pid);
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
	uint32_t errors;

	if (c == NULL || !c->done) {
		buf_printf(out, "==%u== Not looked for leaks", m.pid);
		if (c != NULL && c->why != 0) {
			buf_add_str(out, ": ");
			figure_text(out, prof_text(p, c->why));
		}
		buf_printf(out, "\n==%u== \n", m.pid);
		return;
	}
	collect(&m);
	errors = count_errors(&m.records);
	add_heap(&m);
	if (m.records.len == 0) {
		buf_printf(out,
			   "==%u== All heap blocks were freed -- no leaks are possible\n"
			   "==%u== \n",
			   m.pid, m.pid);
	} else {
		find_alloc_kinds(&m);
		for (size_t i = 0; i < m.records.len; i++) {
			if ((o->kinds & 1u << m.records.data[i].kind) != 0)
				add_record(&m, &m.records.data[i], i + 1);
		}
		add_summary(&m);
	}
	buf_printf(out,
		   "==%u== ERROR SUMMARY: %u errors from %u contexts (suppressed: 0 from "
		   "0)\n",
		   m.pid, errors, errors);
	free(m.alloc_kinds);
	vec_done(&m.records);
}

uint32_t
memcheck_errors(const struct prof *p, const struct skip *s, uint32_t process)
{
	struct memcheck m = {.p = p, .s = s, .process = process};
	const struct prof_check *c = prof_check_of(p, process);
	uint32_t n;

	if (c == NULL || !c->done)
		return 0;
	collect(&m);
	n = count_errors(&m.records);
	vec_done(&m.records);
	return n;
}
