/* SPDX-License-Identifier: MIT */
/* past.h -- ways past the hooks: may the program have called the allocator without our
 * seeing it? */
#ifndef SEEP_PAST_H
#define SEEP_PAST_H

#include <stdbool.h>

/* True from the moment on when a library was loaded with RTLD_DEEPBIND or into a
 * namespace of its own, or somebody asked the loader for an allocator function other than
 * our hook. */
bool past_possible(void);

#endif
