/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -fPIC -shared -fno-builtin */
/* bump.c -- the simplest allocator: hands out ever higher addresses, free does
 * nothing.
 *
 * A shared library to be preloaded behind seep. It may be interrupted anywhere, by
 * handlers that allocate or never come back, which no ordinary malloc survives: so
 * what goes wrong under it is not the allocator's fault.
 *
 * Built with -DNESTED it is like many a wrapper that people preload: calloc, realloc
 * and memalign call malloc and free by their names. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { HEADER_BYTES = 16 };

static const size_t arena_bytes = (size_t)4 << 30;
static unsigned char *arena;
static size_t taken;

void *malloc(size_t n);
void *calloc(size_t count, size_t each);
void *realloc(void *p, size_t n);
void *memalign(size_t align, size_t n);
void free(void *p);

extern void *__libc_malloc(size_t n);

__attribute__((constructor)) static void
begin(void)
{
	/* What we do not have (posix_memalign …) is libc's, whose malloc gets ready at the first
	 * call of it: not meant to come from two threads at once. */
	if (arena == NULL)
		__libc_malloc(1);
	if (arena == NULL)
		arena = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void *
take(size_t n)
{
	size_t bytes = (n + 31) / 16 * 16;
	size_t at;

	begin();
	if (n > arena_bytes)
		return NULL;
	at = __atomic_fetch_add(&taken, bytes, __ATOMIC_RELAXED);
	if (at + bytes > arena_bytes)
		return NULL;
	*(size_t *)(void *)(arena + at) = n;
	return arena + at + HEADER_BYTES;
}

void *
malloc(size_t n)
{
	return take(n);
}

void
free(void *p)
{
	(void)p;
}

#ifdef NESTED
#	define TAKE malloc
#	define GIVE free
#else
#	define TAKE take
#	define GIVE(p) ((void)(p))
#endif

void *
calloc(size_t count, size_t each)
{
	return each != 0 && count > SIZE_MAX / each ? NULL : TAKE(count * each);
}

void *
realloc(void *p, size_t n)
{
	void *q = TAKE(n);
	size_t had;

	if (p == NULL || q == NULL)
		return q;
	had = *(size_t *)(void *)((unsigned char *)p - HEADER_BYTES);
	memcpy(q, p, had < n ? had : n);
	GIVE(p);
	return q;
}

void *
memalign(size_t align, size_t n)
{
	uintptr_t p = (uintptr_t)TAKE(n + align);

	return p == 0 ? NULL : (void *)((p + align - 1) / align * align);
}
