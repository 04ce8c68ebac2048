/* SPDX-License-Identifier: MIT */
/* mtrace.c -- mtrace() and muntrace() as glibc has them, and what they trace.
 *
 * Tracing puts functions of its own between the hooks and the allocator underneath, in
 * struct next and in the copies that operator delete has of free: nothing of it costs
 * anything before, and hooks in all threads are switched at once. They stay there when
 * tracing ends and then only pass on. The caller is the return address; where a hook kept
 * a frame of its own it is found above, by the frame pointers that all of us has.
 *
 * Order in the log: what frees is written before the real call, what allocates after it,
 * so that another thread that is handed the address appears in between. glibc holds a
 * lock across the call instead. So a realloc that fails has been logged as gone: it is
 * logged as come back, with the size that malloc knows, and then as failed.
 *
 * Acts when SEEP is not set, or names mtrace; else the calls go to libc's own. */
#include "guest/dropin/mtrace/mtrace.h"

#include "guest/dropin/mtrace/mtrace_file.h"
#include "guest/dropin/peer.h"
#include "guest/hooks/next.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <mcheck.h>
#include <stdlib.h>
#include <sys/auxv.h>

extern int __cxa_atexit(void (*)(void *), void *, void *);
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static struct next under; /* what struct next held before */
static bool wrapped;
static bool told; /* by SEEP=compat=mtrace */

/* Return address of the frame `fp`, or of the first one above it that is not ours. */
static uintptr_t
outside(const uintptr_t *fp)
{
	uintptr_t ra = fp[1];

	while (UNLIKELY(ra >= (uintptr_t)__ehdr_start && ra < (uintptr_t)_end)) {
		fp = (const uintptr_t *)fp[0];
		ra = fp[1];
	}
	return ra;
}

#define CALLER() outside(__builtin_frame_address(0))
#define LINE(op, p, n) mtrace_file_line(ra, op, (uintptr_t)(p), n)

static void *
traced_malloc(size_t n)
{
	uintptr_t ra = CALLER();
	void *p = under.malloc(n);

	LINE('+', p, n);
	return p;
}

static void *
traced_calloc(size_t count, size_t each)
{
	uintptr_t ra = CALLER();
	void *p = under.calloc(count, each);

	LINE('+', p, count * each);
	return p;
}

static void
traced_free(void *p)
{
	uintptr_t ra = CALLER();

	if (p != NULL)
		LINE('-', p, 0);
	under.free(p);
}

static void *
traced_realloc(void *p, size_t n)
{
	uintptr_t ra = CALLER();
	void *q;

	if (p == NULL || n == 0) {
		if (p != NULL)
			LINE('-', p, 0);
		q = under.realloc(p, n);
		if (p == NULL || q != NULL)
			LINE('+', q, n);
		return q;
	}
	if (n > PTRDIFF_MAX) { /* cannot succeed */
		LINE('!', p, n);
		return under.realloc(p, n);
	}
	LINE('<', p, 0);
	q = under.realloc(p, n);
	if (q != NULL) {
		LINE('>', q, n);
	} else {
		LINE('>', p, under.malloc_usable_size(p));
		LINE('!', p, n);
	}
	return q;
}

static int
traced_posix_memalign(void **out, size_t align, size_t n)
{
	uintptr_t ra = CALLER();
	int r = under.posix_memalign(out, align, n);

	if (r == 0)
		LINE('+', *out, n);
	return r;
}

static void *
traced_aligned_alloc(size_t align, size_t n)
{
	uintptr_t ra = CALLER();
	void *p = under.aligned_alloc(align, n);

	LINE('+', p, n);
	return p;
}

static void *
traced_memalign(size_t align, size_t n)
{
	uintptr_t ra = CALLER();
	void *p = under.memalign(align, n);

	LINE('+', p, n);
	return p;
}

static void *
traced_valloc(size_t n)
{
	uintptr_t ra = CALLER();
	void *p = under.valloc(n);

	LINE('+', p, n);
	return p;
}

static void *
traced_pvalloc(size_t n)
{
	uintptr_t ra = CALLER();
	void *p = under.pvalloc(n);

	LINE('+', p, n);
	return p;
}

#define PUT(name)                                                                        \
	if (next.name != NULL)                                                           \
	__atomic_store_n(&next.name, traced_##name, __ATOMIC_RELEASE)

static void
wrap(void)
{
	if (wrapped)
		return;
	wrapped = true;
	under = next;
	PUT(free);
	PUT(calloc);
	PUT(realloc);
	PUT(posix_memalign);
	PUT(aligned_alloc);
	PUT(memalign);
	PUT(valloc);
	PUT(pvalloc);
	PUT(malloc);
	next_renew();
}

/* As glibc does at exit while it traces: what libc itself has kept is freed, so that it
 * is not taken for the program's. */
static void
free_libcs_own(void *arg)
{
	void (*freeres)(void);

	(void)arg;
	if (!mtrace_file_on())
		return;
	freeres = (void (*)(void))next_late("__libc_freeres", "libc.so.6");
	if (freeres != NULL)
		freeres();
}

static void
begin(const char *path)
{
	static bool registered;

	if (!next_find() || !mtrace_file_open(path))
		return;
	wrap();
	if (!registered) {
		__cxa_atexit(free_libcs_own, NULL, NULL);
		peer_handle_term();
	}
	registered = true;
}

void
mtrace_begin(void)
{
	const char *path = getenv("MALLOC_TRACE");
	char own[48];
	struct text t = text_on(own, sizeof(own));

	told = true;
	text_add(&t, "mtrace.");
	text_dec(&t, (uint64_t)sys_getpid());
	text_add(&t, ".log");
	begin(path != NULL ? path : own);
}

static bool
ours(void)
{
	return getauxval(AT_SECURE) == 0 && (told || getenv("SEEP") == NULL);
}

static void
pass_on(const char *name)
{
	void (*real)(void) = (void (*)(void))next_late(name, "libc.so.6");

	if (real != NULL)
		real();
}

SEEP_EXPORT void
mtrace(void)
{
	const char *path = getenv("MALLOC_TRACE");

	if (!ours())
		pass_on("mtrace");
	else if (path != NULL)
		begin(path);
}

SEEP_EXPORT void
muntrace(void)
{
	if (!ours())
		pass_on("muntrace");
	else
		mtrace_file_close();
}

void
mtrace_leaving(void)
{
	mtrace_file_leaving();
}

/* The last of the process as far as we are told; destructors of others may still
 * follow. */
__attribute__((destructor)) static void
last(void)
{
	mtrace_leaving();
}
