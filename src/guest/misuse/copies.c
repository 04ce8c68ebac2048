/* SPDX-License-Identifier: MIT */
/* copies.c -- libseep_copy.so: memcpy and its kin, which look whether what they copy
 * overlaps.
 *
 * A library of its own, preloaded behind libseep.so only when asked for: to stand in
 * front of memcpy costs every program that copies. Each function compares its areas,
 * tells libseep.so where they overlap, and jumps on to libc's. Until the constructor has
 * found those, loops serve.
 *
 * As memcheck has it: what counts is what is read and what is written, so for strncpy all
 * `n` bytes of the destination. Other than there, a copy of an area onto itself is none:
 * compilers make such ones. memmove may overlap. Copies that the compiler writes out, or
 * that libc makes itself, are not seen. */
#include "guest/unwind/unwind.h"
#include "shared/compiler.h"
#include "shared/recording.h"

#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default"))) NOINLINE

/* libseep.so's; NULL where it was not preloaded with us. */
extern void seep_copy_overlaps(unsigned func, const void *to, const void *from, size_t n,
			       const struct unw_start *at) __attribute__((weak));

typedef void *copy_function(void *, const void *, size_t);
typedef void *copy_function_chk(void *, const void *, size_t, size_t);

/* ---- areas ---- */

static ALWAYS_INLINE bool
overlap(const void *to, size_t nto, const void *from, size_t nfrom)
{
	uintptr_t d = (uintptr_t)to, s = (uintptr_t)from;

	return UNLIKELY(d < s ? s - d < nto : d > s && d - s < nfrom);
}

static size_t
length(const char *s, size_t most)
{
	size_t n = 0;

	while (n < most && s[n] != '\0')
		n++;
	return n;
}

static size_t
wide_length(const wchar_t *s, size_t most)
{
	size_t n = 0;

	while (n < most && s[n] != 0)
		n++;
	return n;
}

/* The hook's caller; in the hook itself. */
#define HERE()                                                                           \
	(&(struct unw_start){                                                            \
		.pc = (uintptr_t)__builtin_return_address(0),                            \
		.sp = (uintptr_t)__builtin_dwarf_cfa(),                                  \
		.bp = *(const uintptr_t *)__builtin_frame_address(0),                    \
	})

#define TELL(func, to, from, n)                                                          \
	do {                                                                             \
		if (seep_copy_overlaps != NULL)                                          \
			seep_copy_overlaps(func, to, from, n, HERE());                   \
	} while (0)

/* ---- the real ones ---- */

static struct {
	copy_function *memcpy, *mempcpy, *strncpy, *stpncpy, *strncat, *wmemcpy;
	copy_function *strcpy, *stpcpy, *strcat, *wcscpy, *wcscat; /* without a length */
	copy_function_chk *memcpy_chk, *mempcpy_chk, *strncpy_chk, *strncat_chk;
	copy_function *strcpy_chk, *stpcpy_chk, *strcat_chk;
} real;

static void *
bytes(void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((volatile char *)to)[i] = ((const volatile char *)from)[i];
	return to;
}

#define FIND(field, name) (real.field = (__typeof__(real.field))dlsym(RTLD_NEXT, name))

__attribute__((constructor)) static void
find_all(void)
{
	FIND(mempcpy, "mempcpy");
	FIND(strncpy, "strncpy");
	FIND(stpncpy, "stpncpy");
	FIND(strncat, "strncat");
	FIND(wmemcpy, "wmemcpy");
	FIND(strcpy, "strcpy");
	FIND(stpcpy, "stpcpy");
	FIND(strcat, "strcat");
	FIND(wcscpy, "wcscpy");
	FIND(wcscat, "wcscat");
	FIND(memcpy_chk, "__memcpy_chk");
	FIND(mempcpy_chk, "__mempcpy_chk");
	FIND(strncpy_chk, "__strncpy_chk");
	FIND(strncat_chk, "__strncat_chk");
	FIND(strcpy_chk, "__strcpy_chk");
	FIND(stpcpy_chk, "__stpcpy_chk");
	FIND(strcat_chk, "__strcat_chk");
	FIND(memcpy, "memcpy");
}

/* Libc's, or NULL as long as it is not known. */
#define REAL(field) (__atomic_load_n(&real.field, __ATOMIC_RELAXED))

/* ---- areas of a known length ---- */

