/* SPDX-License-Identifier: MIT */
/* attach_frames.c -- a thousand signals a second, handled on the stack that it has, while it calculates: in
 * registers that only a signal frame keeps meanwhile. Leaves with 91 when one of them has changed.
 *
 * It says "ready"; on SIGTERM it leaves with 0. */
/* cflags: -O2 -g */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t over;
static volatile long double sum;
static unsigned char want[32] __attribute__((aligned(32)));

static void
broken(const char *what)
{
	static const char says[] = "broken: ";

	if (write(2, says, sizeof says - 1) < 0 || write(2, what, strlen(what)) < 0)
		_exit(92);
	_exit(91);
}

static void
on_term(int sig)
{
	(void)sig;
	over = 1;
}

/* Uses the same registers. */
static void
on_alarm(int sig)
{
	volatile unsigned char block[4096]; /* so much of the stack */

	for (size_t i = 0; i < sizeof block; i++)
		block[i] = (unsigned char)(i + (size_t)sig);
	for (int i = 1; i < 50; i++)
		sum += 1.0L / i;
	for (size_t i = 0; i < sizeof block; i++) {
		if (block[i] != (unsigned char)(i + (size_t)sig))
			broken("the handler's stack\n");
	}
}

/* The value stays in its register while the loop turns. */
__attribute__((target("avx"), noinline)) static void
turn_avx(void)
{
	unsigned char got[32] __attribute__((aligned(32)));

	__asm__ volatile(
		"vmovdqa %1, %%ymm15\n\tmov $200000, %%ecx\n1:\tdec %%ecx\n\tjnz 1b\n\t"
		"vmovdqa %%ymm15, %0\n\tvzeroupper"
		: "=m"(got)
		: "m"(want)
		: "ecx", "xmm15", "cc");
	if (memcmp(got, want, sizeof got) != 0)
		broken("a register of 32 bytes\n");
}

__attribute__((noinline)) static void
turn_long(void)
{
	long double x = 1.2345678901234567L;

	__asm__ volatile("mov $200000, %%ecx\n1:\tdec %%ecx\n\tjnz 1b"
			 : "+t"(x)
			 :
			 : "ecx", "cc");
	if (x != 1.2345678901234567L)
		broken("a long double\n");
}

int
main(void)
{
	struct itimerval every = {{0, 1000}, {0, 1000}};

	for (size_t i = 0; i < sizeof want; i++)
		want[i] = (unsigned char)(i * 7 + 1);
	signal(SIGTERM, on_term);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	puts("ready");
	fflush(stdout);
	while (!over) {
		free(malloc(100));
		turn_long();
		if (__builtin_cpu_supports("avx"))
			turn_avx();
	}
	return 0;
}
