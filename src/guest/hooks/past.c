/* SPDX-License-Identifier: MIT */
/* past.c -- ways past the hooks. See past.h.
 *
 * A library that is loaded with RTLD_DEEPBIND finds libc's malloc before ours, one that
 * dlmopen loads has a libc of its own, and whoever asks dlsym for libc's malloc gets it.
 * None of that is prevented. It is noted in the recording, because then an unknown
 * address proves nothing, and an empty table neither.
 *
 * The loader's functions look at their return address: it says whose RPATH, namespace and
 * RTLD_NEXT are meant. So their hooks only ask a function of ours where to go, and jump
 * there.
 *
 * __libc_malloc and the like are other names of glibc's malloc. Where that is what our
 * hooks call, they are hooks too. Over another allocator they are passed on: it may be
 * made from them. */
#include "guest/hooks/past.h"

#include "guest/hooks/loaded.h"
#include "guest/hooks/next.h"
#include "guest/record/file/recorder.h"
#include "guest/rt/rt_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool possible;

bool
past_possible(void)
{
	return __atomic_load_n(&possible, __ATOMIC_SEQ_CST);
}

static void
note(void)
{
	struct recorder *r = recorder_now;

	/* First here, for a recording that begins meanwhile. */
	__atomic_store_n(&possible, true, __ATOMIC_SEQ_CST);
	if (r->base != NULL)
		__atomic_fetch_or(&r->head->flags, REC_FLAG_PAST, __ATOMIC_SEQ_CST);
}

/* ---- the loader ---- */

static bool
is_ours(const void *at)
{
	return (const char *)at >= __ehdr_start && (const char *)at < _end;
}

static struct link_map *
module_of(const void *at)
{
	struct dl_find_object o;

	return loaded_find(at, &o) ? o.dlfo_link_map : NULL;
}

static bool
is_allocator(const char *name)
{
	static const char *const names[] = {
		"malloc",
		"calloc",
		"realloc",
		"reallocarray",
		"free",
		"memalign",
		"aligned_alloc",
		"posix_memalign",
		"valloc",
		"pvalloc",
		"__libc_malloc",
		"__libc_calloc",
		"__libc_free",
		"__libc_realloc",
		"__libc_valloc",
		"__libc_pvalloc",
		"__libc_memalign",
	};

	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		if (text_same(name, names[i]))
			return true;
	return false;
}

/* Does `caller` get something else than a hook of ours, or what is underneath them by
 * right? */
static bool
goes_past(void *handle, const char *name, const void *caller)
{
	const struct link_map *from = module_of(caller);
	const void *f;

	if (handle == RTLD_DEFAULT || is_ours(caller))
		return false;
	/* The allocator underneath, made from another one. */
	if (from != NULL && from == module_of((const void *)next.malloc_found))
		return false;
	if (handle == RTLD_NEXT)
		return from != _r_debug.r_map; /* we come next after the program */
	f = ((void *(*)(void *, const char *))next_dlsym())(handle, name);
	return f != NULL && !is_ours(f);
}

static void *
none(void)
{
	return NULL;
}

/* Here the loader's lock may be taken, unless one of our hooks has called: whatever was
 * loaded since the last time is found from now on. */
static void
look_again(const void *caller)
{
	if (_dl_find_object == NULL && !is_ours(caller))
		loaded_refresh();
}

/* dlclose does not care who calls. */
static int
close_and_look(void *handle)
{
	int r;

	loaded_closing(true);
	r = next.dlclose(handle);
	loaded_closing(false);
	return r;
}

/* Called by the hooks below with their arguments: return the real function. */
__attribute__((used)) static void *
past_dlopen(const char *file, int mode, const void *caller)
{
	(void)file;
	look_again(caller);
	if ((mode & RTLD_DEEPBIND) != 0)
		note();
	return next_find() && next.dlopen != NULL ? (void *)next.dlopen : (void *)none;
}

__attribute__((used)) static void *
past_dlmopen(Lmid_t space, const char *file, int mode)
{
	(void)file;
	if (space != LM_ID_BASE || (mode & RTLD_DEEPBIND) != 0)
		note();
	return next_find() && next.dlmopen != NULL ? (void *)next.dlmopen : (void *)none;
}

__attribute__((used)) static void *
past_dlsym(void *handle, const char *name, const void *caller)
{
	void *real;

	if (next_find() && name != NULL && is_allocator(name) && !past_possible() &&
	    goes_past(handle, name, caller))
		note();
	look_again(caller);
	real = next_dlsym();
	return real != NULL ? real : (void *)none;
}

__attribute__((used)) static void *
past_dlclose(void)
{
	if (!next_find() || next.dlclose == NULL)
		return (void *)none;
	return _dl_find_object == NULL ? (void *)close_and_look : (void *)next.dlclose;
}

