/* SPDX-License-Identifier: MIT */
/* blob_host.c -- modules, clock, stacks and threads of a process that we were injected
 * into.
 *
 * What is always the same was written down by the attacher: our own image, the program,
 * where its first stack ends. Modules come and go, so libc is asked where its
 * _dl_find_object (glibc 2.35) is known: it takes no lock. Without it there is the
 * attacher's table of modules, and what is not in there, or may have gone since, is not
 * believed: stacks end there. */
#include "guest/blob/blob_host.h"

#include "guest/blob/blob_gate.h"
#include "guest/rt/libc_parts.h"

#include <link.h>
#include <time.h>

typedef int find_object(void *pc, struct dl_find_object *ret);
typedef int clock_get(clockid_t clock, struct timespec *ret);

static const int quiet_loader;
static const char threaded;

static bool
in_table(uintptr_t pc, struct host_module *ret)
{
	const struct blob_module *m = (const void *)blob.modules;

	for (uint64_t i = 0; i < blob.module_count; i++) {
		if (pc - m[i].start >= m[i].end - m[i].start)
			continue;
		*ret = (struct host_module){
			.start = m[i].start,
			.end = m[i].end,
			.bias = m[i].bias,
			.eh_hdr = (const unsigned char *)m[i].eh_hdr,
			.path = (const char *)m[i].path,
		};
		return true;
	}
	return false;
}

static bool
module_find(uintptr_t pc, struct host_module *ret)
{
	struct dl_find_object o;

	if (in_table(pc, ret))
		return true;
	if (blob.dl_find_object == 0 ||
	    ((find_object *)blob.dl_find_object)((void *)pc, &o) != 0)
		return false;
	*ret = (struct host_module){
		.start = (uintptr_t)o.dlfo_map_start,
		.end = (uintptr_t)o.dlfo_map_end,
		.bias = o.dlfo_link_map->l_addr,
		.eh_hdr = o.dlfo_eh_frame,
		.path = o.dlfo_link_map->l_name,
	};
	/* All segments of the program: glibc may know each by itself, though the unwind
	 * table is in another one than the code. */
	if (ret->start >= blob.program_start && ret->end <= blob.program_end) {
		ret->start = blob.program_start;
		ret->end = blob.program_end;
	}
	return true;
}

static uint64_t
clock_ns(void)
{
	struct timespec ts = {0, 0};

	if (blob.clock_gettime != 0)
		((clock_get *)blob.clock_gettime)(CLOCK_MONOTONIC_COARSE, &ts);
	else if (!rt_sealed)
		SYS2(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uintptr_t
stack_top(uintptr_t sp)
{
	uintptr_t self = tls_key();

	/* libc puts a thread's control block on top of its stack. The nearer end is the
	 * right one. */
	if (sp < self && self - sp < UINT64_C(1) << 32 &&
	    (sp >= blob.stack_end || self < blob.stack_end))
		return self;
	return sp < blob.stack_end && blob.stack_end - sp < UINT64_C(1) << 32
		       ? blob.stack_end
		       : 0;
}

struct host blob_host = {
	.module_find = module_find,
	.stack_top = stack_top,
	.clock_ns = clock_ns,
	.loader_busy = &quiet_loader,
	.single_threaded = &threaded,
};
