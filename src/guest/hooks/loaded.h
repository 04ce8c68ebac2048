/* SPDX-License-Identifier: MIT */
/* loaded.h -- the loaded object that an address is in, found without the loader's
 * lock. */
#ifndef SEEP_LOADED_H
#define SEEP_LOADED_H

#include "guest/rt/libc_parts.h"

#include <stdbool.h>

/* false: `at` is in no object, or in one that was loaded after the last refresh. *ret is
 * as _dl_find_object fills it. Signal-safe. */
bool loaded_find(const void *at, struct dl_find_object *ret);

/* Where glibc has no _dl_find_object: read the loader's list again if it has changed.
 * Takes the loader's lock, so never from a hook of an allocation. */
void loaded_refresh(void);

/* Called around dlclose: nothing but the objects of the start is found in between. */
void loaded_closing(bool begins);

/* In a forked child: a refresh that another thread had begun will not end. */
void loaded_forked(void);

/* What loaded_find does without _dl_find_object; for its test. */
bool loaded_in_table(const void *at, struct dl_find_object *ret);

#endif
