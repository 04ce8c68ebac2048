/* SPDX-License-Identifier: MIT */
/* library.h -- is a frame code of a language's standard library?
 *
 * C++ and Rust put many frames of their libraries between a program's own line and
 * malloc, most of them inlined into the program's own module. The source file decides
 * where it is known: a program may have a namespace `core` or specialise a template of
 * `std`. Without a file the name decides, together with the mangling, which says the
 * language. */
#ifndef SEEP_ANALYZE_LIBRARY_H
#define SEEP_ANALYZE_LIBRARY_H

#include <stdbool.h>

/* Last part of a module's path: is all of its code the library's? */
bool library_module(const char *module);

/* Path of a source file: does it belong to the library? */
bool library_file(const char *path);

/* A function whose file is not known. `linkage` is its name in the symbol table, "" when
 * that is the same or not known. */
bool library_function(const char *function, const char *linkage);

/* The tables, for tests and documentation; each ends with NULL. */
extern const char *const library_modules[];
extern const char *const library_files[];

#endif
