/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -rdynamic -fno-builtin -fno-inline */
/* left_inside.cpp -- leaves the allocator by longjmp, from further down the stack than it calls new after that. To be run over
 * leave_malloc.so. */
#include "truth.h"

#include <csetjmp>

enum { LEFT_BYTES = 77777, NEWS = 23, NEW_BYTES = 101 };

static std::jmp_buf back;
static char *volatile keep;

extern "C" {
void (*leave_malloc)(size_t n);
}

static void
leave(size_t n)
{
	if (n >= LEFT_BYTES) /* there may be something around it */
		std::longjmp(back, 1);
}

static TRUTH_NOINLINE void
make(size_t bytes)
{
	keep = new char[bytes];
}

static TRUTH_NOINLINE void
make_after(struct tally *t)
{
	for (int i = 0; i < NEWS; i++) {
		make(NEW_BYTES);
		tally_alloc(t, NEW_BYTES);
	}
}

static TRUTH_NOINLINE void
make_left(struct tally *t)
{
	volatile char far_down[512];

	far_down[0] = 0;
	make(LEFT_BYTES + static_cast<size_t>(far_down[0]));
	tally_alloc(t, LEFT_BYTES); /* never */
}

int
main()
{
	static struct tally after = {"make_after", 0, 0, 0, 0},
			    left = {"make_left", 0, 0, 0, 0};

	leave_malloc = leave;
	if (setjmp(back) == 0)
		make_left(&left);
	make_after(&after);
	truth_tell(&left);
	truth_tell(&after);
	return 0;
}
