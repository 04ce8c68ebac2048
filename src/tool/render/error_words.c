/* SPDX-License-Identifier: MIT */
/* error_words.c -- see error_words.h. */
#include "tool/render/error_words.h"

#include <inttypes.h>

#include "tool/render/figure.h"
#include "tool/util/fmt.h"

static const char *const func_names[REC_FUNCS] = {
	[REC_FUNC_NONE] = "",
	[REC_FUNC_FREE] = "free",
	[REC_FUNC_REALLOC] = "realloc",
	[REC_FUNC_DELETE] = "operator delete",
	[REC_FUNC_DELETE_ARRAY] = "operator delete[]",
	[REC_FUNC_FREE_SIZED] = "free_sized",
	[REC_FUNC_MALLOC] = "malloc",
	[REC_FUNC_CALLOC] = "calloc",
	[REC_FUNC_REALLOCARRAY] = "reallocarray",
	[REC_FUNC_POSIX_MEMALIGN] = "posix_memalign",
	[REC_FUNC_ALIGNED_ALLOC] = "aligned_alloc",
	[REC_FUNC_MEMALIGN] = "memalign",
	[REC_FUNC_VALLOC] = "valloc",
	[REC_FUNC_PVALLOC] = "pvalloc",
	[REC_FUNC_NEW] = "operator new",
	[REC_FUNC_NEW_ARRAY] = "operator new[]",
	[REC_FUNC_MEMCPY] = "memcpy",
	[REC_FUNC_MEMPCPY] = "mempcpy",
	[REC_FUNC_STRCPY] = "strcpy",
	[REC_FUNC_STPCPY] = "stpcpy",
	[REC_FUNC_STRNCPY] = "strncpy",
	[REC_FUNC_STPNCPY] = "stpncpy",
	[REC_FUNC_STRCAT] = "strcat",
	[REC_FUNC_STRNCAT] = "strncat",
	[REC_FUNC_WMEMCPY] = "wmemcpy",
	[REC_FUNC_WCSCPY] = "wcscpy",
	[REC_FUNC_WCSCAT] = "wcscat",
};

const char *
error_func_name(unsigned func)
{
	return func_names[func < REC_FUNCS ? func : REC_FUNC_NONE];
}

const char *
error_family_name(unsigned kind)
{
	static const char *const names[] = {
		[REC_KIND_MALLOC] = "malloc",
		[REC_KIND_ALIGNED] = "memalign",
		[REC_KIND_NEW] = "operator new",
		[REC_KIND_NEW_ARRAY] = "operator new[]",
	};

	return names[kind <= REC_KIND_NEW_ARRAY ? kind : REC_KIND_MALLOC];
}

static bool
is_again(const struct prof_error *e)
{
	return e->where == REC_WHERE_FREED && e->addr == e->block;
}

const char *
error_kind_name(const struct prof_error *e)
{
	static const char *const names[REC_ERROR_KINDS] = {
		[REC_ERROR_NONE] = "unknown",
		[REC_ERROR_FREE] = "invalid-free",
		[REC_ERROR_MISMATCH] = "mismatched-free",
		[REC_ERROR_SIZE] = "wrong-size",
		[REC_ERROR_ALIGNMENT] = "wrong-alignment",
		[REC_ERROR_FISHY] = "fishy-size",
		[REC_ERROR_REALLOC_ZERO] = "realloc-zero",
		[REC_ERROR_BOUNDS] = "out-of-bounds-write",
		[REC_ERROR_AFTER_FREE] = "write-after-free",
		[REC_ERROR_READ] = "invalid-read",
		[REC_ERROR_WRITE] = "invalid-write",
		[REC_ERROR_OVERLAP] = "overlap",
		[REC_ERROR_MORE] = "more",
	};

	if (e->kind == REC_ERROR_FREE && is_again(e))
		return e->func == REC_FUNC_REALLOC ? "realloc-of-freed" : "double-free";
	return names[e->kind < REC_ERROR_KINDS ? e->kind : REC_ERROR_NONE];
}

static const char *
bytes_word(uint64_t n)
{
	return n == 1 ? "byte" : "bytes";
}

/* "a block of 32 bytes". */
static void
add_block(struct buf *out, const struct prof_error *e)
{
	buf_printf(out, "a%s block of %s %s", e->where == REC_WHERE_FREED ? " freed" : "",
		   fmt_count(e->block_bytes).s, bytes_word(e->block_bytes));
}

/* "3 bytes inside of", "0 bytes behind", "5 bytes before" the block. */
static void
add_position(struct buf *out, const struct prof_error *e)
{
	uint64_t off = e->addr - e->block;

	if (e->addr < e->block)
		buf_printf(out, "%s %s before ", fmt_count(e->block - e->addr).s,
			   bytes_word(e->block - e->addr));
	else if (off < e->block_bytes || e->where == REC_WHERE_FREED)
		buf_printf(out, "%s %s inside of ", fmt_count(off).s, bytes_word(off));
	else if (off == e->block_bytes)
		buf_add_str(out, "directly behind ");
	else
		buf_printf(out, "%s %s behind ", fmt_count(off - e->block_bytes).s,
			   bytes_word(off - e->block_bytes));
	add_block(out, e);
}

