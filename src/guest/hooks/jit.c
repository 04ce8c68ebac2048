/* SPDX-License-Identifier: MIT */
/* jit.c -- __register_frame and its kin: unwind tables of code made at run time.
 *
 * LLVM and others tell libgcc's unwinder about their code with these calls. We pass them
 * on and keep a copy of each table: the stack of an allocation can then be followed
 * through such code without frame pointers. A copy, because the program may take the
 * original away while another thread looks for something else in it.
 *
 * Readers take no lock. They say that they are there by a counter; a copy that was taken
 * out is unmapped, and its place used again, only when nobody is. A reader that was
 * thrown out by a longjmp stays counted for good: then copies stay too, MAX_TABLES and
 * MAX_BYTES of them. What has no room is not kept, and its frames are followed by their
 * records if they have any.
 *
 * Nothing here changes what libgcc is told. */
#include "guest/hooks/jit.h"

#include "guest/hooks/gate.h"
#include "guest/record/file/recorder.h"
#include "guest/rt/lock_once.h"
#include "guest/rt/rt_map.h"
#include "guest/unwind/eh_frame.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum {
	MAX_TABLES = 512,
	MAX_BYTES = 4 << 20, /* of one table */
};

struct table {
	uint32_t live; /* last written, first read */
	const void *begin;
	uintptr_t start, end; /* code */
	unsigned char *copy;  /* NULL: the place was never used, or is free again */
	size_t bytes;
};

static struct table tables[MAX_TABLES];
static uint32_t used; /* places that were ever used */
static uint32_t readers;
static struct lock_once lock;

/* ---- the unwinder asks ---- */

static bool
covers(const struct table *t, uintptr_t pc)
{
	return __atomic_load_n(&t->live, __ATOMIC_ACQUIRE) != 0 && pc >= t->start &&
	       pc < t->end;
}

bool
jit_find(uintptr_t pc, struct unw_module *ret)
{
	uint32_t n = __atomic_load_n(&used, __ATOMIC_ACQUIRE);

	if (n == 0)
		return false;
	__atomic_fetch_add(&readers, 1, __ATOMIC_SEQ_CST);
	while (n-- > 0) {
		const struct table *t = &tables[n];

		if (!covers(t, pc))
			continue;
		*ret = (struct unw_module){
			.start = (uintptr_t)t->copy,
			.end = (uintptr_t)t->copy + t->bytes,
			.copy = t->copy,
			.shift = (uintptr_t)t->begin - (uintptr_t)t->copy,
		};
		return true;
	}
	jit_done();
	return false;
}

void
jit_done(void)
{
	__atomic_fetch_sub(&readers, 1, __ATOMIC_SEQ_CST);
}

/* ---- tables come and go ---- */

/* Bytes of the table at `begin` with the zero that ends it; 0 when that is too far
 * away. */
static size_t
table_bytes(const unsigned char *begin)
{
	size_t n = 0;
	uint32_t length;

	do {
		memcpy(&length, begin + n, sizeof(length));
		if (length == UINT32_MAX || length > MAX_BYTES - n - 4)
			return 0;
		n += sizeof(length) + length;
	} while (length != 0 && n <= MAX_BYTES - 4);
	return length == 0 ? n : 0;
}

/* The range of all code that the copy speaks of; empty when it is of no use. */
static void
find_range(struct table *t)
{
	struct unw_module m = {
		.start = (uintptr_t)t->copy,
		.end = (uintptr_t)t->copy + t->bytes,
		.copy = t->copy,
		.shift = (uintptr_t)t->begin - (uintptr_t)t->copy,
	};

	eh_range(&m, &t->start, &t->end);
}

/* Code came or went: nothing that was known about these addresses holds. */
static void
forget(uintptr_t start, uintptr_t end)
{
	if (recorder_now != NULL && recorder_now->base != NULL &&
	    recorder_now->unw != NULL)
		unw_forget(recorder_now->unw, start, end);
}

