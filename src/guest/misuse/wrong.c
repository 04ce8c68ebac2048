/* SPDX-License-Identifier: MIT */
/* wrong.c -- wrong use of the heap. See wrong.h.
 *
 * That an address is unknown proves something only while every block is known. It is not
 * when recording began late, was paused or ran out of room, or in a child of fork that
 * was not told of all blocks; then only what is certain all the same is reported, a free
 * of stack memory. Blocks that pass by unrecorded (of the time before we began, those
 * that libc makes for us, those of handlers on top of us) are strays: their addresses are
 * kept in a small table, and a free of one is right. When that is full, nothing is proven
 * any more. Nor is it once the program may have called the allocator past the hooks
 * (past.c): then an address that is known may have been freed and handed out again, too.
 *
 * An allocator other than libc's may have more ways to hand out blocks than we know. Over
 * such a one an address that is nothing we know is counted and not reported. Where
 * somebody has operators new and delete of his own, which may hand out something else
 * than malloc did, nothing is said of delete. Where a program replaces some of their
 * forms, a block of new may come from its own malloc or go to its own free: only blocks
 * that are none are reported then. */
#include "guest/misuse/wrong.h"

#include "guest/dropin/peer.h"
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/loader.h"
#include "guest/life/settings.h"
#include "guest/misuse/fence.h"
#include "guest/misuse/under.h"
#include "guest/misuse/wrong_freed.h"
#include "guest/misuse/zone.h"
#include "guest/record/errors.h"
#include "guest/rt/rt_text.h"
#include "shared/hash.h"

#include <errno.h>
#include <string.h>

enum { STRAYS_MAX = 1024, STRAYS_FULL = STRAYS_MAX * 3 / 4 };

struct wrong_settings wrong;
const struct wrong_form wrong_free = {REC_FUNC_FREE, WRONG_MALLOCS, 0, 0};
const struct wrong_form wrong_realloc = {REC_FUNC_REALLOC, WRONG_MALLOCS, 0, 0};

static bool layers;		     /* zone.c or fence.c */
static void *allocator;		     /* the real malloc */
static uintptr_t strays[STRAYS_MAX]; /* 0 = free, 1 = was taken; by hash */
static uint32_t nstrays;

enum { ROOM = 16 }; /* around each block where only freed ones are to be held back */

void
wrong_begin(const struct settings *s)
{
	struct zone_settings zone = {
		.on = s->redzone != 0 || s->quarantine != 0,
		.around = ALIGN_UP((size_t)(s->redzone != 0 ? s->redzone : ROOM),
				   (size_t)16),
		.quarantine = (size_t)s->quarantine,
	};

	wrong.from_start = true;
	allocator = (void *)next.malloc;
	if (s->recorder.mode != REC_MODE_EXACT || peer != NULL)
		return;
	wrong.keep_going = s->keep_going;
	wrong.stacks = s->free_stacks || zone.on;
	wrong.fenced = s->guard != 0;
	layers = zone.on || wrong.fenced;
	if (layers)
		under_install();
	zone_install(&zone);
	fence_wanted(s->guard);
}

/* ---- blocks that nobody recorded ---- */

void
wrong_stray(const void *p)
{
	size_t i = hash_u64((uintptr_t)p);

	for (unsigned k = 0; k < STRAYS_MAX; k++) {
		uintptr_t *slot = &strays[(i + k) % STRAYS_MAX];
		uintptr_t had = __atomic_load_n(slot, __ATOMIC_RELAXED);

		if (had == (uintptr_t)p)
			return;
		if (had <= 1 &&
		    __atomic_load_n(&nstrays, __ATOMIC_RELAXED) < STRAYS_FULL &&
		    __atomic_compare_exchange_n(slot, &had, (uintptr_t)p, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&nstrays, 1, __ATOMIC_RELAXED);
			return;
		}
	}
	__atomic_store_n(&nstrays, STRAYS_MAX, __ATOMIC_RELAXED);
}

