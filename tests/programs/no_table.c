/* SPDX-License-Identifier: MIT */
/* no_table.c -- calls from code that has no unwind table but keeps a frame record, as code made
 * at run time does: at the top of the stack, deep down, and in a thread.
 *
 * The function is written in assembly without any CFI directive. Its callers have no frame pointer
 * of their own, so the record must be followed across both kinds of frames. */
/* cflags: -O1 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void *without_table(void);
void *allocate(void);
void *volatile kept[3];

void *
allocate(void)
{
	return malloc(1013);
}

#if defined(__x86_64__)
__asm__(".text\n.globl without_table\n.type without_table, @function\nwithout_table:\n"
	"push %rbp\nmov %rsp, %rbp\nsub $32, %rsp\ncall allocate\nleave\nret\n"
	".size without_table, .-without_table\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl without_table\n.type without_table, %function\nwithout_table:\n"
	"stp x29, x30, [sp, #-48]!\nmov x29, sp\nbl allocate\nldp x29, x30, [sp], #48\nret\n"
	".size without_table, .-without_table\n");
#endif

/* Calls it from about 1,000 bytes a frame further down. */
static __attribute__((noinline)) void *
below(int frames)
{
	volatile char room[1009];
	void *p;

	room[0] = 1;
	p = frames > 0 ? below(frames - 1) : without_table();
	room[1] = (char)(p != NULL);
	return p;
}

static void *
in_thread(void *arg)
{
	kept[2] = below(199);
	return arg;
}

int
main(void)
{
	pthread_t t;

	kept[0] = below(0);
	kept[1] = below(499);
	if (pthread_create(&t, NULL, in_thread, NULL) != 0 || pthread_join(t, NULL) != 0)
		return 1;
	puts("expect blocks=3 bytes=3039 in=allocate");
	return 0;
}
