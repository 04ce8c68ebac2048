/* SPDX-License-Identifier: MIT */
/* fit.c -- least squares, one point at a time; see fit.h.
 *
 * Means and sums of products move with each point (Welford's way): the naive sums of
 * squares would subtract two huge numbers from each other. */
#include "tool/analyze/growth/fit.h"

#include <math.h>

#include "shared/compiler.h"

void
fit_add(struct fit *f, double t_seconds, double value)
{
	if (!isfinite(t_seconds) || !isfinite(value))
		return;
	if (f->count > 0 && t_seconds < f->last_t)
		return;
	if (f->count == 0) {
		f->first_t = t_seconds;
		f->first_v = value;
	} else if (value > f->last_v) {
		f->grown++;
	} else if (value < f->last_v) {
		f->shrunk++;
	}
	f->last_t = t_seconds;
	f->last_v = value;
	f->count++;

	double dt = t_seconds - f->mean_t;
	double dv = value - f->mean_v;
	f->mean_t += dt / (double)f->count;
	f->mean_v += dv / (double)f->count;
	f->sum_tt += dt * (t_seconds - f->mean_t);
	f->sum_tv += dt * (value - f->mean_v);
	f->sum_vv += dv * (value - f->mean_v);
}

size_t
fit_intervals(const struct fit *f)
{
	return f->count > 0 ? f->count - 1 : 0;
}

double
fit_span(const struct fit *f)
{
	return f->last_t - f->first_t;
}

double
fit_slope(const struct fit *f, double *ret_error)
{
	double slope = 0;
	double error = INFINITY;
	if (f->sum_tt > 0) {
		slope = f->sum_tv / f->sum_tt;
		if (f->count > 2) {
			double rest = f->sum_vv - slope * f->sum_tv;
			/* Rounding may leave less than nothing of a perfect line. */
			if (rest < f->sum_vv * 1e-14)
				rest = 0;
			error = sqrt(rest / (double)(f->count - 2) / f->sum_tt);
		}
	}
	if (ret_error != NULL)
		*ret_error = error;
	return slope;
}

double
fit_at(const struct fit *f, double t_seconds)
{
	return f->mean_v + fit_slope(f, NULL) * (t_seconds - f->mean_t);
}

/* How many standard errors are beyond noise: the 97.5 % point of Student's t with so many
 * degrees of freedom. Past the table the curve is flat enough for its last rows. */
static double
student(size_t freedom)
{
	static const double table[] = {
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201,	2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080,	2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	};
	if (freedom <= ARRAY_LEN(table))
		return table[freedom - 1];
	return freedom <= 60 ? 2.042 : 2.000;
}

double
fit_limit(const struct fit *f, double step)
{
	double error;
	fit_slope(f, &error);
	if (!isfinite(error))
		return INFINITY;
	return fmax(student(f->count - 2) * error, step / fit_span(f));
}

bool
fit_grows(const struct fit *f, double step)
{
	return fit_slope(f, NULL) > fit_limit(f, step);
}
