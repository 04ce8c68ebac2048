/* SPDX-License-Identifier: MIT */
/* blob_mem.c -- functions that compilers call of their own accord: three of libc's, one
 * of their own runtime. */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *at, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
int __popcountdi2(long n);

void *
memcpy(void *to, const void *from, size_t n)
{
	void *ret = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return ret;
}

void *
memset(void *at, int byte, size_t n)
{
	void *ret = at;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(byte) : "memory");
	return ret;
}

int
memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n > 0; n--, x++, y++) {
		if (*x != *y)
			return *x - *y;
	}
	return 0;
}

int
__popcountdi2(long n)
{
	unsigned long left = (unsigned long)n;
	int bits = 0;

	for (; left != 0; left &= left - 1)
		bits++;
	return bits;
}
