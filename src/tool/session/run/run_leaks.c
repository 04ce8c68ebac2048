/* SPDX-License-Identifier: MIT */
/* run_leaks.c -- see run_leaks.h. */
#include "tool/session/run/run_leaks.h"

#include "shared/hash.h"
#include "tool/util/map.h"

static uint64_t
process_key(uint32_t pid, uint64_t start_ns)
{
	return hash_pair(start_ns, pid);
}

void
run_leaks_look(struct run_leaks *l, struct ticker_file *f, struct ticker_files *files,
	       const struct leakcheck_how *how, struct loss_watch *watch)
{
	struct run_check c = {.pid = (uint32_t)f->pid, .start_ns = f->start_ns};
	struct origins *o = run_inherit_read(how->inherited ? files : NULL, f);
	struct leakcheck_how watched = *how;

	if (watch != NULL) {
		loss_watch_begin(watch);
		watched.lost = loss_watch_lost;
		watched.lost_ctx = watch;
	}
	if (leakcheck_held(&f->live, f->seen_here, &watched, &c.found)) {
		if (watch != NULL)
			loss_watch_take(watch, &c.found, f->start_mono_ns, 0);
		run_inherit_find(o, &c.found, &c);
		vec_push(l, c);
	}
	run_inherit_free(o);
}

void
run_leaks_add(struct run_leaks *l, struct prof *p)
{
	struct map rows = {0}; /* pid and start -> the last process that has them */

	for (uint32_t k = 1; k < p->nprocesses; k++)
		*map_add(&rows,
			 process_key(p->processes[k].pid, p->processes[k].start_ns)) = k;
	for (size_t i = 0; i < l->len; i++) {
		struct run_check *c = &l->data[i];
		const uint64_t *k = map_find(&rows, process_key(c->pid, c->start_ns));

		if (k != NULL && p->processes[*k].pid == c->pid &&
		    p->processes[*k].start_ns == c->start_ns)
			leakcheck_save(&c->found, p, (uint32_t)*k);
		vec_done(&c->found.sites); /* the profile has them */
	}
	map_done(&rows);
}

void
run_leaks_done(struct run_leaks *l)
{
	for (size_t i = 0; i < l->len; i++) {
		leakcheck_done(&l->data[i].found);
		vec_done(&l->data[i].inherited);
	}
	vec_done(l);
}
