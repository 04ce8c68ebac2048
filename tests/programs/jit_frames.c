/* SPDX-License-Identifier: MIT */
/* jit_frames.c -- allocations called from code made at run time that keeps no frame record.
 *
 * The code has rbp set to 0 and a frame of its own; only the unwind table that is registered with
 * libgcc tells how to leave it. Once with addresses relative to the table and once absolute, then
 * another piece of code with a larger frame at the same address, then one without a table. libgcc
 * has to know the tables too: _Unwind_Backtrace is asked, and must get past main. */
/* cflags: -O1 -g -fomit-frame-pointer -fno-optimize-sibling-calls */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

#include "truth.h"

void __register_frame(void *begin);
void __deregister_frame(void *begin);

static struct tally outer_pcrel = {.name = "outer_pcrel_call"},
		    outer_absolute = {.name = "outer_absolute_call"},
		    outer_again = {.name = "outer_again_call"};
static void *volatile kept;
static unsigned char *code;
static int frames_seen;

static _Unwind_Reason_Code
count_frame(struct _Unwind_Context *c, void *arg)
{
	(void)c, (void)arg;
	frames_seen++;
	return _URC_NO_REASON;
}

static TRUTH_NOINLINE void
make_block(struct tally *t, size_t bytes)
{
	kept = malloc(bytes);
	if (t != NULL)
		tally_alloc(t, bytes);
}

static TRUTH_NOINLINE void
look_back(struct tally *t, size_t bytes)
{
	(void)t, (void)bytes;
	frames_seen = 0;
	_Unwind_Backtrace(count_frame, NULL);
}

/* push rbp; xor ebp, ebp; sub rsp, frame; mov rax, rdi; mov rdi, rsi; mov rsi, rdx; call rax;
 * add rsp, frame; pop rbp; ret */
static void
write_code(unsigned char frame)
{
	const unsigned char text[] = {0x55, 0x31, 0xed, 0x48, 0x83, 0xec,  frame, 0x48,
				      0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48,  0x89,  0xd6,
				      0xff, 0xd0, 0x48, 0x83, 0xc4, frame, 0x5d,  0xc3};

	memcpy(code, text, sizeof(text));
}

static unsigned char *
put(unsigned char *p, const void *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* A CIE, an FDE and the end. `enc` is 0 or 0x1b: absolute, or 32 bits relative. */
static void
write_table(unsigned char *at, unsigned char enc, unsigned char frame)
{
	const unsigned char cie[] = {1, 'z', 'R',  0, 1, 0x78, 16,
				     1, enc, 0x0c, 7, 8, 0x90, 1};
	/* after 1: CFA + 8, rbp saved; after 6 more: + frame */
	unsigned char ins[] = {0x41, 0x0e, 16,	 0x86,
			       2,    0x46, 0x0e, (unsigned char)(16 + frame)};
	uint32_t word, zero = 0;
	unsigned char *p = at, *fde;

	word = 4 + sizeof(cie);
	p = put(p, &word, 4);
	p = put(p, &zero, 4);
	p = put(p, cie, sizeof(cie));
	fde = p + 4;
	word = (uint32_t)(4 + (enc == 0 ? 16 : 8) + 1 + sizeof(ins));
	p = put(p, &word, 4);
	word = (uint32_t)(fde - at);
	p = put(p, &word, 4);
	if (enc == 0) {
		uint64_t whole[2] = {(uintptr_t)code, 24};

		p = put(p, whole, 16);
	} else {
		uint32_t half[2] = {(uint32_t)((uintptr_t)code - (uintptr_t)p), 24};

		p = put(p, half, 8);
	}
	*p++ = 0;
	p = put(p, ins, sizeof(ins));
	put(p, &zero, 4);
}

typedef void jitted(void (*)(struct tally *, size_t), struct tally *, size_t);

/* One for each, so that they are told apart by name. */
#define OUTER(name, times)                                                               \
	static TRUTH_NOINLINE void name(struct tally *t)                                 \
	{                                                                                \
		for (size_t i = 0; i < (times); i++)                                     \
			((jitted *)(void *)code)(make_block, t, 101 + i);                \
	}
OUTER(outer_pcrel_call, 23)
OUTER(outer_absolute_call, 29)
OUTER(outer_again_call, 31)
OUTER(outer_bare_call, 37)

static TRUTH_NOINLINE int
followed(const char *what)
{
	((jitted *)(void *)code)(look_back, NULL, 0);
	/* look_back, the code, this one, main, and what calls that */
	if (frames_seen >= 5)
		return 0;
	truth_say("%s: libgcc saw %d frames\n", what, frames_seen);
	return 1;
}

int
main(void)
{
	static unsigned char tables[3][128] __attribute__((aligned(8)));
	int bad = 0;

	code = mmap((void *)(((uintptr_t)tables + (64 << 20)) & ~(uintptr_t)4095), 4096,
		    PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (code == MAP_FAILED)
		return 77;
	write_code(0x20);
	write_table(tables[0], 0x1b, 0x20);
	__register_frame(tables[0]);
	outer_pcrel_call(&outer_pcrel);
	bad += followed("relative");
	__deregister_frame(tables[0]);

	write_table(tables[1], 0, 0x20);
	__register_frame(tables[1]);
	memset(tables[0], 0xff, sizeof(tables[0])); /* the first is gone for good */
	outer_absolute_call(&outer_absolute);
	bad += followed("absolute");
	__deregister_frame(tables[1]);

	write_code(0x50);
	write_table(tables[2], 0x1b, 0x50);
	__register_frame(tables[2]);
	outer_again_call(&outer_again);
	bad += followed("again");
	__deregister_frame(tables[2]);

	outer_bare_call(NULL); /* cannot be followed, and harms nobody */
	truth_tell(&outer_pcrel);
	truth_tell(&outer_absolute);
	truth_tell(&outer_again);
	truth_say(
		"expect in=make_block allocs=120\nexpect in=outer_bare_call allocs=0\n");
	return bad;
}
