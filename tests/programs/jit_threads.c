/* SPDX-License-Identifier: MIT */
/* jit_threads.c -- threads that call through code made at run time, while others register and take
 * back tables of more such code, unmapping both at once.
 *
 * Three threads allocate from one piece of code whose table stays; each makes 997 blocks and frees
 * them. Meanwhile the first thread makes another piece, registers it, allocates through it, takes
 * it back and unmaps it, as often as it is told. */
/* cflags: -O1 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "truth.h"

void __register_frame(void *begin);
void __deregister_frame(void *begin);

enum { THREADS = 3, BLOCKS = 997, PAGE = 4096, TABLE_AT = 2048 };

typedef void jitted(void (*)(size_t), size_t);

static struct tally in_threads = {.name = "work"};

static TRUTH_NOINLINE void
make_block(size_t bytes)
{
	void *volatile p = malloc(bytes);

	free(p);
}

static unsigned char *
put(unsigned char *p, const void *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* A page with push rbp; xor ebp, ebp; sub rsp, 0x30; mov rax, rdi; mov rdi, rsi; call rax;
 * add rsp, 0x30; pop rbp; ret and, further on, its table with absolute addresses. */
static unsigned char *
page_new(void)
{
	static const unsigned char text[] = {0x55, 0x31, 0xed, 0x48, 0x83, 0xec, 0x30,
					     0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff,
					     0xd0, 0x48, 0x83, 0xc4, 0x30, 0x5d, 0xc3};
	static const unsigned char cie[] = {1, 'z', 'R',  0, 1, 0x78, 16,
					    1, 0,   0x0c, 7, 8, 0x90, 1};
	static const unsigned char ins[] = {0, 0x41, 0x0e, 16, 0x86, 2, 0x46, 0x0e, 0x40};
	unsigned char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *p = page + TABLE_AT;
	uint64_t range[2] = {(uintptr_t)page, sizeof(text)};
	uint32_t word = 4 + sizeof(cie), zero = 0;

	if (page == MAP_FAILED)
		_exit(77);
	memcpy(page, text, sizeof(text));
	p = put(p, &word, 4);
	p = put(p, &zero, 4);
	p = put(p, cie, sizeof(cie));
	word = 4 + sizeof(range) + sizeof(ins);
	p = put(p, &word, 4);
	word = (uint32_t)(p - (page + TABLE_AT));
	p = put(p, &word, 4);
	p = put(p, range, sizeof(range));
	put(p, ins, sizeof(ins));
	__register_frame(page + TABLE_AT);
	return page;
}

static TRUTH_NOINLINE void
work(unsigned char *page)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		((jitted *)(void *)page)(make_block, 1 + i % 200);
		tally_alloc(&in_threads, 1 + i % 200);
		tally_free(&in_threads, 1 + i % 200);
	}
}

static void *
worker(void *page)
{
	work(page);
	return NULL;
}

static TRUTH_NOINLINE void
turn(void)
{
	unsigned char *page = page_new();

	((jitted *)(void *)page)(make_block, 77);
	__deregister_frame(page + TABLE_AT);
	munmap(page, PAGE);
}

int
main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 101;
	unsigned char *page = page_new();
	pthread_t ids[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, worker, page);
	for (int i = 0; i < turns; i++)
		turn();
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	truth_tell(&in_threads);
	truth_say("turns=%d\n", turns);
	return 0;
}
