/* SPDX-License-Identifier: MIT */
/* test_pagescan.c -- pages of our own that were touched, found in terabytes that were
 * not, in each of the ways. */
#include "tool/target/proc/pagescan.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "t.h"

#define TB (UINT64_C(1) << 40)

static const uint64_t offsets[] = {0,
				   5 * 4096,
				   7 << 20,
				   UINT64_C(300) << 30,
				   (UINT64_C(300) << 30) + 4096,
				   TB / 2 + 12288};

static struct pagescan scan; /* large */

static unsigned char *
reserve(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

static void
begin(struct procmem *m, enum pagescan_way way)
{
	*m = (struct procmem)PROCMEM_NONE;
	T_EQ(procmem_open((int)getpid(), m, NULL), 0);
	pagescan_init(&scan, m);
	if (way > scan.way)
		scan.way = way;
}

/* Runs in [start, start + bytes); their bytes in *ret_bytes. */
static unsigned
count(const unsigned char *start, uint64_t bytes, uint64_t *ret_bytes)
{
	uint64_t at = (uintptr_t)start, end = at + bytes;
	struct pagescan_run run;
	unsigned n = 0;

	*ret_bytes = 0;
	while (pagescan_next(&scan, at, end, &run)) {
		T_CHECK(run.start >= at && run.end <= end && run.start < run.end);
		*ret_bytes += run.end - run.start;
		at = run.end;
		n++;
	}
	return n;
}

T_TEST(a_terabyte)
{
	unsigned char *p = reserve(TB);
	struct procmem m;
	uint64_t bytes;

	if (p == NULL)
		return; /* no such address space here */
	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
		p[offsets[i]] = 1;
	begin(&m, PAGESCAN_RUNS_TOLD);
	T_EQ(count(p, TB, &bytes), 5); /* two pages are neighbours */
	T_EQ(bytes, 6 * 4096);
	T_EQ(scan.passed_over_bytes, 0);
	/* From the middle of a run on, and back again. */
	T_EQ(count(p + (UINT64_C(300) << 30) + 4096, 8192, &bytes), 1);
	T_EQ(bytes, 4096);
	T_EQ(count(p, 4 << 20, &bytes), 2);
	T_EQ(bytes, 2 * 4096);
	/* Touched since: known only when what was known is forgotten. */
	p[3 << 20] = 1;
	pagescan_forget(&scan);
	T_EQ(count(p, 4 << 20, &bytes), 3);
	procmem_close(&m);
	munmap(p, TB);
}

T_TEST(a_word_for_every_page)
{
	uint64_t size = UINT64_C(1) << 30, bytes;
	unsigned char *p = reserve(size);
	struct procmem m;

	if (p == NULL)
		return;
	for (uint64_t at = 0; at < size; at += size / 1024)
		p[at] = 1; /* more runs than are known at a time */
	begin(&m, PAGESCAN_WORDS);
	T_EQ(count(p, size, &bytes), 1024);
	T_EQ(bytes, 1024 * 4096);
	T_EQ(scan.way, PAGESCAN_WORDS);
	procmem_close(&m);
	begin(&m, PAGESCAN_RUNS_TOLD);
	T_EQ(count(p, size, &bytes), 1024);
	T_EQ(bytes, 1024 * 4096);
	procmem_close(&m);
	munmap(p, size);
}

T_TEST(too_much_to_go_through)
{
	uint64_t size = 3 * TB, bytes;
	unsigned char *p = reserve(size);
	struct procmem m;

	if (p == NULL)
		return;
	p[TB] = 1;
	begin(&m, PAGESCAN_WORDS);
	T_EQ(count(p, size, &bytes), 0);
	T_EQ(scan.passed_over_bytes, size);
	procmem_close(&m);
	begin(&m, PAGESCAN_BLIND);
	T_EQ(count(p, 5 * (UINT64_C(1) << 30), &bytes), 0);
	T_EQ(scan.passed_over_bytes, 5 * (UINT64_C(1) << 30));
	T_EQ(count(p, 1 << 20, &bytes), 1); /* who knows: all of it */
	T_EQ(bytes, 1 << 20);
	procmem_close(&m);
	munmap(p, size);
}

T_MAIN()
