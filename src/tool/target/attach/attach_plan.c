/* SPDX-License-Identifier: MIT */
/* attach_plan.c -- see attach_plan.h.
 *
 * Each allocator is hooked as a whole, in one of two ways. By detours: a jump at the
 * entry of each of its functions, where their first instructions are understood. Else by
 * words: every word that the loader has bound to them, in every object, leads to the hook
 * instead; that works only for an allocator whose functions others are bound to by
 * name. */
#include "tool/target/attach/attach_plan_impl.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/target/attach/blob_image.h"
#include "tool/target/trace/detour.h"

enum {
	ISLAND_BYTES = 8192, /* room for every hook that there is */
	FAR_JUMP_BYTES = 14,
	STUB_BYTES = 16,
};

#define PAGE UINT64_C(4096)

/* ---- the image ---- */

static const Elf64_Phdr *
image_phdr(unsigned type, unsigned nth)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)(const void *)blob_image;
	const Elf64_Phdr *ph =
		(const Elf64_Phdr *)(const void *)(blob_image + eh->e_phoff);

	for (unsigned i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == type && nth-- == 0)
			return &ph[i];
	}
	return NULL;
}

/* It was made with this program, and a test looks at it: no need to mistrust it. */
static void
image_sizes(struct plan *p)
{
	const Elf64_Phdr *text = image_phdr(PT_LOAD, 0), *data = image_phdr(PT_LOAD, 1);

	p->text_bytes = data->p_vaddr;
	p->image_bytes = ALIGN_UP(data->p_vaddr + data->p_memsz, PAGE);
	p->image = xcalloc(1, p->image_bytes);
	memcpy(p->image, blob_image + text->p_offset, text->p_filesz);
	memcpy(p->image + data->p_vaddr, blob_image + data->p_offset, data->p_filesz);
}

static void
image_relocate(struct plan *p)
{
	const Elf64_Dyn *d =
		(const Elf64_Dyn *)(const void *)(p->image +
						  image_phdr(PT_DYNAMIC, 0)->p_vaddr);
	uint64_t at = 0, bytes = 0;

	for (; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_RELA)
			at = d->d_un.d_ptr;
		else if (d->d_tag == DT_RELASZ)
			bytes = d->d_un.d_val;
	}
	for (uint64_t i = 0; i < bytes; i += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		uint64_t value;

		memcpy(&r, p->image + at + i, sizeof r);
		value = p->code.start + (uint64_t)r.r_addend;
		memcpy(p->image + r.r_offset, &value, sizeof value);
	}
}

struct blob_config *
plan_config(struct plan *p)
{
	return (struct blob_config *)(void *)(p->image + p->text_bytes);
}

/* ---- places ---- */

static bool
near(uint64_t at, uint64_t bytes, const struct object *o)
{
	uint64_t low = at < o->start ? at : o->start;
	uint64_t high = at + bytes > o->end ? at + bytes : o->end;

	return high - low < PLAN_REACH;
}

/* A place for `bytes`: the free one that is nearest to `o`, or the highest one when that
 * is NULL. What was found is taken. */
static uint64_t
take_place(struct objects *os, uint64_t bytes, const struct object *o)
{
	struct tracee_span *best = NULL;
	uint64_t best_at = 0, best_far = UINT64_MAX;

	for (size_t i = 0; i < os->gaps.len; i++) {
		struct tracee_span *g = &os->gaps.data[i];
		uint64_t at, far;

		if (g->end < g->start + bytes + 2 * 65536)
			continue;
		at = ALIGN_DOWN(g->end - bytes - 65536, UINT64_C(65536));
		if (o != NULL && g->start >= o->end && at - o->end > PLAN_REACH / 4)
			at = g->start + 65536;
		if (o != NULL && !near(at, bytes, o))
			continue;
		far = o == NULL	      ? UINT64_MAX - 1 - at
		      : at < o->start ? o->start - at
				      : at - o->start;
		if (far < best_far) {
			best = g;
			best_at = at;
			best_far = far;
		}
	}
	if (best == NULL)
		return 0;
	if (best_at - best->start > best->end - best_at - bytes)
		best->end = best_at;
	else
		best->start = best_at + bytes;
	return best_at;
}

