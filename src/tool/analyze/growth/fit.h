/* SPDX-License-Identifier: MIT */
/* fit.h -- a straight line through values over time, and how far to trust it.
 *
 * Points are added one by one and not kept: the sums are about running means, so that
 * hours of seconds and terabytes of bytes lose no digits. The error is the ordinary one
 * of least squares, which takes the points' distances from the line for independent
 * noise.
 *
 * It decides nothing about leaks: whether growth is one is for the caller to say. */
#ifndef SEEP_ANALYZE_FIT_H
#define SEEP_ANALYZE_FIT_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is a fit without points. Times must not go back. */
struct fit {
	size_t count;
	double mean_t, mean_v;
	double sum_tt, sum_tv, sum_vv; /* of distances from the means, multiplied */
	double first_t, first_v;
	double last_t, last_v;
	/* intervals at whose end the value was higher than at their start, */
	size_t grown;
	size_t shrunk; /* and lower; fit_intervals() - grown - shrunk left it as it was */
};

/* Adds the value at `t_seconds`. One that is not a number, or a time before the last one,
 * is left out. */
void fit_add(struct fit *f, double t_seconds, double value);

/* Intervals between the points added: one less than points. */
size_t fit_intervals(const struct fit *f);

/* Seconds from the first to the last point. */
double fit_span(const struct fit *f);

/* Slope of the line in value per second, and its standard error. Fewer than two points in
 * time have no slope: 0. Fewer than three say nothing about the error: it is infinite.
 * `ret_error` may be NULL. */
double fit_slope(const struct fit *f, double *ret_error);

/* The line's value at `t_seconds`, which may be in the future; 0 without points. */
double fit_at(const struct fit *f, double t_seconds);

/* Detection limit: the slope that growth must exceed to be told from this noise, with a
 * chance of 1 in 40 that noise alone does (one side of Student's t at 95 %). `step` is
 * the smallest change that the value can show, a page say: without noise, growth of less
 * than one step in the whole time does not show either. Infinite with fewer than three
 * points. */
double fit_limit(const struct fit *f, double step);

/* The slope is above the detection limit: it grows. */
bool fit_grows(const struct fit *f, double step);

#endif
