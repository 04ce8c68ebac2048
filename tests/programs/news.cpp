// SPDX-License-Identifier: MIT
// cflags: -O1 -g -fno-builtin
// news.cpp -- 101 blocks of new, of which 100 are deleted. Says by `blocks` how many, and what is left.
#include <cstdio>

struct thing {
	long a[5];
};

static thing *volatile kept;

__attribute__((noinline)) static thing *
make_new()
{
	thing *t = new thing;

	t->a[0] = 1;
	return t;
}

int
main()
{
	for (int i = 0; i < 100; i++)
		delete make_new();
	kept = make_new();
	std::printf("blocks 101 left 1\n");
	return 0;
}