static int
place_code(const struct tracee *t, struct plan *p, struct err *e)
{
	const struct object *o =
		&p->objects.all.data[p->allocators.functions.data[0].object];

	image_sizes(p);
	p->code.bytes = p->image_bytes + ISLAND_BYTES;
	p->code.start = take_place(&p->objects, p->code.bytes, o);
	p->data.start = take_place(&p->objects, p->data.bytes, NULL);
	p->self.start = take_place(&p->objects, p->self.bytes, NULL);
	if (p->code.start == 0 || p->data.start == 0 || p->self.start == 0)
		return err_set(e, -ENOMEM,
			       "%d: no free address range near %s for the recorder",
			       t->pid, o->path);
	p->islands[0].at = p->code.start + p->image_bytes;
	p->islands[0].object = (size_t)(o - p->objects.all.data);
	p->islands_used = 1;
	image_relocate(p);
	return 0;
}

/* The island for functions of an object. NULL: there is no room for one. */
static struct plan_island *
island_for(struct plan *p, size_t object)
{
	const struct object *o = &p->objects.all.data[object];
	struct plan_island *is;

	for (unsigned i = 0; i < p->islands_used; i++) {
		if (p->islands[i].object == object ||
		    near(p->islands[i].at, ISLAND_BYTES, o))
			return &p->islands[i];
	}
	if (p->islands_used == ARRAY_LEN(p->islands))
		return NULL;
	is = &p->islands[p->islands_used];
	is->at = take_place(&p->objects, ISLAND_BYTES, o);
	is->object = object;
	if (is->at == 0)
		return NULL;
	p->islands_used++;
	return is;
}

/* ---- hooks ---- */

void
plan_add_patch(struct plan *p, uint64_t at, const void *before, const void *after,
	       unsigned n)
{
	struct attach_patch patch = {.addr = at, .bytes = n};

	memcpy(patch.before, before, n);
	memcpy(patch.after, after, n);
	vec_push(&p->patches, patch);
}

static uint64_t
hook_of(struct plan *p, const struct alloc_function *f, unsigned slot)
{
	return (uint64_t)(uintptr_t)plan_config(p)->hooks[f->shape][slot];
}

/* _Znwm, _Znam and those with an alignment. */
static bool
throws(const struct alloc_function *f)
{
	return f->shape == BLOB_ALLOC && strncmp(f->name, "_Zn", 3) == 0 &&
	       strstr(f->name, "nothrow") == NULL;
}

/* The same operator new, that returns NULL instead; 0: there is none. */
static uint64_t
nothrow_of(const struct plan *p, const struct alloc_function *f)
{
	for (size_t i = 0; i < p->allocators.functions.len; i++) {
		const struct alloc_function *g = &p->allocators.functions.data[i];
		size_t n = strlen(f->name);

		if (g->family == f->family && g->object == f->object &&
		    strncmp(g->name, f->name, n) == 0 &&
		    strcmp(g->name + n, "RKSt9nothrow_t") == 0)
			return g->addr;
	}
	return 0;
}

static void
set_next(struct plan *p, const struct alloc_function *f, unsigned slot, uint64_t fn,
	 bool nests)
{
	plan_config(p)->next[f->shape][slot] = (struct blob_next){
		.fn = fn,
		.kind = f->kind,
		.nests = nests,
		.nothrow = throws(f) ? nothrow_of(p, f) : 0,
		.aligned = strstr(f->name, "align_val_t") != NULL,
	};
	p->hooked++;
}