static bool
stray_taken(uintptr_t p)
{
	size_t i = hash_u64(p);

	for (unsigned k = 0; k < STRAYS_MAX; k++) {
		uintptr_t *slot = &strays[(i + k) % STRAYS_MAX];
		uintptr_t had = __atomic_load_n(slot, __ATOMIC_RELAXED);

		if (had == 0)
			return false;
		if (had == p) {
			__atomic_store_n(slot, 1, __ATOMIC_RELAXED);
			if (__atomic_load_n(&nstrays, __ATOMIC_RELAXED) < STRAYS_MAX)
				__atomic_fetch_sub(&nstrays, 1, __ATOMIC_RELAXED);
			return true;
		}
	}
	return false;
}

/* Is every block in the table? */
static bool
all_known(const struct recorder *r)
{
	static const uint8_t holes[] = {REC_LOST_SPACE, REC_LOST_LOCK, REC_LOST_ADDRESS,
					REC_LOST_THREAD};
	const struct rec_head *h = r->head;

	for (unsigned i = 0; i < ARRAY_LEN(holes); i++)
		if (h->lost[holes[i]] != 0)
			return false;
	return wrong.from_start && (h->flags & REC_FLAG_PAST) == 0 &&
	       h->mode == REC_MODE_EXACT && h->paused == 0 && h->paused_allocs == 0 &&
	       __atomic_load_n(&nstrays, __ATOMIC_RELAXED) < STRAYS_FULL &&
	       ((h->flags & REC_FLAG_FORKED) == 0 || r->inherited_whole);
}

/* Name of the module that `f` is in, without its folders; "" = none. */
static const char *
module_name(const void *f)
{
	struct host_module m;
	const char *name;

	if (!loader_host.module_find((uintptr_t)f, &m))
		return "";
	name = m.path;
	for (const char *s = m.path; *s != '\0'; s++)
		if (*s == '/')
			name = s + 1;
	return name;
}

static bool
begins(const char *s, const char *with)
{
	while (*with != '\0')
		if (*s++ != *with++)
			return false;
	return true;
}

static bool
over_libc(void)
{
	return begins(module_name(allocator), "libc.so.");
}

bool
wrong_operator(const void *f)
{
	static const struct {
		const char *name;
		bool library;
	} known[] = {
		{"libstdc++.so", true}, {"libc++.so", true},	{"libc++abi.so", true},
		{"libjemalloc", false}, {"libtcmalloc", false}, {"libmimalloc", false},
	};
	const char *name = module_name(f);

	for (unsigned i = 0; i < ARRAY_LEN(known); i++)
		if (begins(name, known[i].name))
			return known[i].library;
	wrong.cxx_foreign = true;
	return false;
}

void
wrong_operators_replaced(bool deletes)
{
	wrong.cxx_replaced = true;
	wrong.cxx_replaced_delete = deletes;
}

static bool
is_operator(enum rec_func func)
{
	return func == REC_FUNC_DELETE || func == REC_FUNC_DELETE_ARRAY;
}

bool
wrong_has_layers(void)
{
	return layers;
}

bool
wrong_delete_around(const void *p)
{
	return layers && !over_libc() && (fence_owns(p) || zone_owns(p));
}

/* ---- frees ---- */

/* Finds out what it is, and whether that is wrong for certain. Not looked for where it
 * would prove nothing: there may be many such frees, in a child of fork. */
static bool
is_proven(struct recorder *r, struct thread *t, struct rec_error *e)
{
	if (!all_known(r))
		return errors_on_stack(r, t, e);
	errors_look_up(r, t, e);
	if (wrong.stacks || wrong.fenced)
		wrong_freed_find(r, e);
	return e->where != REC_WHERE_UNKNOWN || over_libc();
}

