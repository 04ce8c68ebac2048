/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* signals.c -- signal handlers that interrupt malloc and seep, thousands of times.
 *
 *	signals longjmp N [alt]    each leaves its handler with siglongjmp
 *	signals alloc N [alt]      each allocates and frees
 *	signals exit               the last handler calls _exit in the middle
 *
 * With `alt` handlers run on an alternate stack. To be run over bump.so. The program
 * says what came for certain: `done` is what the interrupted loop finished, `handled`
 * what handlers did; and a quiet last part, after all signals, in the same frames as
 * before, is exact. */
#define _GNU_SOURCE
#include "truth.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static struct tally after = {.name = "make_after"};
static volatile unsigned long done, handled;
static volatile sig_atomic_t wanted;
static volatile sig_atomic_t may_jump;
static bool by_jump, by_exit;
static sigjmp_buf back;

static TRUTH_NOINLINE void
make_in_loop(size_t n)
{
	void *p = malloc(n);

	p = realloc(p, n + 8);
	free(p);
	done++;
}

static TRUTH_NOINLINE void
make_after(size_t n)
{
	void *p = malloc(n);

	tally_alloc(&after, n);
	if (n % 3 == 0)
		return;
	free(p);
	tally_free(&after, n);
}

static TRUTH_NOINLINE void
make_in_handler(void)
{
	free(malloc(71));
}

static void
on_alarm(int sig)
{
	(void)sig;
	if (wanted == 0 || (by_jump && !may_jump))
		return;
	handled++;
	wanted--;
	if (by_exit && wanted == 0)
		_exit(0);
	if (by_jump)
		siglongjmp(back, 1);
	make_in_handler();
}

/* Allocates a few frames further down, so that what a jump abandons is at several depths. */
static TRUTH_NOINLINE void
descend(unsigned depth, void (*make)(size_t), size_t n)
{
	volatile char room[64];

	room[0] = (char)n;
	if (depth == 0)
		make(n);
	else
		descend(depth - 1, make, n + (size_t)(room[0] == 100));
	room[1] = room[0];
}

/* The jump takes back a mask that holds the signal: let in before the jump has left the
 * handler's stack, the next ones would pile up there on a slow machine until it overflows. */
static void
loop(void)
{
	static volatile unsigned turn;
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	sigsetjmp(back, 1);
	may_jump = 1;
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	while (wanted > 0) {
		turn++;
		descend(turn % 5, make_in_loop, 17 + turn % 31);
	}
	may_jump = 0;
}

static void
start_timer(long us)
{
	struct itimerval every = {{0, us}, {0, us}};

	setitimer(ITIMER_REAL, &every, NULL);
}

int
main(int argc, char **argv)
{
	static char alt_stack[1 << 16];
	stack_t ss = {.ss_sp = alt_stack, .ss_size = sizeof(alt_stack)};
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	if (argc < 3)
		return 2;
	by_jump = strcmp(argv[1], "longjmp") == 0;
	by_exit = strcmp(argv[1], "exit") == 0;
	wanted = atoi(argv[2]);
	if (argc > 3) {
		sigaltstack(&ss, NULL);
		sa.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGALRM, &sa, NULL);
	start_timer(50);
	loop();
	start_timer(0);
	for (unsigned i = 0; i < 1009; i++)
		descend(i % 5, make_after, 11 + i % 7);
	truth_tell(&after);
	truth_say("done %lu handled %lu\n", done, handled);
	return 0;
}
