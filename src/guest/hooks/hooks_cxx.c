/* SPDX-License-Identifier: MIT */
/* hooks_cxx.c -- operator new and delete, all forms, under their mangled names.
 *
 * They are forwarded to the real ones, so a new_handler, an exception, an allocator's own
 * operator new all behave as without us. Most real ones call malloc, which then is our
 * hook: it takes the call site and the kind that we left in tls.forward. Those that do
 * not (tcmalloc, jemalloc's C++ part) leave it there, and we record the block ourselves.
 * The same with delete: recorded here, before; a free that follows for the same block is
 * let pass.
 *
 * Found late, because C++ may come into the process with a dlopen. Without any C++
 * library that defines them nobody calls us; should it happen all the same, malloc and
 * free serve. */
#include "guest/hooks/boot.h"
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/misuse/wrong_align.h"

#include <stdlib.h>

#define LIBSTDCXX "libstdc++.so.6"

/* All of operator new's forms: alignment and nothrow_t passed on as they came. */
typedef void *new_function(size_t n, uintptr_t second, uintptr_t third);
typedef void delete_function(void *p, uintptr_t second, uintptr_t third);

static COLD void *
resolve(void **slot, const char *name)
{
	void *f = next_late(name, LIBSTDCXX);

	if (f != NULL)
		wrong_operator(f);
	__atomic_store_n(slot, f, __ATOMIC_RELEASE);
	return f;
}

/* Every form of libstdc++'s delete ends in free, by way of one or two other forms, which
 * a program may have replaced. Where it has not, and free is our hook as well, the
 * allocator's own free does the same without the detour. */
static COLD bool
delete_is_free(void)
{
	static const char *const forms[] = {
		"_ZdlPv",
		"_ZdlPvRKSt9nothrow_t",
		"_ZdlPvm",
		"_ZdlPvSt11align_val_t",
		"_ZdlPvmSt11align_val_t",
		"_ZdlPvSt11align_val_tRKSt9nothrow_t",
		"_ZdaPv",
		"_ZdaPvRKSt9nothrow_t",
		"_ZdaPvm",
		"_ZdaPvSt11align_val_t",
		"_ZdaPvmSt11align_val_t",
		"_ZdaPvSt11align_val_tRKSt9nothrow_t",
	};
	static int known; /* 1: it is; -1: it is not */
	bool is = known > 0;

	if (known == 0) {
		is = !wrong_has_layers() && next_is_ours("free") && next.free != NULL;
		for (size_t i = 0; is && i < ARRAY_LEN(forms); i++)
			is = next_is_ours(forms[i]) && next_is_from(forms[i], LIBSTDCXX);
		known = is ? 1 : -1;
	}
	return is;
}

