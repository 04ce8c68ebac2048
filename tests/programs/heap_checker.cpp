// SPDX-License-Identifier: MIT
// heap_checker.cpp -- a program that was written for gperftools' heap checker: local checks by its class, a global one
// by HEAPCHECK. Prints `NAME got N wanted N` for each question; `lose` as an argument loses 7 blocks of 113 bytes at the
// end, `keep` keeps one of 127 in a global, `ignored` one of 137 and one of 139 that are no leaks, `cancel` wants no look at
// the end, `profile` writes a profile with 5 blocks of 149 bytes.
// cflags: -O1 -g -std=c++17
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gperftools/heap-checker.h>

extern "C" {
__attribute__((__weak__)) void HeapProfilerStart(const char *prefix);
__attribute__((__weak__)) void HeapProfilerDump(const char *reason);
__attribute__((__weak__)) void HeapProfilerStop(void);
}

static void *volatile kept, *volatile kept_too;

static void
say(const char *name, int got, int wanted)
{
	printf("%s got %d wanted %d\n", name, got, wanted);
}

__attribute__((noinline)) static void
lose(int n, size_t bytes)
{
	while (n-- > 0) {
		void *p = calloc(1, bytes);

		__asm__ volatile("" : "+r"(p) : : "memory");
	}
	free(calloc(1, 47));
}

__attribute__((noinline)) static void
wipe()
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}

int
main(int argc, char **argv)
{
	bool active = HeapLeakChecker::IsActive();

	say("active", active, argc > 1 && strcmp(argv[1], "inactive") != 0);
	if (argc > 2 && strcmp(argv[2], "locals") == 0) {
		HeapLeakChecker first("first");

		lose(3, 101);
		wipe();
		say("before", (int)first.BytesLeaked(), 0);
		say("first", first.NoLeaks(), 0);
		say("bytes", (int)first.BytesLeaked(), 303);
		say("objects", (int)first.ObjectsLeaked(), 3);
		HeapLeakChecker second("second");

		{
			HeapLeakChecker::Disabler off;

			lose(2, 103);
		}
		free(malloc(107));
		wipe();
		say("second", second.NoLeaks(), 1);
		say("none", (int)second.BytesLeaked() + (int)second.ObjectsLeaked(), 0);
	}
	if (argc > 1 && strcmp(argv[1], "lose") == 0)
		lose(7, 113);
	if (argc > 1 && strcmp(argv[1], "keep") == 0)
		kept = calloc(1, 127);
	if (argc > 1 && strcmp(argv[1], "ignored") == 0) {
		HeapLeakChecker::Disabler off;

		kept = calloc(1, 137);
		kept_too = HeapLeakChecker::IgnoreObject(calloc(1, 139));
	}
	if (argc > 1 && strcmp(argv[1], "profile") == 0 && HeapProfilerStart != NULL) {
		void *blocks[5];

		HeapProfilerStart("profile");
		for (void *&p : blocks) {
			p = calloc(1, 149);
			__asm__ volatile("" : "+r"(p) : : "memory");
		}
		HeapProfilerDump("asked");
		for (void *p : blocks)
			free(p);
		HeapProfilerStop();
		lose(7, 113);
	}
	if (argc > 1 && strcmp(argv[1], "cancel") == 0) {
		lose(7, 113);
		HeapLeakChecker::CancelGlobalCheck();
	}
	wipe();
	puts("the end");
	return 5;
}
