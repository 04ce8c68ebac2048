/* SPDX-License-Identifier: MIT */
/* api.c -- what a program may say to us (include/seep/seep.h): pause, resume, mark, and
 * blocks of allocators of its own. */
#include "guest/hooks/gate.h"
#include "guest/record/events.h"
#include "guest/record/marks.h"
#include "seep/seep.h"

static void
set_paused(uint32_t value)
{
	struct thread *t = gate_enter(GATE_CFA());

	if (t == NULL)
		return;
	__atomic_store_n(&recorder_now->head->paused, value, __ATOMIC_RELAXED);
	gate_leave();
}

SEEP_EXPORT void
seep_pause(void)
{
	set_paused(1);
}

SEEP_EXPORT void
seep_resume(void)
{
	set_paused(0);
}

SEEP_EXPORT void
seep_mark(const char *name)
{
	struct thread *t = gate_enter(GATE_CFA());

	if (t == NULL)
		return;
	marks_take(recorder_now, t, name == NULL ? "" : name);
	gate_leave();
}

SEEP_EXPORT NOINLINE void
seep_malloc_like(const void *p, size_t bytes)
{
	const struct unw_start at = GATE_HERE();

	if (p != NULL)
		gate_allocated((void *)(uintptr_t)p, bytes, REC_KIND_CUSTOM, &at);
}

SEEP_EXPORT void
seep_free_like(const void *p)
{
	if (p != NULL)
		gate_forgetting((void *)(uintptr_t)p, GATE_CFA());
}
