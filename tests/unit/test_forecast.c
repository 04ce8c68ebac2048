/* SPDX-License-Identifier: MIT */
/* test_forecast.c -- when a memory limit is reached: by one process, and by several that
 * share it. */
#include "t.h"

#include <math.h>

#include "t_prof.h"
#include "tool/analyze/growth/forecast.h"

#define MIB (UINT64_C(1) << 20)
#define NEAR(a, b) T_CHECK(fabs((a) - (double)(b)) <= 1e-3 * (fabs((double)(b)) + 1))

/* A process that runs for 20 s, gets so many KiB larger each second, and has that
 * limit. */
static uint32_t
growing(struct prof *p, unsigned pid, uint32_t kib, uint64_t limit_bytes)
{
	uint32_t i = tp_process(p, "app", pid, 20000), row = prof_add_memory(p);

	p->processes[i].end = PROF_END_RUNNING;
	p->memories[row] = (struct prof_memory){
		.process = i, .limit_bytes = limit_bytes, .used_bytes = 100 * MIB};
	for (uint32_t s = 0; s <= 20; s++) {
		row = prof_add_point(p);
		p->points[row] = (struct prof_point){.process = i,
						     .ms = 1000 * s,
						     .rss_kib = 4096 + kib * s,
						     .own_kib = 1024};
	}
	return i;
}

T_TEST(one_process)
{
	struct prof *p = prof_new();
	uint32_t a = growing(p, 11, 1024, 160 * MIB);
	struct forecast f = forecast_of(p, a, 0);

	T_CHECK(f.known && f.grows);
	T_EQ(f.processes, 1);
	NEAR(f.slope, MIB);
	NEAR(f.seconds, 60);
	prof_free(p);
}

/* They use up what is left together; one that does not grow adds nothing. */
T_TEST(several_share_a_limit)
{
	struct prof *p = prof_new();
	uint32_t still = growing(p, 11, 0, 160 * MIB),
		 a = growing(p, 13, 1024, 160 * MIB);
	bool in[] = {false, true, true, true};
	struct forecast f;

	growing(p, 17, 2048, 160 * MIB);
	f = forecast_of_all(p, in, a, 0);
	T_CHECK(f.known && f.grows);
	T_EQ(f.processes, 3);
	NEAR(f.slope, 3 * MIB);
	NEAR(f.seconds, 20);
	/* Whichever is asked first. */
	f = forecast_of_all(p, in, still, 0);
	T_CHECK(f.grows);
	NEAR(f.slope, 3 * MIB);
	NEAR(f.seconds, 20);
	/* Only those asked about. */
	in[3] = false;
	f = forecast_of_all(p, in, a, 0);
	T_EQ(f.processes, 2);
	NEAR(f.seconds, 60);
	prof_free(p);
}

/* Limits of their own: no single time. */
T_TEST(several_with_other_limits)
{
	struct prof *p = prof_new();
	uint32_t a = growing(p, 11, 1024, 160 * MIB), b = growing(p, 13, 1024, 200 * MIB);
	bool in[] = {false, true, true};

	T_CHECK(!forecast_of_all(p, in, a, 0).grows);
	/* One that has ended does not count. */
	p->processes[b].end = PROF_END_EXITED;
	NEAR(forecast_of_all(p, in, a, 0).seconds, 60);
	prof_free(p);
}

T_MAIN()
