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
 * A program may replace only some of the forms: the C++ library's others then call these.
 * A call of such another form goes on to the library without a trace of ours. What the
 * program's own form asks malloc for, and gives to free, is recorded there, at the
 * address that it has there: there may be a header in front of what new returned.
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

enum form {
	NEW_PLAIN,
	NEW_NOTHROW,
	NEW_ALIGNED,
	NEW_ALIGNED_NOTHROW,
	NEW_ARRAY_PLAIN,
	NEW_ARRAY_NOTHROW,
	NEW_ARRAY_ALIGNED,
	NEW_ARRAY_ALIGNED_NOTHROW,
	DELETE_PLAIN,
	DELETE_NOTHROW,
	DELETE_SIZED,
	DELETE_ALIGNED,
	DELETE_SIZED_ALIGNED,
	DELETE_ALIGNED_NOTHROW,
	DELETE_ARRAY_PLAIN,
	DELETE_ARRAY_NOTHROW,
	DELETE_ARRAY_SIZED,
	DELETE_ARRAY_ALIGNED,
	DELETE_ARRAY_SIZED_ALIGNED,
	DELETE_ARRAY_ALIGNED_NOTHROW,
	FORMS,
};

#define BIT(form) (UINT32_C(1) << (form))
#define DELETES (BIT(FORMS) - BIT(DELETE_PLAIN))

/* Which forms the C++ library's own definition of a form may call, itself or by way of
 * another: of libstdc++ before and since version 11, and of libc++. */
static const struct {
	const char *name;
	uint32_t calls;
} forms[FORMS] = {
	[NEW_PLAIN] = {"_Znwm", 0},
	[NEW_NOTHROW] = {"_ZnwmRKSt9nothrow_t", BIT(NEW_PLAIN)},
	[NEW_ALIGNED] = {"_ZnwmSt11align_val_t", 0},
	[NEW_ALIGNED_NOTHROW] = {"_ZnwmSt11align_val_tRKSt9nothrow_t", BIT(NEW_ALIGNED)},
	[NEW_ARRAY_PLAIN] = {"_Znam", BIT(NEW_PLAIN)},
	[NEW_ARRAY_NOTHROW] = {"_ZnamRKSt9nothrow_t",
			       BIT(NEW_ARRAY_PLAIN) | BIT(NEW_NOTHROW) | BIT(NEW_PLAIN)},
	[NEW_ARRAY_ALIGNED] = {"_ZnamSt11align_val_t", BIT(NEW_ALIGNED)},
	[NEW_ARRAY_ALIGNED_NOTHROW] = {"_ZnamSt11align_val_tRKSt9nothrow_t",
				       BIT(NEW_ARRAY_ALIGNED) | BIT(NEW_ALIGNED_NOTHROW) |
					       BIT(NEW_ALIGNED)},
	[DELETE_PLAIN] = {"_ZdlPv", 0},
	[DELETE_NOTHROW] = {"_ZdlPvRKSt9nothrow_t", BIT(DELETE_PLAIN)},
	[DELETE_SIZED] = {"_ZdlPvm", BIT(DELETE_PLAIN)},
	[DELETE_ALIGNED] = {"_ZdlPvSt11align_val_t", 0},
	[DELETE_SIZED_ALIGNED] = {"_ZdlPvmSt11align_val_t", BIT(DELETE_ALIGNED)},
	[DELETE_ALIGNED_NOTHROW] = {"_ZdlPvSt11align_val_tRKSt9nothrow_t",
				    BIT(DELETE_ALIGNED)},
	[DELETE_ARRAY_PLAIN] = {"_ZdaPv", BIT(DELETE_PLAIN)},
	[DELETE_ARRAY_NOTHROW] = {"_ZdaPvRKSt9nothrow_t",
				  BIT(DELETE_ARRAY_PLAIN) | BIT(DELETE_PLAIN)},
	[DELETE_ARRAY_SIZED] = {"_ZdaPvm", BIT(DELETE_ARRAY_PLAIN) | BIT(DELETE_PLAIN)},
	[DELETE_ARRAY_ALIGNED] = {"_ZdaPvSt11align_val_t", BIT(DELETE_ALIGNED)},
	[DELETE_ARRAY_SIZED_ALIGNED] = {"_ZdaPvmSt11align_val_t",
					BIT(DELETE_ARRAY_ALIGNED) | BIT(DELETE_ALIGNED)},
	[DELETE_ARRAY_ALIGNED_NOTHROW] = {"_ZdaPvSt11align_val_tRKSt9nothrow_t",
					  BIT(DELETE_ARRAY_ALIGNED) |
						  BIT(DELETE_ALIGNED)},
};