#if defined(__x86_64__)
/* In: the arguments, of which the third may be the return address instead. */
#	define HOOK(name, third)                                                        \
		__asm__(".pushsection .text\n\t"                                         \
			".globl " #name "\n\t"                                           \
			".type " #name ", @function\n" #name ":\n\t"                     \
			".cfi_startproc\n\t"                                             \
			"endbr64\n\t"                                                    \
			"subq $40, %rsp\n\t"                                             \
			".cfi_adjust_cfa_offset 40\n\t"                                  \
			"movq %rdi, (%rsp)\n\t"                                          \
			"movq %rsi, 8(%rsp)\n\t"                                         \
			"movq %rdx, 16(%rsp)\n\t" third "call past_" #name "\n\t"        \
			"movq (%rsp), %rdi\n\t"                                          \
			"movq 8(%rsp), %rsi\n\t"                                         \
			"movq 16(%rsp), %rdx\n\t"                                        \
			"addq $40, %rsp\n\t"                                             \
			".cfi_adjust_cfa_offset -40\n\t"                                 \
			"jmp *%rax\n\t"                                                  \
			".cfi_endproc\n\t"                                               \
			".size " #name ", .-" #name "\n\t"                               \
			".popsection")
#	define CALLER "movq 40(%rsp), %rdx\n\t"
#elif defined(__aarch64__)
#	define HOOK(name, third)                                                        \
		__asm__(".pushsection .text\n\t"                                         \
			".globl " #name "\n\t"                                           \
			".type " #name ", %function\n" #name ":\n\t"                     \
			".cfi_startproc\n\t"                                             \
			"hint #34\n\t"                                                   \
			"stp x29, x30, [sp, #-48]!\n\t"                                  \
			".cfi_adjust_cfa_offset 48\n\t"                                  \
			".cfi_rel_offset x29, 0\n\t"                                     \
			".cfi_rel_offset x30, 8\n\t"                                     \
			"mov x29, sp\n\t"                                                \
			"stp x0, x1, [sp, #16]\n\t"                                      \
			"str x2, [sp, #32]\n\t" third "bl past_" #name "\n\t"            \
			"mov x16, x0\n\t"                                                \
			"ldp x0, x1, [sp, #16]\n\t"                                      \
			"ldr x2, [sp, #32]\n\t"                                          \
			"ldp x29, x30, [sp], #48\n\t"                                    \
			".cfi_restore x29\n\t"                                           \
			".cfi_restore x30\n\t"                                           \
			".cfi_adjust_cfa_offset -48\n\t"                                 \
			"br x16\n\t"                                                     \
			".cfi_endproc\n\t"                                               \
			".size " #name ", .-" #name "\n\t"                               \
			".popsection")
#	define CALLER "mov x2, x30\n\t"
#else
#	error "no hooks of the loader's functions for this processor"
#endif

HOOK(dlopen, CALLER);
HOOK(dlmopen, "");
HOOK(dlclose, "");
HOOK(dlsym, CALLER);

/* ---- other names of malloc ---- */

SEEP_EXPORT void *__libc_malloc(size_t n);
SEEP_EXPORT void *__libc_calloc(size_t count, size_t each);
SEEP_EXPORT void *__libc_realloc(void *p, size_t n);
SEEP_EXPORT void __libc_free(void *p);
SEEP_EXPORT void *__libc_memalign(size_t align, size_t n);
SEEP_EXPORT void *__libc_valloc(size_t n);
SEEP_EXPORT void *__libc_pvalloc(size_t n);

SEEP_EXPORT void *
__libc_malloc(size_t n)
{
	return next_find() && next.libc.malloc != NULL ? next.libc.malloc(n) : malloc(n);
}

SEEP_EXPORT void *
__libc_calloc(size_t count, size_t each)
{
	return next_find() && next.libc.calloc != NULL ? next.libc.calloc(count, each)
						       : calloc(count, each);
}

SEEP_EXPORT void *
__libc_realloc(void *p, size_t n)
{
	return next_find() && next.libc.realloc != NULL ? next.libc.realloc(p, n)
							: realloc(p, n);
}

SEEP_EXPORT void
__libc_free(void *p)
{
	if (next_find() && next.libc.free != NULL)
		next.libc.free(p);
	else
		free(p);
}

SEEP_EXPORT void *
__libc_memalign(size_t align, size_t n)
{
	return next_find() && next.libc.memalign != NULL ? next.libc.memalign(align, n)
							 : memalign(align, n);
}

SEEP_EXPORT void *
__libc_valloc(size_t n)
{
	return next_find() && next.libc.valloc != NULL ? next.libc.valloc(n) : valloc(n);
}

SEEP_EXPORT void *
__libc_pvalloc(size_t n)
{
	return next_find() && next.libc.pvalloc != NULL ? next.libc.pvalloc(n)
							: pvalloc(n);
}
