/* SPDX-License-Identifier: MIT */
/* kernelwords.h -- pointers that a program has handed to the kernel, which gives them
 * back later.
 *
 * A server may keep a connection nowhere but in epoll_event.data.ptr, and a timer's
 * argument nowhere but in sigev_value. /proc shows both. Pointers on their way through a
 * pipe or a socket, queued with a signal or submitted to io_uring cannot be read. */
#ifndef SEEP_TARGET_KERNELWORDS_H
#define SEEP_TARGET_KERNELWORDS_H

#include <stddef.h>
#include <stdint.h>

#include "tool/util/vec.h"

enum kernelword_kind {
	KERNELWORD_EPOLL, /* epoll_event.data */
	KERNELWORD_TIMER, /* sigevent.sigev_value of timer_create */
};

struct kernelword {
	uint64_t word;
	enum kernelword_kind kind;
	int number; /* epoll: its descriptor; timer: its id */
};

struct kernelwords VEC_BODY(struct kernelword);

/* Replaces the contents of `ret` with those that process `pid` has now. What cannot be
 * read is left out. Free with vec_done. */
void kernelwords_read(int pid, struct kernelwords *ret);

/* "epoll descriptor 5", "POSIX timer 3". */
void kernelword_name(const struct kernelword *k, char *ret, size_t size);

#endif
