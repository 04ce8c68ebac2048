/* SPDX-License-Identifier: MIT */
/* demangle.h -- names of C++ and Rust functions as their authors wrote them.
 *
 * libiberty does the reading: the Itanium C++ scheme, and both of Rust's, which one
 * binary may mix. No state, any thread. */
#ifndef SEEP_SYM_DEMANGLE_H
#define SEEP_SYM_DEMANGLE_H

/* With parameters and, for templates, the return type: "void ns::put<int>(int const&)".
 * Rust's hash is left out. NULL when `name` is not mangled; else the caller frees it. */
char *demangle_full(const char *name);

/* Without parameters and return type, template arguments kept: "ns::put<int>". A clone
 * made by the optimizer keeps its mark as a suffix: "ns::put<int>.cold". Overloads get
 * the same short name: whoever must tell them apart compares the mangled ones. NULL and
 * ownership as above. */
char *demangle_short(const char *name);

#endif
