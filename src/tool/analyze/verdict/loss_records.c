/* SPDX-License-Identifier: MIT */
/* loss_records.c -- see loss_records.h. */
#include "tool/analyze/verdict/loss_records.h"

#include "tool/analyze/process/managed.h"

#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/hash.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

struct losses {
	const struct prof *p;
	unsigned frames; /* by which records differ, without the allocator's own */
	struct map seen; /* hash of a record -> its row + 1 */
	struct loss_records *r;
};

/* ---- records ---- */

static unsigned
loss_callers(unsigned callers)
{
	return callers > 0 ? callers : LOSS_CALLERS;
}

/* The next location of a stack that is code, from `node` on; 0 = none. */
static uint32_t
loss_code(const struct prof *p, uint32_t node)
{
	while (node != 0 && p->locs[p->nodes[node].loc].kind != PROF_LOC_CODE)
		node = p->nodes[node].parent;
	return node;
}

static bool
loss_same_stack(const struct losses *x, uint32_t a, uint32_t b)
{
	for (unsigned i = 0; i < x->frames && a != b; i++) {
		a = loss_code(x->p, a);
		b = loss_code(x->p, b);
		if (a == b)
			return true;
		if (a == 0 || b == 0 || x->p->nodes[a].loc != x->p->nodes[b].loc)
			return false;
		a = x->p->nodes[a].parent;
		b = x->p->nodes[b].parent;
	}
	return true;
}

static uint64_t
loss_hash(const struct losses *x, const struct loss_record *r)
{
	uint64_t h = hash_pair((uint64_t)r->kind << 1 | r->suppressed, r->called);
	uint32_t node = x->p->sites[r->site].node;

	for (unsigned i = 0; i < x->frames && (node = loss_code(x->p, node)) != 0; i++) {
		h = hash_pair(h, x->p->nodes[node].loc);
		node = x->p->nodes[node].parent;
	}
	return h;
}

/* The record that `r` belongs to, added when there is none yet. */
static struct loss_record *
loss_place(struct losses *x, const struct loss_record *r)
{
	uint64_t hash = loss_hash(x, r);

	for (;; hash++) {
		uint64_t *row = map_add(&x->seen, hash);
		struct loss_record *at;

		if (*row == 0) {
			vec_push(&x->r->rows, *r);
			*row = x->r->rows.len;
			return vec_last(&x->r->rows);
		}
		at = &x->r->rows.data[*row - 1];
		if (at->kind == r->kind && at->suppressed == r->suppressed &&
		    at->called == r->called &&
		    loss_same_stack(x, x->p->sites[at->site].node,
				    x->p->sites[r->site].node))
			return at;
	}
}

static void
loss_add(struct losses *x, uint32_t row)
{
	const struct prof_loss *l = &x->p->losses[row];
	struct loss_record *at, r = {.site = l->site,
				     .called = l->called,
				     .kind = l->kind,
				     .suppressed = l->kind == PROF_LOSS_SUPPRESSED,
				     .first = UINT32_MAX};

	if (r.suppressed)
		r.kind = l->was;
	at = loss_place(x, &r);
	at->blocks += l->blocks;
	at->bytes += l->bytes;
	at->indirect_bytes += l->indirect_bytes;
	x->r->next[row] = at->first;
	at->first = row;
	x->r->bytes[l->kind] += l->bytes;
	x->r->blocks[l->kind] += l->blocks;
	x->r->used_bytes += l->bytes;
	x->r->used_blocks += l->blocks;
}

/* By bytes, with what they took along; then as memcheck has it: better kinds first, older
 * stacks first. */
static int
loss_compare(const void *pa, const void *pb)
{
	const struct loss_record *a = pa, *b = pb;
	uint64_t x = a->bytes + a->indirect_bytes, y = b->bytes + b->indirect_bytes;

	if (x != y)
		return x > y ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? 1 : -1;
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? 1 : -1;
	return a->site > b->site ? 1 : a->site < b->site ? -1 : 0;
}

/* Has libc alone lost something? Then what hangs on it is libc's as well (verdict.c has
 * the same rule). */
static bool
loss_is_libcs(const struct prof *p, const struct skip *s, uint32_t process)
{
	bool kept = false;

	for (uint32_t i = 0; i < p->nlosses; i++) {
		const struct prof_loss *l = &p->losses[i];

		if (p->sites[l->site].process != process ||
		    (l->kind != PROF_LOSS_DEFINITE && !l->known))
			continue;
		if (skip_kept_by_libc(s, &p->sites[l->site]) == NULL)
			return false;
		kept = true;
	}
	return kept;
}

