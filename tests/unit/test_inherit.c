/* SPDX-License-Identifier: MIT */
/* test_inherit.c -- the blocks that a forked child is handed: listed in one recording,
 * entered in the next.
 *
 * The harness has one recorder at a time, so the "child" is simply the recording begun
 * after the list was made. That a reader of a child that dies at any instruction sees as
 * many blocks as the totals say is tried on a real process, stepped through the entering
 * of a list. */
#include "t.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/record/events.h"
#include "guest/record/inherit.h"
#include "guest/record/livetable.h"
#include "recorder_harness.h"

#define HEAP UINT64_C(0x55550000b000)
#define FAR UINT64_C(0x7f3a00000000)

static RH_ROOT NOINLINE void
allocate(struct thread *t, uintptr_t addr, uint64_t bytes, enum rec_kind kind)
{
	struct unw_start start = RH_START();

	record_alloc(&rh, t, addr, bytes, kind, &start);
	__asm__ volatile("" ::: "memory");
}

static RH_ROOT NOINLINE void
resize(struct thread *t, uintptr_t addr, uintptr_t to, uint64_t bytes)
{
	struct unw_start start = RH_START();

	record_resize_begin(&rh, t, addr);
	record_resize_end(&rh, t, to, bytes, REC_KIND_MALLOC, &start);
	__asm__ volatile("" ::: "memory");
}

/* A child's recording: the next one, with the flag that fork gives it. */
static struct thread *
child(const struct inherit *l, bool single, uint64_t max_bytes)
{
	struct thread *t = rh_start(REC_MODE_EXACT, max_bytes, 0, single);

	rh.head->flags |= REC_FLAG_FORKED;
	if (l != NULL)
		inherit_enter(&rh, t, l);
	return t;
}

/* The site of inherited blocks in a recording, NULL when there is none. */
static const struct rec_site *
inherited_site(const unsigned char *base)
{
	const struct rec_head *h = (const void *)base;

	for (uint32_t k = h->chunk_lists[REC_CHUNK_SITE]; k != 0;) {
		const struct rec_chunk *c =
			(const void *)(base + REC_CHUNKS_OFF +
				       (size_t)(k - 1) * REC_CHUNK_BYTES);
		const struct rec_site *s = (const void *)(c + 1);

		for (; (const char *)(s + 1) <= (const char *)c + c->used; s++) {
			const struct rec_node *n =
				(const void *)(base + (size_t)s->node * 8);

			if (s->node != 0 && n->module >> 24 == REC_NODE_CLASS &&
			    n->pc == REC_CLASS_INHERITED && n->parent == 0)
				return s;
		}
		k = c->next;
	}
	return NULL;
}

struct figures {
	uint64_t allocs, frees, alloc_bytes, free_bytes;
	uint64_t listed, listed_bytes; /* live, by the block table */
};

static void
count_page(const unsigned char *base, uint32_t ref, struct figures *f)
{
	while (ref != 0) {
		struct rec_bucket *b = (void *)(uintptr_t)(base + (size_t)ref * 8);
		const struct rec_block *rows = live_blocks(b);

		for (unsigned i = 0; i < live_cap(b); i++) {
			if (rows[i].b == 0 || (rows[i].a >> REC_BLOCK_KIND_SHIFT & 15) !=
						      REC_KIND_INHERITED)
				continue;
			f->listed++;
			f->listed_bytes += rows[i].a & REC_BLOCK_SIZE_MASK;
		}
		ref = b->next;
	}
}

static struct figures
inherited(const unsigned char *base)
{
	const uint32_t *root = (const void *)(base + REC_ROOT_OFF), *mid, *leaf;
	const struct rec_site *s = inherited_site(base);
	struct figures f = {0};

	for (uint32_t ref = s != NULL ? s->cells : 0; ref != 0;) {
		const struct rec_cell *c = (const void *)(base + (size_t)ref * 8);

		f.allocs += c->allocs;
		f.frees += c->frees;
		f.alloc_bytes += c->alloc_bytes;
		f.free_bytes += c->free_bytes;
		ref = c->next;
	}
	for (unsigned i = 0; i < REC_ROOT_SLOTS; i++) {
		mid = (const void *)(base + (size_t)root[i] * 8);
		for (unsigned k = 0; root[i] != 0 && k < REC_MID_SLOTS; k++) {
			leaf = (const void *)(base + (size_t)mid[k] * 8);
			for (unsigned j = 0; mid[k] != 0 && j < REC_LEAF_SLOTS; j++)
				count_page(base, leaf[j], &f);
		}
	}
	return f;
}

/* 1,009 blocks, all of one size apart, at addresses as heaps have them; the last is the
 * largest. */
static uintptr_t
address(unsigned i)
{
	if (i % 97 == 5)
		return FAR + (uintptr_t)i * 0x40000010; /* a region of its own */
	return HEAP + (uintptr_t)i * 160 + (i % 11 == 3 ? 8 : 0);
}

static struct inherit *
thousand(bool single)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, single);

	for (unsigned i = 0; i < 1009; i++)
		allocate(t, address(i), 100 + i, REC_KIND_MALLOC + i % 4);
	return inherit_gather(&rh);
}

