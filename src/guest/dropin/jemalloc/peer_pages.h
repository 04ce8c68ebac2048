/* SPDX-License-Identifier: MIT */
/* peer_pages.h -- jemalloc's size classes, and how many pages its heap would have. */
#ifndef SEEP_PEER_PAGES_H
#define SEEP_PEER_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PAGES_BINS = 36,     /* classes of small blocks, which share slabs */
	PAGES_CLASSES = 232, /* all of them */
};

/* Number of the size class of a request; and the class's size. */
unsigned pages_class(size_t bytes);
size_t pages_class_bytes(unsigned class);

/* A block of `usable` bytes came or went. pages_add: true when there are more pages in
 * use than ever before. `alone`: it has its pages to itself, as a sampled block of
 * jemalloc's does. Any thread; no lock. */
bool pages_add(size_t usable, bool alone);
void pages_del(size_t usable, bool alone);
/* Are there as many as ever? */
bool pages_at_most(void);

#endif
