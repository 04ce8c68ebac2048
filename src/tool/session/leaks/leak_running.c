/* SPDX-License-Identifier: MIT */
/* leak_running.c -- a look at a process that cannot be stopped, because somebody else
 * traces it.
 *
 * Memory changes while it is read, and registers are not seen: so a block may look lost
 * that is not. But not for long. It is looked at three times, with a pause in between,
 * and only what was allocated a second before the first look and is lost at each of them
 * counts. Younger blocks, and all of every stack, count as roots. */
#include <errno.h>

#include "tool/session/leaks/leakcheck_impl.h"
#include "tool/util/clock.h"

enum { LOOKS = 3, NAP_MS = 100, AGE_MS = 1000 };

static bool
is_lost(const struct scan_block *b)
{
	return b->state != CLASSIFY_REACHABLE;
}

/* Counts what is lost; at the last look what was not lost each time is reachable. */
static void
confirm(struct look *k, struct map *lost, bool last)
{
	for (size_t i = 0; i < k->blocks.len; i++) {
		struct scan_block *b = &k->blocks.data[i];

		if (is_lost(b) && ++*map_add(lost, b->addr) < LOOKS && last)
			b->state = CLASSIFY_REACHABLE;
	}
}

static int
look_once(struct look *k, int pid, struct err *e)
{
	int r = freeze_open(pid, &k->z, e);

	k->z.left_out_inode = k->f->inode;
	if (r == 0 && !freeze_readable(&k->z))
		r = err_set(e, -EPERM,
			    "%d: its memory cannot be read; run: sudo seep leaks PID",
			    pid);
	if (r == 0 && !look_table(k))
		r = err_set(e, -ENOMEM,
			    "%d: no room for a copy of its recording; free some memory",
			    pid);
	if (r == 0)
		r = freeze_maps_and_words(&k->z, e);
	if (r == 0)
		r = look_closely(k, e);
	return r;
}

int
leak_running_look(struct livefile *f, int pid, const struct leakcheck_how *how,
		  struct leakcheck *c, struct err *e)
{
	struct map lost = {0}; /* address -> at how many looks */
	uint64_t age_ms = livefile_age_ms(f);
	int r = 0;

	for (int i = 0; r == 0 && i < LOOKS; i++) {
		struct look k = {
			.c = c, .how = how, .f = f, .z = FREEZE_NONE, .old_only = true};

		k.newest_ms = age_ms > AGE_MS ? (uint32_t)(age_ms - AGE_MS) : 0;
		if (i > 0)
			clock_nap(NAP_MS * 1000000);
		c->root_bytes = 0;
		r = look_once(&k, pid, e);
		for (unsigned n = 0; r == -EAGAIN && n < LOOK_TRIES_MORE; n++) {
			freeze_close(&k.z);
			look_done(&k);
			k = (struct look){.c = c,
					  .how = how,
					  .f = f,
					  .z = FREEZE_NONE,
					  .old_only = true,
					  .newest_ms = k.newest_ms};
			r = look_once(&k, pid, e);
		}
		if (r == 0)
			confirm(&k, &lost, i == LOOKS - 1);
		if (r == 0 && i == LOOKS - 1) {
			c->threads = freeze_thread_count(&k.z);
			look_sum_up(&k);
		}
		freeze_close(&k.z);
		look_done(&k);
	}
	map_done(&lost);
	return r;
}