/* Does a function of an allocator only lead on to another one of it? */
static bool
leads_on(const struct plan *p, const struct alloc_function *f, const uint8_t *code,
	 size_t n)
{
	for (size_t i = 0; i < p->allocators.functions.len; i++) {
		const struct alloc_function *g = &p->allocators.functions.data[i];

		if (g != f && g->family == f->family && g->needed &&
		    detour_calls(code, n, f->addr, g->addr))
			return true;
	}
	return false;
}

static size_t
read_code(const struct tracee *t, const struct alloc_function *f, uint8_t *code)
{
	size_t n = f->bytes > 0 && f->bytes < PLAN_FUNCTION_MAX ? f->bytes
								: PLAN_FUNCTION_MAX;

	return tracee_read_some(t, f->addr, code, n);
}

static int
add_detour(const struct tracee *t, struct plan *p, const struct alloc_function *f,
	   struct err *e)
{
	struct plan_island *is = island_for(p, f->object);
	uint8_t code[PLAN_FUNCTION_MAX], far[FAR_JUMP_BYTES] = {0xff, 0x25};
	size_t n = read_code(t, f, code), was;
	unsigned slot = p->slots[f->shape];
	struct detour d;
	uint64_t hook, stub;
	bool nests;
	int r;

	if (is == NULL || slot == BLOB_HOOKS)
		return err_set(e, -ENOSPC, "no room for its hook");
	nests = f->shape != BLOB_REALLOC && leads_on(p, f, code, n);
	/* What it leads on to is hooked. But a calloc may call malloc in one case
	 * only. */
	if (nests && !f->needed)
		return -EALREADY;
	if (throws(f) && nothrow_of(p, f) == 0)
		return err_set(e, -ENOTSUP,
			       "it throws, and has no sibling that does not");
	was = is->bytes.len;
	hook = hook_of(p, f, slot);
	stub = is->at + was;
	memcpy(far + 6, &hook, sizeof hook);
	if (is != &p->islands[0])
		buf_add(&is->bytes, far, sizeof far);
	while (is->bytes.len % 16 != 0)
		buf_add_char(&is->bytes, (char)0xcc);
	r = detour_make(code, n, f->addr, is != &p->islands[0] ? stub : hook,
			is->at + is->bytes.len, &d, e);
	if (r == 0 && is->bytes.len + d.moved_bytes > ISLAND_BYTES)
		r = err_set(e, -ENOSPC, "no room for its hook");
	if (r < 0) {
		is->bytes.len = was;
		return r;
	}
	set_next(p, f, slot, is->at + is->bytes.len, nests);
	p->slots[f->shape]++;
	buf_add(&is->bytes, d.moved, d.moved_bytes);
	plan_add_patch(p, f->addr, code, d.jump, sizeof d.jump);
	return 0;
}

/* ---- by words ---- */

struct words {
	const struct tracee *t;
	struct plan *p;
	unsigned family;
	unsigned added;
};

static bool
is_patched(const struct plan *p, uint64_t at)
{
	for (size_t i = 0; i < p->patches.len; i++) {
		if (p->patches.data[i].addr == at)
			return true;
	}
	return false;
}

/* Words do not lead to a hook but to a jump of its own, which is changed like they are:
 * whoever has copied the word meanwhile comes to the real function once we are gone. */
static int
add_stub(struct plan *p, const struct alloc_function *f, uint64_t hook)
{
	uint8_t stub[STUB_BYTES] = {0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc};
	struct plan_island *is = &p->islands[0];
	struct plan_stub s = {.fn = f->addr};

	while (is->bytes.len % STUB_BYTES != 0)
		buf_add_char(&is->bytes, (char)0xcc);
	if (is->bytes.len + sizeof stub > ISLAND_BYTES)
		return -ENOSPC;
	s.at = is->at + is->bytes.len;
	memcpy(stub + 8, &f->addr, sizeof f->addr);
	buf_add(&is->bytes, stub, sizeof stub);
	plan_add_patch(p, s.at + 8, &f->addr, &hook, sizeof hook);
	vec_push(&p->stubs, s);
	return 0;
}

