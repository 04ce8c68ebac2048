/* SPDX-License-Identifier: MIT */
/* attach_keep.c -- what is still to be done to a process that is attached to: objects
 * that were loaded since, and what could not be found out before. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "tool/target/attach/attach_impl.h"

/* It may have become another program, or its number another process. The file sticks to
 * the memory that it was opened for, so once this was seen nothing else can be written
 * to. */
static bool
is_ours(const struct attach *a, const struct tracee *t)
{
	char magic[sizeof BLOB_MAGIC - 1];

	return pread(t->mem_fd, magic, sizeof magic, (off_t)a->control->config) ==
		       (ssize_t)sizeof magic &&
	       memcmp(magic, BLOB_MAGIC, sizeof magic) == 0;
}

/* Not once somebody has begun to take it out: what he puts back would be replaced again,
 * and then unmapped. */
static bool
is_on(const struct attach *a)
{
	return __atomic_load_n(&a->control->off, __ATOMIC_ACQUIRE) == 0 &&
	       __atomic_load_n(&a->control->state, __ATOMIC_ACQUIRE) == ATTACH_ON;
}

int
attach_keep_up(struct attach *a, struct err *e)
{
	struct tracee t = TRACEE_NONE;
	size_t before = a->plan.patches.len;
	int r;

	if (!a->plan.by_words || !is_on(a))
		return 0;
	r = tracee_open(a->pid, &t, e);
	if (r == 0 && !is_ours(a, &t))
		r = err_set(e, -ESRCH, "%d: it is another program now", a->pid);
	if (r < 0) {
		tracee_close(&t);
		return r;
	}
	plan_more_words(&t, &a->plan);
	if (a->plan.patches.len > ATTACH_PATCHES_MAX)
		a->plan.patches.len = ATTACH_PATCHES_MAX;
	/* First how to undo it, then it itself: one word each, aligned, so no thread has
	 * to stop. */
	memcpy((struct attach_patch *)(a->control + 1) + before,
	       a->plan.patches.data + before,
	       (a->plan.patches.len - before) * sizeof(struct attach_patch));
	a->control->stubs = plan_stubs(&a->plan);
	__atomic_store_n(&a->control->patches, (uint32_t)a->plan.patches.len,
			 __ATOMIC_RELEASE);
	for (size_t i = 0; r == 0 && i < a->plan.patches.len; i++) {
		const struct attach_patch *p = &a->plan.patches.data[i];
		uint8_t now[8];

		if (p->bytes != 8 || tracee_read(&t, p->addr, now, 8, NULL) < 0)
			continue;
		/* The loader may have bound an old one again, after all. What else is at
		 * its address is not ours: the object has gone. */
		if (i >= before ? memcmp(now, p->after, 8) != 0
				: memcmp(now, p->before, 8) == 0) {
			if (!is_on(a) || !is_ours(a, &t))
				break;
			r = tracee_write(&t, p->addr, p->after, 8, e);
		}
	}
	tracee_close(&t);
	return r;
}

bool
attach_settle(struct attach *a)
{
	struct tracee t = TRACEE_NONE;
	uint64_t at = a->control->config + offsetof(struct blob_config, tid_off);
	uint32_t off = 0;

	if (tracee_open(a->pid, &t, NULL) == 0 && tracee_stop(&t, NULL) == 0) {
		off = attach_tid_off(&t);
		if (off != 0 && is_ours(a, &t))
			tracee_write(&t, at, &off, sizeof off, NULL);
	}
	tracee_close(&t);
	return off != 0;
}
