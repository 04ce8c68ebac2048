/* SPDX-License-Identifier: MIT */
/* next.c -- the allocator underneath, found with dlsym(RTLD_NEXT).
 *
 * That is glibc's, or a jemalloc, tcmalloc or mimalloc that is linked or preloaded behind
 * us; all of a family come from the same place, so blocks never cross heaps. Functions
 * that the allocator lacks fall back on others of its own, never on libc's. */
#include "guest/hooks/next.h"

#include "guest/hooks/loaded.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/rt_tls.h"
#include "shared/compiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

struct next next;

/* The real one: dlsym is a hook of ours (past.c). */
static void *(*real_dlsym)(void *, const char *);

static bool
find_dlsym(void)
{
#if defined(__x86_64__)
	static const char first[] = "GLIBC_2.2.5";
#else
	static const char first[] = "GLIBC_2.17";
#endif
	void *f = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");

	if (f == NULL) /* before 2.34 it was in libdl */
		f = dlvsym(RTLD_NEXT, "dlsym", first);
	__atomic_store_n(&real_dlsym, (void *(*)(void *, const char *))f,
			 __ATOMIC_RELAXED);
	return f != NULL;
}

void *
next_dlsym(void)
{
	if (!next_find() && __atomic_load_n(&real_dlsym, __ATOMIC_RELAXED) == NULL)
		find_dlsym();
	return (void *)__atomic_load_n(&real_dlsym, __ATOMIC_RELAXED);
}

static void *
find(const char *name)
{
	return real_dlsym(RTLD_NEXT, name);
}

#define FIND(field) (found->field = (__typeof__(found->field))find(#field))
#define FIND_LIBC(field)                                                                 \
	(found->libc.field = (__typeof__(found->libc.field))find("__libc_" #field))

/* glibc's own names of its functions, unless they are what our hooks call anyway. */
static void
find_libc(struct next *found)
{
	found->libc = (__typeof__(found->libc)){0};
	if (FIND_LIBC(malloc) == found->malloc) {
		found->libc.malloc = NULL;
		return;
	}
	FIND_LIBC(calloc);
	FIND_LIBC(realloc);
	FIND_LIBC(free);
	FIND_LIBC(memalign);
	FIND_LIBC(valloc);
	FIND_LIBC(pvalloc);
}

static void
find_all(struct next *found)
{
	FIND(dlopen);
	FIND(dlmopen);
	FIND(dlclose);
	FIND(free);
	FIND(calloc);
	FIND(realloc);
	FIND(reallocarray);
	FIND(posix_memalign);
	FIND(aligned_alloc);
	FIND(memalign);
	FIND(valloc);
	FIND(pvalloc);
	FIND(malloc_usable_size);
	FIND(mmap);
	FIND(munmap);
	FIND(mremap);
	FIND(brk);
	FIND(sbrk);
	FIND(mlockall);
	FIND(execve);
	FIND(execvpe);
	FIND(fexecve);
	FIND(execveat);
	FIND(posix_spawn);
	FIND(posix_spawnp);
	FIND(system);
	FIND(popen);
	FIND(fork);
	FIND(_Fork);
	FIND(exit);
	FIND(quick_exit);
	FIND(sigaction);
	FIND(signal);
	FIND(prctl);
	FIND(syscall);
	FIND(malloc);
}

bool
next_find(void)
{
	void *(*real_malloc)(size_t);
	struct next found;
	int saved;

	if (LIKELY(next.malloc != NULL))
		return true;
	if (tls.resolving)
		return false;
	tls.resolving = 1;
	saved = errno;
	if (!find_dlsym()) {
		tls.resolving = 0;
		errno = saved;
		return false;
	}
	find_all(&found);
	if (found.memalign == NULL)
		found.memalign = found.aligned_alloc;
	/* malloc last: it is what says that all are there. */
	real_malloc = found.malloc_found = found.malloc;
	find_libc(&found);
	found.malloc = NULL;
	next = found;
	__atomic_store_n(&next.malloc, real_malloc, __ATOMIC_RELEASE);
	tls.resolving = 0;
	errno = saved;
	return real_malloc != NULL;
}

void *
next_late(const char *name, const char *library)
{
	int saved = errno;
	void *f = find(name);
	void *handle;

	if (f == NULL) {
		handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
		f = handle == NULL ? NULL : dlsym(handle, name);
	}
	errno = saved;
	return f;
}

/* ---- copies ---- */

static void **copies[NEXT_COPIES_MAX];

void
next_renew(void)
{
	for (uint32_t i = 0; i < NEXT_COPIES_MAX; i++) {
		void **slot = __atomic_load_n(&copies[i], __ATOMIC_SEQ_CST);

		if (slot != NULL)
			__atomic_store_n(slot, (void *)next.free, __ATOMIC_RELEASE);
	}
}

void
next_copy_free(void **slot)
{
	void (*f)(void *);
	uint32_t i = 0;

	while (i < NEXT_COPIES_MAX && copies[i] != slot) {
		void **none = NULL;

		if (__atomic_compare_exchange_n(&copies[i], &none, slot, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			break;
		i += none != slot;
	}
	if (i == NEXT_COPIES_MAX)
		return;
	/* Entered first, then looked at again: next.free may be replaced meanwhile. */
	do {
		f = __atomic_load_n(&next.free, __ATOMIC_SEQ_CST);
		__atomic_store_n(slot, (void *)f, __ATOMIC_SEQ_CST);
	} while (f != __atomic_load_n(&next.free, __ATOMIC_SEQ_CST));
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

bool
next_is_ours(const char *name)
{
	int saved = errno;
	/* Not RTLD_DEFAULT: we are linked so that we find ourselves first. The program's
	 * own map is what dlopen(NULL) gives, which allocates. */
	const char *f = dlsym(_r_debug.r_map, name);

	errno = saved;
	return f >= __ehdr_start && f < _end;
}

bool
next_is_from(const char *name, const char *library)
{
	struct dl_find_object o;
	const char *name_at;
	void *f = next_late(name, library);

	if (f == NULL || !loaded_find(f, &o))
		return false;
	name_at = o.dlfo_link_map->l_name;
	for (const char *at = name_at; *at != '\0'; at++)
		name_at = *at == '/' ? at + 1 : name_at;
	return text_same(name_at, library);
}
