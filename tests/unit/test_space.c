/* SPDX-License-Identifier: MIT */
/* test_space.c -- room in the recording that is given back while others may be making
 * some. */
#include "t.h"

#include "guest/record/file/space.h"

#include "recorder_harness.h"

#include <sys/mman.h>

enum { SOMEBODY = 77 }; /* no thread's id here */

static bool
is_mapped(const unsigned char *at)
{
	unsigned char core;

	return mincore((void *)(uintptr_t)at, 4096, &core) == 0;
}

static uint64_t
present(void)
{
	return REC_CHUNKS_OFF + (uint64_t)rh.head->populated * REC_CHUNK_BYTES;
}

T_TEST(what_was_never_used_is_given_back)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 16 << 20, 0, true);
	uint64_t whole = rh.bytes;

	T_CHECK(present() < whole);
	T_CHECK(space_give_back(&rh, t->me));
	T_EQ(rh.bytes, present());
	T_CHECK(rh.full);
	T_CHECK(is_mapped(rh.base + rh.bytes - 4096));
	T_CHECK(!is_mapped(rh.base + rh.bytes));
	T_CHECK(!is_mapped(rh.base + whole - 4096));
	T_EQ(rh.head->locks[0], 0);
	T_CHECK(!space_give_back(&rh, t->me)); /* there is no more */
}

/* A thread that makes chunks present holds the lock: what it has not published yet is not
 * unused. */
T_TEST(not_while_somebody_makes_room)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 16 << 20, 0, true);
	uint64_t whole = rh.bytes;

	rh.head->locks[0] = SOMEBODY;
	T_CHECK(!space_give_back(&rh, t->me));
	T_EQ(rh.bytes, whole);
	T_CHECK(is_mapped(rh.base + whole - 4096));
	T_EQ(rh.head->locks[0], SOMEBODY);
	rh.head->locks[0] = 0;
	T_CHECK(space_give_back(&rh, t->me));
	T_CHECK(!is_mapped(rh.base + whole - 4096));
}

T_MAIN()