/* The forms that the program defines itself: nobody calls ours. */
static COLD uint32_t
replaced(void)
{
	static uint32_t found; /* BIT(FORMS): looked for */
	uint32_t set = __atomic_load_n(&found, __ATOMIC_RELAXED);

	if (set != 0)
		return set & ~BIT(FORMS);
	for (unsigned i = 0; i < FORMS; i++)
		set |= next_is_ours(forms[i].name) ? 0 : BIT(i);
	if (set != 0)
		wrong_operators_replaced((set & DELETES) != 0);
	__atomic_store_n(&found, set | BIT(FORMS), __ATOMIC_RELAXED);
	return set;
}

/* Where calls of a form go on to. One of the two is set at the first call. */
struct real {
	void *recorded; /* after we have recorded it, or have prepared that */
	void *past_us;	/* at once: it comes by a form of the program's own */
};

/* To be called in either case; NULL = there is none. */
static COLD void *
resolve(struct real *real, enum form form)
{
	void *f = __atomic_load_n(&real->past_us, __ATOMIC_ACQUIRE);
	bool library;

	if (f != NULL)
		return f;
	f = next_late(forms[form].name, LIBSTDCXX);
	if (f == NULL)
		return NULL;
	library = wrong_operator(f);
	if (library && (replaced() & forms[form].calls) != 0)
		__atomic_store_n(&real->past_us, f, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&real->recorded, f, __ATOMIC_RELEASE);
	return f;
}

/* Every form of libstdc++'s delete ends in free, by way of one or two other forms, which
 * a program may have replaced. Where it has not, and free is our hook as well, the
 * allocator's own free does the same without the detour. */
static COLD bool
delete_is_free(void)
{
	static int known; /* 1: it is; -1: it is not */
	bool is = known > 0;

	if (known == 0) {
		is = !wrong_has_layers() && next_is_ours("free") && next.free != NULL &&
		     (replaced() & DELETES) == 0;
		for (unsigned i = DELETE_PLAIN; is && i < FORMS; i++)
			is = next_is_from(forms[i].name, LIBSTDCXX);
		known = is ? 1 : -1;
	}
	return is;
}