/* A place nobody looks at, with nothing in it. Lock held. */
static struct table *
place(void)
{
	bool quiet = __atomic_load_n(&readers, __ATOMIC_SEQ_CST) == 0;

	for (uint32_t i = 0; quiet && i < used; i++) {
		struct table *t = &tables[i];

		if (t->live == 0 && t->copy != NULL) {
			unsigned char *copy = t->copy;
			size_t bytes = t->bytes;

			/* First: a handler, or a forked child, may come back to this. */
			t->copy = NULL;
			t->bytes = 0;
			COMPILER_BARRIER();
			rt_unmap(copy, bytes);
		}
		if (t->live == 0)
			return t;
	}
	return used < MAX_TABLES ? &tables[used] : NULL;
}

static void
keep(const void *begin)
{
	size_t bytes = begin == NULL ? 0 : table_bytes(begin);
	struct table *t, made = {.begin = begin, .bytes = bytes};

	if (bytes <= 4 || !lock_once_take(&lock, lock_id()))
		return;
	t = place();
	made.copy = t == NULL ? NULL : rt_map(bytes);
	if (made.copy != NULL) {
		memcpy(made.copy, begin, bytes);
		find_range(&made);
		forget(made.start, made.end);
		*t = made;
		__atomic_store_n(&t->live, 1, __ATOMIC_RELEASE);
		if (t == &tables[used])
			__atomic_store_n(&used, used + 1, __ATOMIC_RELEASE);
	}
	lock_once_drop(&lock);
}

static void
drop(const void *begin)
{
	if (begin == NULL || !lock_once_take(&lock, lock_id()))
		return;
	for (uint32_t i = used; i-- > 0;) {
		struct table *t = &tables[i];

		if (t->live == 0 || t->begin != begin)
			continue;
		__atomic_store_n(&t->live, 0, __ATOMIC_SEQ_CST);
		forget(t->start, t->end);
		break;
	}
	lock_once_drop(&lock);
}

void
jit_forked(void)
{
	lock_once_forked(&lock, lock_id());
	if (tls.busy == 0)
		readers = 0; /* others, in the middle of a stack */
}

/* ---- the functions themselves ---- */

enum { REGISTER, REGISTER_INFO, DEREGISTER, DEREGISTER_INFO, KINDS };

/* libgcc's own. A program that links them has it loaded, though maybe where only its own
 * libraries see it. One that looks for them by name may not; then there is nobody to be
 * told, as without us. */
static void *
real(unsigned kind)
{
	static const char *const names[KINDS] = {
		"__register_frame",
		"__register_frame_info",
		"__deregister_frame",
		"__deregister_frame_info",
	};
	static void *found[KINDS];
	void *f = __atomic_load_n(&found[kind], __ATOMIC_RELAXED), *library;
	int saved = errno;
	uintptr_t was;

	if (f != NULL)
		return f;
	was = gate_quiet(
		GATE_CFA()); /* what the loader allocates for us is not the program's */
	f = dlsym(RTLD_NEXT, names[kind]);
	if (f == NULL &&
	    (library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD)) != NULL)
		f = dlsym(library, names[kind]);
	gate_unquiet(was);
	errno = saved;
	__atomic_store_n(&found[kind], f, __ATOMIC_RELAXED);
	return f;
}

void __register_frame(void *begin);
void __register_frame_info(const void *begin, void *object);
void __deregister_frame(void *begin);
void *__deregister_frame_info(const void *begin);

SEEP_EXPORT void
__register_frame(void *begin)
{
	void (*next)(void *) = (void (*)(void *))real(REGISTER);

	keep(begin);
	if (next != NULL)
		next(begin);
}

SEEP_EXPORT void
__register_frame_info(const void *begin, void *object)
{
	void (*next)(const void *, void *) =
		(void (*)(const void *, void *))real(REGISTER_INFO);

	keep(begin);
	if (next != NULL)
		next(begin, object);
}

SEEP_EXPORT void
__deregister_frame(void *begin)
{
	void (*next)(void *) = (void (*)(void *))real(DEREGISTER);

	drop(begin);
	if (next != NULL)
		next(begin);
}

SEEP_EXPORT void *
__deregister_frame_info(const void *begin)
{
	void *(*next)(const void *) = (void *(*)(const void *))real(DEREGISTER_INFO);

	drop(begin);
	return next != NULL ? next(begin) : NULL;
}
