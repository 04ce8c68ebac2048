/* SPDX-License-Identifier: MIT */
/* oldblocks.c -- see oldblocks.h.
 *
 * One walk over the heap: each size class keeps an even pick of its blocks, however many
 * there are. Then the room in the recorder's table is shared out: all classes get as
 * much, and what small ones leave goes to the others. */
#include "tool/target/attach/oldblocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/model/sizeclass.h"
#include "tool/target/heap/heapwalk.h"
#include "tool/util/x.h"

enum {
	PICK_MAX = 1024, /* of one class */
};

/* A larger heap is gone through in part. */
#define WALK_BYTES_MAX (UINT64_C(4) << 30)

struct class_pick {
	uint64_t seen;
	unsigned kept, allowed;
	struct {
		uint64_t addr, bytes;
	} blocks[PICK_MAX];
};

struct picks {
	struct class_pick *of[SIZECLASS_MAX]; /* NULL: none seen */
	uint64_t random;
};

static uint64_t
below(struct picks *p, uint64_t n)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random % n;
}

/* Every block of a class has the same chance to be kept, whichever comes first. */
static void
see(void *ctx, uint64_t addr, uint64_t bytes)
{
	struct picks *p = ctx;
	unsigned class = sizeclass_of(bytes);
	struct class_pick *c = p->of[class];
	uint64_t at;

	if (c == NULL)
		c = p->of[class] = xcalloc(1, sizeof *c);
	at = c->kept < PICK_MAX ? c->kept++ : below(p, c->seen + 1);
	c->seen++;
	if (at >= PICK_MAX)
		return;
	c->blocks[at].addr = addr;
	c->blocks[at].bytes = bytes;
}

/* How many each class may have: all the same, or all that it has. */
static void
share_out(struct picks *p)
{
	unsigned room = BLOB_OLD_MAX, wanting = 1, given = 1;

	while (room > 0 && wanting > 0 && given > 0) {
		unsigned each;

		wanting = given = 0;
		for (unsigned i = 0; i < SIZECLASS_MAX; i++)
			wanting += p->of[i] != NULL && p->of[i]->allowed < p->of[i]->kept;
		if (wanting == 0)
			return;
		each = room / wanting > 0 ? room / wanting : 1;
		for (unsigned i = 0; i < SIZECLASS_MAX; i++) {
			struct class_pick *c = p->of[i];
			unsigned more = c != NULL ? c->kept - c->allowed : 0;

			more = more < each ? more : each;
			more = more < room ? more : room;
			if (c != NULL)
				c->allowed += more;
			room -= more;
			given += more;
		}
	}
}

/* Their order is one of chance only where some had to go. Together they stand for all
 * that were seen: where that is no multiple, for one more or less each. */
static void
take(struct picks *p, struct class_pick *c, struct oldblocks *o)
{
	for (unsigned i = 0; i < c->allowed; i++) {
		unsigned k = i + (unsigned)below(p, c->kept - i);
		uint64_t stands =
			(i + 1) * c->seen / c->allowed - i * c->seen / c->allowed;
		struct blob_old *b = vec_add(&o->chosen);

		b->addr = c->blocks[k].addr;
		b->bytes = c->blocks[k].bytes < UINT32_MAX ? (uint32_t)c->blocks[k].bytes
							   : UINT32_MAX;
		b->stands = stands < UINT32_MAX ? (uint32_t)stands : UINT32_MAX;
		c->blocks[k] = c->blocks[i];
	}
}

void
oldblocks_choose(const struct procmem *m, const struct memmap *map, struct oldblocks *ret)
{
	struct picks p = {.random = UINT64_C(88172645463325252) + (uint64_t)m->pid};
	struct heapwalk_opts opts = {.max_bytes = WALK_BYTES_MAX, .used = see, .ctx = &p};
	struct oldblocks o = {0};
	struct heapmap heap;

	heapwalk(m, map, &opts, &heap);
	o.known = heap.known;
	share_out(&p);
	for (unsigned i = 0; i < SIZECLASS_MAX; i++) {
		if (p.of[i] != NULL)
			take(&p, p.of[i], &o);
		free(p.of[i]);
	}
	heapmap_done(&heap);
	*ret = o;
}

/* ---- in the process ---- */

/* Where its table and its bits are. */
static int
find_table(const struct tracee *t, uint64_t config, struct blob_config *ret,
	   struct err *e)
{
	int r = tracee_read(t, config, ret, sizeof *ret, e);

	if (r == 0 && (memcmp(ret->magic, BLOB_MAGIC, sizeof ret->magic) != 0 ||
		       ret->bytes != sizeof *ret))
		r = err_set(e, -ENOENT, "%d: the recorder in it is another seep's",
			    t->pid);
	return r;
}

int
oldblocks_watch(const struct tracee *t, uint64_t config, const struct oldblocks *o,
		struct err *e)
{
	struct blob_old *slots = xcalloc(BLOB_OLD_SLOTS, sizeof *slots);
	uint32_t *bits = xcalloc(BLOB_OLD_BITS / 32, sizeof *bits);
	struct blob_config c;
	int r = find_table(t, config, &c, e);

	for (size_t i = 0; i < o->chosen.len && i < BLOB_OLD_MAX; i++) {
		uint64_t addr = o->chosen.data[i].addr;
		uint32_t at = blob_old_slot(addr), bit = blob_old_bit(addr);

		/* One has a bit alone: it is cleared when that one goes. */
		if ((bits[bit / 32] >> bit % 32 & 1) != 0)
			continue;
		while (slots[at].addr != 0)
			at = (at + 1) % BLOB_OLD_SLOTS;
		slots[at] = o->chosen.data[i];
		bits[bit / 32] |= UINT32_C(1) << bit % 32;
	}
	if (r == 0)
		r = tracee_write(t, (uint64_t)(uintptr_t)c.old, slots,
				 BLOB_OLD_SLOTS * sizeof *slots, e);
	if (r == 0)
		r = tracee_write(t, (uint64_t)(uintptr_t)c.old_bits, bits,
				 BLOB_OLD_BITS / 8, e);
	free(slots);
	free(bits);
	return r;
}

int
oldblocks_read(struct livefile *f, struct oldblocks *ret, struct err *e)
{
	const struct attach_control *control;
	struct tracee t = TRACEE_NONE;
	struct oldblocks o = {0};
	struct blob_old *slots;
	struct blob_config c;
	int r = livefile_map_all(f, e);

	if (r < 0)
		return r;
	control = (const void *)((const char *)f->head + ATTACH_OFF);
	if (memcmp(control->magic, ATTACH_MAGIC, sizeof control->magic) != 0 ||
	    control->config == 0)
		return err_set(e, -ENOENT, "%d: it was not attached to", f->pid);
	slots = xcalloc(BLOB_OLD_SLOTS, sizeof *slots);
	r = tracee_open(f->pid, &t, e);
	if (r == 0)
		r = find_table(&t, control->config, &c, e);
	if (r == 0)
		r = tracee_read(&t, (uint64_t)(uintptr_t)c.old, slots,
				BLOB_OLD_SLOTS * sizeof *slots, e);
	for (size_t i = 0; r == 0 && i < BLOB_OLD_SLOTS; i++) {
		if (slots[i].addr != 0)
			vec_push(&o.chosen, slots[i]);
	}
	o.known = o.chosen.len > 0;
	if (r == 0)
		*ret = o;
	free(slots);
	tracee_close(&t);
	return r;
}

void
oldblocks_done(struct oldblocks *o)
{
	vec_done(&o->chosen);
	*o = (struct oldblocks){0};
}