T_TEST(child_has_what_was_live)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	struct inherit *l;
	struct figures f;
	struct live_slot slot;
	uint64_t bytes = 0, wrong = 0;

	for (unsigned i = 0; i < 1009; i++)
		allocate(t, address(i), 100 + i, REC_KIND_MALLOC + i % 4);
	for (unsigned i = 0; i < 1009; i += 3)
		record_free(&rh, t, address(i));
	allocate(t, FAR + 0x1000, 4096, REC_KIND_MMAP);
	allocate(t, FAR + 0x3000, 8192, REC_KIND_BRK);
	allocate(t, FAR + 0x5010, 77, REC_KIND_CUSTOM);
	l = inherit_gather(&rh);
	T_CHECK(l != NULL && l->whole);
	T_EQ(l->count, 1009 - 337 + 1);
	t = child(l, true, 64 << 20);
	T_EQ(rh.head->flags & REC_FLAG_TABLE_COPIED, REC_FLAG_TABLE_COPIED);
	for (unsigned i = 0; i < 1009; i++) {
		bool there = live_find(&rh, t, address(i), &slot) == LIVE_OK;

		wrong += there != (i % 3 != 0);
		if (there) {
			wrong += (slot.block->a & REC_BLOCK_SIZE_MASK) != 100 + i;
			bytes += 100 + i;
		}
	}
	T_EQ(wrong, 0);
	T_EQ(live_find(&rh, t, FAR + 0x1000, &slot), LIVE_NONE);
	T_EQ(live_find(&rh, t, FAR + 0x3000, &slot), LIVE_NONE);
	f = inherited(rh.base);
	T_EQ(f.allocs, 673);
	T_EQ(f.alloc_bytes, bytes + 77);
	T_EQ(f.listed, 673);
	T_EQ(f.listed_bytes, bytes + 77);
	T_EQ(rh_lost(), 0);
	inherit_forget(l);
}

/* What goes and what comes afterwards, with one thread and as if there were more. */
static void
goes_on(bool single)
{
	struct inherit *l = thousand(true);
	struct thread *t = child(l, single, 64 << 20);
	struct figures f;
	uint64_t freed = 0;

	T_EQ(t->alone, single);
	T_EQ(rh.head->peak_bytes, 0);
	allocate(t, FAR + 0x100, 5003, REC_KIND_MALLOC);
	for (unsigned i = 0; i < 211; i++) {
		record_free(&rh, t, address(i));
		freed += 100 + i;
	}
	resize(t, address(300), address(300), 7001); /* stays where it was */
	resize(t, address(301), FAR + 0x9000, 3001);
	record_free(&rh, t, FAR + 0x100);
	record_flush(&rh, t);
	f = inherited(rh.base);
	T_EQ(f.allocs, 1009);
	T_EQ(f.frees, 213);
	T_EQ(f.free_bytes, freed + 400 + 401);
	T_EQ(f.listed, 1009 - 213);
	T_EQ(f.alloc_bytes - f.free_bytes, f.listed_bytes);
	/* The process's own: 5003 + 7001 + 3001 at most, and the first of them freed. */
	T_EQ(single ? t->live_bytes : rh.head->live_bytes, 10002);
	T_CHECK(rh.head->peak_bytes <= 15005 &&
		rh.head->peak_bytes > (single ? 15004 : 15005 - 4096));
	T_EQ(rh.head->frees_inherited + rh.head->frees_unknown + rh.head->frees_unseen,
	     0);
	T_EQ(rh_lost(), 0);
	inherit_forget(l);
}

T_TEST(frees_and_resizes_alone)
{
	goes_on(true);
}

T_TEST(frees_and_resizes_with_threads)
{
	goes_on(false);
}

/* An address that is not in the table: the parent's, or nobody's? */
T_TEST(unknown_frees)
{
	struct inherit *l = thousand(true), *of_threads = thousand(false);
	struct thread *t = child(l, true, 64 << 20);

	T_EQ(of_threads->whole, false);
	record_free(&rh, t, 0x1230);
	T_EQ(rh.head->frees_unknown, 1);
	T_EQ(rh.head->frees_inherited, 0);
	t = child(of_threads, true, 64 << 20);
	record_free(&rh, t, 0x1230);
	T_EQ(rh.head->frees_unknown, 0);
	T_EQ(rh.head->frees_inherited, 1);
	/* One of its threads had freed it while they were listed: nothing was missed
	 * here. */
	allocate(t, address(7), 31, REC_KIND_MALLOC);
	T_EQ(rh.head->frees_unseen, 0);
	T_EQ(inherited(rh.base).listed, 1008);
	t = child(l, true, 64 << 20);
	allocate(t, address(7), 31, REC_KIND_MALLOC);
	T_EQ(rh.head->frees_unseen, 1);
	t = child(NULL, true, 64 << 20);
	record_free(&rh, t, 0x1230);
	T_EQ(rh.head->frees_inherited, 1);
	inherit_forget(l);
	inherit_forget(of_threads);
}

