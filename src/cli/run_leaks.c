/* SPDX-License-Identifier: MIT */
/* run_leaks.c -- see run_leaks.h. */
#include "cli/run_leaks.h"

void
run_leaks_look(struct run_leaks *l, struct ticker_file *f)
{
	struct run_check c = {.pid = (uint32_t)f->pid, .start_ns = f->start_ns};

	if (leakcheck_held(&f->live, f->seen_here, &c.found))
		vec_push(l, c);
}

void
run_leaks_add(const struct run_leaks *l, struct prof *p)
{
	for (size_t i = 0; i < l->len; i++) {
		const struct run_check *c = &l->data[i];

		for (uint32_t k = 1; k < p->nprocesses; k++) {
			if (p->processes[k].pid == c->pid &&
			    p->processes[k].start_ns == c->start_ns)
				leakcheck_save(&c->found, p, k);
		}
	}
}

void
run_leaks_done(struct run_leaks *l)
{
	for (size_t i = 0; i < l->len; i++)
		leakcheck_done(&l->data[i].found);
	vec_done(l);
}
