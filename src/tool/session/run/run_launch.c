/* SPDX-License-Identifier: MIT */
/* run_launch.c -- what the options of a run mean for the recorder, and which of its
 * processes go on when the program has ended; see run_impl.h. */
#include "tool/session/run/run_impl.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/launch.h"

#define RATE_DEFAULT (UINT64_C(512) << 10)
#define REDZONE_DEFAULT 16
#define MAX_SIZE_DEFAULT (UINT64_C(8) << 30)

/* Respects the memory limit, and leaves half of the file system to others. */
uint64_t
run_max_size(const struct run *r)
{
	uint64_t n = procfs_memory_limit_bytes() / 4,
		 room = rundir_room_bytes(&r->dir) / 2;

	if (r->o->max_bytes != UINT64_MAX)
		return r->o->max_bytes < RUN_SIZE_LEAST ? RUN_SIZE_LEAST
							: r->o->max_bytes;
	if (n > MAX_SIZE_DEFAULT)
		n = MAX_SIZE_DEFAULT;
	if (room > 0 && n > room)
		n = room;
	return n < RUN_SIZE_LEAST ? RUN_SIZE_LEAST : n;
}

uint64_t
run_rate(const struct run_opts *o)
{
	if (!o->sample.given)
		return 0;
	return o->sample.has_value && o->sample.value > 0 ? o->sample.value
							  : RATE_DEFAULT;
}

uint64_t
run_redzone(const struct run_opts *o)
{
	if (!o->redzone.given)
		return 0;
	return o->redzone.has_value ? o->redzone.value : REDZONE_DEFAULT;
}

struct launch
run_launch(const struct run *r, bool lsan)
{
	return (struct launch){
		.program = &r->program,
		.argv = r->argv,
		.libseep = r->libseep,
		.dir = r->dir.path,
		.run_id = r->dir.run_id,
		.rate_bytes = run_rate(r->o),
		.max_bytes = run_max_size(r),
		.no_children = r->o->no_children,
		.mmap = r->o->mmap,
		.free_stacks = r->o->free_stacks,
		.redzone = run_redzone(r->o),
		.quarantine = r->o->quarantine,
		.guard = r->o->guard,
		.check_copy = r->o->check_copy,
		.keep_going = r->o->keep_going,
		.hold = !r->o->no_check && !r->o->sample.given,
		.lsan = lsan,
		.mask = &r->mask,
		.xfsz_ignored = r->xfsz_ignored,
	};
}

/* Processes that go on. One that is between its fork and its recording is only seen as
 * forked, so that is asked for in between: nobody can have changed sides unless the
 * living differ. */
unsigned
run_living(const struct run *r)
{
	unsigned living = rundir_living(&r->dir, NULL, 0), before, forked;

	for (unsigned i = 0;; i++) {
		before = living;
		forked = rundir_forked(&r->dir, r->pid);
		living = rundir_living(&r->dir, NULL, 0);
		if (living == before || i == 3)
			return living + forked;
	}
}