void
loss_records_init(struct loss_records *ret_records, const struct prof *p,
		  const struct skip *s, uint32_t process, const struct loss_opts *o)
{
	const struct runtime_info **managed = o->judged ? managed_losses(p, s) : NULL;
	struct losses x = {.p = p, .r = ret_records};
	unsigned callers = loss_callers(o->callers);
	bool libcs = loss_is_libcs(p, s, process);

	x.frames =
		(o->resolution > 0 && o->resolution < callers ? o->resolution : callers) -
		1;
	*ret_records = (struct loss_records){0};
	ret_records->next = xcalloc(p->nlosses, sizeof *ret_records->next);
	for (uint32_t i = 0; i < p->nlosses; i++) {
		const struct prof_site *site = &p->sites[p->losses[i].site];

		if (site->process == process && skip_kept_by_libc(s, site) == NULL &&
		    (managed == NULL || managed[i] == NULL) &&
		    !(libcs && p->losses[i].kind == PROF_LOSS_INDIRECT))
			loss_add(&x, i);
	}
	vec_sort(&ret_records->rows, loss_compare);
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].process != process)
			continue;
		ret_records->allocs += p->sites[i].allocs;
		ret_records->alloc_bytes += p->sites[i].alloc_bytes;
	}
	if (ret_records->allocs > ret_records->used_blocks)
		ret_records->frees = ret_records->allocs - ret_records->used_blocks;
	map_done(&x.seen);
	free(managed);
}

void
loss_records_done(struct loss_records *r)
{
	vec_done(&r->rows);
	free(r->next);
	*r = (struct loss_records){0};
}

uint32_t
loss_records_count(const struct loss_records *r, unsigned kinds)
{
	uint32_t n = 0;

	for (size_t i = 0; i < r->rows.len; i++)
		n += !r->rows.data[i].suppressed &&
		     (kinds & 1u << r->rows.data[i].kind) != 0;
	return n;
}

/* ---- stacks ---- */

static const char *
loss_text(const struct prof *p, uint32_t id)
{
	return id != 0 ? prof_text(p, id) : NULL;
}

/* The functions of the heap that are not called what their symbols are. */
static const char *
loss_called(const char *symbol)
{
	static const char *const names[][2] = {
		{"_Znwm", "operator new(unsigned long)"},
		{"_Znam", "operator new[](unsigned long)"},
		{"_ZnwmRKSt9nothrow_t",
		 "operator new(unsigned long, std::nothrow_t const&)"},
		{"_ZnamRKSt9nothrow_t",
		 "operator new[](unsigned long, std::nothrow_t const&)"},
		{"_ZnwmSt11align_val_t", "operator new(unsigned long, std::align_val_t)"},
		{"_ZnamSt11align_val_t",
		 "operator new[](unsigned long, std::align_val_t)"},
		{"_ZnwmSt11align_val_tRKSt9nothrow_t",
		 "operator new(unsigned long, std::align_val_t, std::nothrow_t const&)"},
		{"_ZnamSt11align_val_tRKSt9nothrow_t",
		 "operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)"},
		{"_ZdlPv", "operator delete(void*)"},
		{"_ZdaPv", "operator delete[](void*)"},
		{"_ZdlPvm", "operator delete(void*, unsigned long)"},
		{"_ZdaPvm", "operator delete[](void*, unsigned long)"},
		{"_ZdlPvSt11align_val_t", "operator delete(void*, std::align_val_t)"},
		{"_ZdaPvSt11align_val_t", "operator delete[](void*, std::align_val_t)"},
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(symbol, names[i][0]) == 0)
			return names[i][1];
	}
	return symbol;
}

/* Address in the process of the call at a location. */
static uint64_t
loss_address(const struct prof *p, uint32_t process, const struct prof_loc *l)
{
	uint64_t at = l->exact ? l->offset : l->offset - 1;

	for (uint32_t i = 0; i < p->nranges; i++) {
		const struct prof_range *r = &p->ranges[i];

		if (r->process == process && r->module == l->module && l->module != 0)
			return at + r->bias;
	}
	return at;
}

/* Start code below main, of which only that it is there is shown. */
static bool
loss_is_start(const char *name)
{
	return name != NULL && (strcmp(name, "_start") == 0 ||
				strcmp(name, "__libc_start_call_main") == 0 ||
				strncmp(name, "__libc_start_main", 17) == 0);
}

