/* SPDX-License-Identifier: MIT */
/* zone_bytes.c -- see zone_bytes.h.
 *
 * rt_sigprocmask serves as the question: the kernel reads the new mask, or writes the old
 * one, before it notices that nothing is to be done, and answers EFAULT where it may
 * not. */
#include "guest/misuse/zone_bytes.h"

#include "guest/rt/rt_map.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <errno.h>
#include <string.h>

enum {
	PAGE = 4096,
	WORD = 8,	 /* bytes that a question takes */
	ASKED_PAGES = 4, /* up to so many, untouched ones are filled as well */
	VECTOR_PAGES = 256,
};

const unsigned char *
room_find_other(const unsigned char *at, size_t bytes, unsigned char byte,
		size_t *ret_count)
{
	size_t first = 0, last = bytes;

	while (first < bytes && at[first] == byte)
		first++;
	if (first == bytes)
		return NULL;
	while (at[last - 1] == byte)
		last--;
	*ret_count = last - first;
	return at + first;
}

static unsigned char *
page_of(const void *at)
{
	return (unsigned char *)ALIGN_DOWN((uintptr_t)at, (uintptr_t)PAGE);
}

bool
room_can_read(const void *at, size_t bytes)
{
	const unsigned char *end = (const unsigned char *)at + bytes;

	for (const unsigned char *page = page_of(at); page < end; page += PAGE)
		if (SYS4(SYS_rt_sigprocmask, -1, page, 0, WORD) == -EFAULT)
			return false;
	return true;
}

bool
room_can_write(void *at)
{
	return SYS4(SYS_rt_sigprocmask, 0, 0, at, WORD) != -EFAULT;
}

/* How many pages from there on, of `count`, were ever touched. Those that are swapped out
 * do not count. */
static size_t
count_touched(unsigned char *page, size_t count)
{
	unsigned char vector[VECTOR_PAGES];
	size_t done = 0;

	while (done < count) {
		size_t n = count - done < VECTOR_PAGES ? count - done : VECTOR_PAGES;

		if (SYS3(SYS_mincore, page + done * PAGE, n * PAGE, vector) != 0)
			return done;
		for (size_t i = 0; i < n; i++)
			if ((vector[i] & 1) == 0)
				return done + i;
		done += n;
	}
	return done;
}

/* How many pages from there on, of `count`, may be filled. Writes to each. */
static size_t
count_open(unsigned char *page, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!room_can_write(page + i * PAGE))
			return i;
	return count;
}

/* What lies between two addresses, as far as it is the block's. */
static void
fill_between(unsigned char *p, size_t bytes, unsigned char *from, unsigned char *to)
{
	from = from < p ? p : from;
	to = to > p + bytes ? p + bytes : to;
	if (to > from)
		memset(from, ROOM_FREED, (size_t)(to - from));
}

/* Pages of a block: the first one, how many, and how many make a part. */
struct extent {
	unsigned char *page;
	size_t count, part;
};

static struct extent
extent_of(const unsigned char *p, size_t bytes)
{
	struct extent x = {.page = page_of(p)};

	x.count = bytes == 0 ? 0 : ((size_t)(p + bytes - x.page) + PAGE - 1) / PAGE;
	x.part = (x.count + ROOM_PARTS - 1) / ROOM_PARTS;
	return x;
}

/* The question writes a word at the beginning of a page, which is the block's but for the
 * first page: with that it is not asked. The last page may have less of it than a
 * word. */
static size_t
count_fit(unsigned char *p, size_t bytes, unsigned char *page, size_t count)
{
	unsigned char *last = page + (count - 1) * PAGE;

	if (count > 0 && (size_t)(p + bytes - last) < WORD)
		count--;
	return count_open(page, count);
}

struct room_filled
room_fill(unsigned char *p, size_t bytes)
{
	const struct extent x = extent_of(p, bytes);
	struct room_filled filled = {.pages = x.count != 0};
	size_t touched = x.count, open;

	if (x.count == 0)
		return filled;
	fill_between(p, bytes, x.page, x.page + PAGE);
	if (x.count == 1 || __atomic_load_n(&rt_sealed, __ATOMIC_RELAXED) != 0)
		return filled;
	if (x.count > ASKED_PAGES)
		touched = 1 + count_touched(x.page + PAGE, x.count - 1);
	open = 1 + count_fit(p, bytes, x.page + PAGE, touched - 1);
	fill_between(p, bytes, x.page + PAGE, x.page + open * PAGE);
	filled.pages = (uint32_t)open;
	for (size_t i = open / x.part + 1; i < ROOM_PARTS && i * x.part < x.count; i++) {
		unsigned char *at = x.page + i * x.part * PAGE;
		size_t n = x.count - i * x.part < x.part ? x.count - i * x.part : x.part;

		if (count_touched(at, n) != n || count_fit(p, bytes, at, n) != n)
			continue;
		fill_between(p, bytes, at, at + n * PAGE);
		filled.parts |= UINT64_C(1) << i;
	}
	return filled;
}

/* One stretch of pages, as far as it is the block's and can be read. */
static const unsigned char *
find_between(const unsigned char *p, size_t bytes, const unsigned char *from,
	     const unsigned char *to, size_t *ret_count)
{
	from = from < p ? p : from;
	to = to > p + bytes ? p + bytes : to;
	if (to <= from || (__atomic_load_n(&rt_sealed, __ATOMIC_RELAXED) == 0 &&
			   !room_can_read(from, (size_t)(to - from))))
		return NULL;
	return room_find_other(from, (size_t)(to - from), ROOM_FREED, ret_count);
}

const unsigned char *
room_find_written(const unsigned char *p, size_t bytes, const struct room_filled *filled,
		  size_t *ret_count)
{
	const struct extent x = extent_of(p, bytes);
	const unsigned char *bad;

	bad = find_between(p, bytes, x.page, x.page + (size_t)filled->pages * PAGE,
			   ret_count);
	for (size_t i = 0; bad == NULL && i < ROOM_PARTS; i++) {
		const unsigned char *at = x.page + i * x.part * PAGE;

		if ((filled->parts >> i & 1) != 0)
			bad = find_between(p, bytes, at, at + x.part * PAGE, ret_count);
	}
	return bad;
}