static COLD void *
resolve_delete(void **slot, const char *name)
{
	void *f = resolve(slot, name);

	if (f == NULL || !delete_is_free())
		return f;
	next_copy_free(slot);
	return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

/* Does the real new call malloc? Learnt from the first one recorded. If so, malloc counts
 * the bytes to the next sample; if not, we do. */
static enum { NEW_UNKNOWN, NEW_CALLS_MALLOC, NEW_DOES_NOT } new_is;

/* Nobody looks: jump on. */
static ALWAYS_INLINE bool
new_passes(size_t n)
{
	uint64_t left = gate_left();

	if (UNLIKELY(left <= n || new_is == NEW_UNKNOWN))
		return false;
	if (new_is == NEW_DOES_NOT)
		gate_pass(left - n);
	return true;
}

/* What libstdc++ asks malloc for: 1 for 0, and a multiple of the alignment. */
static size_t
passed_on(size_t n, size_t align)
{
	n += n == 0;
	return align == 0 ? n : (n + align - 1) & ~(align - 1);
}

static void *
new_at(void **slot, const char *name, const struct forward *f, uintptr_t second,
       uintptr_t third)
{
	new_function *real = (new_function *)__atomic_load_n(slot, __ATOMIC_ACQUIRE);
	const struct forward *outer = tls.forward;
	size_t n = f->bytes;
	void *p;

	if (UNLIKELY(real == NULL) &&
	    (real = (new_function *)resolve(slot, name)) == NULL)
		return malloc(n);
	if (outer != NULL && forward_is_near(outer, f->at.sp) && outer->bytes == n)
		return real(n, second, third); /* new[] calls new, the first one counts */
	tls.forward = f;
	p = real(n, second, third);
	/* Stored once: each store would take the line away from all other threads. */
	if (UNLIKELY(new_is != (tls.forward == NULL ? NEW_CALLS_MALLOC : NEW_DOES_NOT)))
		new_is = tls.forward == NULL ? NEW_CALLS_MALLOC : NEW_DOES_NOT;
	if (UNLIKELY(tls.forward != NULL)) {
		tls.forward = NULL;
		if (p != NULL)
			gate_allocated(p, n, f->kind, &f->at);
	}
	if (UNLIKELY(outer != NULL) && (uintptr_t)outer - f->at.sp < FORWARD_FAR)
		tls.forward = outer; /* we are a handler's, on top of it */
	if (UNLIKELY(f->align != 0) && p != NULL && recorder_now->exact)
		wrong_align_note(p, f->align);
	return p;
}

static void
delete_at(void **slot, const char *name, const struct wrong_form *form, uintptr_t cfa,
	  const uintptr_t *frame, void *p, uintptr_t second, uintptr_t third)
{
	delete_function *real =
		(delete_function *)__atomic_load_n(slot, __ATOMIC_ACQUIRE);
	uintptr_t outer;

	if (UNLIKELY(p == NULL))
		return;
	if (UNLIKELY(real == NULL) &&
	    (real = (delete_function *)resolve_delete(slot, name)) == NULL) {
		free(p);
		return;
	}
	if (UNLIKELY(boot_owns(p)))
		return;
	if (tls.forward_free == (uintptr_t)p) { /* sized delete calls the plain one */
		real(p, second, third);
		return;
	}
	if (!gate_freeing(p, cfa, frame, form, second, third))
		return;
	if (UNLIKELY(wrong_has_layers()) && form->size_arg + form->align_arg != 0 &&
	    wrong_delete_around(p)) {
		next.free(p);
		return;
	}
	/* of what a handler runs on top of; it asks for itself again */
	outer = tls.forward_free;
	tls.forward_free = (uintptr_t)p;
	real(p, second, third);
	tls.forward_free = outer;
}

#define NEW(symbol, what, alignment, params, names, args)                                \
	SEEP_EXPORT void *symbol params;                                                 \
	static void *symbol##_real;                                                      \
	static NOINLINE void *symbol##_event params                                      \
	{                                                                                \
		const struct forward f = {.at = GATE_HERE(),                             \
					  .bytes = n,                                    \
					  .passed_on = passed_on(n, alignment),          \
					  .align = alignment,                            \
					  .kind = what};                                 \
                                                                                         \
		return new_at(&symbol##_real, #symbol, &f, args);                        \
	}                                                                                \
	SEEP_EXPORT void *symbol params                                                  \
	{                                                                                \
		if (LIKELY(new_passes(n)) && symbol##_real != NULL)                      \
			return ((new_function *)symbol##_real)(n, args);                 \
		return symbol##_event names;                                             \
	}

#define DELETE(symbol, said, params, args)                                               \
	SEEP_EXPORT void symbol params;                                                  \
	SEEP_EXPORT void symbol params                                                   \
	{                                                                                \
		static const struct wrong_form form = said;                              \
		static void *real;                                                       \
                                                                                         \
		if (LIKELY(gate_free_passes(p)) && real != NULL)                         \
			((delete_function *)real)(args);                                 \
		else                                                                     \
			delete_at(&real, #symbol, &form, GATE_CFA(), GATE_FRAME(),       \
				  args);                                                 \
	}

#define ARGS(...) __VA_ARGS__
/* Its kinds, and which argument says the size, the alignment. */
#define PLAIN(size, align)                                                               \
	{                                                                                \
		REC_FUNC_DELETE, WRONG_OTHERS | 1 << REC_KIND_NEW, size, align           \
	}
#define ARRAY(size, align)                                                               \
	{                                                                                \
		REC_FUNC_DELETE_ARRAY, WRONG_OTHERS | 1 << REC_KIND_NEW_ARRAY, size,     \
			align                                                            \
	}

/* clang-format off */
NEW(_Znwm,                              REC_KIND_NEW,       0, (size_t n), (n), ARGS(0, 0))
NEW(_ZnwmRKSt9nothrow_t,                REC_KIND_NEW,       0, (size_t n, uintptr_t t), (n, t), ARGS(t, 0))
NEW(_ZnwmSt11align_val_t,               REC_KIND_NEW,       al, (size_t n, uintptr_t al), (n, al), ARGS(al, 0))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, REC_KIND_NEW,       al, (size_t n, uintptr_t al, uintptr_t t), (n, al, t), ARGS(al, t))
NEW(_Znam,                              REC_KIND_NEW_ARRAY, 0, (size_t n), (n), ARGS(0, 0))
NEW(_ZnamRKSt9nothrow_t,                REC_KIND_NEW_ARRAY, 0, (size_t n, uintptr_t t), (n, t), ARGS(t, 0))
NEW(_ZnamSt11align_val_t,               REC_KIND_NEW_ARRAY, al, (size_t n, uintptr_t al), (n, al), ARGS(al, 0))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, REC_KIND_NEW_ARRAY, al, (size_t n, uintptr_t al, uintptr_t t), (n, al, t), ARGS(al, t))

DELETE(_ZdlPv,                                PLAIN(0, 0), (void *p),                             ARGS(p, 0, 0))
DELETE(_ZdlPvRKSt9nothrow_t,                  PLAIN(0, 0), (void *p, uintptr_t t),                ARGS(p, t, 0))
DELETE(_ZdlPvm,                               PLAIN(1, 0), (void *p, size_t n),                   ARGS(p, n, 0))
DELETE(_ZdlPvSt11align_val_t,                 PLAIN(0, 1), (void *p, uintptr_t al),               ARGS(p, al, 0))
DELETE(_ZdlPvmSt11align_val_t,                PLAIN(1, 2), (void *p, size_t n, uintptr_t al),     ARGS(p, n, al))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t,   PLAIN(0, 1), (void *p, uintptr_t al, uintptr_t t),  ARGS(p, al, t))
DELETE(_ZdaPv,                                ARRAY(0, 0), (void *p),                             ARGS(p, 0, 0))
DELETE(_ZdaPvRKSt9nothrow_t,                  ARRAY(0, 0), (void *p, uintptr_t t),                ARGS(p, t, 0))
DELETE(_ZdaPvm,                               ARRAY(1, 0), (void *p, size_t n),                   ARGS(p, n, 0))
DELETE(_ZdaPvSt11align_val_t,                 ARRAY(0, 1), (void *p, uintptr_t al),               ARGS(p, al, 0))
DELETE(_ZdaPvmSt11align_val_t,                ARRAY(1, 2), (void *p, size_t n, uintptr_t al),     ARGS(p, n, al))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t,   ARRAY(0, 1), (void *p, uintptr_t al, uintptr_t t),  ARGS(p, al, t))
/* clang-format on */
