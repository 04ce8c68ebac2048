/* SPDX-License-Identifier: MIT */
/* compiler.h -- the few things seep asks of the compiler beyond C11, under names of our
 * own.
 *
 * Everything here is a macro over a GNU attribute or builtin that gcc 12 and clang 14
 * both have. No types, no functions, no includes but <stddef.h>: any file of either world
 * may include it. It does not paper over other compilers; seep is built with these
 * two. */
#ifndef SEEP_SHARED_COMPILER_H
#define SEEP_SHARED_COMPILER_H

#include <stddef.h>

/* Which way a branch goes nearly always. For the hook's fast path and for nothing
 * colder. */
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* COLD code is moved out of the way of its callers. NOINLINE keeps a slow path, and the
 * registers it saves, out of a fast one. */
#define COLD __attribute__((cold, noinline))
#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
/* Reads what others write, for a guess: any value will do. */
#define RACY __attribute__((no_sanitize("thread")))

/* A name that leaves libseep.so; all others stay hidden (-fvisibility=hidden). */
#define SEEP_EXPORT __attribute__((visibility("default"), used))
/* A variable that does not, said where it is declared: or each use loads its address
 * first. */
#define SEEP_OWN __attribute__((visibility("hidden")))

#define NORETURN __attribute__((noreturn))
#define MUST_USE __attribute__((warn_unused_result))
#define MAYBE_UNUSED __attribute__((unused))
#define FALLTHROUGH __attribute__((fallthrough))

/* Checks the arguments of a printf-like function: `fmt` and `first` count from 1. */
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))

/* Layout. ALIGNED_CACHE keeps what different threads write on lines of their own; the
 * pair of lines that x86 prefetches together is not worth the memory it would cost. */
#define CACHE_LINE_BYTES 64
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define ALIGNED_CACHE ALIGNED(CACHE_LINE_BYTES)
#define PACKED __attribute__((packed))

/* Elements of an array. Refuses a pointer at compile time: the array type is then
 * negative. */
#define ARRAY_LEN(a)                                                                     \
	(sizeof(a) / sizeof((a)[0]) + 0 * sizeof(char[1 - 2 * IS_POINTER_(a)]))
#define IS_POINTER_(a) __builtin_types_compatible_p(__typeof__(a), __typeof__(&(a)[0]))

/* Round up or down to a power of two, or test for it. `n` and `align` unsigned, same
 * type. */
#define ALIGN_DOWN(n, align) ((n) & ~((align)-1))
#define ALIGN_UP(n, align) ALIGN_DOWN((n) + ((align)-1), (align))
#define IS_ALIGNED(n, align) (((n) & ((align)-1)) == 0)
#define IS_POWER_OF_2(n) ((n) != 0 && ((n) & ((n)-1)) == 0)

/* The struct that holds `member` at `ptr`. */
#define CONTAINER_OF(ptr, type, member)                                                  \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* The compiler moves no memory access across this; the processor still may. Enough
 * between a thread and its own signal handler, or to order stores for a reader that finds
 * us dead. */
#define COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

/* Tell the processor that this is a spin loop. */
#if defined(__x86_64__)
#	define CPU_RELAX() __asm__ volatile("pause" ::: "memory")
#elif defined(__aarch64__)
#	define CPU_RELAX() __asm__ volatile("yield" ::: "memory")
#else
#	define CPU_RELAX() COMPILER_BARRIER()
#endif

/* Opposite of _Thread_local's default: the offset is known when we are loaded, so access
 * is one instruction and never calls into the loader, which could allocate. */
#define TLS_STATIC _Thread_local __attribute__((tls_model("initial-exec")))

/* For code that must see its frames as they are. */
#define RETURN_ADDRESS() __builtin_return_address(0)
#define FRAME_ADDRESS() __builtin_frame_address(0)

#endif
