/* SPDX-License-Identifier: MIT */
/* lang_register.c -- runtimes that say themselves where their frames are:
 * seep_runtime_register (include/seep/seep.h).
 *
 * The description is checked and copied once. After that nothing of the program is
 * called: where the chain begins is in a thread-local variable, at the same distance from
 * every thread's pointer, and which code runs the frames is the extent of functions, by
 * their unwind tables. */
#include "guest/hooks/gate.h"
#include "guest/lang/chain.h"
#include "guest/lang/lang.h"
#include "guest/life/loader.h"
#include "guest/rt/lock.h"
#include "guest/rt/rt_map.h"
#include "guest/unwind/eh_frame.h"
#include "seep/seep.h"

#include <errno.h>
#include <string.h>

enum {
	RUNTIME_OFFSET_MAX = 2048,
	/* Variables of the program and of libraries that are loaded with it lie so near
	 * to the thread pointer; those of others are elsewhere for each thread. */
	RUNTIME_TLS_MAX = 1 << 20,
	RUNTIME_KIB = 48, /* of a thread's memory that is touched, about */
	RUNTIME_EVALS = sizeof(((struct seep_runtime *)0)->eval) / sizeof(void *),
};

struct runtime {
	struct seep_runtime told; /* as it was registered */
	struct chain_layout layout;
	uintptr_t head_off; /* from the thread pointer */
	struct {
		uintptr_t start, end;
	} evals[RUNTIME_EVALS];
};

static struct runtime runtimes[MIXED_SOURCES_MAX];
static uint32_t nruntimes;
static uint32_t runtimes_lock;

static void
runtime_read(const struct mixed_source *s, struct recorder *r, struct thread *t,
	     void **state, struct mixed_chain *ret)
{
	const struct runtime *x = s->arg;
	uintptr_t head = *(const uintptr_t *)(thread_pointer() + x->head_off);
	const unsigned *changes = x->told.changes;
	struct chain *c = *state;

	*ret = (struct mixed_chain){0};
	if (head == 0)
		return;
	if (UNLIKELY(c == NULL)) {
		*state = c = rt_map(sizeof(*c));
		if (c == NULL) {
			rec_lost(r, REC_LOST_MIXED);
			return;
		}
		__atomic_fetch_add(&r->head->own_kib, RUNTIME_KIB, __ATOMIC_RELAXED);
	}
	if (x->told.head_frame != SEEP_NONE)
		head = peek_word(&c->peek, head + (uintptr_t)x->told.head_frame);
	chain_read(c, &x->layout, r, t, head,
		   changes != NULL ? __atomic_load_n(changes, __ATOMIC_ACQUIRE) : 0, ret);
}

static void
runtime_forget(void *state)
{
	chain_forget(state);
}

static void
runtime_free(void *state)
{
	rt_unmap(state, sizeof(struct chain));
}

static bool
runtime_runs(const struct mixed_source *s, uintptr_t pc)
{
	const struct runtime *x = s->arg;

	for (unsigned i = 0; i < RUNTIME_EVALS; i++)
		if (pc - 1 - x->evals[i].start < x->evals[i].end - x->evals[i].start)
			return true;
	return false;
}

/* ---- registering ---- */

/* An offset, or none where that is allowed; widens what has to be read of a frame. */
static bool
runtime_offset(int off, size_t bytes, bool needed, uint32_t *span)
{
	if (off == SEEP_NONE)
		return !needed;
	if (off < 0 || off > RUNTIME_OFFSET_MAX || (size_t)off % bytes != 0)
		return false;
	if (span != NULL && (uint32_t)off + bytes > *span)
		*span = (uint32_t)(off + (int)bytes);
	return true;
}

