/* SPDX-License-Identifier: MIT */
/* zone_bytes.h -- bytes that nobody may write to: around blocks and in freed ones. Used
 * by zone.c and fence.c.
 *
 * The program may have closed pages of its blocks (mprotect), and pages that it never
 * touched shall stay untouched. So the kernel is asked before anything is read or written
 * on a page that the program's own call would not have touched. Once the kernel may not
 * be asked (seccomp), such pages are left alone. */
#ifndef SEEP_ZONE_BYTES_H
#define SEEP_ZONE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* as a chunk's size: neither mmapped nor of another arena, and too large */
	ROOM_AROUND = 0xa1,
	ROOM_FREED = 0xdb,
	ROOM_PARTS = 64,
};

/* Which bytes of a freed block were filled: its first `pages` pages, and behind them
 * those of 64 equal parts whose bit is set. The others held pages that were untouched or
 * closed. */
struct room_filled {
	uint64_t parts;
	uint32_t pages, unused;
};

/* First byte in there that is not `byte`, and how many up to the last one; NULL: none. */
const unsigned char *room_find_other(const unsigned char *at, size_t bytes,
				     unsigned char byte, size_t *ret_count);

/* May it be read? One question a page. */
bool room_can_read(const void *at, size_t bytes);

/* May these 8 bytes be written? They are. */
bool room_can_write(void *at);

/* Fills a freed block. Its first page is the allocator's to touch, and is filled in any
 * case. */
struct room_filled room_fill(unsigned char *p, size_t bytes);

/* As room_find_other, for what room_fill filled. */
const unsigned char *room_find_written(const unsigned char *p, size_t bytes,
				       const struct room_filled *filled,
				       size_t *ret_count);

#endif
