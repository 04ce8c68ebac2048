/* SPDX-License-Identifier: MIT */
/* named.h -- locations that are known by name alone.
 *
 * The frames of an interpreter or of a virtual machine have a name and no address, and
 * some formats say which functions were called and not where: folded stacks, profiles of
 * virtual machines. A location of the profile needs an offset all the same. It is made
 * from the names, the lines and the language, so that equal names are one location, also
 * after profiles are merged, and its top bit is set, which no address of a program
 * has. */
#ifndef SEEP_MODEL_NAMED_H
#define SEEP_MODEL_NAMED_H

#include <stdbool.h>
#include <stdint.h>

struct prof;
struct prof_frame;

/* Row of the location with these frames, innermost first and at least one, in `module` (0
 * = none); frames and row are added when new. `frames` must not lie in the profile's own
 * table. */
uint32_t named_loc(struct prof *p, uint32_t module, const struct prof_frame *frames,
		   uint32_t nframes);

/* Whether this row's offset was made up here and is no address. */
bool named_is(const struct prof *p, uint32_t loc);

/* Gives a location its frames, which are copied; it must have none. */
void named_set(struct prof *p, uint32_t loc, const struct prof_frame *frames,
	       uint32_t nframes);

/* Whether the location has exactly these frames. */
bool named_same(const struct prof *p, uint32_t loc, const struct prof_frame *frames,
		uint32_t nframes);

#endif