COLD bool
wrong_unknown(struct thread *t, uintptr_t p, const struct wrong_call *call,
	      const struct unw_start *at)
{
	struct recorder *r = t->recorder;
	struct rec_error e = {
		.kind = REC_ERROR_FREE,
		.func = call->form->func,
		.addr = p,
	};

	if (!r->exact || stray_taken(p) || (wrong.cxx_foreign && is_operator(e.func)))
		return true;
	if (!is_proven(r, t, &e))
		return true;
	e.at = errors_stack(r, t, at);
	errors_add(r, t, &e);
	/* It has been counted as one that is not known; now it is. */
	if ((r->head->flags & REC_FLAG_FORKED) == 0 || r->inherited_whole)
		__atomic_fetch_sub(&r->head->frees_unknown, 1, __ATOMIC_RELAXED);
	return !wrong.keep_going;
}

COLD void
wrong_known(struct thread *t, uintptr_t p, struct rec_block gone,
	    const struct wrong_call *call, const struct unw_start *at)
{
	struct recorder *r = t->recorder;
	unsigned kind = gone.a >> REC_BLOCK_KIND_SHIFT & 15;
	size_t align, given = call->form->align_arg != 0
				      ? call->args[call->form->align_arg - 1]
				      : 0;
	bool aligned;
	struct rec_error e = {
		.func = call->form->func,
		.addr = p,
		.where = REC_WHERE_BLOCK,
		.block = p,
		.block_bytes = gone.a & REC_BLOCK_SIZE_MASK,
		.block_kind = kind,
	};

	if (!r->exact || kind >= REC_KIND_MMAP || (r->head->flags & REC_FLAG_PAST) != 0)
		return;
	aligned = wrong_align_take(p, &align);
	if (is_operator(e.func) && (wrong.cxx_foreign || wrong.cxx_replaced ||
				    (kind < REC_KIND_NEW && !over_libc())))
		return; /* what is new's may have gone by another name */
	if (!is_operator(e.func) && wrong.cxx_replaced_delete)
		return; /* what is delete's comes by this one */
	if ((call->form->kinds >> kind & 1) == 0) {
		e.kind = REC_ERROR_MISMATCH;
	} else if (call->form->size_arg == 1 && call->args[0] != e.block_bytes) {
		e.kind = REC_ERROR_SIZE;
		e.given = call->args[0];
	} else if (aligned && wrong.from_start &&
		   (kind == REC_KIND_NEW || kind == REC_KIND_NEW_ARRAY) &&
		   align != given) {
		e.kind = REC_ERROR_ALIGNMENT;
		e.given = given;
		e.source = align;
	} else {
		return;
	}
	e.alloc = errors_site_stack(r, (uint32_t)gone.b);
	e.at = errors_stack(r, t, at);
	errors_add(r, t, &e);
}

/* ---- sizes ---- */

COLD void
wrong_size(enum rec_func func, const void *p, size_t n, const struct unw_start *at)
{
	struct rec_error e = {
		.kind = REC_ERROR_FISHY,
		.func = func,
		.addr = (uintptr_t)p,
		.given = n,
	};
	struct recorder *r = recorder_now;
	struct thread *t;
	int saved = errno;

	if (n == 0)
		e.kind = REC_ERROR_REALLOC_ZERO;
	else if ((int64_t)n >= 0)
		return;
	t = gate_enter(at->sp);
	if (t == NULL)
		return;
	if (r->exact) {
		if (p != NULL)
			errors_look_up(r, t, &e);
		e.at = errors_stack(r, t, at);
		errors_add(r, t, &e);
	}
	gate_leave();
	errno = saved;
}

/* ---- copies ---- */

SEEP_EXPORT void
seep_copy_overlaps(unsigned func, const void *to, const void *from, size_t n,
		   const struct unw_start *at)
{
	struct rec_error e = {
		.kind = REC_ERROR_OVERLAP,
		.func = func,
		.addr = (uintptr_t)to,
		.source = (uintptr_t)from,
		.given = n,
	};
	struct thread *t;
	int saved = errno;

	if (func >= REC_FUNCS || (t = gate_enter(at->sp)) == NULL)
		return;
	if (recorder_now->exact) {
		e.at = errors_stack(recorder_now, t, at);
		errors_add(recorder_now, t, &e);
	}
	gate_leave();
	errno = saved;
}
