/* SPDX-License-Identifier: MIT */
/* hp.h -- what `seep heaptrack_print` prints: the figures of each stack of a file, or the
 * difference to another one, in heaptrack_print's order and words. */
#ifndef SEEP_COMPAT_HP_H
#define SEEP_COMPAT_HP_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/format/heaptrack/ht.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

enum hp_figure { HP_ALLOCATIONS, HP_TEMPORARY, HP_LEAKED, HP_PEAK, HP_FIGURES };

/* One stack, or several with the same place at their top. */
struct hp_alloc {
	int64_t v[HP_FIGURES];
	uint32_t trace;	 /* of a stack */
	uint32_t ip;	 /* of a place, 0 = not known */
	size_t first, n; /* of a place: its stacks in hp.traces */
};

struct hp_allocs VEC_BODY(struct hp_alloc);

struct hp_suppression {
	char *pattern;
	uint64_t matches;
	int64_t leaked;
};

struct hp {
	struct ht h;
	struct hp_allocs stacks; /* in the order of the file */
	struct hp_allocs places, traces;
	uint32_t *class_of_ip; /* places that are shown alike; 0 = none */
	int64_t total[HP_FIGURES], total_ms, rss_bytes, suppressed;
	VEC(struct hp_suppression) suppressions;
	const char *filter; /* part of a function's name, "" = all */
	uint64_t limit, sub_limit;
	bool shorten, merge;
	bool two_digits; /* some figure had two decimal places: so have all behind it */
	struct buf out;
};

/* Reads FILE, which may be any profile. The names of a command's messages are not in the
 * error. What could not be read is appended to `ret_lost`. */
int hp_read(struct ht *h, const char *path, struct buf *ret_lost, struct err *e);

/* The figures of p->h; then, if wanted, less those of `base`; then without suppressed
 * leaks and what the filter leaves out; then by place. */
void hp_figures(struct hp *p);
void hp_subtract(struct hp *p, struct ht *base);
void hp_suppress(struct hp *p);
void hp_merge(struct hp *p);
void hp_done(struct hp *p);

/* "leak:PATTERN" lines, from a file or the profile; false: one is not. */
bool hp_suppress_line(struct hp *p, const char *line);

/* Whether a stack is shown no further than this function. */
bool hp_is_stop(const struct ht *h, uint32_t function);

/* Largest first, by amount; those that are equal as heaptrack_print has them. */
void hp_sort(struct hp_alloc *a, size_t n, enum hp_figure by);

/* A name without what is in the angle brackets of templates, if wanted. */
void hp_add_name(struct hp *p, const char *name);

/* The sections and the totals. */
void hp_print_section(struct hp *p, enum hp_figure by);
void hp_print_totals(struct hp *p, bool suppressions);

/* Texts of the files. */
void hp_flamegraph(struct hp *p, enum hp_figure by);
void hp_histogram(struct hp *p);

/* A file of massif, as the events come: see ht.stamp. */
struct hp_massif {
	struct buf out;
	double threshold; /* per cent */
	uint64_t detailed, snapshots;
	struct hp *p;
};
void hp_massif_stamp(void *massif, const struct ht *h, uint64_t ms, bool last);
/* The same afterwards, of a profile that keeps points and no events. */
void hp_massif_points(struct hp_massif *m, const struct ht *h);

#endif
