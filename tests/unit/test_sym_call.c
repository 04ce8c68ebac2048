/* SPDX-License-Identifier: MIT */
/* test_sym_call.c -- which function a call calls: through a stub, through the table
 * itself, and where nothing can be said. The calls are made here, and asked about in this
 * very binary. */
#include <stdlib.h>
#include <string.h>

#include "t.h"
#include "tool/sym/sym.h"

#if defined(__x86_64__)

extern char __executable_start[];
extern char sym_call_stub[], sym_call_slot[], sym_call_own[], sym_call_register[];

/* Calls with an address behind each that can be named; never run. */
__asm__(".text\n"
	".globl sym_call_stub, sym_call_slot, sym_call_own, sym_call_register\n"
	"sym_call_calls:\n"
	"	call calloc@PLT\n"
	"sym_call_stub:\n"
	"	call *realloc@GOTPCREL(%rip)\n"
	"sym_call_slot:\n"
	"	call sym_call_calls\n"
	"sym_call_own:\n"
	"	nop\n	nop\n	nop\n	nop\n"
	"	call *%rax\n"
	"sym_call_register:\n"
	"	ret\n");

static const char *
callee(struct sym *s, const char *behind)
{
	const char *name = sym_callee(s, (uint64_t)(behind - __executable_start));

	return name != NULL ? name : "(none)";
}

T_TEST(calls)
{
	struct sym *s = sym_open("/proc/self/exe", NULL, 0, NULL, NULL);

	T_CHECK(s != NULL);
	if (s == NULL)
		return;
	T_STR(callee(s, sym_call_stub), "calloc");
	T_STR(callee(s, sym_call_slot), "realloc");
	T_STR(callee(s, sym_call_own), "(none)");
	T_STR(callee(s, sym_call_register), "(none)");
	T_CHECK(sym_callee(s, 0) == NULL);
	T_CHECK(sym_callee(s, 3) == NULL);
	T_CHECK(sym_callee(s, UINT64_MAX) == NULL);
	sym_close(s);
	free(realloc(calloc(1, 7), 9)); /* so that both are in the table */
}

#else

T_TEST(nothing_elsewhere)
{
	struct sym *s = sym_open("/proc/self/exe", NULL, 0, NULL, NULL);

	T_CHECK(s == NULL || sym_callee(s, 4096) == NULL);
	sym_close(s);
}

#endif

T_MAIN()
