/* SPDX-License-Identifier: MIT */
/* left_words.c -- words that malloc leaves in memory which is used again.
 *
 * left N: 997 blocks are lost; between them lie blocks that were freed, allocated again and written to for N bytes, so
 * that with N < 16 some still have malloc's links, which are addresses of headers: the last 8 bytes of the block
 * before. tail: a healthy program with pointers that look the same: lists whose links are the last 8 bytes of
 * their elements, headed by blocks of every small shape. Waits for the end of its input, if it has one. */
/* cflags: -O0 -g */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 4000, LOST = 997, LISTS = 64, ITEMS = 5 };

static void *kept[BLOCKS], *again[BLOCKS / 2];
static unsigned seed = 7;

static size_t
any_size(void)
{
	seed = seed * 1103515245u + 12345;
	return 152 + 16 * (size_t)((seed >> 16) % 24);
}

static void
left(size_t written)
{
	static void *freed[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		freed[i] = malloc(any_size());
		kept[i] = malloc(any_size());
		memset(kept[i], 1, 24);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(freed[i]);
	memset(freed, 0, sizeof freed);
	for (int i = 0; i < BLOCKS / 2; i++) {
		again[i] = malloc(any_size());
		memset(again[i], 2, written);
	}
	for (int i = 0; i < LOST; i++)
		kept[4 * i] = NULL;
	printf("expect lost blocks=%d\n", LOST);
}

struct link {
	struct link *next;
};

struct item {
	long a, b;
	struct link link; /* at 16, of 24 bytes */
};

/* One list behind a word at offset `at` of a block of `bytes`; the words before it are never written. */
static void *
list(size_t bytes, size_t at)
{
	char *head = malloc(bytes);
	struct link *first = NULL;

	for (int i = 0; i < ITEMS; i++) {
		struct item *it = malloc(sizeof *it);

		it->link.next = first;
		first = &it->link;
	}
	memcpy(head + at, &first, sizeof first);
	return head;
}

static void
tail(void)
{
	for (int i = 0; i < LISTS; i++)
		free(malloc(4096)); /* so that lists are cut from freed memory */
	for (int i = 0; i < LISTS; i++)
		kept[i] = list(8 + 8 * (size_t)(i % 5), 8 * (size_t)(i % (1 + i % 5)));
	printf("expect possible blocks=%d\n", LISTS * ITEMS);
}

/* Nothing of it stays on the stack. */
static void
wipe(void)
{
	volatile char room[65536];

	memset((void *)room, 0, sizeof room);
}

int
main(int argc, char **argv)
{
	char c;

	if (argc > 1 && strcmp(argv[1], "tail") == 0)
		tail();
	else
		left(argc > 2 ? (size_t)atoi(argv[2]) : 0);
	wipe();
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	_exit(0);
}
