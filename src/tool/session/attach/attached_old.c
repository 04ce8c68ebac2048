/* SPDX-License-Identifier: MIT */
/* attached_old.c -- see attached_old.h. */
#include "tool/session/attach/attached_old.h"

#include "tool/format/text/pmap.h"
#include "tool/model/sizeclass.h"
#include "tool/target/proc/procmem.h"
#include "tool/util/buf.h"
#include "tool/util/clock.h"
#include "tool/util/x.h"

enum { TRIES = 8 };

static void
choose(const struct procmem *m, struct oldblocks *ret)
{
	struct memmap map = {0};
	struct buf text = {0};

	if (procmem_smaps(m, &text, NULL) == 0 &&
	    pmap_parse(text.data, text.len, &map, NULL) == 0)
		oldblocks_choose(m, &map, ret);
	memmap_done(&map);
	buf_done(&text);
}

/* malloc's lists may be changed just when they are looked at: another look is as good as
 * the first. */
void
attached_old_choose(int pid, struct oldblocks *ret)
{
	struct procmem m = PROCMEM_NONE;

	*ret = (struct oldblocks){0};
	for (unsigned i = 0; !ret->known && i < TRIES && procmem_open(pid, &m, NULL) == 0;
	     i++) {
		if (i > 0)
			clock_nap(1000000);
		choose(&m, ret);
		procmem_close(&m);
	}
}

static void
add(struct prof_old *to, const struct blob_old *b, uint64_t ms)
{
	uint64_t bytes = (uint64_t)b->bytes * b->stands, part;

	to->watched++;
	to->blocks += b->stands;
	to->bytes += bytes;
	if (b->died_ms == 0)
		return;
	part = ms > 0 ? (uint64_t)b->died_ms * PROF_OLD_PARTS / ms : 0;
	if (part >= PROF_OLD_PARTS)
		part = PROF_OLD_PARTS - 1;
	to->died[part]++;
	to->died_bytes[part] += bytes;
}

void
attached_old_save(struct prof *p, uint32_t process, const struct oldblocks *o)
{
	struct prof_old *rows = xcalloc(SIZECLASS_MAX, sizeof *rows);
	uint64_t ms = p->processes[process].duration_ms;

	for (size_t i = 0; i < o->chosen.len; i++) {
		const struct blob_old *b = &o->chosen.data[i];

		add(&rows[0], b, ms);
		add(&rows[sizeclass_of(b->bytes)], b, ms);
	}
	for (uint32_t i = 0; i < SIZECLASS_MAX; i++) {
		uint32_t row;

		if (i != 0 && rows[i].watched == 0)
			continue;
		rows[i].process = process;
		rows[i].size_class = i;
		row = prof_add_old(p);
		p->olds[row] = rows[i];
	}
	free(rows);
}

void
attached_old_load(struct prof *p, uint32_t process, struct livefile *f)
{
	struct oldblocks o = {0};

	if (oldblocks_read(f, &o, NULL) == 0)
		attached_old_save(p, process, &o);
	oldblocks_done(&o);
}
