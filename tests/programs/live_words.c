/* SPDX-License-Identifier: MIT */
/* live_words.c -- does, once for every line that it reads, what follows words of its own recording: threads begin and end,
 * a library comes and goes, a mark is set. Says "ok N" if its own memory was as it should be. */
/* cflags: -O1 -g -pthread */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <seep/seep.h>

enum { BLOCKS = 64 };

static void *
work(void *arg)
{
	unsigned char *blocks[BLOCKS];
	long wrong = 0;

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(16 + (size_t)i * 7);
		memset(blocks[i], i, 16 + (size_t)i * 7);
	}
	for (int i = 0; i < BLOCKS; i++) {
		for (size_t k = 0; k < 16 + (size_t)i * 7; k++)
			wrong += blocks[i][k] != i;
		free(blocks[i]);
	}
	*(long *)arg += wrong;
	return NULL;
}

int
main(void)
{
	char line[64];
	long wrong = 0;

	for (int n = 1; fgets(line, sizeof line, stdin) != NULL; n++) {
		pthread_t threads[3];
		long wrongs[3] = {0};
		void *library;

		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, work, &wrongs[i]);
		for (int i = 0; i < 3; i++) {
			pthread_join(threads[i], NULL);
			wrong += wrongs[i];
		}
		library = dlopen("libutil.so.1", RTLD_NOW);
		if (library == NULL)
			library = dlopen("libm.so.6", RTLD_NOW);
		work(&wrong);
		if (library != NULL)
			dlclose(library);
		work(&wrong);
		if (n % 8 == 0)
			SEEP_MARK("here");
		printf("%s %d\n", wrong == 0 ? "ok" : "wrong", n);
		fflush(stdout);
	}
	return 7;
}
