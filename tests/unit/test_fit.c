/* SPDX-License-Identifier: MIT */
/* test_fit.c -- the straight line: figures worked out by hand. */
#include <math.h>

#include "t.h"
#include "tool/analyze/growth/fit.h"

static bool
near(double a, double b)
{
	return fabs(a - b) < 1e-9 * (1 + fabs(b));
}

T_TEST(four_points)
{
	/* Means 1.5 and 2.75; sums 5, 5.5 and 8.75; so 1.1, and the rest is 2.7 for two
	 * degrees of freedom: the error is the root of 0.27. */
	struct fit f = {0};
	double error;

	fit_add(&f, 0, 1);
	fit_add(&f, 1, 3);
	fit_add(&f, 2, 2);
	fit_add(&f, 3, 5);
	T_CHECK(near(fit_slope(&f, &error), 1.1));
	T_CHECK(near(error, 0.51961524227066318));
	T_EQ(fit_intervals(&f), 3);
	T_EQ(f.grown, 2);
	T_EQ(f.shrunk, 1);
	T_CHECK(near(fit_span(&f), 3));
	T_CHECK(near(fit_at(&f, 10), 2.75 + 1.1 * 8.5));
	/* 97.5 % of Student's t with two degrees of freedom is 4.303. */
	T_CHECK(near(fit_limit(&f, 0), 4.303 * 0.51961524227066318));
	T_CHECK(!fit_grows(&f, 0));
}

T_TEST(perfect_line_has_no_error)
{
	struct fit f = {0};
	double error;

	for (int i = 0; i < 12; i++)
		fit_add(&f, 1.7e9 + 5 * i, 2e12 + 4096.0 * i);
	T_CHECK(near(fit_slope(&f, &error), 819.2));
	T_CHECK(error < 1e-6);
	T_EQ(f.grown, 11);
	T_CHECK(fit_grows(&f, 4096));
	/* One page in the whole time is the least that can show. */
	T_CHECK(near(fit_limit(&f, 4096), 4096.0 / 55));
	T_CHECK(!fit_grows(&f, 4096.0 * 12));
}

T_TEST(too_few_points)
{
	struct fit f = {0};
	double error = 0;

	T_CHECK(fit_slope(&f, &error) == 0 && isinf(error));
	T_CHECK(isinf(fit_limit(&f, 1)));
	T_EQ(fit_intervals(&f), 0);
	T_CHECK(fit_at(&f, 5) == 0);
	fit_add(&f, 1, 7);
	fit_add(&f, 1, 9); /* the same moment: no slope */
	T_CHECK(fit_slope(&f, NULL) == 0);
	fit_add(&f, 3, 12);
	T_CHECK(near(fit_slope(&f, &error), 2));
	T_CHECK(near(error, sqrt(2.0 / (8.0 / 3.0))));
	T_CHECK(!fit_grows(&f, 0));
}

T_TEST(nonsense_is_left_out)
{
	struct fit f = {0};

	fit_add(&f, 0, 1);
	fit_add(&f, NAN, 2);
	fit_add(&f, 1, INFINITY);
	fit_add(&f, -1, 5);
	fit_add(&f, 2, 5);
	T_EQ(f.count, 2);
	T_CHECK(near(fit_slope(&f, NULL), 2));
}

T_TEST(flat_is_flat)
{
	struct fit f = {0};
	double error;

	for (int i = 0; i < 100; i++)
		fit_add(&f, i, 1e9);
	T_CHECK(fit_slope(&f, &error) == 0 && error == 0);
	T_EQ(f.grown + f.shrunk, 0);
	T_CHECK(!fit_grows(&f, 4096));
	T_CHECK(near(fit_limit(&f, 4096), 4096.0 / 99));
}

T_MAIN()
