/* SPDX-License-Identifier: MIT */
/* loader.c -- the recorder's host in a preloaded process: modules, clock, stacks,
 * threads.
 *
 * All of it without the loader's lock: loaded_find is lock-free and
 * async-signal-safe, r_state is a word to look at, __libc_single_threaded another. */
#include "guest/life/loader.h"

#include "guest/hooks/jit.h"
#include "guest/hooks/loaded.h"
#include "guest/life/statm.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/sys.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <time.h>

enum { MAPS_BYTES = 64 << 10 };

extern void *__libc_stack_end;
/* The section of main's wrapper in life_exit.c, by the linker. */
extern const char __start_seep_main[] __attribute__((visibility("hidden")));
extern const char __stop_seep_main[] __attribute__((visibility("hidden")));

/* All segments of the program. The kernel may have left holes between them, and glibc
 * then knows each by itself, though the unwind table is in another one than the code. */
static void
program_range(uintptr_t bias, struct host_module *m)
{
	static uintptr_t start, end;

	if (end == 0) {
		const ElfW(Phdr) *ph = (const void *)getauxval(AT_PHDR);
		unsigned long n = getauxval(AT_PHNUM);
		uintptr_t lo = UINTPTR_MAX, hi = 0;

		for (unsigned long i = 0; ph != NULL && i < n; i++) {
			if (ph[i].p_type != PT_LOAD)
				continue;
			if (bias + ph[i].p_vaddr < lo)
				lo = ALIGN_DOWN(bias + ph[i].p_vaddr, (uintptr_t)4096);
			if (bias + ph[i].p_vaddr + ph[i].p_memsz > hi)
				hi = bias + ph[i].p_vaddr + ph[i].p_memsz;
		}
		start = lo;
		end = hi;
	}
	if (m->start >= start && m->end <= end) {
		m->start = start;
		m->end = end;
	}
}

/* The last object of those that the program was started with; NULL until all of them are
 * there. They are first in the loader's list and never leave it, so that it can be read
 * that far at any time. */
static const struct link_map *last_first;

__attribute__((constructor)) static void
started(void)
{
	const struct link_map *m = _r_debug.r_map;

	while (m != NULL && m->l_next != NULL)
		m = m->l_next;
	last_first = m;
}

static bool
module_late(uintptr_t pc)
{
	const struct link_map *m = last_first == NULL ? NULL : _r_debug.r_map;
	struct dl_find_object o;

	if (!loaded_find((const void *)pc, &o))
		return false;
	while (m != NULL && m != o.dlfo_link_map && m != last_first)
		m = m->l_next;
	return m != NULL && m != o.dlfo_link_map;
}

static bool
module_find(uintptr_t pc, struct host_module *ret)
{
	struct dl_find_object o;

	if (!loaded_find((const void *)pc, &o))
		return false;
	*ret = (struct host_module){
		.start = (uintptr_t)o.dlfo_map_start,
		.end = (uintptr_t)o.dlfo_map_end,
		.bias = o.dlfo_link_map->l_addr,
		.eh_hdr = o.dlfo_eh_frame,
		.path = o.dlfo_link_map->l_name,
	};
	if (ret->path[0] == '\0')
		program_range(ret->bias, ret);
	return true;
}

/* One number in hexadecimal, and the byte behind it. */
static const char *
read_hex(const char *s, uintptr_t *ret)
{
	uintptr_t n = 0;

	for (;; s++) {
		unsigned digit = *s >= '0' && *s <= '9'	  ? (unsigned)(*s - '0')
				 : *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a') + 10
							  : 16;

		if (digit > 15)
			break;
		n = n << 4 | digit;
	}
	*ret = n;
	return *s != '\0' ? s + 1 : s;
}

/* In /proc/self/maps, the path of the mapping at `addr`; its length, or 0. */
static long
path_at(const char *maps, uintptr_t addr, char *to, size_t cap)
{
	while (*maps != '\0') {
		uintptr_t start, end;
		const char *s = read_hex(read_hex(maps, &start), &end);
		size_t n = 0;

		while (*s != '\0' && *s != '\n' && *s != '/')
			s++;
		if (addr >= start && addr < end) {
			while (s[n] != '\0' && s[n] != '\n' && n + 1 < cap) {
				to[n] = s[n];
				n++;
			}
			to[n] = '\0';
			return (long)n;
		}
		while (*s != '\0' && *s++ != '\n')
			;
		maps = s;
	}
	return 0;
}

/* When the loader is started by hand (ld.so ./program), /proc/self/exe is the loader. The
 * kernel has loaded no interpreter then; the program's headers are where glibc says. */
static long
program_path(char *to, size_t cap)
{
	char *maps = getauxval(AT_BASE) == 0 ? rt_map(MAPS_BYTES) : NULL;
	long n = 0;

	if (maps != NULL && proc_slurp("/proc/self/maps", maps, MAPS_BYTES) > 0)
		n = path_at(maps, getauxval(AT_PHDR), to, cap);
	rt_unmap(maps, MAPS_BYTES);
	return n;
}

static uint64_t
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE,
		      &ts); /* in the vDSO: no system call, no lock */
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uintptr_t
stack_top(uintptr_t sp)
{
	uintptr_t self = thread_pointer();
	uintptr_t main_end = (uintptr_t)__libc_stack_end;

	/* glibc puts a thread's control block on top of its stack; the first thread's is
	 * elsewhere. The nearer end is the right one: stacks of threads may be right
	 * below the first thread's. */
	if (sp < self && self - sp < UINT64_C(1) << 32 &&
	    (sp >= main_end || self < main_end))
		return self;
	return sp < main_end && main_end - sp < UINT64_C(1) << 32 ? main_end : 0;
}

const struct host loader_host = {
	.module_find = module_find,
	.module_late = module_late,
	.table_find = jit_find,
	.table_done = jit_done,
	.stack_top = stack_top,
	.program_path = program_path,
	.clock_ns = clock_ns,
	.rss_kib = statm_rss_kib,
	.root_start = __start_seep_main,
	.root_end = __stop_seep_main,
	.loader_busy = (const volatile int *)&_r_debug.r_state,
	.single_threaded = &__libc_single_threaded, /* before glibc 2.32 NULL */
};
