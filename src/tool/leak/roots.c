/* SPDX-License-Identifier: MIT */
/* roots.c -- see roots.h.
 *
 * glibc links all threads through their control blocks: three rings, one of stacks in
 * use, one of threads on stacks of their own, one of stacks that wait for the next
 * thread. Their heads are next to each other in the data of the loader (before 2.34, of
 * libpthread). A control block is known by its shape: its first and third word are its
 * own address. Where its fields are has not changed since 2005; the size of the stack is
 * looked for, because that has. */
#include "tool/leak/roots.h"

#include "shared/compiler.h"

enum {
	TCB_SELF = 16,	   /* its own address, for a second time */
	TCB_LIST = 704,	   /* links: next, previous */
	TCB_TID = 720,	   /* 0: it has ended, the kernel clears it; -1: and was joined */
	TCB_SCAN = 728,	   /* behind this, somewhere, start and size of its stack */
	TCB_BYTES = 0xb00, /* no version is larger */
	TCB_FROM_END = 8192, /* it lies so close to the end of the stack */
	PAGE = 4096,
	RING_MAX = 1 << 16,
};

static bool
is_tcb(struct scan_space *s, uint64_t at)
{
	uint64_t first, third;

	return IS_ALIGNED(at, 16) && scan_word(s, at, &first) && first == at &&
	       scan_word(s, at + TCB_SELF, &third) && third == at;
}

/* Start and size of the stack, from the control block at its end. */
static bool
find_stack(struct scan_space *s, uint64_t tcb, struct scan_range *ret_range)
{
	uint64_t start, bytes;

	if (!scan_word(s, tcb + TCB_SCAN, &start))
		return false;
	for (uint64_t off = TCB_SCAN; off < TCB_BYTES; off += 8, start = bytes) {
		if (!scan_word(s, tcb + off + 8, &bytes))
			return false;
		if (start == 0 || !IS_ALIGNED(start, PAGE) || bytes == 0 ||
		    !IS_ALIGNED(bytes, PAGE) || start > tcb || bytes > UINT64_C(1) << 40)
			continue;
		if (start + bytes <= tcb || start + bytes - tcb > TCB_FROM_END)
			continue;
		*ret_range = (struct scan_range){start, start + bytes};
		return true;
	}
	return false;
}

/* Follows the ring whose head is at `head`; every link must lead to a control block and
 * back. */
static uint32_t
take_ring(struct scan_space *s, uint64_t head, struct roots_stack *to, uint32_t max)
{
	uint64_t at, before = head;
	uint32_t n = 0;

	if (!scan_word(s, head, &at))
		return 0;
	for (unsigned i = 0; at != head && i < RING_MAX; i++) {
		uint64_t tcb = at - TCB_LIST, tid, back, next;

		if (at < TCB_LIST || !is_tcb(s, tcb) || !scan_word(s, at + 8, &back) ||
		    back != before || !scan_word(s, at, &next) ||
		    !scan_word(s, tcb + TCB_TID, &tid))
			return 0;
		if (n < max && find_stack(s, tcb, &to[n].range)) {
			to[n].tcb = tcb;
			to[n].ended = (int32_t)(uint32_t)tid <= 0;
			n++;
		}
		before = at;
		at = next;
	}
	return at == head ? n : 0;
}

uint32_t
roots_stacks(struct scan_space *s, struct scan_range data, struct roots_stack *to,
	     uint32_t max)
{
	uint32_t n = 0;

	for (uint64_t at = ALIGN_UP(data.start, UINT64_C(8)); at + 16 <= data.end;
	     at += 8) {
		uint64_t next, previous;

		if (!scan_word(s, at, &next) || !scan_word(s, at + 8, &previous))
			continue;
		if (next == at || next < TCB_LIST || previous < TCB_LIST ||
		    !IS_ALIGNED(next, 16) || !IS_ALIGNED(previous, 16) ||
		    !is_tcb(s, next - TCB_LIST))
			continue;
		n += take_ring(s, at, to + n, max - n);
	}
	return n;
}

const struct roots_stack *
roots_stack_of(const struct roots_stack *stacks, uint32_t n, uint64_t sp)
{
	for (uint32_t i = 0; i < n; i++) {
		if (sp >= stacks[i].range.start && sp < stacks[i].range.end)
			return &stacks[i];
	}
	return NULL;
}

/* ---- ranges ---- */

static void
sift_down(struct scan_range *r, uint32_t at, uint32_t n)
{
	for (;;) {
		uint32_t child = 2 * at + 1;
		struct scan_range swap = r[at];

		if (child >= n)
			return;
		if (child + 1 < n && r[child + 1].start > r[child].start)
			child++;
		if (swap.start >= r[child].start)
			return;
		r[at] = r[child];
		r[child] = swap;
		at = child;
	}
}

/* By start. No qsort in here: it may allocate. */
static void
sort_ranges(struct scan_range *r, uint32_t n)
{
	for (uint32_t i = n / 2; i > 0; i--)
		sift_down(r, i - 1, n);
	for (uint32_t i = n; i > 1; i--) {
		struct scan_range last = r[i - 1];

		r[i - 1] = r[0];
		r[0] = last;
		sift_down(r, 0, i - 1);
	}
}

uint32_t
roots_ranges(const struct scan_space *s, struct scan_range *holes, uint32_t nholes,
	     struct scan_range *to)
{
	const uint32_t wanted = SCAN_READ | SCAN_WRITE;
	uint32_t n = 0, first = 0;

	sort_ranges(holes, nholes);
	for (uint32_t i = 0; i < s->nmaps; i++) {
		const struct scan_map *m = &s->maps[i];
		uint64_t at = m->start;

		if ((m->flags & (wanted | SCAN_DEVICE)) != wanted &&
		    (m->flags & SCAN_SEALED) == 0)
			continue;
		/* Holes may overlap; those that end before this mapping may still be
		 * followed by one that began earlier and does not, so only a run at the
		 * front is dropped. */
		while (first < nholes && holes[first].end <= m->start)
			first++;
		for (uint32_t k = first; k < nholes && holes[k].start < m->end; k++) {
			if (holes[k].end <= at)
				continue;
			if (holes[k].start > at)
				to[n++] = (struct scan_range){at, holes[k].start};
			at = holes[k].end;
		}
		if (at < m->end)
			to[n++] = (struct scan_range){at, m->end};
	}
	return n;
}
