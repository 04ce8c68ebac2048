/* SPDX-License-Identifier: MIT */
/* rt_text.h -- numbers and strings without libc's printf, which allocates and locks. */
#ifndef SEEP_RT_TEXT_H
#define SEEP_RT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A caller's buffer being filled. Always NUL-terminated; `cut` says that something did
 * not fit. */
struct text {
	char *at;
	size_t cap, len;
	bool cut;
};

struct text text_on(char *buf, size_t cap); /* cap > 0 */
void text_add(struct text *t, const char *s);
void text_addn(struct text *t, const char *s, size_t n);
void text_dec(struct text *t, uint64_t n);
void text_hex(struct text *t, uint64_t n, unsigned digits); /* zero-padded */

size_t text_len(const char *s);
bool text_same(const char *a, const char *b);

/* Unsigned number with an optional K, M, G suffix (1024s); false when it is none. Stops
 * at `end`. */
bool text_size(const char *s, const char *end, uint64_t *ret);
bool text_hex_u64(const char *s, const char *end, uint64_t *ret);

#endif
