/* SPDX-License-Identifier: MIT */
/* leak_kernel.c -- blocks whose addresses only the kernel keeps: 29 in an epoll descriptor, 31 in timers.
 *
 *	leak_kernel exit	ends
 *	leak_kernel close	closes the descriptor, deletes the timers, and ends: now they are lost
 *	leak_kernel stack	gives signal handlers a stack from malloc, keeps no pointer to it, and ends
 *	leak_kernel wait	prints its pid and the address of a block of each kind, and waits for the end of its input */
/* cflags: -O1 -g */
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 29, TIMERS = 31 };

static int epoll;
static timer_t timers[TIMERS];
static uintptr_t hidden[2]; /* their complements, which are no pointers */

__attribute__((noinline)) static void
connect_all(void)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct epoll_event v = {.events = EPOLLIN, .data.ptr = malloc(601)};

		epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd(0, 0), &v);
		hidden[0] = ~(uintptr_t)v.data.ptr;
	}
}

__attribute__((noinline)) static void
start_timers(void)
{
	for (int i = 0; i < TIMERS; i++) {
		struct sigevent v = {.sigev_notify = SIGEV_SIGNAL,
				     .sigev_signo = SIGRTMIN,
				     .sigev_value.sival_ptr = malloc(701)};

		timer_create(CLOCK_MONOTONIC, &v, &timers[i]);
		hidden[1] = ~(uintptr_t)v.sigev_value.sival_ptr;
	}
}

__attribute__((noinline)) static void
set_stack(void)
{
	stack_t s = {.ss_sp = malloc(80021), .ss_size = 80021};

	sigaltstack(&s, NULL);
}

/* Overwrites what the calls above have left on the stack. */
__attribute__((noinline)) static void
sweep(void)
{
	volatile char room[8192];

	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "exit";
	char c;

	if (strcmp(mode, "stack") == 0) {
		set_stack();
		sweep();
		return 0;
	}
	epoll = epoll_create1(0);
	connect_all();
	start_timers();
	sweep();
	if (strcmp(mode, "close") == 0) {
		close(epoll);
		for (int i = 0; i < TIMERS; i++)
			timer_delete(timers[i]);
	}
	if (strcmp(mode, "wait") == 0) {
		dprintf(1, "%d %" PRIxPTR " %" PRIxPTR "\n", getpid(), ~hidden[0],
			~hidden[1]);
		while (read(0, &c, 1) > 0)
			;
	}
	return 0;
}
