/* SPDX-License-Identifier: MIT */
/* sample.c -- Poisson sampling in bytes.
 *
 * Every byte allocated is a sample with probability 1/rate, independently. So the
 * distance to the next one is exponential, a block of s bytes is caught with p = 1 -
 * exp(-s/rate), and counting each caught one as 1/p of its kind makes every sum unbiased,
 * per site and in total; the variance of such a sum is the sum of (s/p)^2 (1-p). The
 * weight depends only on size and rate, both kept with the block, so what is taken off at
 * free is exactly what was added.
 *
 * The logarithm and exponential are computed here because the target's libm may not be
 * loaded. */
#include "guest/record/sample.h"

#include "guest/rt/sys.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

static const double LN2 = 0.693147180559945309417;

/* ln(m) for m in [1, 2): twice atanh((m-1)/(m+1)), a series in z^2 <= 1/9. */
static double
log_mantissa(double m)
{
	double z = (m - 1.0) / (m + 1.0), z2 = z * z, sum = 0;

	for (int k = 21; k >= 1; k -= 2)
		sum = sum * z2 + 1.0 / k;
	return 2.0 * z * sum;
}

double
sample_neg_log(double u)
{
	uint64_t bits;
	double m;
	int exponent;

	memcpy(&bits, &u, sizeof(bits));
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000);
	memcpy(&m, &bits, sizeof(m));
	return -(exponent * LN2 + log_mantissa(m));
}

double
sample_probability(double x)
{
	double y, sum = 0;
	int halvings = 0;

	if (x > 40.0)
		return 1.0;
	/* 1 - exp(-y) by its series for small y, then doubled: 1 - (1-q)^2 = q (2 - q),
	 * which keeps the relative error small where 1 - exp(-x) itself would cancel. */
	for (y = x; y > 0.125; y *= 0.5)
		halvings++;
	for (int k = 9; k >= 1; k--)
		sum = y / k * (1.0 - sum);
	for (; halvings > 0; halvings--)
		sum = sum * (2.0 - sum);
	return sum;
}

struct sample_weight
sample_weigh(uint64_t bytes, uint64_t rate)
{
	struct sample_weight w = {.bytes = bytes, .count = SAMPLE_COUNT_ONE};
	double p, s = (double)(bytes == 0 ? 1 : bytes);

	if (rate <= 1)
		return w;
	p = sample_probability(s / (double)rate);
	w.bytes = bytes == 0 ? 0 : (uint64_t)(s / p + 0.5);
	w.count = (uint64_t)(SAMPLE_COUNT_ONE / p + 0.5);
	w.var = (uint64_t)(s / p / SAMPLE_VAR_UNIT * (s / p / SAMPLE_VAR_UNIT) *
				   (1.0 - p) +
			   0.5);
	return w;
}

uint64_t
sample_next(uint64_t *state, uint64_t rate)
{
	uint64_t x = *state;
	double distance;

	if (x == 0) {
		struct timespec ts = {0, 0};

		if (SYS3(SYS_getrandom, &x, sizeof(x), 1) != sizeof(x) || x == 0) {
			SYS2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
			x = ((uint64_t)ts.tv_nsec << 20) ^ (uintptr_t)state ^ 1;
		}
	}
	/* xorshift64*; the upper 53 bits make a double in (0, 1]. */
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	x *= UINT64_C(0x2545F4914F6CDD1D);
	distance = sample_neg_log((double)((x >> 11) + 1) * 0x1p-53) * (double)rate;
	/* Rounded up: a block of n bytes is caught when the distance is at most n. */
	return (uint64_t)distance + 1;
}

const struct sample_filter sample_all = {.mask = 0, .slots = {1}};
const struct sample_filter sample_none = {.mask = 0, .slots = {0}};

void
sample_filter_init(struct sample_filter *f)
{
	f->mask = SAMPLE_FILTER_SLOTS - 1;
}

void
sample_filter_add(struct sample_filter *f, uintptr_t addr)
{
	uint8_t *slot = &f->slots[sample_slot(f, addr)];
	uint8_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);

	while (seen < UINT8_MAX &&
	       !__atomic_compare_exchange_n(slot, &seen, (uint8_t)(seen + 1), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void
sample_filter_del(struct sample_filter *f, uintptr_t addr)
{
	uint8_t *slot = &f->slots[sample_slot(f, addr)];
	uint8_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);

	while (seen > 0 && seen < UINT8_MAX &&
	       !__atomic_compare_exchange_n(slot, &seen, (uint8_t)(seen - 1), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}
