/* SPDX-License-Identifier: MIT */
/* sys_aarch64.h -- the system call instruction of aarch64. Included by sys.h only. */
#ifndef SEEP_SYS_AARCH64_H
#define SEEP_SYS_AARCH64_H

/* The same for all of a thread's life, and no other thread's meanwhile. */
static inline uintptr_t
thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

static inline long
sys_raw(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

#endif
