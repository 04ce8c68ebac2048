/* SPDX-License-Identifier: MIT */
/* test_t.c -- the test frame itself and the macros of compiler.h.
 *
 * A frame that cannot fail would make every other test worthless, so this one looks at
 * what the checks do to a test that breaks them, and clears the mark again. */
#include "t.h"

#include <stdint.h>

#include "shared/compiler.h"

/* True when the check before this failed; forgets it. */
static bool
took_failure(void)
{
	bool failed = t_failed;

	t_failed = false;
	return failed;
}

T_TEST(broken_checks_fail)
{
	bool caught[5];

	T_CHECK(1 + 1 == 3);
	caught[0] = took_failure();
	T_EQ(41, 43);
	caught[1] = took_failure();
	T_STR("seep", "sleep");
	caught[2] = took_failure();
	T_STR(NULL, "");
	caught[3] = took_failure();
	T_MEM("abc", "abd", 3);
	caught[4] = took_failure();
	for (unsigned i = 0; i < ARRAY_LEN(caught); i++)
		T_EQ(caught[i], true);
}

T_TEST(sound_checks_pass)
{
	T_CHECK(2 + 2 == 4);
	T_EQ(UINT64_MAX, UINT64_MAX);
	T_STR("seep", "seep");
	T_STR(NULL, NULL);
	T_MEM("abc", "abd", 2);
	T_EQ(t_failed, false);
}

struct pair {
	uint32_t first, second;
};

T_TEST(compiler_macros)
{
	char bytes[37];
	struct pair p = {.first = 17, .second = 19};

	T_EQ(ARRAY_LEN(bytes), 37);
	T_EQ(ALIGN_UP(4097u, 4096u), 8192);
	T_EQ(ALIGN_UP(4096u, 4096u), 4096);
	T_EQ(ALIGN_DOWN(8191u, 4096u), 4096);
	T_CHECK(IS_ALIGNED(8192u, 4096u));
	T_CHECK(!IS_ALIGNED(8200u, 4096u));
	T_CHECK(IS_POWER_OF_2(64u));
	T_CHECK(!IS_POWER_OF_2(0u));
	T_CHECK(!IS_POWER_OF_2(96u));
	T_CHECK(CONTAINER_OF(&p.second, struct pair, second) == &p);
	T_EQ(CONTAINER_OF(&p.second, struct pair, second)->first, 17);
}

T_MAIN()
