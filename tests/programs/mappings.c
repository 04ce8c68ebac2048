/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin */
/* mappings.c -- memory from mmap, and what becomes of it.
 *
 *	mappings counts		7 mappings of 64 MiB grow to 128 MiB, 3 of them go; 5 of 2 TiB that
 *				nobody may touch come and go
 *	mappings wide		munmap of much more than is there: 11 of a tebibyte, 3 that are refused. Says
 *				how much CPU it took, in ms
 *
 * Sampled or not, these sizes are all seen. */
#define _GNU_SOURCE
#include "truth.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)

static TRUTH_NOINLINE void *
take_small(void)
{
	return mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static TRUTH_NOINLINE void *
grow(void *p)
{
	return mremap(p, 64 * MIB, 128 * MIB, MREMAP_MAYMOVE);
}

static TRUTH_NOINLINE void *
reserve(uint64_t bytes)
{
	return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
}

static int
counts(void)
{
	void *p[7];

	for (int i = 0; i < 7; i++)
		p[i] = take_small();
	for (int i = 0; i < 7; i++)
		p[i] = grow(p[i]);
	for (int i = 0; i < 3; i++)
		munmap(p[i], 128 * MIB);
	for (int i = 0; i < 5; i++) {
		void *far = reserve(2 * TIB);

		if (far == MAP_FAILED || munmap(far, 2 * TIB) != 0)
			return 1;
	}
	truth_say("expect in=take_small allocs=7 frees=7 live_bytes=0\n");
	truth_say("expect in=grow allocs=7 frees=3 live_bytes=%lu\n", 4 * 128 * MIB);
	truth_say("expect in=reserve allocs=5 frees=5 live_bytes=0\n");
	return 0;
}

static int
wide(void)
{
	char *p = take_small(), *far;
	int refused = 0;

	for (int i = 0; i < 11; i++) {
		far = reserve(TIB);
		if (far == MAP_FAILED || munmap(far, TIB) != 0)
			return 1;
	}
	refused += munmap(p, UINT64_C(1) << 62) != 0 && errno == EINVAL;
	refused += munmap(p, -(uint64_t)(uintptr_t)p - 4096) != 0 && errno == EINVAL;
	refused += munmap(p + 1, 64 * MIB) != 0 && errno == EINVAL;
	memset(p, 1, 4096);
	truth_say("expect in=take_small allocs=1 frees=0 live_bytes=%lu\n", 64 * MIB);
	truth_say("expect in=reserve allocs=11 frees=11 live_bytes=0\n");
	truth_say("refused %d\nms %ld\n", refused, clock() * 1000L / CLOCKS_PER_SEC);
	return 0;
}

int
main(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "wide") == 0 ? wide() : counts();
}