static bool
runtime_layout(const struct seep_runtime *told, struct chain_layout *ret)
{
	uint32_t span = 0, *of = told->code == SEEP_NONE ? &span : NULL;
	bool fine = runtime_offset(told->prev, sizeof(void *), true, &span) &&
		    runtime_offset(told->code, sizeof(void *), false, &span) &&
		    runtime_offset(told->function, sizeof(void *), true, of) &&
		    runtime_offset(told->file, sizeof(void *), false, of) &&
		    runtime_offset(told->line, sizeof(int), false, &span) &&
		    runtime_offset(told->entry, 1, false, &span) &&
		    runtime_offset(told->type, sizeof(void *), false, &span) &&
		    runtime_offset(told->head_frame, sizeof(void *), false, NULL);

	*ret = (struct chain_layout){
		.prev = told->prev,
		.code = told->code,
		.function = told->function,
		.file = told->file,
		.line = told->line,
		.entry = told->entry,
		.type = told->type,
		.span = span,
		.language = (enum rec_language)told->language,
	};
	return fine && told->language > REC_LANGUAGE_NATIVE &&
	       told->language < REC_LANGUAGES;
}

/* The whole function that `at` is in. */
static bool
runtime_extent(const void *at, uintptr_t *ret_start, uintptr_t *ret_end)
{
	struct unw_module m = {0};
	struct host_module h;
	struct eh_fde fde;

	if (!loader_host.module_find((uintptr_t)at, &h) || h.eh_hdr == NULL)
		return false;
	m.start = h.start;
	m.end = h.end;
	m.eh_hdr = h.eh_hdr;
	if (!eh_find(&m, (uintptr_t)at, &fde))
		return false;
	*ret_start = fde.start;
	*ret_end = fde.end;
	return true;
}

/* Is it a variable that every thread has at that distance? */
static bool
runtime_is_tls(const void *head, uintptr_t *ret_off)
{
	uintptr_t at = (uintptr_t)head, off = at - thread_pointer();
	struct host_module h;

	*ret_off = off;
	return head != NULL && at % sizeof(void *) == 0 &&
	       off + RUNTIME_TLS_MAX < 2 * (uintptr_t)RUNTIME_TLS_MAX &&
	       !loader_host.module_find(at, &h);
}

static bool
runtime_fill(struct runtime *x, const struct seep_runtime *told)
{
	bool any = false;

	*x = (struct runtime){.told = *told};
	if (!runtime_layout(told, &x->layout) ||
	    !runtime_is_tls(told->head, &x->head_off))
		return false;
	for (unsigned i = 0; i < RUNTIME_EVALS; i++) {
		if (told->eval[i] == NULL)
			continue;
		if (!runtime_extent(told->eval[i], &x->evals[i].start, &x->evals[i].end))
			return false;
		any = true;
	}
	return any;
}

/* Told before, perhaps by another thread, for which `head` is elsewhere? */
static bool
runtime_known(const struct runtime *x)
{
	for (uint32_t i = 0; i < nruntimes; i++) {
		const struct runtime *was = &runtimes[i];

		if (was->head_off == x->head_off &&
		    was->told.head_frame == x->told.head_frame &&
		    was->told.changes == x->told.changes &&
		    memcmp(&was->layout, &x->layout, sizeof(x->layout)) == 0 &&
		    memcmp(was->evals, x->evals, sizeof(x->evals)) == 0)
			return true;
	}
	return false;
}

static int
runtime_add(const struct seep_runtime *told)
{
	struct runtime *x = &runtimes[nruntimes];
	struct mixed_source s = {.read = runtime_read,
				 .forget = runtime_forget,
				 .free = runtime_free,
				 .runs = runtime_runs,
				 .arg = x};

	if (nruntimes == MIXED_SOURCES_MAX || !runtime_fill(x, told))
		return -1;
	if (runtime_known(x))
		return 0;
	if (!lang_add(&s))
		return -1;
	nruntimes++;
	return 0;
}

SEEP_EXPORT int
seep_runtime_register(const struct seep_runtime *runtime)
{
	int saved = errno, r = -1;
	uintptr_t was;

	if (runtime == NULL || runtime->bytes != sizeof(*runtime))
		return -1;
	was = gate_quiet(GATE_CFA());
	if (lock_take(&runtimes_lock, lock_id())) {
		r = runtime_add(runtime);
		lock_drop(&runtimes_lock);
	}
	gate_unquiet(was);
	errno = saved;
	return r;
}
