/* SPDX-License-Identifier: MIT */
/* sys_x86_64.h -- the system call instruction of x86-64. Included by sys.h only. */
#ifndef SEEP_SYS_X86_64_H
#define SEEP_SYS_X86_64_H

/* The same for all of a thread's life, and no other thread's meanwhile. */
static inline uintptr_t
thread_pointer(void)
{
	uintptr_t p;

	__asm__("mov %%fs:0, %0" : "=r"(p));
	return p;
}

static inline long
sys_raw(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#endif
