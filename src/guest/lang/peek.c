/* SPDX-License-Identifier: MIT */
/* peek.c -- reads memory of the program that may not be there. See peek.h.
 *
 * rt_sigprocmask with a `how` that does not exist copies the set from memory first:
 * EFAULT says that it is not there, EINVAL that it is. Every seccomp filter lets that
 * call pass; but once there is one nothing is asked any more, and new pages count as
 * absent. */
#include "guest/lang/peek.h"

#include "guest/rt/rt_map.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"
#include "shared/recording.h"

#include <errno.h>
#include <string.h>

enum {
	PEEK_PAGE_SHIFT = 12,
	PEEK_LOWEST = 16,      /* pages: nothing is mapped below */
	PEEK_BAD_TRIES = 4096, /* before a page that was bad is tried again */
	PEEK_NO_HOW = -1,
	PEEK_SET_BYTES = 8,
};

static COLD bool
peek_try(struct peek *k, uintptr_t page)
{
	uintptr_t at = page << PEEK_PAGE_SHIFT;

	if (page < PEEK_LOWEST || at >> REC_ADDRESS_BITS != 0 || rt_sealed ||
	    (page == k->bad && k->bad_left-- > 0))
		return false;
	if (SYS4(SYS_rt_sigprocmask, PEEK_NO_HOW, at, 0, PEEK_SET_BYTES) == -EFAULT) {
		k->bad = page;
		k->bad_left = PEEK_BAD_TRIES;
		return false;
	}
	k->good[page % PEEK_PAGES] = page;
	return true;
}

static ALWAYS_INLINE bool
peek_page(struct peek *k, uintptr_t page)
{
	return LIKELY(k->good[page % PEEK_PAGES] == page && page != 0) ||
	       peek_try(k, page);
}

bool
peek_may(struct peek *k, uintptr_t at, size_t bytes)
{
	uintptr_t first = at >> PEEK_PAGE_SHIFT;
	uintptr_t last = (at + bytes - 1) >> PEEK_PAGE_SHIFT;

	return at + bytes > at && peek_page(k, first) &&
	       (last == first || peek_page(k, last));
}

bool
peek_may_text(struct peek *k, uintptr_t at)
{
	while (peek_may(k, at, 1)) {
		uintptr_t end = (at | ((1 << PEEK_PAGE_SHIFT) - 1)) + 1;

		for (; at < end; at++)
			if (*(const char *)at == '\0')
				return true;
	}
	return false;
}

uintptr_t
peek_word(struct peek *k, uintptr_t at)
{
	uintptr_t word = 0;

	if (peek_may(k, at, sizeof(word)))
		memcpy(&word, (const void *)at, sizeof(word));
	return word;
}

void
peek_text(struct peek *k, uintptr_t at, char *ret, size_t max)
{
	size_t n = 0;

	while (at != 0 && n < max - 1 && peek_may(k, at + n, 1)) {
		ret[n] = *(const char *)(at + n);
		if (ret[n] == '\0')
			break;
		n++;
	}
	ret[n] = '\0';
}