/* What leads to the hook of a function, if it has one. */
static uint64_t
stub_for(const struct plan *p, uint64_t fn)
{
	for (size_t i = 0; i < p->stubs.len; i++) {
		if (p->stubs.data[i].fn == fn)
			return p->stubs.data[i].at;
	}
	return 0;
}

/* Does a word still lead to the stub that binds it? That pushes a number and jumps. */
static bool
is_unbound(const struct tracee *t, uint64_t to)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[16];
	size_t at;

	if (tracee_read(t, to, code, sizeof code, NULL) < 0)
		return false;
	at = memcmp(code, endbr, sizeof endbr) == 0 ? sizeof endbr : 0;
	return code[at] == 0x68 &&
	       (code[at + 5] == 0xe9 || (code[at + 5] == 0xf2 && code[at + 6] == 0xe9));
}

static void
see_word(void *ctx, const struct object_symbol *s)
{
	struct words *w = ctx;
	uint64_t before, hook;

	for (size_t i = 0; i < w->p->allocators.functions.len; i++) {
		const struct alloc_function *f = &w->p->allocators.functions.data[i];

		if (f->family != w->family || strcmp(f->name, s->name) != 0)
			continue;
		hook = stub_for(w->p, f->addr);
		if (hook == 0 || is_patched(w->p, s->addr) ||
		    tracee_read(w->t, s->addr, &before, sizeof before, NULL) < 0)
			return;
		/* Bound to another function of that name, or changed by the program
		 * since: not ours. Not bound yet it would be overwritten, but what it is
		 * going to be is known. */
		if (before != f->addr && (s->exported || !is_unbound(w->t, before)))
			return;
		before = f->addr;
		plan_add_patch(w->p, s->addr, &before, &hook, sizeof hook);
		w->p->taken = w->p->taken || s->exported;
		w->added++;
		return;
	}
}

static bool
is_loader(const char *path)
{
	return strstr(path, "/ld-linux") != NULL || strstr(path, "/ld-2.") != NULL ||
	       strstr(path, "/ld-musl") != NULL;
}

static unsigned
add_words(const struct tracee *t, struct plan *p, unsigned family)
{
	struct words w = {.t = t, .p = p, .family = family};

	for (size_t i = 0; i < p->objects.all.len; i++) {
		const struct object *o = &p->objects.all.data[i];

		if (o->order >= 0 && !is_loader(o->path))
			object_bindings(t, o, see_word, &w, NULL);
	}
	return w.added;
}

/* ---- an allocator ---- */

static void
leave_out(struct plan *p, const struct alloc_function *f)
{
	buf_printf(&p->left_out, "%s%s%s", p->left_out.len > 0 ? ", " : "", f->prefix,
		   f->name);
}

/* All its functions by detours. -ENOTSUP, with nothing added, if one that is needed
 * refuses. */
static int
hook_by_detours(const struct tracee *t, struct plan *p, unsigned family, struct err *e)
{
	struct plan before = *p;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->allocators.functions.len; i++) {
		const struct alloc_function *f = &p->allocators.functions.data[i];
		struct err why = {0};

		if (f->family != family || f->alias)
			continue;
		r = add_detour(t, p, f, &why);
		if (r < 0 && !f->needed) {
			if (r != -EALREADY)
				leave_out(p, f);
			r = 0;
		} else if (r < 0) {
			err_set(e, r, "%s%s: %s", f->prefix, f->name, why.msg);
		}
	}
	if (r < 0) {
		p->patches.len = before.patches.len;
		p->hooked = before.hooked;
		memcpy(p->slots, before.slots, sizeof p->slots);
		for (unsigned i = 0; i < BLOB_SHAPES; i++) {
			for (unsigned k = p->slots[i]; k < BLOB_HOOKS; k++)
				plan_config(p)->next[i][k].fn = 0;
		}
	}
	return r;
}

