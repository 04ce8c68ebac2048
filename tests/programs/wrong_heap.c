/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -w -pthread */
/* wrong_heap.c -- one wrong use of the heap a case, and the same program without it.
 *
 *	wrong_heap CASE bug|fixed
 *
 * Prints what a report has to say about the bug: `expect KIND in=FUNCTION [freed=FUNCTION]
 * [alloc=FUNCTION]`, or `expect nothing`. What frees is called so, what allocates too: names are
 * checked. A program that its allocator kills has said all of this before. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int bug;
static char global_buffer[64];
static void *volatile shared;

#define NOINLINE __attribute__((noinline, noclone))

/* The compiler knows what may be done with blocks, and would leave out what is wrong. */
static void *
hide(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static size_t
hide_size(size_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static NOINLINE void *
make(size_t n)
{
	void *p = hide(malloc(n));

	__asm__ volatile("" : : : "memory"); /* no tail call: this frame is looked for */
	return p;
}

static NOINLINE void
first_free(void *p)
{
	free(hide(p));
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void
second_free(void *p)
{
	free(hide(p));
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void *
resize(void *p, size_t n)
{
	void *q = hide(realloc(hide(p), n));

	__asm__ volatile("" : : : "memory");
	return q;
}

static void
expect(const char *what)
{
	printf("expect %s\n", bug ? what : "nothing");
	fflush(stdout);
}

static void
double_free(void)
{
	void *p = make(37);

	expect("double-free in=second_free freed=first_free alloc=make");
	first_free(p);
	if (bug)
		second_free(p);
}

/* Other blocks come and go in between. */
static void
double_free_later(void)
{
	void *p = make(37), *q;

	expect("double-free in=second_free freed=first_free alloc=make");
	first_free(p);
	q = make(5000);
	first_free(q);
	if (bug)
		second_free(p);
}

static void
free_inside(void)
{
	char *p = make(41);

	expect("invalid-free in=second_free alloc=make");
	second_free(bug ? p + 16 : p);
}

static void
free_behind(void)
{
	char *p = make(48);

	expect("invalid-free in=second_free alloc=make");
	second_free(bug ? p + 48 : p);
}

static void
free_stack(void)
{
	char buffer[64];

	expect("invalid-free in=second_free where=stack");
	memset(hide(buffer), 1, sizeof buffer);
	/* Not its first byte: what glibc takes for the size, before it, is ours and always the same. */
	second_free(bug ? buffer + 16 : make(9));
}

static void *
thread_waits(void *arg)
{
	char buffer[64];
	pthread_barrier_t *b = arg;

	free(hide(malloc(7))); /* so that it is known */
	memset(hide(buffer), 1, sizeof buffer);
	shared = buffer + 16;
	pthread_barrier_wait(b);
	pthread_barrier_wait(b);
	return NULL;
}

static void
free_other_stack(void)
{
	pthread_barrier_t b;
	pthread_t t;

	expect("invalid-free in=second_free where=stack");
	pthread_barrier_init(&b, NULL, 2);
	pthread_create(&t, NULL, thread_waits, &b);
	pthread_barrier_wait(&b);
	if (bug)
		second_free(shared);
	pthread_barrier_wait(&b);
	pthread_join(t, NULL);
}

static void *
thread_frees(void *p)
{
	second_free(p);
	return NULL;
}

/* Above the stack of the thread that frees, below that of main. */
static void
free_above_stack(void)
{
	enum { MAPPED = 8 << 20, STACK = 1 << 20 };
	char *all = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t t;

	expect("invalid-free in=second_free where=unknown");
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, all, STACK);
	pthread_create(&t, &attr, thread_frees, bug ? all + MAPPED / 2 : make(9));
	pthread_join(t, NULL);
}

static void
free_global(void)
{
	expect("invalid-free in=second_free where=module");
	second_free(bug ? global_buffer + 16 : make(9));
}

static void
free_never(void)
{
	expect("invalid-free in=second_free where=unknown");
	second_free(bug ? (void *)0x10010 : make(9));
}

static void
realloc_freed(void)
{
	void *p = make(37);

	expect("realloc-of-freed in=resize freed=first_free alloc=make");
	first_free(p);
	shared = resize(bug ? p : NULL, 55);
	free(shared);
}

static void
realloc_zero(void)
{
	void *p = make(37);

	expect("realloc-zero in=resize alloc=make");
	if (bug)
		resize(p, hide_size(0));
	else
		first_free(p);
}

static NOINLINE void
ask(void)
{
	free(hide(malloc(hide_size(bug ? (size_t)-5 : 5))));
	__asm__ volatile("" : : : "memory");
}

static void
fishy_malloc(void)
{
	expect("fishy-size in=ask");
	ask();
}

static NOINLINE void
ask_calloc(void)
{
	free(hide(calloc(hide_size(bug ? (size_t)-3 : 3), 1)));
	__asm__ volatile("" : : : "memory");
}

static void
fishy_calloc(void)
{
	expect("fishy-size in=ask_calloc");
	ask_calloc();
}

static void
fishy_realloc(void)
{
	void *p = make(37), *q;

	expect("fishy-size in=resize alloc=make");
	q = resize(p, bug ? (size_t)-7 : 77);
	free(q != NULL ? q : p);
}

static NOINLINE void
ask_aligned(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, hide_size(bug ? (size_t)-64 : 64)) != 0)
		p = NULL;
	free(hide(p));
	__asm__ volatile("" : : : "memory");
}

static void
fishy_memalign(void)
{
	expect("fishy-size in=ask_aligned");
	ask_aligned();
}

/* ---- what needs room around blocks, or freed ones held back ---- */

static NOINLINE void
put(char *p, long at)
{
	((volatile char *)hide(p))[at] = 'x';
	__asm__ volatile("" : : : "memory");
}

static NOINLINE int
get(const char *p, long at)
{
	int c = ((volatile const char *)hide((void *)(uintptr_t)p))[at];

	__asm__ volatile("" : : : "memory");
	return c;
}

static void
overflow(void)
{
	char *p = make(40);

	expect("out-of-bounds-write in=first_free alloc=make");
	put(p, bug ? 40 : 39);
	first_free(p);
}

static void
underflow(void)
{
	char *p = make(40);

	expect("out-of-bounds-write in=first_free alloc=make");
	put(p, bug ? -1 : 0);
	first_free(p);
}

/* Never freed: found at the end. */
static void
overflow_kept(void)
{
	expect("out-of-bounds-write alloc=make");
	shared = make(24);
	put(shared, bug ? 24 : 23);
}

static void
overflow_realloc(void)
{
	char *p = make(40);

	expect("out-of-bounds-write in=resize alloc=make");
	put(p, bug ? 41 : 39);
	first_free(resize(p, 4000));
}

static void
write_after_free(void)
{
	char *p = make(200);

	expect("write-after-free freed=first_free alloc=make");
	if (!bug)
		put(p, 100);
	first_free(p);
	if (bug)
		put(p, 100);
}

/* ---- at the instruction; every block is on guarded pages then ---- */

static void
guard_overflow(void)
{
	char *p = make(48);

	expect("invalid-write in=put alloc=make");
	put(p, bug ? 48 : 47);
	first_free(p);
}

static void
guard_overread(void)
{
	char *p = make(48);

	expect("invalid-read in=get alloc=make");
	memset(p, 1, 48);
	get(p, bug ? 50 : 40);
	first_free(p);
}

static void
guard_underread(void)
{
	char *p = make(4096);

	expect("invalid-read in=get alloc=make");
	memset(p, 1, 4096);
	get(p, bug ? -1 : 0);
	first_free(p);
}

/* 41 bytes do not end where the closed page begins. */
static void
guard_slack(void)
{
	char *p = make(41);

	expect("out-of-bounds-write in=first_free alloc=make");
	put(p, bug ? 41 : 40);
	first_free(p);
}

static void
guard_before(void)
{
	char *p = make(41);

	expect("out-of-bounds-write in=first_free alloc=make");
	put(p, bug ? -20 : 0); /* which harms nothing without guard pages */
	first_free(p);
}

static void
guard_slack_kept(void)
{
	expect("out-of-bounds-write alloc=make");
	shared = make(41);
	put(shared, bug ? 41 : 40);
}

/* One of them begins behind a closed page. */
static void
guard_underread_one(void)
{
	char *p = make(48), *q = make(48);

	expect("invalid-read in=get alloc=make");
	get(p, bug ? -1 : 0);
	get(q, bug ? -1 : 0);
	first_free(p);
	first_free(q);
}

static void
guard_read_freed(void)
{
	char *p = make(48);

	expect("invalid-read in=get freed=first_free alloc=make");
	memset(p, 1, 48);
	if (!bug)
		get(p, 7);
	first_free(p);
	if (bug)
		get(p, 7);
}

static void
guard_write_freed(void)
{
	char *p = make(48);

	expect("invalid-write in=put freed=first_free alloc=make");
	if (!bug)
		put(p, 7);
	first_free(p);
	if (bug)
		put(p, 7);
}

/* ---- copies: downwards, so that the simplest function comes to an end ---- */

static void *(*volatile do_memcpy)(void *, const void *, size_t) = memcpy;
static char *(*volatile do_strcpy)(char *, const char *) = strcpy;
static char *(*volatile do_strncpy)(char *, const char *, size_t) = strncpy;
static char *(*volatile do_strcat)(char *, const char *) = strcat;

static NOINLINE void
copy(char *to, const char *from, size_t n)
{
	do_memcpy(to, from, n);
	__asm__ volatile("" : : : "memory");
}

static void
overlap_memcpy(void)
{
	char *p = make(100);

	expect("overlap in=copy");
	memset(p, 1, 100);
	copy(p + (bug ? 10 : 50), p, 50);
	first_free(p);
}

static NOINLINE void
copy_string(char *to, const char *from)
{
	do_strcpy(to, from);
	__asm__ volatile("" : : : "memory");
}

static void
overlap_strcpy(void)
{
	char *p = make(100);

	expect("overlap in=copy_string");
	memset(p, 0, 100);
	memcpy(p + 10, "twenty characters ..", 20);
	copy_string(bug ? p : p + 50, p + 10);
	first_free(p);
}

static NOINLINE void
copy_some(char *to, const char *from, size_t n)
{
	do_strncpy(to, from, n);
	__asm__ volatile("" : : : "memory");
}

static void
overlap_strncpy(void)
{
	char *p = make(100);

	expect("overlap in=copy_some");
	memset(p, 0, 100);
	memcpy(p + 10, "twenty characters ..", 20);
	copy_some(bug ? p : p + 50, p + 10, 20);
	first_free(p);
}

static NOINLINE void
append(char *to, const char *from)
{
	do_strcat(to, from);
	__asm__ volatile("" : : : "memory");
}

static void
overlap_strcat(void)
{
	char *p = make(100);

	expect("overlap in=append");
	memset(p, 0, 100);
	memcpy(p, "two", 3);
	memcpy(p + 10, "twenty characters ..", 20);
	memcpy(p + 50, "ten others", 10);
	append(p, bug ? p + 10 : p + 50);
	first_free(p);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"double_free", double_free},
	{"double_free_later", double_free_later},
	{"free_inside", free_inside},
	{"free_behind", free_behind},
	{"free_stack", free_stack},
	{"free_other_stack", free_other_stack},
	{"free_above_stack", free_above_stack},
	{"free_global", free_global},
	{"free_never", free_never},
	{"realloc_freed", realloc_freed},
	{"realloc_zero", realloc_zero},
	{"fishy_malloc", fishy_malloc},
	{"fishy_calloc", fishy_calloc},
	{"fishy_realloc", fishy_realloc},
	{"fishy_memalign", fishy_memalign},
	{"overflow", overflow},
	{"underflow", underflow},
	{"overflow_kept", overflow_kept},
	{"overflow_realloc", overflow_realloc},
	{"write_after_free", write_after_free},
	{"guard_overflow", guard_overflow},
	{"guard_overread", guard_overread},
	{"guard_underread", guard_underread},
	{"guard_slack", guard_slack},
	{"guard_before", guard_before},
	{"guard_slack_kept", guard_slack_kept},
	{"guard_underread_one", guard_underread_one},
	{"guard_read_freed", guard_read_freed},
	{"guard_write_freed", guard_write_freed},
	{"overlap_memcpy", overlap_memcpy},
	{"overlap_strcpy", overlap_strcpy},
	{"overlap_strncpy", overlap_strncpy},
	{"overlap_strcat", overlap_strcat},
};

int
main(int argc, char **argv)
{
	bug = argc > 2 && strcmp(argv[2], "bug") == 0;
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++) {
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			puts("end");
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		puts(cases[i].name);
	return argc > 1 ? 2 : 0;
}
