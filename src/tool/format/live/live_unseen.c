/* SPDX-License-Identifier: MIT */
/* live_unseen.c -- programs that a process started and that are not recorded, out of its
 * recording.
 *
 * Each becomes a process of the profile that says why there is nothing of it, so that
 * reports count, name and judge it as they do others. Of a program that was started very
 * often, the first ones do. */
#include "live_impl.h"

#include <stdlib.h>
#include <string.h>

#include "tool/model/complete.h"
#include "tool/util/x.h"

enum { SAME_MOST = 100 }; /* processes for one entry; more are only counted */

/* As it is, or in the directory that the process was started in. */
static uint32_t
live_path(struct live *l, const char *text, size_t n)
{
	const char *cwd = prof_text(l->p, l->p->processes[l->process].cwd);
	char *path;
	uint32_t s;

	if (n == 0 || text[0] == '/' || cwd[0] == '\0')
		return prof_strn(l->p, text, n);
	path = xasprintf("%s/%.*s", cwd, (int)n, text);
	s = prof_str(l->p, path);
	free(path);
	return s;
}

static void
live_add_unseen(struct live *l, const struct rec_unseen *u, bool first)
{
	const struct rec_head *h = l->head;
	size_t n = strnlen(u->text, sizeof u->text);
	size_t args = n < sizeof u->text ? n + 1 : n;
	uint32_t row = prof_add_process(l->p);
	struct prof_process *x = &l->p->processes[row];

	x->pid = first ? u->pid : 0;
	x->ppid = h->pid;
	x->uid = h->uid;
	x->flags = REC_FLAG_UNSEEN;
	x->mode = l->sampled ? PROF_SAMPLED : PROF_EXACT;
	x->status = -1;
	x->run_id = h->run_id;
	x->start_ns = h->start_ns + (uint64_t)u->ms * 1000000 + 1;
	x->exe = live_path(l, u->text, n);
	x->cmdline = prof_strn(l->p, u->text + args,
			       strnlen(u->text + args, sizeof u->text - args));
	x->not_recorded = prof_str(l->p, complete_unseen_why(u->why));
}

void
live_read_unseen(struct live *l)
{
	uint32_t n = l->head->unseen < REC_UNSEEN_MAX ? l->head->unseen : REC_UNSEEN_MAX;

	for (uint32_t i = 0; i < n; i++) {
		struct rec_unseen u;
		size_t off = REC_UNSEEN_OFF + i * sizeof u;

		if (off + sizeof u > l->bytes)
			return;
		memcpy(&u, l->data + off, sizeof u);
		if (u.why == REC_UNSEEN_NONE)
			continue;
		if (u.why >= REC_UNSEEN_WHYS)
			l->bad[LIVE_BAD_HEAD]++;
		for (uint32_t k = 0; k < u.count && k < SAME_MOST; k++)
			live_add_unseen(l, &u, k == 0);
	}
}