/* The recorder's own module: its path, and where it lies in the process. */
static void
loss_recorder(const struct prof *p, uint32_t process, struct loss_frame *f)
{
	f->module = "libseep.so";
	for (uint32_t i = 0; i < p->nranges; i++) {
		const struct prof_range *r = &p->ranges[i];
		const char *path = prof_text(p, p->modules[r->module].path);

		if (r->process != process ||
		    strncmp(file_base(path), "libseep.so", 10) != 0)
			continue;
		f->module = path;
		f->address = r->start;
		return;
	}
}

/* A name without what it is inside of: that is all that debug information says of an
 * inlined function where valgrind looks. */
static const char *
loss_unqualified(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *at = name; *at != '\0'; at++) {
		if (strncmp(at, "operator", 8) == 0 && depth == 0)
			return at == last ? at
					  : last; /* signs behind it are no brackets */
		if (*at == '<' || *at == '(')
			depth++;
		else if ((*at == '>' || *at == ')') && depth > 0)
			depth--;
		else if (at[0] == ':' && at[1] == ':' && depth == 0)
			last = ++at + 1;
	}
	return last;
}

/* All functions at one location. False at main, or below it. */
static bool
loss_add_frames(const struct prof *p, uint32_t process, const struct prof_loc *l,
		struct loss_stack *to)
{
	struct loss_frame f = {.address = loss_address(p, process, l)};

	if (l->module != 0)
		f.module = loss_text(p, p->modules[l->module].path);
	for (uint32_t i = 0; i < l->nframes; i++) {
		const struct prof_frame *x = &p->frames[l->frames + i];

		f.function = loss_text(p, x->function);
		/* A linkage name that is not mangled is an inner alias. */
		f.linkage = loss_text(p, x->linkage);
		if (f.linkage == NULL || f.linkage[0] != '_' ||
		    (f.linkage[1] != 'Z' && f.linkage[1] != 'R'))
			f.linkage = f.function;
		f.file = loss_text(p, x->file);
		f.line = x->line;
		f.inlined = i + 1 < l->nframes;
		f.whole = f.function;
		if (x->inlined && f.function != NULL)
			f.linkage = f.function = loss_unqualified(f.function);
		if (loss_is_start(f.function)) {
			f.function = "(below main)";
			vec_push(&to->frames, f);
			return false;
		}
		vec_push(&to->frames, f);
	}
	if (l->nframes == 0)
		vec_push(&to->frames, f);
	return f.function == NULL || strcmp(f.function, "main") != 0;
}

/* What called main, where main has no name to be told by. */
static void
loss_add_start(const struct prof *p, uint32_t process, struct loss_stack *to)
{
	struct loss_frame f = {.function = "(below main)",
			       .linkage = "__libc_start_main"};

	for (uint32_t i = 0; i < p->nranges && f.module == NULL; i++) {
		const struct prof_range *r = &p->ranges[i];
		const char *path = prof_text(p, p->modules[r->module].path);

		if (r->process == process &&
		    strncmp(file_base(path), "libc.so", 7) == 0) {
			f.module = path;
			f.address = r->start;
		}
	}
	vec_push(&to->frames, f);
}

void
loss_stack(const struct prof *p, uint32_t process, uint32_t node, const char *called,
	   unsigned callers, struct loss_stack *ret_stack)
{
	unsigned left = loss_callers(callers);
	bool above = true; /* main */

	ret_stack->frames.len = 0;
	ret_stack->shown = 0;
	if (called != NULL && called[0] != '\0') {
		struct loss_frame f = {.function = loss_called(called),
				       .linkage = called};

		loss_recorder(p, process, &f);
		vec_push(&ret_stack->frames, f);
		left--;
	}
	for (; left > 0 && (node = loss_code(p, node)) != 0;
	     node = p->nodes[node].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[node].loc];

		/* What stands around main and threads' functions is nobody's business. */
		if (strncmp(file_base(prof_text(p, p->modules[l->module].path)),
			    "libseep.so", 10) == 0) {
			if (ret_stack->frames.len > 0 && above &&
			    loss_code(p, p->nodes[node].parent) == 0)
				loss_add_start(p, process, ret_stack);
			continue;
		}
		left--;
		if (!loss_add_frames(p, process, l, ret_stack) && above) {
			above = false;
			ret_stack->shown = ret_stack->frames.len;
		}
	}
	if (above)
		ret_stack->shown = ret_stack->frames.len;
}

void
loss_stack_done(struct loss_stack *s)
{
	vec_done(&s->frames);
	s->shown = 0;
}
