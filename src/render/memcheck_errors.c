/* SPDX-License-Identifier: MIT */
/* memcheck_errors.c -- see memcheck_errors.h.
 *
 * What memcheck has no words for (a block found overwritten when it is freed) is said in the manner of
 * its other messages. The function that was called stands as the innermost frame, as there. */
#include "render/memcheck_errors.h"

#include <inttypes.h>

#include "base/recording.h"
#include "render/error_words.h"
#include "render/figure.h"
#include "util/fmt.h"

enum { CALLERS = 12 };

struct mcerr {
	struct buf *out;
	const struct prof *p;
	const struct skip *s;
	uint32_t process, pid;
	unsigned callers;
};

/* ---- stacks ---- */

/* Address in the process of a location. */
static uint64_t
mcerr_address(const struct mcerr *m, const struct prof_loc *l)
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
mcerr_frame(const struct mcerr *m, const char *word, const struct prof_loc *l,
	    const struct prof_frame *f)
{
	const char *module = prof_text(m->p, m->p->modules[l->module].path);

	buf_printf(m->out, "==%u==    %s 0x%" PRIX64 ": ", m->pid, word,
		   mcerr_address(m, l));
	figure_text(m->out,
		    f != NULL && f->function != 0 ? prof_text(m->p, f->function) : "???");
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

/* The frames at `node` below the function that was called; "" = none was. */
static void
mcerr_stack(const struct mcerr *m, const char *called, uint32_t node)
{
	const char *word = called[0] != '\0' ? "by" : "at";
	unsigned left = m->callers;

	if (called[0] != '\0') {
		buf_printf(m->out, "==%u==    at 0x0: %s (in libseep.so)\n", m->pid,
			   called);
		left--;
	}
	for (; node != 0 && !skip_is_tail(m->s, node) && left > 0;
	     node = m->p->nodes[node].parent) {
		const struct prof_loc *l = &m->p->locs[m->p->nodes[node].loc];

		if (l->kind != PROF_LOC_CODE)
			continue;
		for (uint32_t i = 0; i < l->nframes && left > 0; i++, left--, word = "by")
			mcerr_frame(m, word, l, &m->p->frames[l->frames + i]);
		if (l->nframes == 0) {
			mcerr_frame(m, word, l, NULL);
			left--;
			word = "by";
		}
	}
}

/* ---- words ---- */

static void
mcerr_head(const struct mcerr *m, const struct prof_error *e)
{
	struct buf *b = m->out;
	const char *func = error_func_name(e->func);

	buf_printf(b, "==%u== ", m->pid);
	switch (e->kind) {
	case REC_ERROR_FREE:
		buf_add_str(b, "Invalid free() / delete / delete[] / realloc()");
		break;
	case REC_ERROR_MISMATCH:
		buf_add_str(b, "Mismatched free() / delete / delete []");
		break;
	case REC_ERROR_SIZE:
		buf_printf(b, "Mismatched %s size value: %" PRIu64,
			   e->func == REC_FUNC_DELETE_ARRAY ? "new[]/delete[]"
			   : e->func == REC_FUNC_DELETE	    ? "new/delete"
							    : "free_sized",
			   e->given);
		break;
	case REC_ERROR_ALIGNMENT:
		buf_printf(b, "Mismatched new/delete alignment: %" PRIu64 " and %" PRIu64,
			   e->source, e->given);
		break;
	case REC_ERROR_FISHY:
		buf_printf(b,
			   "Argument '%s' of function %s has a fishy (possibly negative) "
			   "value: %" PRId64,
			   e->func == REC_FUNC_CALLOC ? "nmemb" : "size", func,
			   (int64_t)e->given);
		break;
	case REC_ERROR_REALLOC_ZERO:
		buf_add_str(b, "realloc() with size 0");
		break;
	case REC_ERROR_READ:
	case REC_ERROR_WRITE:
		buf_printf(b, "Invalid %s", e->kind == REC_ERROR_READ ? "read" : "write");
		if (e->given != 0)
			buf_printf(b, " of size %" PRIu64, e->given);
		break;
	case REC_ERROR_BOUNDS:
	case REC_ERROR_AFTER_FREE:
		buf_printf(b, "Invalid write of size %" PRIu64 ", found later", e->given);
		break;
	case REC_ERROR_OVERLAP:
		buf_printf(b,
			   "Source and destination overlap in %s(0x%" PRIx64
			   ", 0x%" PRIx64,
			   func, e->addr, e->source);
		if (e->given != 0)
			buf_printf(b, ", %" PRIu64, e->given);
		buf_add_char(b, ')');
		break;
	default:
		buf_printf(b, "More errors, not kept one by one: %" PRIu64, e->count);
	}
	buf_add_char(b, '\n');
}

/* What memcheck calls the operators in a stack. */
static const char *
mcerr_called(unsigned func)
{
	switch (func) {
	case REC_FUNC_DELETE:
		return "operator delete(void*)";
	case REC_FUNC_DELETE_ARRAY:
		return "operator delete[](void*)";
	default:
		return error_func_name(func);
	}
}

static const char *
mcerr_allocator(unsigned kind)
{
	switch (kind) {
	case REC_KIND_NEW:
		return "operator new(unsigned long)";
	case REC_KIND_NEW_ARRAY:
		return "operator new[](unsigned long)";
	default:
		return error_family_name(kind);
	}
}

static void
mcerr_block(const struct mcerr *m, const struct prof_error *e)
{
	bool freed = e->where == REC_WHERE_FREED;
	uint64_t off = e->addr - e->block;
	const char *how = "inside";

	if (e->addr < e->block) {
		off = e->block - e->addr;
		how = "before";
	} else if (off >= e->block_bytes && !(off == 0 && e->block_bytes == 0)) {
		off -= e->block_bytes;
		how = "after";
	}
	buf_printf(m->out,
		   "==%u==  Address 0x%" PRIx64 " is %s bytes %s a block of size %s %s\n",
		   m->pid, e->addr, fmt_count(off).s, how, fmt_count(e->block_bytes).s,
		   freed ? "free'd" : "alloc'd");
	if (freed) {
		if (e->freed != 0)
			mcerr_stack(m,
				    mcerr_called(e->freed_func != 0 ? e->freed_func
								    : REC_FUNC_FREE),
				    e->freed);
		buf_printf(m->out, "==%u==  Block was alloc'd at\n", m->pid);
	}
	mcerr_stack(m, mcerr_allocator(e->block_kind), e->alloc);
}

static void
mcerr_where(const struct mcerr *m, const struct prof_error *e)
{
	if (e->kind == REC_ERROR_OVERLAP || e->kind == REC_ERROR_FISHY ||
	    e->kind == REC_ERROR_MORE)
		return;
	switch (e->where) {
	case REC_WHERE_BLOCK:
	case REC_WHERE_FREED:
		mcerr_block(m, e);
		break;
	case REC_WHERE_STACK:
		buf_printf(m->out,
			   "==%u==  Address 0x%" PRIx64 " is on thread %u's stack\n",
			   m->pid, e->addr, e->where_thread);
		break;
	case REC_WHERE_MODULE:
		if (e->symbol != 0) {
			buf_printf(m->out,
				   "==%u==  Address 0x%" PRIx64 " is %" PRIu64
				   " bytes inside data symbol \"",
				   m->pid, e->addr, e->symbol_off);
			figure_text(m->out, prof_text(m->p, e->symbol));
			buf_add_str(m->out, "\"\n");
		} else {
			buf_printf(m->out,
				   "==%u==  Address 0x%" PRIx64 " is in the data of ",
				   m->pid, e->addr);
			figure_text(m->out,
				    prof_text(m->p, m->p->modules[e->where_module].path));
			buf_add_char(m->out, '\n');
		}
		break;
	default:
		buf_printf(m->out,
			   "==%u==  Address 0x%" PRIx64
			   " is not stack'd, malloc'd or (recently) free'd\n",
			   m->pid, e->addr);
	}
}

static const char *
mcerr_function(const struct prof_error *e)
{
	return e->kind == REC_ERROR_READ || e->kind == REC_ERROR_WRITE
		       ? ""
		       : mcerr_called(e->func);
}

void
memcheck_errors_text(struct buf *out, const struct prof *p, const struct skip *s,
		     uint32_t process, unsigned callers)
{
	struct mcerr m = {.out = out,
			  .p = p,
			  .s = s,
			  .process = process,
			  .pid = p->processes[process].pid,
			  .callers = callers > 0 ? callers : CALLERS};

	for (uint32_t i = 0; i < p->nerrors; i++) {
		const struct prof_error *e = &p->errors[i];

		if (e->process != process)
			continue;
		mcerr_head(&m, e);
		if (e->at != 0)
			mcerr_stack(&m, mcerr_function(e), e->at);
		mcerr_where(&m, e);
		buf_printf(out, "==%u== \n", m.pid);
	}
}