static int
hook_by_words(const struct tracee *t, struct plan *p, unsigned family)
{
	for (size_t i = 0; i < p->allocators.functions.len; i++) {
		const struct alloc_function *f = &p->allocators.functions.data[i];
		unsigned slot = p->slots[f->shape];

		if (f->family != family || f->alias)
			continue;
		if (!f->by_name || slot == BLOB_HOOKS ||
		    (throws(f) && nothrow_of(p, f) == 0)) {
			if (f->needed)
				return -ENOTSUP;
			leave_out(p, f);
			continue;
		}
		if (add_stub(p, f, hook_of(p, f, slot)) < 0)
			return -ENOTSUP;
		set_next(p, f, slot, f->addr, false);
		p->slots[f->shape]++;
		/* The linker has bound the program's own calls to it already. */
		p->direct_calls =
			p->direct_calls || p->objects.all.data[f->object].program;
	}
	p->by_words = true;
	return add_words(t, p, family) > 0 ? 0 : -ENOTSUP;
}

static int
hook_family(const struct tracee *t, struct plan *p, unsigned family, bool words_only,
	    struct err *e)
{
	int r = words_only ? -ENOTSUP : hook_by_detours(t, p, family, e);

	if (r < 0 && hook_by_words(t, p, family) == 0)
		r = 0;
	return r;
}

int
plan_make(const struct tracee *t, uint64_t data_bytes, uint64_t self_bytes,
	  struct plan *ret, struct err *e)
{
	struct plan p = {.data.bytes = ALIGN_UP(data_bytes, PAGE),
			 .self.bytes = ALIGN_UP(self_bytes, PAGE)};
	bool words_only = getenv("SEEP_TEST_ATTACH_WORDS") != NULL;
	int r = objects_read(t, &p.objects, e);

	if (r == 0)
		r = allocators_find(t, &p.objects, &p.allocators, e);
	if (r == 0)
		r = place_code(t, &p, e);
	for (unsigned i = 0; r == 0 && i < p.allocators.families; i++) {
		struct err why = {0};

		r = hook_family(t, &p, i, words_only, &why);
		/* The process's own malloc is what matters; one more inside of it may be
		 * missing. */
		if (r < 0 && i > 0) {
			buf_printf(&p.left_out, "%s%s", p.left_out.len > 0 ? ", " : "",
				   why.msg);
			r = 0;
		} else if (r < 0) {
			err_set(e, r,
				"%d: cannot hook its allocator (%s); use seep watch",
				t->pid, why.msg);
		}
	}
	if (r == 0 && p.patches.len > ATTACH_PATCHES_MAX)
		r = err_set(
			e, -E2BIG,
			"%d: %zu words would have to be patched, too many; use seep watch",
			t->pid, p.patches.len);
	if (r == 0)
		plan_fill_config(t, &p);
	if (r < 0)
		plan_done(&p);
	else
		*ret = p;
	return r;
}

struct attach_range
plan_stubs(const struct plan *p)
{
	if (!p->taken)
		return (struct attach_range){0};
	return (struct attach_range){p->islands[0].at,
				     ALIGN_UP(p->islands[0].bytes.len, PAGE)};
}

unsigned
plan_more_words(const struct tracee *t, struct plan *p)
{
	struct objects now = {0};
	size_t before = p->patches.len;

	if (!p->by_words || objects_read(t, &now, NULL) < 0)
		return 0;
	objects_done(&p->objects);
	p->objects = now;
	for (unsigned i = 0; i < p->allocators.families; i++)
		add_words(t, p, i);
	return (unsigned)(p->patches.len - before);
}

void
plan_done(struct plan *p)
{
	objects_done(&p->objects);
	allocators_done(&p->allocators);
	vec_done(&p->patches);
	vec_done(&p->stubs);
	for (unsigned i = 0; i < ARRAY_LEN(p->islands); i++)
		buf_done(&p->islands[i].bytes);
	free(p->image);
	p->image = NULL;
	buf_done(&p->left_out);
}
