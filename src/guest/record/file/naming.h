/* SPDX-License-Identifier: MIT */
/* naming.h -- the file name of a recording, from the pattern of SEEP=name=. */
#ifndef SEEP_NAMING_H
#define SEEP_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NAMING_PATTERN_BYTES = 128,
	NAMING_FILE_BYTES = 256, /* NAME_MAX and a NUL */
	NAMING_TRIES = 4096,
};

/* Is it one? Not empty, also without .live, no '/' and no control character, and of '%'
 * only %e %p %n %%. */
bool naming_valid(const char *pattern);

/* What tells one recording from another. */
struct naming {
	const char *program; /* path of the executable */
	uint32_t pid;
	uint64_t number; /* 0 first; counted up while the name is taken */
};

/* The name, `ret` having NAMING_FILE_BYTES: always without '/' and ending in .live. A
 * pattern without %n gets its number before that, unless it is 0. false when it is too
 * long. */
bool naming_expand(const char *pattern, const struct naming *n, char *ret);

#endif
