/* SPDX-License-Identifier: MIT */
/* test_errors.c -- what an address is that a wrong call was about, and how errors are
 * kept.
 *
 * Blocks are recorded and freed as the hooks do; which of them covers an address is
 * compared with a list. */
#include "t.h"

#include "guest/record/errors.h"
#include "guest/record/events.h"
#include "guest/record/hot.h"

#include "recorder_harness.h"

static struct unw_start
here(void)
{
	return (struct unw_start){.pc = (uintptr_t)__builtin_return_address(0),
				  .sp = (uintptr_t)__builtin_dwarf_cfa(),
				  .bp = *(const uintptr_t *)__builtin_frame_address(0)};
}

static __attribute__((noinline)) void
allocate(struct thread *t, uintptr_t addr, uint64_t bytes, enum rec_kind kind)
{
	const struct unw_start at = here();

	record_alloc(&rh, t, addr, bytes, kind, &at);
}

static const struct rec_error *
first_error(void)
{
	uint32_t index = rh.head->chunk_lists[REC_CHUNK_ERROR];

	return index == 0 ? NULL
			  : (const void *)(rh.base + REC_CHUNKS_OFF +
					   (uint64_t)(index - 1) * REC_CHUNK_BYTES +
					   sizeof(struct rec_chunk));
}

#define HEAP UINT64_C(0x555500001000)

T_TEST(near_a_live_block)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 8 << 20, 0, true);
	struct errors_block b;

	recorder_now = &rh;
	allocate(t, HEAP + 16, 37, REC_KIND_NEW);
	allocate(t, HEAP + 64, 0, REC_KIND_MALLOC);
	allocate(t, HEAP + 4096, 5 << 20, REC_KIND_MALLOC);
	T_CHECK(!errors_near(&rh, HEAP + 15, 0, &b));
	T_CHECK(errors_near(&rh, HEAP + 16, 0, &b));
	T_EQ(b.addr, HEAP + 16);
	T_EQ(b.bytes, 37);
	T_EQ(b.kind, REC_KIND_NEW);
	T_CHECK(!b.freed);
	T_CHECK(errors_site_stack(&rh, b.site) != 0);
	T_CHECK(errors_near(&rh, HEAP + 16 + 36, 0, &b));
	T_CHECK(!errors_near(&rh, HEAP + 16 + 37, 0, &b));
	T_CHECK(errors_near(&rh, HEAP + 16 + 37, 1, &b));
	T_EQ(b.addr, HEAP + 16);
	T_CHECK(errors_near(&rh, HEAP + 64, 0, &b)); /* an empty one is a byte */
	T_EQ(b.bytes, 0);
	/* Far into a large block, whose pages have no entries of their own. */
	T_CHECK(errors_near(&rh, HEAP + 4096 + (4 << 20) + 13, 0, &b));
	T_EQ(b.addr, HEAP + 4096);
	T_CHECK(!errors_near(&rh, HEAP + 4096 + (5 << 20), 0, &b));
	T_CHECK(!errors_near(&rh, 0, 64, &b));
	T_CHECK(!errors_near(&rh, 100, 64, &b));
	T_CHECK(!errors_near(&rh, 0x10010, 64, &b));
	T_CHECK(!errors_near(&rh, UINT64_MAX - 5, 64, &b));
	T_CHECK(!errors_near(&rh, UINT64_C(0x7fffffffe000), 64, &b));
}

T_TEST(near_a_freed_block)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 8 << 20, 0, true);
	struct errors_block b, before;

	recorder_now = &rh;
	allocate(t, HEAP + 32, 41, REC_KIND_MALLOC);
	allocate(t, HEAP + 96, 43, REC_KIND_MALLOC);
	T_CHECK(errors_near(&rh, HEAP + 32, 0, &before));
	record_free(&rh, t, HEAP + 32);
	T_CHECK(errors_near(&rh, HEAP + 32, 0, &b));
	T_CHECK(b.freed);
	T_EQ(b.bytes, 41);
	T_EQ(b.site, before.site);
	T_CHECK(errors_near(&rh, HEAP + 32 + 40, 0, &b));
	T_CHECK(!errors_near(&rh, HEAP + 32 + 41, 0, &b));
	/* Behind a freed one is nothing that anybody would mean. */
	T_CHECK(!errors_near(&rh, HEAP + 32 + 41, 8, &b));
	/* A live block that covers the place counts more. */
	record_free(&rh, t, HEAP + 96);
	allocate(t, HEAP + 16, 200, REC_KIND_MALLOC);
	T_CHECK(errors_near(&rh, HEAP + 96, 0, &b));
	T_CHECK(!b.freed);
	T_EQ(b.addr, HEAP + 16);
}

/* A slot that a resize left says the same as one that a free left. */
T_TEST(moved_blocks_are_freed_ones)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 8 << 20, 0, true);
	const struct unw_start at = here();
	struct errors_block b;

	recorder_now = &rh;
	allocate(t, HEAP + 160, 47, REC_KIND_MALLOC);
	T_CHECK(record_resize_begin(&rh, t, HEAP + 160));
	record_resize_end(&rh, t, HEAP + 8192, 53, REC_KIND_MALLOC, &at);
	T_CHECK(errors_near(&rh, HEAP + 170, 0, &b));
	T_CHECK(b.freed);
	T_EQ(b.addr, HEAP + 160);
	T_EQ(b.bytes, 47);
	T_CHECK(!record_resize_begin(&rh, t, HEAP + 160));
	T_EQ(rh.head->frees_unknown, 1);
}

