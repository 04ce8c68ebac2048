// SPDX-License-Identifier: MIT
// heaptrack_cases.cpp -- allocations whose number, peak and rest are known, for tools that
// read what heaptrack writes, or write what DHAT does.
//
//	heaptrack_cases [MILLISECONDS]
//
// Functions with prime counts: what stays, what is live at the peak only, what is freed at
// once, templates and operator new, an inlined function, a recursion, a realloc. Waits
// for a moment in three places, so that there is a timeline. Prints for each function what
// it allocated: calls, bytes, what is live at the peak, at the end, and how many of its
// blocks were freed before the next one was made.
// cflags: -O1 -g -fno-optimize-sibling-calls -fno-builtin
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

static void *kept[1000];

template <typename T, int N> struct Box {
	T cells[N];
	NOINLINE static Box *make()
	{
		Box *b = new Box;
		__asm__ volatile("" : "+r"(b));
		return b;
	}
};

NOINLINE static void *
leave(size_t bytes)
{
	void *p = malloc(bytes);
	__asm__ volatile("" : "+r"(p));
	return p;
}

INLINE void *
leave_inlined(size_t bytes)
{
	void *p = leave(bytes);
	__asm__ volatile("" : "+r"(p));
	return p;
}

NOINLINE static void *
deeper(int depth, size_t bytes)
{
	void *p = depth > 0 ? deeper(depth - 1, bytes) : calloc(1, bytes);
	__asm__ volatile("" : "+r"(p));
	return p;
}

NOINLINE static void
at_once(int times)
{
	for (int i = 0; i < times; i++) {
		void *p = malloc(37);
		__asm__ volatile("" : "+r"(p));
		free(p);
	}
}

NOINLINE static void *
grow(void *p, size_t bytes)
{
	p = realloc(p, bytes);
	__asm__ volatile("" : "+r"(p));
	return p;
}

int
main(int argc, char **argv)
{
	useconds_t nap = argc > 1 ? (useconds_t)atoi(argv[1]) * 1000 : 20000;
	using Small = Box<char, 211>;
	using Large = Box<long, 1009>;
	int at = 0;

	for (int i = 0; i < 23; i++)
		kept[at++] = leave_inlined(1013);
	at_once(41);
	usleep(nap);
	for (int i = 0; i < 19; i++)
		kept[100 + i] = Large::make();
	for (int i = 0; i < 17; i++)
		kept[200 + i] = deeper(i % 3, 5003);
	usleep(nap); // the peak
	for (int i = 0; i < 19; i++)
		::operator delete(kept[100 + i]);
	for (int i = 0; i < 17; i++)
		free(kept[200 + i]);
	for (int i = 0; i < 13; i++)
		kept[at++] = Small::make();
	for (int i = 0; i < 7; i++)
		kept[i] = grow(kept[i], 2003);
	usleep(nap);
	const char truth[] =
		"expect in=leave calls=23 bytes=23299 peak=23299 end=16208 temporary=0\n"
		"expect in=at_once calls=41 bytes=1517 peak=0 end=0 temporary=41\n"
		"expect in=Large calls=19 bytes=153368 peak=153368 end=0 temporary=0\n"
		"expect in=deeper calls=17 bytes=85051 peak=85051 end=0 temporary=0\n"
		"expect in=Small calls=13 bytes=2743 peak=0 end=2743 temporary=0\n"
		"expect in=grow calls=7 bytes=14021 peak=0 end=14021 temporary=0\n";
	return write(1, truth, sizeof truth - 1) < 0;
}
