/* SPDX-License-Identifier: MIT */
/* hp_sort.c -- largest first, and equal ones in the order in which heaptrack_print has
 * them.
 *
 * That program sorts with std::sort, which moves equal items about: quicksort around the
 * median of the second, the middle and the last item, down to pieces of 16, and one
 * insertion sort over all of them. The same steps give the same order, so that output can
 * be compared line by line. Where quicksort does badly, equal items stay as they are. */
#include <stdlib.h>
#include <string.h>

#include "hp.h"

enum { HP_PIECE = 16 };

static uint64_t
hp_amount(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

static bool
hp_before(const struct hp_alloc *a, const struct hp_alloc *b, enum hp_figure by)
{
	return hp_amount(a->v[by]) > hp_amount(b->v[by]);
}

static void
hp_swap(struct hp_alloc *a, struct hp_alloc *b)
{
	struct hp_alloc x = *a;

	*a = *b;
	*b = x;
}

/* The median of three goes to `to`. */
static void
hp_median(struct hp_alloc *to, struct hp_alloc *a, struct hp_alloc *b, struct hp_alloc *c,
	  enum hp_figure by)
{
	struct hp_alloc *median;

	if (hp_before(a, b, by))
		median = hp_before(b, c, by) ? b : hp_before(a, c, by) ? c : a;
	else
		median = hp_before(a, c, by) ? a : hp_before(b, c, by) ? c : b;
	hp_swap(to, median);
}

/* Around the first item; returns where the second part begins. */
static size_t
hp_partition(struct hp_alloc *a, size_t n, enum hp_figure by)
{
	size_t i = 1, j = n;

	hp_median(a, a + 1, a + n / 2, a + n - 1, by);
	for (;; i++) {
		while (hp_before(&a[i], a, by))
			i++;
		do
			j--;
		while (hp_before(a, &a[j], by));
		if (i >= j)
			return i;
		hp_swap(&a[i], &a[j]);
	}
}

static void
hp_insert(struct hp_alloc *a, size_t n, enum hp_figure by)
{
	for (size_t i = 1; i < n; i++) {
		struct hp_alloc x = a[i];
		size_t to = i;

		while (to > 0 && hp_before(&x, &a[to - 1], by))
			to--;
		memmove(&a[to + 1], &a[to], (i - to) * sizeof *a);
		a[to] = x;
	}
}

/* Halves and merges, without changing the order of equal ones. */
static void
hp_merge_halves(struct hp_alloc *a, struct hp_alloc *spare, size_t n, enum hp_figure by)
{
	size_t half = n / 2, i = 0, j = half;

	if (n < 2)
		return;
	hp_merge_halves(a, spare, half, by);
	hp_merge_halves(a + half, spare, n - half, by);
	for (size_t to = 0; to < n; to++) {
		bool second = i == half || (j < n && hp_before(&a[j], &a[i], by));

		spare[to] = second ? a[j++] : a[i++];
	}
	memcpy(a, spare, n * sizeof *a);
}

static void
hp_quick(struct hp_alloc *a, size_t n, unsigned rounds, enum hp_figure by)
{
	while (n > HP_PIECE) {
		size_t cut;

		if (rounds-- == 0) {
			struct hp_alloc *spare = xcalloc(n, sizeof *spare);

			hp_merge_halves(a, spare, n, by);
			free(spare);
			return;
		}
		cut = hp_partition(a, n, by);
		hp_quick(a + cut, n - cut, rounds, by);
		n = cut;
	}
}

void
hp_sort(struct hp_alloc *a, size_t n, enum hp_figure by)
{
	if (n < 2)
		return;
	hp_quick(a, n, 2 * (63 - (unsigned)__builtin_clzll(n)), by);
	hp_insert(a, n, by);
}
