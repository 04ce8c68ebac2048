/* SPDX-License-Identifier: MIT */
/* elfsyms.h -- symbols of a foreign ELF file, read by whoever may be root.
 *
 * Nothing in the file is believed: every offset is compared with its size before it is
 * used, every count is bounded, and what is read is copied, so that a file that changes
 * meanwhile changes nothing here. No library is asked. 64-bit, little-endian files only;
 * what is damaged is left out. */
#ifndef SEEP_TARGET_ELFSYMS_H
#define SEEP_TARGET_ELFSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elfsyms_symbol {
	const char *name; /* borrowed, for the call */
	uint64_t value, bytes;
	unsigned char type, bind; /* STT_…, STB_… */
	uint16_t section;
	bool dynamic; /* of .dynsym */
};

typedef void elfsyms_visitor(void *ctx, const struct elfsyms_symbol *s);

/* Where the bytes are: in a file, or in memory when `data` is not NULL. */
struct elfsyms_file {
	int fd;
	const void *data;
	uint64_t bytes;
};

/* The file behind a descriptor, which stays the caller's. Of anything but a regular file
 * there is none. */
struct elfsyms_file elfsyms_file(int fd);

/* Visits the symbols for the loader first, then all others. False: not such a file. */
bool elfsyms_each(const struct elfsyms_file *f, elfsyms_visitor *each, void *ctx);

/* ELF address of the section of that name, or 0. */
uint64_t elfsyms_section(const struct elfsyms_file *f, const char *name);

#endif
