/* SPDX-License-Identifier: MIT */
/* objsym.h -- names of variables: which data symbol of a binary covers an address.
 *
 * sym.h answers for code; here are the symbols of objects and, for words that point to
 * them, of functions, from the symbol table of the binary or of its debug file. Read
 * once, sorted, searched. */
#ifndef SEEP_SYM_OBJSYM_H
#define SEEP_SYM_OBJSYM_H

#include <stdbool.h>
#include <stdint.h>

struct objsym;

/* Reads the symbol tables of `path`; NULL when there is none, or it is no ELF file.
 * `debug` is its separate debug file, or NULL. Free with objsym_free. */
struct objsym *objsym_read(const char *path, const char *debug);
void objsym_free(struct objsym *o); /* NULL is fine */

/* The symbol that covers `vaddr`, an address as in the file's own program headers, and
 * how far into it that is; NULL when there is none. Borrowed until objsym_free. */
const char *objsym_find(const struct objsym *o, uint64_t vaddr, uint64_t *ret_off);

#endif
