/* SPDX-License-Identifier: MIT */
/* leak_save.c -- what a look for leaks has found, as rows of a profile; and how users name the kinds. */
#include "cli/leakcheck.h"

#include <errno.h>
#include <string.h>

#include "util/map.h"

int
leakcheck_kinds(const char *text, unsigned *ret_kinds, struct err *e)
{
	static const char *const names[] = {"definite", "indirect", "possible",
					    "reachable"};
	unsigned kinds = 0;

	for (const char *at = text; *at != '\0';) {
		size_t n = strcspn(at, ","), i = 0;

		while (i < 4 && (strlen(names[i]) != n || strncmp(at, names[i], n) != 0))
			i++;
		if (n == 3 && strncmp(at, "all", 3) == 0)
			kinds |= 15;
		else if (i < 4)
			kinds |= 1u << i;
		else
			return err_set(
				e, -EINVAL,
				"%.*s: not a kind of leak; use definite, indirect, "
				"possible, reachable or all",
				(int)n, at);
		at += n + (at[n] == ',');
	}
	if (kinds == 0)
		return err_set(e, -EINVAL, "no kind of leak given");
	*ret_kinds = kinds;
	return 0;
}

void
leakcheck_save(const struct leakcheck *c, struct prof *p, uint32_t process)
{
	struct map rows = {0}; /* ref of a site -> its row */
	uint32_t check = prof_add_check(p);

	p->checks[check] = (struct prof_check){
		.process = process,
		.done = c->done,
		.loose = c->loose,
		.why = prof_str(p, c->why),
		.threads = c->threads,
		.stop_ns = c->stop_ns,
		.pause_ns = c->pause_ns,
	};
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].process == process)
			*map_add(&rows, p->sites[i].origin) = i;
	}
	for (size_t i = 0; i < c->sites.len; i++) {
		const struct leakcheck_site *s = &c->sites.data[i];
		const uint64_t *row = map_find(&rows, s->site);

		for (unsigned kind = 0; row != NULL && kind < CLASSIFY_KINDS; kind++) {
			uint32_t loss;

			if (s->blocks[kind] == 0)
				continue;
			loss = prof_add_loss(p);
			p->losses[loss] = (struct prof_loss){
				.site = (uint32_t)*row,
				.kind = (uint8_t)kind,
				.blocks = s->blocks[kind],
				.bytes = s->bytes[kind],
				.indirect_bytes =
					kind == CLASSIFY_DEFINITE ? s->indirect_bytes : 0,
			};
		}
	}
	map_done(&rows);
}
