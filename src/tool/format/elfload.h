/* SPDX-License-Identifier: MIT */
/* elfload.h -- which part of an ELF file lies at which virtual address.
 *
 * Profiles give addresses of a process and, for every mapping, an offset in its file.
 * Symbols are found by the ELF's own virtual addresses, which only its program headers
 * tell. Nothing but these is read. */
#ifndef SEEP_FORMAT_ELFLOAD_H
#define SEEP_FORMAT_ELFLOAD_H

#include <stdbool.h>
#include <stdint.h>

struct elfload {
	uint64_t off, bytes, vaddr; /* in the file, how much of it, where it belongs */
	bool exec;
};

/* The PT_LOAD segments of a file; to be freed by the caller. False when it is not an ELF
 * file of 64 bits that can be read. */
bool elfload_read(const char *path, struct elfload **ret_loads, uint32_t *ret_n);

/* Virtual address of an offset in the file; false when no segment holds it. */
bool elfload_vaddr(const struct elfload *loads, uint32_t n, uint64_t off,
		   uint64_t *ret_vaddr);

#endif