static COLD void *
resolve_delete(struct real *real, enum form form)
{
	void *f = resolve(real, form);

	if (f == NULL || real->past_us != NULL || !delete_is_free())
		return f;
	next_copy_free(&real->recorded);
	return __atomic_load_n(&real->recorded, __ATOMIC_ACQUIRE);
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
new_at(struct real *its, enum form form, const struct forward *f, uintptr_t second,
       uintptr_t third)
{
	new_function *real =
		(new_function *)__atomic_load_n(&its->recorded, __ATOMIC_ACQUIRE);
	const struct forward *outer = tls.forward;
	size_t n = f->bytes;
	void *p;

	if (UNLIKELY(real == NULL)) {
		real = (new_function *)resolve(its, form);
		if (real == NULL)
			return malloc(n);
		if (its->past_us != NULL)
			return real(n, second, third);
	}
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
delete_at(struct real *its, enum form which, const struct wrong_form *form, uintptr_t cfa,
	  const uintptr_t *frame, void *p, uintptr_t second, uintptr_t third)
{
	delete_function *real =
		(delete_function *)__atomic_load_n(&its->recorded, __ATOMIC_ACQUIRE);
	uintptr_t outer;

	if (UNLIKELY(real == NULL)) {
		real = (delete_function *)resolve_delete(its, which);
		if (real == NULL) {
			free(p);
			return;
		}
		if (its->past_us != NULL) {
			real(p, second, third);
			return;
		}
	}
	if (UNLIKELY(p == NULL))
		return;
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

#define NEW(symbol, form, what, alignment, params, names, args)                          \
	SEEP_EXPORT void *symbol params;                                                 \
	static struct real symbol##_real;                                                \
	static NOINLINE void *symbol##_event params                                      \
	{                                                                                \
		const struct forward f = {.at = GATE_HERE(),                             \
					  .bytes = n,                                    \
					  .passed_on = passed_on(n, alignment),          \
					  .align = alignment,                            \
					  .kind = what};                                 \
                                                                                         \
		return new_at(&symbol##_real, form, &f, args);                           \
	}                                                                                \
	SEEP_EXPORT void *symbol params                                                  \
	{                                                                                \
		if (LIKELY(new_passes(n)) && symbol##_real.recorded != NULL)             \
			return ((new_function *)symbol##_real.recorded)(n, args);        \
		return symbol##_event names;                                             \
	}

#define DELETE(symbol, form, said, params, args)                                         \
	SEEP_EXPORT void symbol params;                                                  \
	SEEP_EXPORT void symbol params                                                   \
	{                                                                                \
		static const struct wrong_form taken = said;                             \
		static struct real real;                                                 \
                                                                                         \
		if (LIKELY(gate_free_passes(p)) && real.recorded != NULL)                \
			((delete_function *)real.recorded)(args);                        \
		else                                                                     \
			delete_at(&real, form, &taken, GATE_CFA(), GATE_FRAME(), args);  \
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
NEW(_Znwm,                                 NEW_PLAIN,                    REC_KIND_NEW,       0, (size_t n), (n), ARGS(0, 0))
NEW(_ZnwmRKSt9nothrow_t,                   NEW_NOTHROW,                  REC_KIND_NEW,       0, (size_t n, uintptr_t t), (n, t), ARGS(t, 0))
NEW(_ZnwmSt11align_val_t,                  NEW_ALIGNED,                  REC_KIND_NEW,       al, (size_t n, uintptr_t al), (n, al), ARGS(al, 0))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t,    NEW_ALIGNED_NOTHROW,          REC_KIND_NEW,       al, (size_t n, uintptr_t al, uintptr_t t), (n, al, t), ARGS(al, t))
NEW(_Znam,                                 NEW_ARRAY_PLAIN,              REC_KIND_NEW_ARRAY, 0, (size_t n), (n), ARGS(0, 0))
NEW(_ZnamRKSt9nothrow_t,                   NEW_ARRAY_NOTHROW,            REC_KIND_NEW_ARRAY, 0, (size_t n, uintptr_t t), (n, t), ARGS(t, 0))
NEW(_ZnamSt11align_val_t,                  NEW_ARRAY_ALIGNED,            REC_KIND_NEW_ARRAY, al, (size_t n, uintptr_t al), (n, al), ARGS(al, 0))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t,    NEW_ARRAY_ALIGNED_NOTHROW,    REC_KIND_NEW_ARRAY, al, (size_t n, uintptr_t al, uintptr_t t), (n, al, t), ARGS(al, t))

DELETE(_ZdlPv,                                DELETE_PLAIN,                 PLAIN(0, 0), (void *p),                             ARGS(p, 0, 0))
DELETE(_ZdlPvRKSt9nothrow_t,                  DELETE_NOTHROW,               PLAIN(0, 0), (void *p, uintptr_t t),                ARGS(p, t, 0))
DELETE(_ZdlPvm,                               DELETE_SIZED,                 PLAIN(1, 0), (void *p, size_t n),                   ARGS(p, n, 0))
DELETE(_ZdlPvSt11align_val_t,                 DELETE_ALIGNED,               PLAIN(0, 1), (void *p, uintptr_t al),               ARGS(p, al, 0))
DELETE(_ZdlPvmSt11align_val_t,                DELETE_SIZED_ALIGNED,         PLAIN(1, 2), (void *p, size_t n, uintptr_t al),     ARGS(p, n, al))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t,   DELETE_ALIGNED_NOTHROW,       PLAIN(0, 1), (void *p, uintptr_t al, uintptr_t t),  ARGS(p, al, t))
DELETE(_ZdaPv,                                DELETE_ARRAY_PLAIN,           ARRAY(0, 0), (void *p),                             ARGS(p, 0, 0))
DELETE(_ZdaPvRKSt9nothrow_t,                  DELETE_ARRAY_NOTHROW,         ARRAY(0, 0), (void *p, uintptr_t t),                ARGS(p, t, 0))
DELETE(_ZdaPvm,                               DELETE_ARRAY_SIZED,           ARRAY(1, 0), (void *p, size_t n),                   ARGS(p, n, 0))
DELETE(_ZdaPvSt11align_val_t,                 DELETE_ARRAY_ALIGNED,         ARRAY(0, 1), (void *p, uintptr_t al),               ARGS(p, al, 0))
DELETE(_ZdaPvmSt11align_val_t,                DELETE_ARRAY_SIZED_ALIGNED,   ARRAY(1, 2), (void *p, size_t n, uintptr_t al),     ARGS(p, n, al))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t,   DELETE_ARRAY_ALIGNED_NOTHROW, ARRAY(0, 1), (void *p, uintptr_t al, uintptr_t t),  ARGS(p, al, t))
/* clang-format on */
