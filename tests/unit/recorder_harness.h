/* SPDX-License-Identifier: MIT */
/* recorder_harness.h -- a recorder without hooks: a recording in private memory and a
 * host whose clock, loader and number of threads the test decides.
 *
 * The recorder asks for its modules without an argument, so there is one at a time;
 * rh_start() ends the one before. Blocks are addresses that nobody looks at. Include
 * after t.h, once. */
#ifndef SEEP_TESTS_RECORDER_HARNESS_H
#define SEEP_TESTS_RECORDER_HARNESS_H

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>

#include "guest/record/file/recorder.h"
#include "guest/record/threads.h"
#include "shared/compiler.h"

struct recorder *recorder_now;

static struct recorder rh;
static uint64_t
	rh_clock_ns; /* what the host's clock says; from the start of the recording on */
static volatile int rh_loader_busy;
static volatile char rh_single;

/* Stacks end at functions so marked, wherever those were called from. */
#define RH_ROOT __attribute__((noinline, section("rh_root")))

extern const char __start_rh_root[] __attribute__((weak)),
	__stop_rh_root[] __attribute__((weak));

static bool
rh_module_find(uintptr_t pc, struct host_module *ret)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)pc, &found) != 0)
		return false;
	*ret = (struct host_module){.start = (uintptr_t)found.dlfo_map_start,
				    .end = (uintptr_t)found.dlfo_map_end,
				    .bias = found.dlfo_link_map->l_addr,
				    .eh_hdr = found.dlfo_eh_frame,
				    .path = found.dlfo_link_map->l_name};
	return true;
}

static uintptr_t
rh_stack_top(uintptr_t sp)
{
	pthread_attr_t attr;
	void *lo = NULL;
	size_t bytes = 0;

	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return 0;
	pthread_attr_getstack(&attr, &lo, &bytes);
	pthread_attr_destroy(&attr);
	return sp - (uintptr_t)lo < bytes ? (uintptr_t)lo + bytes : 0;
}

static uint64_t
rh_clock(void)
{
	return rh.head->start_mono_ns + rh_clock_ns;
}

static const struct host rh_host = {
	.module_find = rh_module_find,
	.stack_top = rh_stack_top,
	.clock_ns = rh_clock,
	.loader_busy = &rh_loader_busy,
	.single_threaded = &rh_single,
	.root_start = __start_rh_root,
	.root_end = __stop_rh_root,
};

/* Begins a recording of at most `max_bytes` and attaches the calling thread to it.
 * `single`: the host knows of no other thread. */
static MAYBE_UNUSED struct thread *
rh_start(enum rec_mode mode, uint64_t max_bytes, uint64_t rate, bool single)
{
	static uint64_t id;
	struct recorder_settings s = {
		.mode = mode, .max_bytes = max_bytes, .rate_bytes = rate};
	int r;

	if (rh.base != NULL)
		recorder_forget(rh.base, rh.bytes);
	rh = (struct recorder){0};
	rh_clock_ns = 0;
	rh_loader_busy = 0;
	rh_single = single;
	r = recorder_start(&rh, &s, &rh_host, ++id);
	if (r < 0) {
		T_FAIL("recorder_start: %d", r);
		exit(EXIT_FAILURE);
	}
	return threads_attach(&rh, false);
}

/* Everything lost, for whatever reason. */
static MAYBE_UNUSED uint64_t
rh_lost(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < REC_LOST_MAX; i++)
		sum += rh.head->lost[i];
	return sum;
}

/* xorshift64*; each user has a state of its own, not 0. */
static MAYBE_UNUSED uint64_t
rh_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* The hooked function's caller; use in a function that is never inlined. A frame record
 * is below the CFA on x86-64; on aarch64 only the compiler knows. */
#if defined(__x86_64__)
#	define RH_CFA() ((uintptr_t)__builtin_frame_address(0) + 16)
#else
#	define RH_CFA() ((uintptr_t)__builtin_dwarf_cfa())
#endif
#define RH_START()                                                                       \
	(struct unw_start)                                                               \
	{                                                                                \
		.pc = (uintptr_t)__builtin_return_address(0), .sp = RH_CFA(),            \
		.bp = *(uintptr_t *)__builtin_frame_address(0),                          \
	}

#endif
