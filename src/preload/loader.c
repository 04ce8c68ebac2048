/* SPDX-License-Identifier: MIT */
/* loader.c -- the recorder's host in a preloaded process: modules, clock, stacks, threads.
 *
 * All of it without the loader's lock: _dl_find_object (glibc 2.35) is lock-free and
 * async-signal-safe, r_state is a word to look at, __libc_single_threaded another. */
#include "preload/loader.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/single_threaded.h>
#include <time.h>

extern void *__libc_stack_end;

static bool
module_find(uintptr_t pc, struct host_module *ret)
{
	struct dl_find_object o;

	if (_dl_find_object((void *)pc, &o) != 0)
		return false;
	*ret = (struct host_module){
		.start = (uintptr_t)o.dlfo_map_start,
		.end = (uintptr_t)o.dlfo_map_end,
		.bias = o.dlfo_link_map->l_addr,
		.eh_hdr = o.dlfo_eh_frame,
		.path = o.dlfo_link_map->l_name,
	};
	return true;
}

static uint64_t
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts); /* in the vDSO: no system call, no lock */
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uintptr_t
stack_top(uintptr_t sp)
{
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	uintptr_t main_end = (uintptr_t)__libc_stack_end;

	/* glibc puts a thread's control block on top of its stack; the first thread's is elsewhere. */
	if (sp < main_end && main_end - sp < UINT64_C(1) << 32)
		return main_end;
	return sp < self && self - sp < UINT64_C(1) << 32 ? self : 0;
}

const struct host loader_host = {
	.module_find = module_find,
	.stack_top = stack_top,
	.clock_ns = clock_ns,
	.loader_busy = (const volatile int *)&_r_debug.r_state,
	.single_threaded = &__libc_single_threaded,
};
