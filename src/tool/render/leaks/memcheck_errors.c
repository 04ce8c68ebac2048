/* SPDX-License-Identifier: MIT */
/* memcheck_errors.c -- see memcheck_errors.h.
 *
 * What memcheck has no words for (a block found overwritten when it is freed) is said in
 * the manner of its other messages. The function that was called stands as the innermost
 * frame, as there. */
#include "tool/render/leaks/memcheck_errors.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tool/render/error_words.h"
#include "tool/util/fmt.h"

/* ---- what was called ---- */

static const char *
mcerr_symbol(unsigned func, unsigned kind)
{
	bool array = func == REC_FUNC_DELETE_ARRAY;

	if (func != REC_FUNC_DELETE && !array)
		return error_func_name(func);
	switch (kind) {
	case REC_ERROR_SIZE:
		return array ? "_ZdaPvm" : "_ZdlPvm";
	case REC_ERROR_ALIGNMENT:
		return array ? "_ZdaPvSt11align_val_t" : "_ZdlPvSt11align_val_t";
	default:
		return array ? "_ZdaPv" : "_ZdlPv";
	}
}

static const char *
mcerr_allocator(unsigned kind)
{
	switch (kind) {
	case REC_KIND_NEW:
		return "_Znwm";
	case REC_KIND_NEW_ARRAY:
		return "_Znam";
	default:
		return error_family_name(kind);
	}
}

const char *
memcheck_errors_called(const struct prof_error *e)
{
	return e->kind == REC_ERROR_READ || e->kind == REC_ERROR_WRITE
		       ? NULL
		       : mcerr_symbol(e->func, e->kind);
}

/* ---- kinds ---- */

static const char *
mcerr_kind(unsigned kind)
{
	switch (kind) {
	case REC_ERROR_FREE:
		return "InvalidFree";
	case REC_ERROR_MISMATCH:
		return "MismatchedFree";
	case REC_ERROR_SIZE:
		return "MismatchedAllocateDeallocateSize";
	case REC_ERROR_ALIGNMENT:
		return "MismatchedAllocateDeallocateAlignment";
	case REC_ERROR_FISHY:
		return "FishyValue";
	case REC_ERROR_REALLOC_ZERO:
		return "ReallocSizeZero";
	case REC_ERROR_READ:
		return "InvalidRead";
	case REC_ERROR_WRITE:
	case REC_ERROR_BOUNDS:
	case REC_ERROR_AFTER_FREE:
		return "InvalidWrite";
	case REC_ERROR_OVERLAP:
		return "Overlap";
	default:
		return "ClientCheck"; /* for which there is no word */
	}
}

enum suppress_about
memcheck_errors_about(const struct prof_error *e)
{
	switch (e->kind) {
	case REC_ERROR_FREE:
	case REC_ERROR_MISMATCH:
		return SUPPRESS_FREE;
	case REC_ERROR_READ:
	case REC_ERROR_WRITE:
	case REC_ERROR_BOUNDS:
	case REC_ERROR_AFTER_FREE:
		return SUPPRESS_ADDRESS;
	case REC_ERROR_OVERLAP:
		return SUPPRESS_OVERLAP;
	default:
		return SUPPRESS_OTHER;
	}
}

/* ---- words ---- */

static char *
mcerr_what(const struct prof_error *e)
{
	struct buf out = {0}, *b = &out;
	const char *func = error_func_name(e->func);

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
	return buf_take(b);
}

/* Where an address is, of a block in use or freed. */
static void
mcerr_block(struct buf *b, const struct prof_error *e)
{
	uint64_t off = e->addr - e->block;
	const char *how = "inside";

	if (e->addr < e->block) {
		off = e->block - e->addr;
		how = "before";
	} else if (off >= e->block_bytes && !(off == 0 && e->block_bytes == 0)) {
		off -= e->block_bytes;
		how = "after";
	}
	buf_printf(b, "Address 0x%" PRIx64 " is %s bytes %s a block of size %s %s",
		   e->addr, fmt_count(off).s, how, fmt_count(e->block_bytes).s,
		   e->where == REC_WHERE_FREED ? "free'd" : "alloc'd");
}

static void
mcerr_module(struct buf *b, const struct prof *p, const struct prof_error *e)
{
	if (e->symbol != 0)
		buf_printf(b,
			   "Address 0x%" PRIx64 " is %" PRIu64
			   " bytes inside data symbol \"%s\"",
			   e->addr, e->symbol_off, prof_text(p, e->symbol));
	else
		buf_printf(b, "Address 0x%" PRIx64 " is in the data of %s", e->addr,
			   prof_text(p, p->modules[e->where_module].path));
}

/* What is said of the address; NULL = nothing. */
static char *
mcerr_address(const struct prof *p, const struct prof_error *e)
{
	struct buf b = {0};

	if (e->kind == REC_ERROR_OVERLAP || e->kind == REC_ERROR_FISHY ||
	    e->kind == REC_ERROR_MORE)
		return NULL;
	switch (e->where) {
	case REC_WHERE_BLOCK:
	case REC_WHERE_FREED:
		mcerr_block(&b, e);
		break;
	case REC_WHERE_STACK:
		buf_printf(&b, "Address 0x%" PRIx64 " is on thread %u's stack", e->addr,
			   e->where_thread);
		break;
	case REC_WHERE_MODULE:
		mcerr_module(&b, p, e);
		break;
	default:
		buf_printf(&b,
			   "Address 0x%" PRIx64
			   " is not stack'd, malloc'd or (recently) free'd",
			   e->addr);
	}
	return buf_take(&b);
}

/* ---- all of it ---- */

static void
mcerr_add(struct memcheck_errors *to, const struct prof *p, const struct prof_error *e)
{
	struct memcheck_error x = {
		.kind = mcerr_kind(e->kind),
		.what = mcerr_what(e),
		.process = e->process,
		.tid = e->thread,
		.count = e->count,
		.suppressed = e->suppressed,
		.at = {e->at, memcheck_errors_called(e)},
		.about = mcerr_address(p, e),
	};
	const struct memcheck_stack alloc = {e->alloc, mcerr_allocator(e->block_kind)};

	if (e->at == 0)
		x.at.called = NULL; /* found at the end */
	if (x.about != NULL && e->where == REC_WHERE_BLOCK) {
		x.freed = alloc;
	} else if (x.about != NULL && e->where == REC_WHERE_FREED) {
		if (e->freed != 0)
			x.freed = (struct memcheck_stack){
				e->freed, mcerr_symbol(e->freed_func != 0 ? e->freed_func
									  : REC_FUNC_FREE,
						       e->kind)};
		x.block = "Block was alloc'd at";
		x.allocated = alloc;
	}
	vec_push(&to->rows, x);
}

void
memcheck_errors_init(struct memcheck_errors *ret_errors, const struct prof *p)
{
	*ret_errors = (struct memcheck_errors){0};
	for (uint32_t i = 0; i < p->nerrors; i++)
		mcerr_add(ret_errors, p, &p->errors[i]);
}

void
memcheck_errors_done(struct memcheck_errors *x)
{
	for (size_t i = 0; i < x->rows.len; i++) {
		free((char *)x->rows.data[i].what);
		free((char *)x->rows.data[i].about);
	}
	vec_done(&x->rows);
}
