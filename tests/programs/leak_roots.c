/* SPDX-License-Identifier: MIT */
/* leak_roots.c -- where a pointer may be kept, and where it is nobody's any more. */
/* cflags: -O1 -g -pthread */
#include "leak_cases.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

static void *volatile root;
static __thread void *volatile thread_local_root;
static void *volatile initialised_root = (void *)16;

static void **
page(int prot_later, int flags, int fd)
{
	void **p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		_exit(98);
	p[600] = malloc(211);
	mprotect(p, 8192, prot_later);
	return p;
}

LEAK_CASE(bss, "reachable=193/1")
{
	root = malloc(193);
}

LEAK_CASE(data, "reachable=197/1")
{
	initialised_root = malloc(197);
}

LEAK_CASE(thread_local, "reachable=199/1")
{
	thread_local_root = malloc(199);
}

/* 20 bytes were asked for, and 24 are there: the program asks, and uses them. */
LEAK_CASE(behind_the_block, "reachable=243/2")
{
	static void **volatile held;

	held = malloc(20);
	held[malloc_usable_size((void *)held) >= 24 ? 2 : 1] = malloc(223);
}

LEAK_CASE(private_mapping, "reachable=211/1")
{
	page(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

LEAK_CASE(shared_mapping, "reachable=211/1")
{
	page(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
}

LEAK_CASE(file_mapping, "reachable=211/1")
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);

	if (fd < 0 || ftruncate(fd, 8192) < 0)
		_exit(97);
	page(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	close(fd);
}

/* Closed memory: memcheck does not look there, seep does. */
LEAK_CASE(read_only_mapping, "reachable=211/1 (memcheck: definite=211/1)")
{
	page(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

LEAK_CASE(forbidden_mapping, "reachable=211/1 (memcheck: definite=211/1)")
{
	page(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

LEAK_CASE(read_only_data, "reachable=281/1 (memcheck: definite=281/1)")
{
	static void *data[512] __attribute__((aligned(4096))) = {(void *)16};

	data[77] = malloc(281);
	mprotect(data, sizeof data, PROT_READ);
}

LEAK_CASE(gone_mapping, "definite=211/1")
{
	munmap(page(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1), 8192);
}

LEAK_CASE(huge_reservation, "reachable=223/1")
{
	size_t bytes = (size_t)1 << 31; /* 2 GiB, one page of it is touched */
	void **p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		_exit(96);
	p[((size_t)1 << 27) + 77] = malloc(223);
}

LEAK_CASE(key_of_main_thread, "reachable=227/1")
{
	pthread_key_t key;

	pthread_key_create(&key, NULL);
	pthread_setspecific(key, malloc(227));
}

/* The second level of keys is a block of libc's. */
LEAK_CASE(many_keys, "reachable=741/2")
{
	pthread_key_t key[40];

	for (int i = 0; i < 40; i++)
		pthread_key_create(&key[i], NULL);
	pthread_setspecific(key[39], malloc(229));
}

LEAK_CASE(freed_holder, "definite=233/1")
{
	void **holder = malloc(500);

	holder[7] = malloc(233);
	free(leak_hide(holder));
}

/* Its memory is given back to the unsorted list, with what was in it. */
LEAK_CASE(freed_large_holder, "definite=239/1")
{
	void **holder = malloc(5000), *after = malloc(100);

	holder[300] = malloc(239);
	free(leak_hide(holder));
	free(after);
}

LEAK_CASE(overwritten, "definite=241/1 reachable=251/1")
{
	root = malloc(241);
	root = malloc(251);
}

LEAK_CASE(cleared, "definite=257/1")
{
	root = malloc(257);
	root = NULL;
}

__attribute__((noinline)) static void
leave_on_stack(void)
{
	void *volatile room[200];

	for (int i = 0; i < 200; i++)
		room[i] = NULL;
	room[150] = malloc(263);
	leak_hide((void *)room);
}

/* Below the frames that are left. */
LEAK_CASE(dead_frame, "definite=263/1")
{
	leave_on_stack();
}

LEAK_CASE(live_frame, "reachable=269/1")
{
	void *volatile kept = malloc(269);

	(void)kept;
	exit(0);
}

LEAK_CASE(frame_of_caller, "definite=271/1")
{
	void *volatile kept = malloc(271);

	kept = NULL;
	(void)kept;
	exit(0);
}

LEAK_CASE(own_stack, "reachable=277/1")
{
	/* As coroutines have them: nobody's stack pointer is in it now. */
	void **stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	stack[8000] = malloc(277);
}

/* libc's own copy of it. */
LEAK_CASE(environment, "")
{
	setenv("LEAK_VARIABLE", "a value that nobody will ever free", 1);
}

LEAK_MAIN()
