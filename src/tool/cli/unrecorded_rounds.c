/* SPDX-License-Identifier: MIT */
/* unrecorded_rounds.c -- `seep leaks PID --every` of a process that nobody recorded: a
 * line for each check, and in the end what the last one found. */
#include "tool/cli/unrecorded.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tool/compat/leaks/leak_rounds.h"
#include "tool/session/heap/heap_rounds.h"
#include "tool/session/loop.h"
#include "tool/target/proc/procfs.h"

struct unrecorded_steps {
	struct heap_rounds rounds;
	bool quiet;
};

static void
unrecorded_line(const struct unrecorded_steps *s)
{
	const struct heap_rounds *r = &s->rounds;
	struct buf out = {0}, words = {0};

	if (s->quiet)
		return;
	if (vec_last(&r->watch.rounds)->why == NULL && r->watch.new_blocks > 0 &&
	    r->watch.new_site < r->last.groups.len)
		heapscan_group_words(&words, &r->last,
				     &r->last.groups.data[r->watch.new_site]);
	leak_rounds_line(&out, &r->watch, words.len > 0 ? buf_str(&words) : NULL);
	fputs(buf_str(&out), stdout);
	fflush(stdout);
	buf_done(&out);
	buf_done(&words);
}

/* Whether it is still there to be checked. */
static bool
unrecorded_lives(int pid)
{
	struct procfs_stat st;

	return procfs_stat(pid, &st, NULL) == 0 && st.state != 'Z';
}

static int
unrecorded_step(void *ctx, double seconds, struct err *e)
{
	struct unrecorded_steps *s = ctx;
	struct err why = {0};
	int r;

	(void)seconds;
	if (!unrecorded_lives(s->rounds.pid))
		return LOOP_END;
	r = heap_rounds_check(&s->rounds, &why);
	if (r < 0 && !unrecorded_lives(s->rounds.pid))
		return LOOP_END;
	/* What cannot be read, copied or traced at first will not be later. */
	if ((r == -ENOTSUP || r == -EPERM) && s->rounds.watch.made == 0)
		return err_set(e, r, "%s", why.msg);
	if (r < 0)
		heap_rounds_failed(&s->rounds, why.msg);
	unrecorded_line(s);
	return LOOP_GO_ON;
}

int
unrecorded_rounds(int pid, const struct unrecorded_opts *o,
		  const struct heapcheck_opts *how, struct heapcheck *c, struct err *e)
{
	struct unrecorded_steps s = {.rounds = {.pid = pid,
						.any_size = o->way != NULL,
						.max_stop_ns = o->max_stop_ns,
						.how = *how},
				     .quiet = o->quiet};
	struct loop_steps steps = {.every_ns = o->rounds->every_ns,
				   .for_ns = o->rounds->for_ns,
				   .count = o->rounds->count,
				   .step = unrecorded_step,
				   .ctx = &s};
	int r = loop_steps(&steps, e);

	if (r == 0 && s.rounds.watch.made == 0)
		r = err_set(e, -EIO, "%d: no check could be made: %s", pid,
			    s.rounds.watch.rounds.len > 0
				    ? vec_last(&s.rounds.watch.rounds)->why
				    : "it has ended");
	if (r == 0)
		c->scan = heap_rounds_take(&s.rounds);
	heap_rounds_done(&s.rounds);
	return r;
}
