/* SPDX-License-Identifier: MIT */
/* test_detour.c -- instructions are taken apart as long as they are, and moved so that
 * they mean the same; what is not understood is refused. */
#include <errno.h>
#include <sys/mman.h>

#include "t.h"
#include "tool/target/trace/detour.h"
#include "tool/target/trace/x86insn.h"

static unsigned
length(const char *bytes, size_t n)
{
	struct x86_insn in;

	return x86_decode((const uint8_t *)bytes, n, &in) ? in.bytes : 0;
}

#define LENGTH(text) length(text, sizeof(text) - 1)

T_TEST(lengths)
{
	T_EQ(LENGTH("\x55"), 1);				 /* push %rbp */
	T_EQ(LENGTH("\x41\x57"), 2);				 /* push %r15 */
	T_EQ(LENGTH("\x48\x89\xe5"), 3);			 /* mov %rsp, %rbp */
	T_EQ(LENGTH("\x48\x83\xec\x18"), 4);			 /* sub $24, %rsp */
	T_EQ(LENGTH("\x48\x81\xec\x00\x01\x00\x00"), 7);	 /* sub $256, %rsp */
	T_EQ(LENGTH("\xf3\x0f\x1e\xfa"), 4);			 /* endbr64 */
	T_EQ(LENGTH("\x80\x3d\x01\x02\x03\x04\x00"), 7);	 /* cmpb $0, x(%rip) */
	T_EQ(LENGTH("\x64\x48\x8b\x04\x25\x28\x00\x00\x00"), 9); /* mov %fs:40, %rax */
	T_EQ(LENGTH("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"), 10); /* movabs */
	T_EQ(LENGTH("\xb8\x01\x02\x03\x04"), 5);
	T_EQ(LENGTH("\x66\xb8\x01\x02"), 4);
	T_EQ(LENGTH("\xf6\xc7\x01"), 3); /* test $1, %bh */
	T_EQ(LENGTH("\xf7\xc7\x01\x00\x00\x00"), 6);
	T_EQ(LENGTH("\xf7\xe6"), 2);		     /* mul %esi */
	T_EQ(LENGTH("\x0f\x84\x00\x00\x00\x00"), 6); /* je */
	T_EQ(LENGTH("\x74\x05"), 2);
	T_EQ(LENGTH("\xe8\x00\x00\x00\x00"), 5);
	T_EQ(LENGTH("\xff\x25\x00\x00\x00\x00"), 6);	     /* jmp *x(%rip) */
	T_EQ(LENGTH("\x0f\xb6\x44\x24\x08"), 5);	     /* movzbl 8(%rsp), %eax */
	T_EQ(LENGTH("\xc5\xf8\x77"), 3);		     /* vzeroupper */
	T_EQ(LENGTH("\xc4\xe2\x7d\x58\xc0"), 5);	     /* vpbroadcastd */
	T_EQ(LENGTH("\x66\x0f\x3a\x0f\xc1\x08"), 6);	     /* palignr */
	T_EQ(LENGTH("\xf0\x0f\xb1\x15\x00\x00\x00\x00"), 8); /* lock cmpxchg x(%rip) */
	T_EQ(LENGTH("\xc9\x90\x90"), 1);		     /* leave */
	T_EQ(LENGTH("\xca\x08\x00\x90"), 3);		     /* lret $8 */
	T_EQ(LENGTH("\xcb\x90\x90"), 1);		     /* lret */
}

T_TEST(cut_off_or_unknown)
{
	static const char text[] = "\x48\x81\xec\x00\x01\x00\x00";

	for (size_t n = 0; n < sizeof text - 1; n++)
		T_EQ(length(text, n), 0);
	T_EQ(LENGTH("\x06"), 0); /* not on this processor */
	T_EQ(LENGTH("\x67\x8b\x00"), 0);
	T_EQ(LENGTH("\x62\xf1\x7c\x48\x58\xc0"), 0); /* EVEX */
	T_EQ(LENGTH("\x66\xe9\x00\x00\x00\x00"),
	     0); /* two or four bytes: processors differ */
	T_EQ(LENGTH("\x8f\xe8\x78\xc0\xc1\x05"), 0); /* XOP */
}