/* What an abandoned event leaves in a slot need not be a site; nothing is believed. */
T_TEST(rubbish_in_a_slot)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 8 << 20, 0, true);
	struct live_slot slot;
	struct errors_block b;
	uint64_t random = 1;

	recorder_now = &rh;
	allocate(t, HEAP + 16, 16, REC_KIND_MALLOC);
	record_free(&rh, t, HEAP + 16);
	T_EQ(live_put(&rh, t, HEAP + 48, &slot), LIVE_OK);
	for (int i = 0; i < 100000; i++) {
		slot.block->a = rh_random(&random);
		if (errors_near(&rh, HEAP + 48, 0, &b))
			errors_site_stack(&rh, b.site);
		errors_site_stack(&rh, (uint32_t)rh_random(&random));
	}
	slot.block->a = UINT64_C(100) << 32 | 8; /* no site */
	T_CHECK(!errors_near(&rh, HEAP + 48, 0, &b));
}

T_TEST(the_same_again_is_counted)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 8 << 20, 0, true);
	struct rec_error e = {
		.kind = REC_ERROR_MISMATCH, .func = REC_FUNC_FREE, .at = 77};
	const struct rec_error *x;

	recorder_now = &rh;
	for (int i = 0; i < 13; i++) {
		e.addr = (uint64_t)i; /* another block, the same mistake */
		errors_add(&rh, t, &e);
	}
	e.alloc = 99;
	errors_add(&rh, t, &e);
	x = first_error();
	T_CHECK(x != NULL);
	T_EQ(x[0].kind, REC_ERROR_MISMATCH);
	T_EQ(x[0].count, 13);
	T_EQ(x[0].addr, 0);
	T_EQ(x[0].thread, t->serial);
	T_EQ(x[1].count, 1);
	T_EQ(x[1].alloc, 99);
	T_EQ(x[2].kind, REC_ERROR_NONE);
	T_EQ(rh.head->errors_more, 0);
}

T_TEST(there_is_a_limit)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 8 << 20, 0, true);
	struct rec_error e = {.kind = REC_ERROR_FREE};

	recorder_now = &rh;
	for (uint32_t i = 1; i <= REC_ERRORS_MAX + 31; i++) {
		e.at = i;
		errors_add(&rh, t, &e);
	}
	T_EQ(rh.head->errors_more, 31);
	e.at = 5; /* known ones go on being counted */
	errors_add(&rh, t, &e);
	T_EQ(rh.head->errors_more, 31);
}

T_TEST(stacks_and_modules)
{
	static char global[32];
	struct thread *t = rh_start(REC_MODE_EXACT, 8 << 20, 0, true);
	char local[32];
	struct rec_error e = {.addr = (uintptr_t)local};

	recorder_now = &rh;
	errors_look_up(&rh, t, &e);
	T_EQ(e.where, REC_WHERE_STACK);
	T_EQ(e.where_number, t->serial);
	e = (struct rec_error){.addr = (uintptr_t)global};
	errors_look_up(&rh, t, &e);
	T_EQ(e.where, REC_WHERE_MODULE);
	T_CHECK(e.where_number != 0);
	e = (struct rec_error){.addr = 0x10010};
	errors_look_up(&rh, t, &e);
	T_EQ(e.where, REC_WHERE_UNKNOWN);
	T_EQ(e.block, 0);
}

/* Code made at run time, known by a copy of its unwind table, as a host of ours has
 * it. */
#define CODE UINT64_C(0x2000000)

static int tables_held;

static bool
held_table_find(uintptr_t pc, struct unw_module *ret)
{
	static const unsigned char table[4];

	if (pc < CODE || pc >= CODE + 4096)
		return false;
	tables_held++;
	*ret = (struct unw_module){
		.start = (uintptr_t)table, .end = (uintptr_t)(table + 4), .copy = table};
	return true;
}

static void
held_table_done(void)
{
	tables_held--;
}

T_TEST(tables_of_generated_code_are_given_back)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 8 << 20, 0, true);
	struct host host = rh_host;
	struct rec_error e = {.addr = CODE + 16};
	struct live_slot slot;

	host.table_find = held_table_find;
	host.table_done = held_table_done;
	rh.host = &host;
	recorder_now = &rh;
	errors_look_up(&rh, t, &e);
	T_EQ(tables_held, 0);
	T_EQ(e.where, REC_WHERE_UNKNOWN); /* it is in no module */
	/* Freed from such code. */
	allocate(t, HEAP + 32, 41, REC_KIND_MALLOC);
	T_EQ(live_find(&rh, t, HEAP + 32, &slot), LIVE_OK);
	live_unlock(t, &slot);
	record_free(&rh, t, HEAP + 32);
	live_freed_by(&slot, HEAP + 32, CODE + 32);
	tables_held = 0;
	e = (struct rec_error){.addr = HEAP + 32};
	errors_look_up(&rh, t, &e);
	T_EQ(e.where, REC_WHERE_FREED);
	T_CHECK(e.freed != 0);
	T_EQ(tables_held, 0);
	rh.host = &rh_host;
}

T_MAIN()
