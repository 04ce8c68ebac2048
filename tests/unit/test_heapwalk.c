/* SPDX-License-Identifier: MIT */
/* test_heapwalk.c -- malloc's state in a child of ours that states what it holds. */
/* libs: pthread */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"
#include "tool/target/heap/heapwalk.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/proc/procmem.h"

enum { BLOCKS = 1009, BIG = 5 << 20, MAPPED = 3 << 20 };

static void *
in_thread(void *ctx)
{
	/* An arena of its own, with 211 blocks of 4,000. */
	for (int i = 0; i < 211; i++)
		memset(malloc(4000), 1, 4000);
	*(volatile int *)ctx = 1;
	pause();
	return NULL;
}

/* The child: 1,009 blocks of 3,000 bytes of which every second is freed again, one of 5
 * MiB, a mapping of its own of 3 MiB. */
static void
child(int ready)
{
	static char *p[BLOCKS];
	volatile int up = 0;
	pthread_t t;
	char *m;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	for (int i = 0; i < BLOCKS; i++) {
		p[i] = malloc(3000);
		memset(p[i], 1, 3000);
	}
	for (int i = 1; i < BLOCKS - 1; i += 2)
		free(p[i]);
	memset(malloc(BIG), 1, BIG);
	m = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	memset(m, 1, MAPPED);
	pthread_create(&t, NULL, in_thread, (void *)&up);
	while (!up)
		usleep(1000);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* The mappings as the walk needs them. */
static void
read_map(int pid, struct memmap *m)
{
	struct procfs_map row;
	struct buf b = {0};
	char path[64], *at;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	T_EQ(buf_read_file(&b, path, NULL), 0);
	at = b.data;
	while (procfs_next_map(&at, &row)) {
		struct memmap_area *a = vec_add(&m->areas);

		a->start = row.start;
		a->end = row.end;
		a->inode = row.inode;
		memcpy(a->perms, row.perms, 5);
		a->name = arena_strdup(&m->strings, row.path);
		a->kib[MEMMAP_RSS] = 1; /* worth a look */
	}
	buf_done(&b);
}

/* Blocks as the visitor is told of them: how many of the child's sizes. */
struct told {
	uint64_t blocks, of_main, of_arena, of_chunk;
};

static void
told_of(void *ctx, uint64_t addr, uint64_t size)
{
	struct told *t = ctx;

	T_CHECK(addr % 16 == 0);
	t->blocks++;
	t->of_main += size == 3008;
	t->of_arena += size == 4016;
	t->of_chunk += size == BIG + 4096;
}

T_TEST(blocks_of_a_child)
{
	struct told told = {0};
	struct heapwalk_opts all = {.used = told_of, .ctx = &told},
			     where = {.ranges_only = true};
	struct procmem m = PROCMEM_NONE;
	struct memmap map = {0};
	struct heapmap h = {0};
	struct err e = {0};
	uint64_t used[3] = {0}, freed[3] = {0}, blocks[3] = {0}, unknown = 0;
	int pipes[2];
	char c;
	pid_t pid;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	T_SKIP("a sanitizer's malloc is not glibc's");
#endif
	T_EQ(pipe(pipes), 0);
	pid = fork();
	if (pid == 0)
		child(pipes[1]);
	T_EQ(read(pipes[0], &c, 1), 1);
	T_EQ(procmem_open(pid, &m, &e), 0);
	read_map(pid, &map);

	heapwalk(&m, &map, &where, &h);
	T_CHECK(h.known);
	T_EQ(h.arenas, 2);
	heapmap_done(&h);

	heapwalk(&m, &map, &all, &h);
	T_CHECK(h.known);
	for (size_t i = 0; i < h.ranges.len; i++) {
		const struct heapmap_range *r = &h.ranges.data[i];

		used[r->kind] += r->used_bytes;
		freed[r->kind] += r->free_bytes;
		blocks[r->kind] += r->blocks;
		unknown += r->unknown_bytes;
	}
	T_EQ(unknown, 0);
	/* 3,000 bytes take 3,008; what libc and this program hold besides is small. */
	T_CHECK(used[HEAPMAP_MAIN] >= 505 * 3008 &&
		used[HEAPMAP_MAIN] < 505 * 3008 + 300000);
	T_CHECK(freed[HEAPMAP_MAIN] >= 503 * 3008 &&
		freed[HEAPMAP_MAIN] < 503 * 3008 + 300000);
	T_CHECK(used[HEAPMAP_ARENA] >= 211 * 4016 &&
		used[HEAPMAP_ARENA] < 211 * 4016 + 8192);
	T_CHECK(blocks[HEAPMAP_ARENA] >= 211 && blocks[HEAPMAP_ARENA] < 216);
	T_EQ(blocks[HEAPMAP_CHUNK], 1);
	T_EQ(used[HEAPMAP_CHUNK], BIG + 4096);
	T_EQ(told.blocks, blocks[0] + blocks[1] + blocks[2]);
	T_CHECK(told.of_main >= 505 && told.of_main < 515);
	T_CHECK(told.of_arena >= 211 && told.of_arena < 216);
	T_EQ(told.of_chunk, 1);
	heapmap_done(&h);

	/* With a limit, what is beyond it is not told apart, and not guessed. */
	all.max_bytes = 4096;
	heapwalk(&m, &map, &all, &h);
	T_CHECK(h.known && h.ranges.data[0].unknown_bytes > 3000 * BLOCKS);
	T_EQ(h.ranges.data[0].used_bytes + h.ranges.data[0].free_bytes, 0);
	heapmap_done(&h);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	procmem_close(&m);
	memmap_done(&map);
	close(pipes[0]);
	close(pipes[1]);
}

/* ---- a heap that has grown since the map was read ---- */

/* The child: has one block of its main heap, waits, and then holds 1,009 blocks of 3,000
 * bytes of which every second was freed again: free lists and top lie behind the map. */
static void
growing_child(int ready, int go)
{
	static char *p[BLOCKS];
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memset(malloc(3000), 1, 3000);
	for (int i = 0; i < 2; i++) {
		if (write(ready, "x", 1) != 1 || (i == 0 && read(go, &c, 1) != 1))
			_exit(1);
		for (int k = 0; i == 0 && k < BLOCKS; k++)
			p[k] = memset(malloc(3000), 1, 3000);
		for (int k = 1; i == 0 && k < BLOCKS - 1; k += 2)
			free(p[k]);
	}
	for (;;)
		pause();
}

T_TEST(heap_outgrew_the_map)
{
	struct heapwalk_opts where = {.ranges_only = true};
	struct procmem m = PROCMEM_NONE;
	struct memmap map = {0};
	struct heapmap h = {0};
	struct err e = {0};
	int ready[2], go[2];
	char c;
	pid_t pid;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	T_SKIP("a sanitizer's malloc is not glibc's");
#endif
	T_CHECK(pipe(ready) == 0 && pipe(go) == 0);
	pid = fork();
	if (pid == 0)
		growing_child(ready[1], go[0]);
	T_EQ(read(ready[0], &c, 1), 1);
	T_EQ(procmem_open(pid, &m, &e), 0);
	read_map(pid, &map);
	T_EQ(write(go[1], "x", 1), 1);
	T_EQ(read(ready[0], &c, 1), 1);

	heapwalk(&m, &map, &where, &h);
	T_CHECK(h.known);
	T_EQ(h.arenas, 1);
	heapmap_done(&h);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	procmem_close(&m);
	memmap_done(&map);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

/* ---- blocks in bytes ---- */

struct seen {
	unsigned used, freed;
	size_t bytes;
};

static void
see(void *ctx, size_t off, size_t size, bool used)
{
	struct seen *s = ctx;

	(void)off;
	s->used += used;
	s->freed += !used;
	s->bytes += size + 8;
}

T_TEST(blocks_in_bytes)
{
	static uint64_t heap[8 + 64 * 12 + 8];
	struct seen s = {0};
	size_t at = 6; /* nonsense before, no block */

	for (size_t i = 0; i < 6; i++)
		heap[i] = 0x1234567812345678;
	for (unsigned i = 0; i < 100; i++) {
		unsigned words = i % 3 == 2 ? 8 : 6;

		heap[at + 1] = words * 8 | (i == 0 || (i - 1) % 5 != 4);
		if (i > 0 &&
		    (i - 1) % 5 == 4) /* the one before is free, and tells its size */
			heap[at] = (uint64_t)((i - 1) % 3 == 2 ? 8 : 6) * 8;
		at += words;
	}
	T_EQ(heapwalk_blocks(heap, at * 8, 0x7f0000000000, see, &s), 99);
	/* The last one has no neighbour that would tell whether it is used. */
	T_EQ(s.used + s.freed, 99);
	T_EQ(s.freed, 19);
	s = (struct seen){0};
	memset(heap, 0x55, sizeof heap);
	T_EQ(heapwalk_blocks(heap, sizeof heap, 0x7f0000000000, see, &s), 0);
}

T_MAIN()