/* Code at a place of its own, that can be called. */
static uint8_t *
code_page(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* int f(int x) { if (x == 0) return 7; return word; }, with a short jump and a word from
 * the instruction pointer in its first bytes: both must be moved. */
static const uint8_t function[] = {
	0x85, 0xff,			    /* test %edi, %edi */
	0x74, 0x07,			    /* je 1f */
	0x8b, 0x05, 0x76, 0x00, 0x00, 0x00, /* mov 0x80(%entry), %eax */
	0xc3,				    /* ret */
	0xb8, 0x07, 0x00, 0x00, 0x00,	    /* 1: mov $7, %eax */
	0xc3,
};

T_TEST(moved_code_does_the_same)
{
	uint8_t *page = code_page();
	uint8_t *entry = page, *moved = page + 4096;
	int (*call_moved)(int), (*call_entry)(int);
	struct detour d;
	struct err e = {0};

	T_CHECK(page != NULL);
	memcpy(entry, function, sizeof function);
	memcpy(entry + 0x80, "\x2a\x00\x00\x00", 4);
	/* Behind the moved code: mov $99, %eax; ret, which is where the jump shall
	 * lead. */
	memcpy(page + 4096 + 256, "\xb8\x63\x00\x00\x00\xc3", 6);
	T_EQ(detour_make(function, sizeof function, (uintptr_t)entry,
			 (uintptr_t)moved + 256, (uintptr_t)moved, &d, &e),
	     0);
	memcpy(moved, d.moved, d.moved_bytes);
	memcpy(entry, d.jump, sizeof d.jump);
	T_EQ(mprotect(page, 8192, PROT_READ | PROT_EXEC), 0);
	*(void **)&call_moved = moved;
	*(void **)&call_entry = entry;
	T_EQ(call_moved(0), 7);
	T_EQ(call_moved(1), 42);
	T_EQ(call_entry(0), 99);
	munmap(page, 8192);
}

static int
make(const char *code, size_t n, uint64_t to)
{
	struct detour d;

	return detour_make((const uint8_t *)code, n, 0x500000, to, 0x600000, &d, NULL);
}

#define MAKE(text, to) make(text, sizeof(text) - 1, to)

T_TEST(refused)
{
	/* too short: xor %eax, %eax; ret */
	T_EQ(MAKE("\x31\xc0\xc3", 0x600100), -ENOTSUP);
	/* a call among the first instructions */
	T_EQ(MAKE("\x55\xe8\x00\x00\x00\x00\x5d\xc3", 0x600100), -ENOTSUP);
	/* one through a word */
	T_EQ(MAKE("\x55\xff\x15\x00\x00\x00\x00\x5d\xc3", 0x600100), -ENOTSUP);
	T_EQ(MAKE("\x55\xff\xd0\x90\x90\x90\x5d\xc3", 0x600100), -ENOTSUP);
	/* xbegin: where an abort leads would be moved */
	T_EQ(MAKE("\xc7\xf8\x00\x00\x00\x00\x90\xc3", 0x600100), -ENOTSUP);
	/* a loop to its second instruction */
	T_EQ(MAKE("\x90\x90\x90\x90\x90\x90\x90\xeb\xfa\xc3", 0x600100), -ENOTSUP);
	/* not understood */
	T_EQ(MAKE("\x06\x90\x90\x90\x90\x90", 0x600100), -ENOTSUP);
	/* too far */
	T_EQ(MAKE("\x55\x48\x89\xe5\x53\x50\xc3", UINT64_C(0x7f0000000000)), -ERANGE);
	T_EQ(MAKE("\x55\x48\x89\xe5\x53\x50\xc3", 0x600100), 0);
}

T_TEST(calls_are_found)
{
	/* nop; call +0x10; jmp +0x20; ret, at 0x1000 */
	static const uint8_t code[] = {0x90, 0xe8, 0x10, 0, 0, 0,
				       0xe9, 0x20, 0,	 0, 0, 0xc3};

	T_EQ(detour_calls(code, sizeof code, 0x1000, 0x1016), 1);
	T_EQ(detour_calls(code, sizeof code, 0x1000, 0x102b), 1);
	T_EQ(detour_calls(code, sizeof code, 0x1000, 0x1017), 0);
}

T_MAIN()