EXPORT void *memcpy(void *to, const void *from, size_t n);
EXPORT void *
memcpy(void *to, const void *from, size_t n)
{
	if (overlap(to, n, from, n))
		TELL(REC_FUNC_MEMCPY, to, from, n);
	return LIKELY(REAL(memcpy) != NULL) ? real.memcpy(to, from, n)
					    : bytes(to, from, n);
}

EXPORT void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
EXPORT void *
__memcpy_chk(void *to, const void *from, size_t n, size_t room)
{
	if (overlap(to, n, from, n))
		TELL(REC_FUNC_MEMCPY, to, from, n);
	return LIKELY(REAL(memcpy_chk) != NULL) ? real.memcpy_chk(to, from, n, room)
						: bytes(to, from, n);
}

EXPORT void *mempcpy(void *to, const void *from, size_t n);
EXPORT void *
mempcpy(void *to, const void *from, size_t n)
{
	if (overlap(to, n, from, n))
		TELL(REC_FUNC_MEMPCPY, to, from, n);
	return LIKELY(REAL(mempcpy) != NULL) ? real.mempcpy(to, from, n)
					     : (char *)bytes(to, from, n) + n;
}

EXPORT void *__mempcpy_chk(void *to, const void *from, size_t n, size_t room);
EXPORT void *
__mempcpy_chk(void *to, const void *from, size_t n, size_t room)
{
	if (overlap(to, n, from, n))
		TELL(REC_FUNC_MEMPCPY, to, from, n);
	return LIKELY(REAL(mempcpy_chk) != NULL) ? real.mempcpy_chk(to, from, n, room)
						 : (char *)bytes(to, from, n) + n;
}

EXPORT wchar_t *wmemcpy(wchar_t *to, const wchar_t *from, size_t n);
EXPORT wchar_t *
wmemcpy(wchar_t *to, const wchar_t *from, size_t n)
{
	if (overlap(to, n * sizeof(*to), from, n * sizeof(*to)))
		TELL(REC_FUNC_WMEMCPY, to, from, n);
	return LIKELY(REAL(wmemcpy) != NULL) ? real.wmemcpy(to, from, n)
					     : bytes(to, from, n * sizeof(*to));
}

/* ---- strings ---- */

/* What a function for strings does when libc's is not known yet: at most `most`
 * characters of `from` to the end of `to`, and then `pad` zeros. */
static char *
put(char *to, const char *from, size_t most, size_t pad)
{
	size_t n = length(from, most);

	bytes(to, from, n);
	for (size_t i = 0; i < pad; i++)
		((volatile char *)to)[n + i] = '\0';
	return to + n;
}