T_TEST(grandchildren)
{
	struct inherit *l = thousand(true), *second, *third;
	struct thread *t = child(l, true, 64 << 20);

	record_free(&rh, t, address(0));
	record_free(&rh, t, address(1));
	allocate(t, FAR + 0x100, 5003, REC_KIND_NEW);
	second = inherit_gather(&rh);
	T_EQ(second->count, 1008);
	T_EQ(second->whole, true);
	T_CHECK(second->of != l->of);
	t = child(second, true, 64 << 20);
	T_EQ(inherited(rh.base).allocs, 1008);
	record_free(&rh, t, FAR + 0x100);
	T_EQ(inherited(rh.base).listed, 1007);
	/* A child that began empty does not know all it has: nor do its children. */
	t = child(NULL, true, 64 << 20);
	allocate(t, FAR + 0x100, 5003, REC_KIND_NEW);
	third = inherit_gather(&rh);
	T_EQ(third->count, 1);
	T_EQ(third->whole, false);
	inherit_forget(l);
	inherit_forget(second);
	inherit_forget(third);
}

T_TEST(when_there_is_no_list)
{
	struct thread *t = rh_start(REC_MODE_SAMPLE, 64 << 20, 4096, true);
	struct inherit *l;
	unsigned n = 0;

	T_CHECK(inherit_gather(&rh) == NULL);
	t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	rh.space_limited = true;
	T_CHECK(inherit_gather(&rh) == NULL);
	rh.space_limited = false;
	l = inherit_gather(&rh); /* nothing live is a list too */
	T_EQ(l->count, 0);
	T_EQ(l->whole, true);
	inherit_forget(l);
	/* Up to 4 MB of table, and not a chunk more. */
	while ((l = inherit_gather(&rh)) != NULL) {
		T_EQ(l->count, n);
		inherit_forget(l);
		for (unsigned i = 0; i < 2000; i++, n++)
			allocate(t, HEAP + (uintptr_t)n * 48, 40, REC_KIND_MALLOC);
	}
	T_CHECK(n > 120000 && n < 260000);
	printf("    up to %u blocks\n", n);
}

/* The child's own events come before its parent's blocks. */
T_TEST(little_room)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	struct inherit *l;

	for (unsigned i = 0; i < 60000; i++)
		allocate(t, HEAP + (uintptr_t)i * 48, 40, REC_KIND_MALLOC);
	l = inherit_gather(&rh);
	T_EQ(l->count, 60000);
	t = child(l, true, 2 << 20);
	T_EQ(rh.head->flags & REC_FLAG_TABLE_COPIED, 0);
	T_EQ(inherited(rh.base).listed, 0);
	record_free(&rh, t, HEAP);
	T_EQ(rh.head->frees_inherited, 1);
	for (unsigned i = 0; i < 3001; i++)
		allocate(t, HEAP + (uintptr_t)i * 48, 40, REC_KIND_MALLOC);
	T_EQ(rh_lost(), 0);
	t = child(l, true, 64 << 20);
	T_EQ(inherited(rh.base).listed, 60000);
	inherit_forget(l);
}

/* As a reader does with a dead process: what a journal holds is put back. */
static struct figures
as_if_dead(void)
{
	size_t bytes = REC_CHUNKS_OFF + (size_t)rh.head->chunks * REC_CHUNK_BYTES;
	unsigned char *copy = malloc(bytes);
	const struct rec_head *h = (const void *)copy;
	const struct rec_thread *row;
	struct figures f;

	memcpy(copy, rh.base, bytes);
	row = (const void *)(copy + REC_CHUNKS_OFF +
			     (size_t)(h->chunk_lists[REC_CHUNK_THREAD] - 1) *
				     REC_CHUNK_BYTES +
			     sizeof *row);
	for (uint32_t i = row->journal_count; i-- > 0;)
		memcpy(copy + row->journal[i].off, &row->journal[i].old, 8);
	f = inherited(copy);
	free(copy);
	return f;
}

T_TEST(at_every_instruction)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	struct inherit *l;
	struct figures f;
	unsigned steps = 0, apart = 0, back = 0;
	uint64_t before = 0;
	int status = 0;
	pid_t pid;

	for (unsigned i = 0; i < 7; i++)
		allocate(t, address(i), 100 + i, REC_KIND_MALLOC);
	l = inherit_gather(&rh);
	t = child(NULL, true, 64 << 20);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		inherit_enter(&rh, t, l);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	while (WIFSTOPPED(status) && steps < 100000) {
		f = as_if_dead();
		apart += f.allocs != f.listed || f.alloc_bytes != f.listed_bytes;
		back += f.allocs < before || f.allocs > before + 1;
		before = f.allocs;
		if (before == 7 && (rh.head->flags & REC_FLAG_TABLE_COPIED) != 0)
			break;
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		waitpid(pid, &status, 0);
		steps++;
	}
	T_EQ(apart, 0);
	T_EQ(back, 0);
	T_EQ(before, 7);
	T_CHECK(steps > 500);
	printf("    %u instructions\n", steps);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	inherit_forget(l);
}

T_MAIN()
