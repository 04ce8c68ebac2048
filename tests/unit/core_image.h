/* SPDX-License-Identifier: MIT */
/* core_image.h -- a core file made by hand: two threads, a program, libc's data with an
 * arena, its heap, a stack. */
#ifndef SEEP_CORE_IMAGE_H
#define SEEP_CORE_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heap_image.h"

enum {
	CORE_IMAGE_ROOM = 256 << 10,
	CORE_IMAGE_PID = 4711,
	CORE_IMAGE_SEGMENTS = 5,
	CORE_IMAGE_STACK_BYTES = 4096,
	CORE_IMAGE_XSTATE_BYTES = 576,
};

#define CORE_IMAGE_EXE UINT64_C(0x555500000000)
#define CORE_IMAGE_STACK UINT64_C(0x7ffc00000000)

struct core_image {
	unsigned char *to;
	size_t at;
	uint64_t regs[2][27];
};

static inline void
core_image_put(struct core_image *c, const void *p, size_t n)
{
	memcpy(c->to + c->at, p, n);
	c->at += n;
}

static inline void
core_image_note(struct core_image *c, const char *name, uint32_t type, const void *data,
		uint32_t bytes)
{
	uint32_t head[3] = {(uint32_t)strlen(name) + 1, bytes, type};
	char text[8] = "";

	memcpy(text, name, strlen(name));
	core_image_put(c, head, sizeof head);
	core_image_put(c, text, (head[0] + 3) & ~3u);
	core_image_put(c, data, bytes);
	c->at = (c->at + 3) & ~(size_t)3;
}

static inline void
core_image_notes(struct core_image *c)
{
	static const char names[] = "/bin/service\0/lib/libc.so.6";
	unsigned char status[336] = {0}, info[136] = {0},
		      xstate[CORE_IMAGE_XSTATE_BYTES] = {0};
	uint64_t auxv[] = {AT_ENTRY,  CORE_IMAGE_EXE + 64,
			   AT_RANDOM, CORE_IMAGE_STACK + 4000,
			   AT_NULL,   0};
	struct {
		uint64_t n, page, rows[2][3];
		char names[sizeof names];
	} files = {2,
		   4096,
		   {{CORE_IMAGE_EXE, CORE_IMAGE_EXE + 4096, 0},
		    {HEAP_IMAGE_DATA, HEAP_IMAGE_DATA + HEAP_IMAGE_DATA_BYTES, 3}},
		   {0}};
	uint32_t pid = CORE_IMAGE_PID;

	memcpy(files.names, names, sizeof names);
	memcpy(info + 24, &pid, 4);
	memcpy(info + 40, "service", 8);
	for (unsigned i = 0; i < 2; i++, pid++) {
		memcpy(status + 32, &pid, 4);
		memcpy(status + 112, c->regs[i], sizeof c->regs[i]);
		core_image_note(c, "CORE", NT_PRSTATUS, status, sizeof status);
		if (i == 0) {
			core_image_note(c, "CORE", NT_PRPSINFO, info, sizeof info);
			core_image_note(c, "CORE", NT_AUXV, auxv, sizeof auxv);
			core_image_note(c, "CORE", NT_FILE, &files, sizeof files);
		}
		xstate[8] = (unsigned char)(i + 1);
		core_image_note(c, "LINUX", NT_X86_XSTATE, xstate, sizeof xstate);
	}
}

/* Writes a core with `h` in it to `to`, which has room for CORE_IMAGE_ROOM; its size. */
static inline size_t
core_image_make(unsigned char *to, const struct heap_image *h)
{
	static const struct {
		uint64_t at, bytes;
		uint32_t flags;
		bool there;
	} parts[CORE_IMAGE_SEGMENTS] = {
		{CORE_IMAGE_EXE, 4096, PF_R | PF_X, false},
		{HEAP_IMAGE_AT, HEAP_IMAGE_BYTES, PF_R | PF_W, true},
		{HEAP_IMAGE_DATA, HEAP_IMAGE_DATA_BYTES, PF_R | PF_W, true},
		{CORE_IMAGE_STACK, CORE_IMAGE_STACK_BYTES, PF_R | PF_W, true},
		{UINT64_C(0xffffffffff600000), 4096, PF_X, false},
	};
	static const unsigned char stack[CORE_IMAGE_STACK_BYTES];
	const void *data[CORE_IMAGE_SEGMENTS] = {NULL, h->heap, h->data, stack, NULL};
	struct core_image c = {.to = to};
	Elf64_Phdr headers[CORE_IMAGE_SEGMENTS + 1] = {{0}};
	Elf64_Ehdr head = {.e_type = ET_CORE,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof head,
			   .e_ehsize = sizeof head,
			   .e_phentsize = sizeof *headers,
			   .e_phnum = CORE_IMAGE_SEGMENTS + 1};

	memset(to, 0, CORE_IMAGE_ROOM);
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = EV_CURRENT;
	for (unsigned i = 0; i < 2; i++) {
		c.regs[i][16] = CORE_IMAGE_EXE + 100 + i; /* rip */
		c.regs[i][19] = CORE_IMAGE_STACK + 2048 + 512 * i;
	}
	c.regs[1][5] = h->cache + 0x300; /* rbx: may point to a block */
	c.at = sizeof head + sizeof headers;
	headers[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = c.at};
	core_image_notes(&c);
	headers[0].p_filesz = c.at - headers[0].p_offset;
	for (unsigned i = 0; i < CORE_IMAGE_SEGMENTS; i++) {
		c.at = (c.at + 4095) & ~(size_t)4095;
		headers[i + 1] =
			(Elf64_Phdr){.p_type = PT_LOAD,
				     .p_flags = parts[i].flags,
				     .p_offset = c.at,
				     .p_vaddr = parts[i].at,
				     .p_memsz = parts[i].bytes,
				     .p_filesz = parts[i].there ? parts[i].bytes : 0};
		if (parts[i].there)
			core_image_put(&c, data[i], (size_t)parts[i].bytes);
	}
	memcpy(to, &head, sizeof head);
	memcpy(to + sizeof head, headers, sizeof headers);
	return c.at;
}

#endif
