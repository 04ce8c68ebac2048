/* SPDX-License-Identifier: MIT */
/* verdict_births.c -- see verdict_births.h. */
#include "tool/analyze/verdict/verdict_births.h"

#include <stdlib.h>

#include "tool/util/map.h"
#include "tool/util/vec.h"

enum {
	INTERVALS = 20,	     /* into which a run is cut to see when blocks were lost */
	INTERVALS_MS = 2500, /* a shorter run is not cut */
	INTERVALS_RATE = 10, /* losses in so many of them have a rate */
};

/* What one site of one process lost, and when its live blocks were made. */
struct births {
	uint32_t process;
	int64_t lost;
	uint32_t in[INTERVALS];
};

static int
compare_counts(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* In how many intervals a site lost blocks, at least: it is known when its live blocks
 * were made, but not which of them are lost. */
static unsigned
intervals_of(struct births *b)
{
	int64_t lost = b->lost;
	unsigned n = 0;

	qsort(b->in, INTERVALS, sizeof *b->in, compare_counts);
	for (; n < INTERVALS && lost > 0 && b->in[n] > 0; n++)
		lost -= b->in[n];
	return n;
}

/* The blocks of a site that are lost, as many of them as are listed: of a sampled one
 * some. */
static int64_t
listed_of(const struct prof_site *s, int64_t lost)
{
	if (s->live_samples == 0 || s->live_blocks <= 0)
		return lost;
	return (int64_t)((double)lost * (double)s->live_samples / (double)s->live_blocks +
			 0.5);
}

void
verdict_find_intervals(struct verdict *v, const struct prof *p, const struct sites *ss,
		       const int64_t *lost)
{
	struct map rows = {0};
	VEC(struct births) births = {0};

	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t row = ss->row_of_site[i], process = p->sites[i].process;
		uint64_t *at;

		if (lost[i] == 0 || row == UINT32_MAX ||
		    p->processes[process].duration_ms < INTERVALS_MS)
			continue;
		at = map_add(&rows, (uint64_t)process << 32 | row);
		if (*at == 0) {
			vec_add(&births)->process = process;
			*at = births.len;
		}
		births.data[*at - 1].lost += listed_of(&p->sites[i], lost[i]);
	}
	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *b = &p->blocks[i];
		uint32_t process = p->sites[b->site].process;
		uint64_t *at =
			lost[b->site] == 0
				? NULL
				: map_find(&rows, (uint64_t)process << 32 |
							  ss->row_of_site[b->site]);
		uint64_t bin = (uint64_t)b->ms * INTERVALS /
			       (p->processes[process].duration_ms + 1);

		if (at != NULL)
			births.data[*at - 1].in[bin < INTERVALS ? bin : INTERVALS - 1]++;
	}
	for (size_t i = 0; i < births.len; i++) {
		struct verdict_figures *f = &v->each[births.data[i].process];
		unsigned n = intervals_of(&births.data[i]);

		if (n > f->lost_intervals)
			f->lost_intervals = n;
	}
	vec_done(&births);
	map_done(&rows);
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (v->each[i].lost_intervals >= INTERVALS_RATE)
			v->each[i].lost_rate =
				(double)verdict_lost(v->each[i].loss_bytes) * 1000 /
				(double)p->processes[i].duration_ms;
	}
}

/* Blocks of one site of one process by age: those left that were made late, and those
 * freed. */
struct late {
	uint32_t process;
	uint64_t left[PROF_LIFE_BUCKETS], freed[PROF_LIFE_BUCKETS];
};

static unsigned
age_bucket(uint64_t ms)
{
	unsigned n = ms == 0 ? 0 : 64 - (unsigned)__builtin_clzll(ms);

	return n < PROF_LIFE_BUCKETS ? n : PROF_LIFE_BUCKETS - 1;
}

/* Those left of which there are more than the site has ever freed at that age or later.
 * What a queue or cache holds at the end is not among them: its turn would have come. */
static uint64_t
late_of(const struct late *l)
{
	uint64_t left = 0, freed = 0, sum = 0;

	for (unsigned i = PROF_LIFE_BUCKETS; i-- > 0;) {
		left += l->left[i];
		freed += l->freed[i];
		if (freed < left)
			sum += l->left[i];
	}
	return sum;
}

void
verdict_find_late(struct verdict *v, const struct prof *p, const struct sites *ss)
{
	struct map rows = {0};
	VEC(struct late) late = {0};

	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *b = &p->blocks[i];
		uint32_t process = p->sites[b->site].process;
		uint32_t row = ss->row_of_site[b->site];
		uint64_t ran_ms = p->processes[process].duration_ms, *at;

		if (row == UINT32_MAX || ss->rows[row].kept != NULL ||
		    b->ms <= ran_ms / 2)
			continue;
		at = map_add(&rows, (uint64_t)process << 32 | row);
		if (*at == 0) {
			vec_add(&late)->process = process;
			*at = late.len;
		}
		late.data[*at - 1]
			.left[age_bucket(ran_ms > b->ms ? ran_ms - b->ms : 0)]++;
	}
	for (uint32_t i = 1; late.len > 0 && i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];
		uint64_t *at =
			map_find(&rows, (uint64_t)s->process << 32 | ss->row_of_site[i]);

		struct prof_hist h;

		if (at == NULL)
			continue;
		h = prof_hist(p, i);
		for (unsigned k = 0; k < PROF_LIFE_BUCKETS; k++)
			late.data[*at - 1].freed[k] += h.lifetimes[k];
	}
	for (size_t i = 0; i < late.len; i++)
		v->each[late.data[i].process].late_samples += late_of(&late.data[i]);
	vec_done(&late);
	map_done(&rows);
}
