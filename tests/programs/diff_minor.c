/* SPDX-License-Identifier: MIT */
/* diff_minor.c -- two runs to compare: with an argument it loses a block at each of five sites and
 * keeps more in a cache that is far larger. */
#include <stdlib.h>
#include <string.h>

static char *volatile lost;
static char *volatile cache[499];

#define LOSE(name, bytes)                                                                \
	__attribute__((noinline)) static void name(void)                                 \
	{                                                                                \
		lost = malloc(bytes);                                                    \
	}

LOSE(parse_the_request_header, 101)
LOSE(parse_the_request_body, 211)
LOSE(open_the_answer, 307)
LOSE(write_the_answer_to_the_client, 401)
LOSE(close_the_connection_again, 503)

__attribute__((noinline)) static void
fill_the_cache(int n)
{
	for (int i = 0; i < n; i++) {
		cache[i] = malloc(1009);
		memset(cache[i], 1, 1009);
	}
}

int
main(int argc, char **argv)
{
	(void)argv;
	fill_the_cache(argc > 1 ? 499 : 97);
	if (argc > 1) {
		parse_the_request_header();
		parse_the_request_body();
		open_the_answer();
		write_the_answer_to_the_client();
		close_the_connection_again();
	}
	lost = NULL;
	return 0;
}
