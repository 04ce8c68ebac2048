/* SPDX-License-Identifier: MIT */
/* rtti.h -- which C++ class an object is of, read from the process itself.
 *
 * The first word of an object with virtual functions points into its class's table;
 * before the place it points at there is the class's typeinfo, and in that its name. So
 * it works for stripped programs too, as long as they were built with RTTI. Every step is
 * checked; data that only looks like it gives no name. */
#ifndef SEEP_TARGET_RTTI_H
#define SEEP_TARGET_RTTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/model/memmap.h"
#include "tool/target/proc/procmem.h"

/* The class's name as the compiler writes it ("7Session", "N2ns7SessionE") for the word
 * `vptr`; false when it is no table of virtual functions. `size` of at least 64. */
bool rtti_class(const struct procmem *m, const struct memmap *map, uint64_t vptr,
		char *ret_name, size_t size);

#endif
