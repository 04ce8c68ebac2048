/* SPDX-License-Identifier: MIT */
/* test_freeze.c -- memory of a process (our own), looked at in order, again and again,
 * and at random: what is read is right, and as much of it is kept as is needed again, but
 * no more than there may be. */
#include "tool/target/trace/freeze.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "t.h"

enum {
	PIECE = 64 << 10,
	PIECES = 512,
	FIRST = 32, /* places at first */
};

static unsigned char *
make(void)
{
	unsigned char *p =
		mmap(NULL, (size_t)(PIECES + 1) * PIECE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	p += PIECE - (uintptr_t)p % PIECE;
	for (uint64_t i = 0; i < (uint64_t)PIECES * PIECE / 8; i++)
		((uint64_t *)(void *)p)[i] = i * UINT64_C(0x9e3779b97f4a7c15);
	return p;
}

static void
begin(struct freeze *f, size_t most)
{
	*f = (struct freeze)FREEZE_NONE;
	T_EQ(freeze_open((int)getpid(), f, NULL), 0);
	f->pieces.most = most;
}

/* Word `n` of what make() made, as it is read. */
static bool
right(struct freeze *f, const unsigned char *p, uint64_t n)
{
	uint64_t got = 0;
	const unsigned char *at = freeze_look(f, (uintptr_t)p + n * 8, 8, &got);

	return at != NULL && got >= 8 &&
	       *(const uint64_t *)(const void *)at == n * UINT64_C(0x9e3779b97f4a7c15);
}

/* How many words are wrong of the last of each piece, in order, `times` over. */
static unsigned
in_order(struct freeze *f, const unsigned char *p, unsigned pieces, unsigned times)
{
	unsigned wrong = 0;

	for (unsigned k = 0; k < times; k++)
		for (unsigned i = 0; i < pieces; i++)
			wrong += !right(f, p, (uint64_t)(i + 1) * PIECE / 8 - 1);
	return wrong;
}

T_TEST(once_keeps_little)
{
	const unsigned char *p = make();
	struct freeze f;

	begin(&f, 4096);
	T_EQ(in_order(&f, p, PIECES, 1), 0);
	T_EQ(f.pieces.held.len, FIRST);
	T_EQ(f.pieces.limit, FIRST);
	freeze_close(&f);
}

T_TEST(again_keeps_more)
{
	const unsigned char *p = make();
	struct freeze f;

	begin(&f, 4096);
	/* A quarter of the places read again, and one: then there are twice as many. */
	T_EQ(in_order(&f, p, PIECES, 1), 0);
	T_EQ(in_order(&f, p, FIRST / 4, 1), 0);
	T_EQ(f.pieces.limit, FIRST);
	T_EQ(right(&f, p, (uint64_t)FIRST * PIECE / 8), true);
	T_EQ(f.pieces.limit, 2 * FIRST);
	/* In the end all of it stays, and nothing is read again. */
	T_EQ(in_order(&f, p, PIECES, 8), 0);
	T_EQ(f.pieces.held.len, PIECES);
	f.pieces.again = 0;
	T_EQ(in_order(&f, p, PIECES, 1), 0);
	T_EQ(f.pieces.again, 0);
	freeze_close(&f);
}

T_TEST(no_more_than_there_may_be)
{
	const unsigned char *p = make();
	uint64_t x = 88172645463325252;
	struct freeze f;
	unsigned wrong = 0;

	begin(&f, 100);
	for (unsigned i = 0; i < 20000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		wrong += !right(&f, p, x % ((uint64_t)PIECES * PIECE / 8));
	}
	T_EQ(wrong, 0);
	T_EQ(f.pieces.limit, 100);
	T_EQ(f.pieces.held.len, 100);
	freeze_close(&f);
}

/* What is kept stays whatever else is read, and has places of its own. */
T_TEST(kept)
{
	unsigned char *p = make();
	struct freeze f;

	begin(&f, 100);
	T_EQ(in_order(&f, p, 5, 1), 0);
	T_EQ(freeze_keep(&f, (uintptr_t)p, (uintptr_t)p + 7 * PIECE), true);
	T_EQ(f.pieces.kept, 7);
	T_EQ(in_order(&f, p, PIECES, 1), 0);
	T_EQ(f.pieces.held.len, 7 + FIRST);
	/* They are of the time when they were read. */
	p[PIECE + 8] ^= 1;
	T_EQ(right(&f, p, PIECE / 8 + 1), true);
	T_EQ(freeze_keep(&f, (uintptr_t)p, (uintptr_t)p + (uint64_t)PIECES * PIECE),
	     false);
	freeze_forget(&f);
	T_EQ(f.pieces.held.len, 0);
	T_EQ(right(&f, p, PIECE / 8 + 1), false);
	freeze_close(&f);
}

T_MAIN()