static void
add_thread(struct buf *out, const struct prof *p, const struct prof_error *e)
{
	buf_printf(out, "the stack of thread %u", e->where_thread);
	for (uint32_t i = 1; i < p->nthreads; i++) {
		const struct prof_thread *t = &p->threads[i];

		if (t->process != e->process || t->serial != e->where_thread)
			continue;
		buf_add_str(out, " (");
		clean_text(out, prof_text(p, t->name));
		buf_add_char(out, ')');
		return;
	}
}

static void
add_module(struct buf *out, const struct prof *p, const struct prof_error *e)
{
	const char *path = prof_text(p, p->modules[e->where_module].path);

	buf_add_str(out, "global memory");
	if (e->symbol != 0) {
		buf_add_str(out, ", ");
		clean_text(out, prof_text(p, e->symbol));
		if (e->symbol_off > 0)
			buf_printf(out, " + %" PRIu64, e->symbol_off);
	}
	buf_add_str(out, " in ");
	clean_text(out, path[0] != '\0' ? path : "a module");
}

/* What was freed that is no block. */
static void
add_free(struct buf *out, const struct prof *p, const struct prof_error *e)
{
	const char *name = error_func_name(e->func);

	if (is_again(e)) {
		if (e->func == REC_FUNC_REALLOC)
			buf_add_str(out, "realloc of a freed ");
		else
			buf_add_str(out, "double free of a ");
		buf_printf(out, "block of %s %s", fmt_count(e->block_bytes).s,
			   bytes_word(e->block_bytes));
		return;
	}
	buf_printf(out, "%s of ", name);
	switch (e->where) {
	case REC_WHERE_BLOCK:
	case REC_WHERE_FREED:
		buf_add_str(out, "an address ");
		add_position(out, e);
		break;
	case REC_WHERE_STACK:
		add_thread(out, p, e);
		break;
	case REC_WHERE_MODULE:
		add_module(out, p, e);
		break;
	default:
		buf_add_str(out, "an address that is not allocated");
	}
	buf_printf(out, " (0x%" PRIx64 ")", e->addr);
}

static void
add_overlap(struct buf *out, const struct prof_error *e)
{
	buf_printf(out, "source and destination overlap in %s(0x%" PRIx64 ", 0x%" PRIx64,
		   error_func_name(e->func), e->addr, e->source);
	if (e->given != 0)
		buf_printf(out, ", %" PRIu64, e->given);
	buf_add_char(out, ')');
}

static void
add_access(struct buf *out, const struct prof *p, const struct prof_error *e)
{
	const char *word = e->kind == REC_ERROR_READ ? "read" : "written";

	if (e->given > 0)
		buf_printf(out, "%s %s ", fmt_count(e->given).s, bytes_word(e->given));
	buf_printf(out, "%s ", word);
	(void)p;
	add_position(out, e);
}

static void
add_alignment(struct buf *out, uint64_t align)
{
	if (align == 0)
		buf_add_str(out, " without an alignment");
	else
		buf_printf(out, " aligned to %s", fmt_count(align).s);
}

void
error_title(struct buf *out, const struct prof *p, const struct prof_error *e)
{
	switch (e->kind) {
	case REC_ERROR_FREE:
		add_free(out, p, e);
		break;
	case REC_ERROR_MISMATCH:
		add_block(out, e);
		buf_printf(out, " from %s given to %s", error_family_name(e->block_kind),
			   error_func_name(e->func));
		break;
	case REC_ERROR_SIZE:
		add_block(out, e);
		buf_printf(out, " given to %s as one of %s", error_func_name(e->func),
			   fmt_count(e->given).s);
		break;
	case REC_ERROR_ALIGNMENT:
		add_block(out, e);
		add_alignment(out, e->source);
		buf_printf(out, " given to %s as one", error_func_name(e->func));
		add_alignment(out, e->given);
		break;
	case REC_ERROR_FISHY:
		buf_printf(out, "%s of %" PRId64 " bytes", error_func_name(e->func),
			   (int64_t)e->given);
		break;
	case REC_ERROR_REALLOC_ZERO:
		buf_add_str(out, "realloc to 0 bytes");
		break;
	case REC_ERROR_BOUNDS:
	case REC_ERROR_AFTER_FREE:
		buf_printf(out, "%s %s written ", fmt_count(e->given).s,
			   bytes_word(e->given));
		add_position(out, e);
		break;
	case REC_ERROR_READ:
	case REC_ERROR_WRITE:
		add_access(out, p, e);
		break;
	case REC_ERROR_OVERLAP:
		add_overlap(out, e);
		break;
	default:
		buf_add_str(out, "others, which were not kept one by one");
	}
}

const char *
error_stack_name(const struct prof_error *e)
{
	switch (e->kind) {
	case REC_ERROR_BOUNDS:
	case REC_ERROR_AFTER_FREE:
		return "found here";
	case REC_ERROR_FREE:
		return is_again(e) ? "again here" : "here";
	default:
		return "here";
	}
}
