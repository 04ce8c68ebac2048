/* SPDX-License-Identifier: MIT */
/* hooks_mmap.c -- memory taken from the kernel directly: mmap, mremap, munmap, brk, sbrk.
 *
 * A class of its own, recorded only when asked for (--mmap): the allocators underneath
 * use these too, through libc's inner names that nobody can hook, so nothing is counted
 * twice. A mapping is one block, known by its start. Unmapping its front, its end or a
 * hole in it leaves blocks of what remains; one munmap across several mappings ends all
 * whose start lies inside. mremap of other memory is not counted; when sampling it has
 * its chance as any other, since nearly all are none. */
#undef _FILE_OFFSET_BITS /* mmap and mmap64 shall be the two names that they are */
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/record/events.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t
page_up(size_t n)
{
	return ALIGN_UP(n, (size_t)4096);
}

/* As much of it as a block's entry can say: a reservation of a tebibyte and more is taken
 * off by what is there, so it must not be added by more. */
static size_t
counted(size_t n)
{
	size_t most = ALIGN_DOWN((size_t)REC_BLOCK_SIZE_MASK, (size_t)4096);

	n = page_up(n);
	return n < most ? n : most;
}

static ALWAYS_INLINE bool
watched(int flags)
{
	/* Room that is only reserved, and files, are not memory anybody leaks by mistake;
	 * but a private mapping is: that is where RSS comes from. */
	return gate.mmap && (flags & MAP_ANONYMOUS) != 0;
}

static NOINLINE void *
mmap_event(void *addr, size_t n, int prot, int flags, int fd, off_t off)
{
	const struct unw_start at = GATE_HERE();
	void *p;

	if (!next_find() || next.mmap == NULL) {
		errno = ENOSYS;
		return MAP_FAILED;
	}
	p = next.mmap(addr, n, prot, flags, fd, off);
	if (p != MAP_FAILED && watched(flags))
		gate_allocated(p, counted(n), REC_KIND_MMAP, &at);
	return p;
}

SEEP_EXPORT void *
mmap(void *addr, size_t n, int prot, int flags, int fd, off_t off)
{
	if (LIKELY(!gate.mmap && next.mmap != NULL))
		return next.mmap(addr, n, prot, flags, fd, off);
	return mmap_event(addr, n, prot, flags, fd, off);
}

SEEP_EXPORT void *
mmap64(void *addr, size_t n, int prot, int flags, int fd, off64_t off)
{
	return mmap(addr, n, prot, flags, fd, off);
}

static void
unmapped(void *addr, size_t n, uintptr_t cfa)
{
	struct thread *t = gate_enter(cfa);

	if (t == NULL)
		return;
	record_unmap(recorder_now, t, (uintptr_t)addr, page_up(n));
	gate_leave();
}

/* What goes, goes before the real call, after which another thread may be given the
 * addresses. A range that ends where most machines have no addresses is only asked for by
 * mistake: then that call says first whether it is one. */
static NOINLINE int
munmap_event(void *addr, size_t n, uintptr_t cfa)
{
	uintptr_t end;
	bool odd = __builtin_add_overflow((uintptr_t)addr, n, &end) || end >> 47 != 0;
	int r;

	if ((uintptr_t)addr % 4096 != 0)
		return next.munmap(addr, n); /* refuses it */
	if (!odd)
		unmapped(addr, n, cfa);
	r = next.munmap(addr, n);
	if (odd && r == 0)
		unmapped(addr, n, cfa);
	return r;
}

SEEP_EXPORT int
munmap(void *addr, size_t n)
{
	if (!next_find() || next.munmap == NULL) {
		errno = ENOSYS;
		return -1;
	}
	if (UNLIKELY(gate.mmap))
		return munmap_event(addr, n, GATE_CFA());
	return next.munmap(addr, n);
}

SEEP_EXPORT NOINLINE void *
mremap(void *old, size_t old_bytes, size_t new_bytes, int flags, ...)
{
	const struct unw_start at = GATE_HERE();
	struct gate_resize told;
	struct thread *t = NULL;
	void *where = NULL, *p;
	va_list ap;

	va_start(ap, flags);
	if ((flags & MREMAP_FIXED) != 0)
		where = va_arg(ap, void *);
	va_end(ap);
	if (!next_find() || next.mremap == NULL) {
		errno = ENOSYS;
		return MAP_FAILED;
	}
	if (UNLIKELY(gate.mmap) && (t = gate_enter(GATE_CFA())) != NULL)
		record_resize_begin(recorder_now, t, (uintptr_t)old);
	p = next.mremap(old, old_bytes, new_bytes, flags, where);
	if (t == NULL)
		return p;
	if (p == MAP_FAILED)
		record_resize_fail(recorder_now, t);
	else if (t->pending_block != NULL || recorder_now->head->mode == REC_MODE_SAMPLE)
		gate_resized(t, p, counted(new_bytes), REC_KIND_MMAP, &at, &told);
	gate_leave();
	return p;
}

/* The break is one growing block: what a call added is a block at its old end. */
static void
moved(uintptr_t from, uintptr_t to, const struct unw_start *at)
{
	struct thread *t;

	if (to > from) {
		gate_allocated((void *)from, to - from, REC_KIND_BRK, at);
		return;
	}
	t = gate_enter(GATE_CFA());
	if (t == NULL)
		return;
	record_unmap(recorder_now, t, to, from - to);
	gate_leave();
}

SEEP_EXPORT NOINLINE void *
sbrk(intptr_t by)
{
	const struct unw_start at = GATE_HERE();
	void *p;

	if (!next_find() || next.sbrk == NULL) {
		errno = ENOMEM;
		return (void *)-1;
	}
	p = next.sbrk(by);
	if (UNLIKELY(gate.mmap) && p != (void *)-1 && by != 0)
		moved((uintptr_t)p, (uintptr_t)p + (uintptr_t)by, &at);
	return p;
}

SEEP_EXPORT NOINLINE int
brk(void *end)
{
	const struct unw_start at = GATE_HERE();
	uintptr_t before = 0;
	int r;

	if (!next_find() || next.brk == NULL) {
		errno = ENOMEM;
		return -1;
	}
	if (UNLIKELY(gate.mmap))
		before = (uintptr_t)next.sbrk(0);
	r = next.brk(end);
	if (UNLIKELY(gate.mmap) && r == 0 && before != (uintptr_t)end)
		moved(before, (uintptr_t)end, &at);
	return r;
}
