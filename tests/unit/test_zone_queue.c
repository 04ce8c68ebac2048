/* SPDX-License-Identifier: MIT */
/* test_zone_queue.c -- the queue of freed blocks, and its lock when somebody keeps it for
 * good: nobody waits for it twice, and it is as before once it is free again. */
/* sources: src/guest/misuse/zone_queue.c src/guest/misuse/zone_bytes.c */
#include "t.h"

#include "guest/misuse/zone_queue.h"
#include "guest/rt/lock_once.h"

enum { OTHER = 77 };

T_TEST(first_in_first_out)
{
	struct head h[3] = {{.bytes = 10}, {.bytes = 20}, {.bytes = 30}};

	for (int i = 0; i < 3; i++)
		T_CHECK(queue_push(&h[i]));
	T_CHECK(queue_pop(60) == NULL);
	T_CHECK(queue_pop(59) == &h[0]);
	T_CHECK(queue_pop(50) == NULL);
	T_CHECK(queue_pop(0) == &h[1]);
	T_CHECK(queue_pop(0) == &h[2]);
	T_CHECK(queue_pop(0) == NULL);
}

T_TEST(waited_for_once)
{
	struct lock_once l = {.word = OTHER};

	T_CHECK(!lock_once_enter(&l, 5));
	T_EQ(l.stuck, 1);
	T_CHECK(!lock_once_enter(&l, 5));
	T_CHECK(!lock_once_take(&l, 5)); /* at once: it would be a second otherwise */
	lock_once_drop(&l);
	T_CHECK(lock_once_enter(&l, 5));
	T_EQ(l.stuck, 0);
}

T_TEST(own_again)
{
	struct lock_once l = {.word = 5};

	T_CHECK(!lock_once_enter(&l, 5)); /* maybe a handler on top */
	T_EQ(l.stuck, 0);
	T_CHECK(lock_once_take(&l, 5)); /* thrown out */
	T_EQ(l.word, 5);
}

T_TEST(forked)
{
	struct lock_once l = {.word = OTHER, .stuck = 1}, own = {.word = 5}, none = {0};

	T_CHECK(lock_once_forked(&l, 5));
	T_EQ(l.word, 0);
	T_EQ(l.stuck, 0);
	T_CHECK(!lock_once_forked(&own, 5));
	T_EQ(own.word, 5);
	T_CHECK(!lock_once_forked(&none, 5));
}

T_MAIN()
