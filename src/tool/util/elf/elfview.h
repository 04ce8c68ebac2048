/* SPDX-License-Identifier: MIT */
/* elfview.h -- the headers of an ELF object, wherever its bytes are: a file, memory of
 * ours, a process, a core.
 *
 * Whoever made it may have lied: every range is read through a reader that knows what is
 * there, and counts are bounded before they are believed. 64-bit little-endian objects
 * only. */
#ifndef SEEP_UTIL_ELFVIEW_H
#define SEEP_UTIL_ELFVIEW_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELFVIEW_SEGMENTS_MAX = 512, ELFVIEW_ID_MAX = 64 };

/* All of the bytes or false. */
typedef bool elfview_reader(const void *ctx, uint64_t off, void *to, size_t n);

struct elfview {
	elfview_reader *read;
	const void *ctx;
	Elf64_Ehdr head;
	Elf64_Phdr *segments;
	unsigned nsegments;
};

struct elfview_id {
	unsigned char data[ELFVIEW_ID_MAX];
	size_t bytes; /* 0 = there is none */
};

/* Whether bytes begin as an ELF file does, of any machine; and as those that are read
 * here. At least EI_NIDENT bytes. */
bool elfview_is_elf(const void *ident);
bool elfview_is_ours(const void *ident);

/* Reads the head and the program headers. `ctx` is borrowed. False: not such an object,
 * or they are not all there; nothing is to be freed then. */
bool elfview_open(struct elfview *ret_view, elfview_reader *read, const void *ctx);
void elfview_close(struct elfview *v); /* legal on a zeroed one */

/* Readers: of bytes in memory, and of a file (ctx: its descriptor). */
struct elfview_bytes {
	const void *data;
	size_t n;
};
elfview_reader elfview_of_bytes, elfview_of_fd;

/* The n-th segment of a type, from 0; NULL: there are not as many. */
const Elf64_Phdr *elfview_segment(const struct elfview *v, unsigned type, unsigned nth);

/* The build-id in the notes; false when there is none. */
bool elfview_build_id(const struct elfview *v, struct elfview_id *ret_id);

/* The section headers, at most `most`; to be freed. NULL: none, more than that, or not
 * all there. */
Elf64_Shdr *elfview_sections(const struct elfview *v, unsigned most, unsigned *ret_n);

#endif
