/* SPDX-License-Identifier: MIT */
/* pagescan.c -- see pagescan.h.
 *
 * What is known is one window of addresses with its runs. It is as long as the caller
 * asks for, or longer: who goes through memory in order gets more and more at a time. */
#include "tool/target/proc/pagescan.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shared/compiler.h"

/* Of linux/fs.h since 6.7. */
struct pm_scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct pm_region {
	uint64_t start, end, categories;
};
#define PM_SCAN _IOWR('f', 16, struct pm_scan)

enum {
	PM_FILE = 1 << 2,
	PM_PRESENT = 1 << 3,
	PM_SWAPPED = 1 << 4,
	PM_ZERO = 1 << 5,
	WORDS = 32 << 10, /* of pagemap a read: 128 MiB of addresses */
	AHEAD_LEAST = 1 << 20,
};

#define AHEAD_MOST (UINT64_C(1) << 30)
#define WORDS_RANGE_MOST (UINT64_C(1) << 40)
#define BLIND_RANGE_MOST (UINT64_C(4) << 30)
#define PAGEMAP_THERE (UINT64_C(3) << 62) /* present, or in swap */
#define PAGEMAP_FILE (UINT64_C(1) << 61)  /* a file's, or shared */

void
pagescan_init(struct pagescan *s, const struct procmem *m)
{
	*s = (struct pagescan){.fd = m->pagemap_fd, .page_bytes = m->page_bytes};
	if (s->fd < 0)
		s->way = PAGESCAN_BLIND;
}

void
pagescan_forget(struct pagescan *s)
{
	s->from = s->to = 0;
	s->nruns = s->at = 0;
}

static void
add_run(struct pagescan *s, uint64_t start, uint64_t end)
{
	if (s->nruns > 0 && s->runs[s->nruns - 1].end == start)
		s->runs[s->nruns - 1].end = end;
	else
		s->runs[s->nruns++] = (struct pagescan_run){start, end};
}

/* The three ways to fill the window from s->from on, at most up to `end`; false: this one
 * does not work. */
static bool
fill_runs(struct pagescan *s, uint64_t end)
{
	uint64_t without = PM_ZERO | (s->private_only ? PM_FILE : 0);
	struct pm_region regions[PAGESCAN_RUNS];
	struct pm_scan a = {
		.size = sizeof a,
		.start = s->from,
		.end = end,
		.vec = (uintptr_t)regions,
		.vec_len = PAGESCAN_RUNS,
		.max_pages = AHEAD_MOST / s->page_bytes,
		.category_inverted = without,
		.category_mask = without,
		.category_anyof_mask = PM_PRESENT | PM_SWAPPED,
		.return_mask = PM_PRESENT | PM_SWAPPED,
	};
	long n = ioctl(s->fd, PM_SCAN, &a);

	if (n < 0)
		return false;
	for (long i = 0; i < n && i < PAGESCAN_RUNS; i++)
		add_run(s, regions[i].start, regions[i].end);
	s->to = a.walk_end > s->from ? a.walk_end : end;
	return true;
}

static bool
fill_words(struct pagescan *s, uint64_t end)
{
	uint64_t *words = malloc(WORDS * sizeof *words), at = s->from;
	size_t n = (size_t)((end - at) / s->page_bytes);
	ssize_t got = -1;

	if (n > WORDS)
		n = WORDS;
	if (words != NULL)
		got = pread(s->fd, words, n * sizeof *words,
			    (off_t)(at / s->page_bytes * sizeof *words));
	for (ssize_t i = 0; i < got / (ssize_t)sizeof *words && s->nruns < PAGESCAN_RUNS;
	     i++, at += s->page_bytes) {
		if ((words[i] & PAGEMAP_THERE) != 0 &&
		    !(s->private_only && (words[i] & PAGEMAP_FILE) != 0))
			add_run(s, at, at + s->page_bytes);
	}
	free(words);
	s->to = at;
	return at > s->from;
}

static void
fill_blindly(struct pagescan *s, uint64_t end)
{
	if (!s->private_only)
		add_run(s, s->from, end);
	s->to = end;
}

/* True: nobody will ever look through all of that. */
static bool
is_too_large(struct pagescan *s, uint64_t bytes)
{
	if ((s->way == PAGESCAN_WORDS && bytes > WORDS_RANGE_MOST) ||
	    (s->way == PAGESCAN_BLIND && bytes > BLIND_RANGE_MOST)) {
		s->passed_over_bytes += bytes;
		return true;
	}
	return false;
}

/* A window that begins at or before `start`; false: the rest up to `end` is passed
 * over. */
static bool
fill(struct pagescan *s, uint64_t start, uint64_t end)
{
	bool goes_on = s->to == start && s->to > s->from;
	uint64_t first; /* word of all */

	s->ahead_bytes = goes_on && s->ahead_bytes < AHEAD_MOST ? 2 * s->ahead_bytes
			 : goes_on				? s->ahead_bytes
								: AHEAD_LEAST;
	s->from = ALIGN_DOWN(start, s->page_bytes);
	s->nruns = s->at = 0;
	if (end < s->from + s->ahead_bytes)
		end = s->from + s->ahead_bytes;
	end = ALIGN_UP(end, s->page_bytes);
	if (s->way == PAGESCAN_RUNS_TOLD && fill_runs(s, end))
		return true;
	if (s->way == PAGESCAN_RUNS_TOLD)
		s->way = PAGESCAN_WORDS;
	if (is_too_large(s, end - s->from))
		return false;
	if (s->way == PAGESCAN_WORDS && fill_words(s, end))
		return true;
	/* Behind the last address there is nothing to read either. */
	if (s->way == PAGESCAN_WORDS && pread(s->fd, &first, sizeof first, 0) <= 0)
		s->way = PAGESCAN_BLIND;
	if (is_too_large(s, end - s->from))
		return false;
	fill_blindly(s, end);
	return true;
}

bool
pagescan_next(struct pagescan *s, uint64_t start, uint64_t end,
	      struct pagescan_run *ret_run)
{
	while (start < end) {
		if (start < s->from || start >= s->to) {
			if (!fill(s, start, end))
				break;
		} else if (s->at > 0 && s->runs[s->at - 1].end > start) {
			s->at = 0; /* back again */
		}
		while (s->at < s->nruns && s->runs[s->at].end <= start)
			s->at++;
		if (s->at < s->nruns) {
			struct pagescan_run r = s->runs[s->at];

			if (r.start >= end)
				return false;
			ret_run->start = r.start > start ? r.start : start;
			ret_run->end = r.end < end ? r.end : end;
			return true;
		}
		start = s->to;
	}
	return false;
}