#define COPY(name, ...)                                                                  \
	EXPORT char *name(char *to, const char *from, ##__VA_ARGS__);                    \
	EXPORT char *name(char *to, const char *from, ##__VA_ARGS__)

COPY(strcpy)
{
	size_t n = length(from, SIZE_MAX) + 1;

	if (overlap(to, n, from, n))
		TELL(REC_FUNC_STRCPY, to, from, 0);
	if (UNLIKELY(REAL(strcpy) == NULL)) {
		put(to, from, SIZE_MAX, 1);
		return to;
	}
	return REAL(strcpy)(to, from, 0);
}

COPY(__strcpy_chk, size_t room)
{
	size_t n = length(from, SIZE_MAX) + 1;

	if (overlap(to, n, from, n))
		TELL(REC_FUNC_STRCPY, to, from, 0);
	return REAL(strcpy_chk) != NULL ? real.strcpy_chk(to, from, room)
					: bytes(to, from, n);
}

COPY(stpcpy)
{
	size_t n = length(from, SIZE_MAX) + 1;

	if (overlap(to, n, from, n))
		TELL(REC_FUNC_STPCPY, to, from, 0);
	return LIKELY(REAL(stpcpy) != NULL) ? REAL(stpcpy)(to, from, 0)
					    : put(to, from, SIZE_MAX, 1);
}

COPY(__stpcpy_chk, size_t room)
{
	size_t n = length(from, SIZE_MAX) + 1;

	if (overlap(to, n, from, n))
		TELL(REC_FUNC_STPCPY, to, from, 0);
	return REAL(stpcpy_chk) != NULL ? real.stpcpy_chk(to, from, room)
					: put(to, from, SIZE_MAX, 1);
}

/* Read: up to the NUL, or n; written: n. */
static ALWAYS_INLINE bool
some_overlap(const char *to, const char *from, size_t n, size_t *ret_length)
{
	size_t m = length(from, n);

	*ret_length = m;
	return overlap(to, n, from, m < n ? m + 1 : n);
}

COPY(strncpy, size_t n)
{
	size_t m;

	if (some_overlap(to, from, n, &m))
		TELL(REC_FUNC_STRNCPY, to, from, n);
	if (UNLIKELY(REAL(strncpy) == NULL)) {
		put(to, from, n, n - m);
		return to;
	}
	return real.strncpy(to, from, n);
}

COPY(__strncpy_chk, size_t n, size_t room)
{
	size_t m;

	if (some_overlap(to, from, n, &m))
		TELL(REC_FUNC_STRNCPY, to, from, n);
	if (UNLIKELY(REAL(strncpy_chk) == NULL)) {
		put(to, from, n, n - m);
		return to;
	}
	return real.strncpy_chk(to, from, n, room);
}

COPY(stpncpy, size_t n)
{
	size_t m;

	if (some_overlap(to, from, n, &m))
		TELL(REC_FUNC_STPNCPY, to, from, n);
	return LIKELY(REAL(stpncpy) != NULL) ? real.stpncpy(to, from, n)
					     : put(to, from, n, n - m);
}

/* Written: from the beginning of what is there, as memcheck counts. */
static ALWAYS_INLINE bool
end_overlaps(const char *to, const char *from, size_t most)
{
	size_t n = length(from, most), there = length(to, SIZE_MAX);

	return overlap(to, there + n + 1, from, n < most ? n + 1 : n);
}

COPY(strcat)
{
	if (end_overlaps(to, from, SIZE_MAX))
		TELL(REC_FUNC_STRCAT, to, from, 0);
	if (UNLIKELY(REAL(strcat) == NULL)) {
		put(to + length(to, SIZE_MAX), from, SIZE_MAX, 1);
		return to;
	}
	return REAL(strcat)(to, from, 0);
}

COPY(__strcat_chk, size_t room)
{
	if (end_overlaps(to, from, SIZE_MAX))
		TELL(REC_FUNC_STRCAT, to, from, 0);
	if (UNLIKELY(REAL(strcat_chk) == NULL)) {
		put(to + length(to, SIZE_MAX), from, SIZE_MAX, 1);
		return to;
	}
	return real.strcat_chk(to, from, room);
}

COPY(strncat, size_t n)
{
	if (end_overlaps(to, from, n))
		TELL(REC_FUNC_STRNCAT, to, from, n);
	if (UNLIKELY(REAL(strncat) == NULL)) {
		put(to + length(to, SIZE_MAX), from, n, 1);
		return to;
	}
	return real.strncat(to, from, n);
}

COPY(__strncat_chk, size_t n, size_t room)
{
	if (end_overlaps(to, from, n))
		TELL(REC_FUNC_STRNCAT, to, from, n);
	if (UNLIKELY(REAL(strncat_chk) == NULL)) {
		put(to + length(to, SIZE_MAX), from, n, 1);
		return to;
	}
	return real.strncat_chk(to, from, n, room);
}

/* ---- wide strings; nobody needs them before the constructor has run ---- */

EXPORT wchar_t *wcscpy(wchar_t *to, const wchar_t *from);
EXPORT wchar_t *
wcscpy(wchar_t *to, const wchar_t *from)
{
	size_t n = (wide_length(from, SIZE_MAX) + 1) * sizeof(*to);

	if (overlap(to, n, from, n))
		TELL(REC_FUNC_WCSCPY, to, from, 0);
	return LIKELY(REAL(wcscpy) != NULL) ? real.wcscpy(to, from, 0)
					    : bytes(to, from, n);
}

EXPORT wchar_t *wcscat(wchar_t *to, const wchar_t *from);
EXPORT wchar_t *
wcscat(wchar_t *to, const wchar_t *from)
{
	size_t n = wide_length(from, SIZE_MAX), there = wide_length(to, SIZE_MAX);

	if (overlap(to, (there + n + 1) * sizeof(*to), from, (n + 1) * sizeof(*to)))
		TELL(REC_FUNC_WCSCAT, to, from, 0);
	if (LIKELY(REAL(wcscat) != NULL))
		return real.wcscat(to, from, 0);
	bytes(to + there, from, (n + 1) * sizeof(*to));
	return to;
}
