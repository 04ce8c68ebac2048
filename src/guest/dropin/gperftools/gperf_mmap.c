/* SPDX-License-Identifier: MIT */
/* gperf_mmap.c -- HEAP_PROFILE_MMAP_LOG: every mapping that the program makes, on stderr.
 *
 * Functions of ours between the hooks and libc's, put there when asked for and not
 * before. What the allocator underneath maps for itself does not come by here;
 * gperftools' own log shows mostly that. */
#undef _FILE_OFFSET_BITS /* as the hooks: mmap's own offset */
#include "guest/dropin/gperftools/gperf.h"

#include "guest/hooks/next.h"
#include "guest/rt/rt_text.h"

#include <stdarg.h>
#include <sys/mman.h>

static struct next under; /* what struct next held before */

static void
add_hex(struct text *t, const char *before, uint64_t n)
{
	text_add(t, before);
	text_add(t, "0x");
	text_hex(t, n, (67 - (unsigned)__builtin_clzll(n | 1)) / 4);
}

static void
add_dec(struct text *t, const char *before, int64_t n)
{
	text_add(t, before);
	if (n < 0)
		text_add(t, "-");
	text_dec(t, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

#define LINE()                                                                           \
	char line[256];                                                                  \
	struct text t = text_on(line, sizeof(line))

static void *
logged_mmap(void *addr, size_t n, int prot, int flags, int fd, off_t off)
{
	void *p = under.mmap(addr, n, prot, flags, fd, off);
	LINE();

	add_hex(&t, "mmap(start=", (uintptr_t)addr);
	add_dec(&t, ", len=", (int64_t)n);
	add_hex(&t, ", prot=", (unsigned)prot);
	add_hex(&t, ", flags=", (unsigned)flags);
	add_dec(&t, ", fd=", fd);
	add_hex(&t, ", offset=", (uint64_t)off);
	add_hex(&t, ") = ", (uintptr_t)p);
	gperf_say(GPERF_INFO, line);
	return p;
}

static int
logged_munmap(void *addr, size_t n)
{
	LINE();

	add_hex(&t, "munmap(start=", (uintptr_t)addr);
	add_dec(&t, ", len=", (int64_t)n);
	text_add(&t, ")");
	gperf_say(GPERF_INFO, line);
	return under.munmap(addr, n);
}

static void *
logged_mremap(void *old, size_t old_bytes, size_t new_bytes, int flags, ...)
{
	void *where = NULL, *p;
	va_list ap;
	LINE();

	va_start(ap, flags);
	if ((flags & MREMAP_FIXED) != 0)
		where = va_arg(ap, void *);
	va_end(ap);
	p = under.mremap(old, old_bytes, new_bytes, flags, where);
	add_hex(&t, "mremap(old_addr=", (uintptr_t)old);
	add_dec(&t, ", old_size=", (int64_t)old_bytes);
	add_dec(&t, ", new_size=", (int64_t)new_bytes);
	add_hex(&t, ", flags=", (unsigned)flags);
	add_hex(&t, ", new_addr=", (uintptr_t)where);
	add_hex(&t, ") = ", (uintptr_t)p);
	gperf_say(GPERF_INFO, line);
	return p;
}

static void *
logged_sbrk(intptr_t by)
{
	void *p = under.sbrk(by);
	LINE();

	add_dec(&t, "sbrk(inc=", by);
	add_hex(&t, ") = ", (uintptr_t)p);
	gperf_say(GPERF_INFO, line);
	return p;
}

void
gperf_mmap_log(void)
{
	if (under.mmap != NULL)
		return;
	under = next;
	if (next.munmap != NULL)
		next.munmap = logged_munmap;
	if (next.mremap != NULL)
		next.mremap = logged_mremap;
	if (next.sbrk != NULL)
		next.sbrk = logged_sbrk;
	if (next.mmap != NULL)
		next.mmap = logged_mmap;
}
