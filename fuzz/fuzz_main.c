/* SPDX-License-Identifier: MIT */
/* fuzz_main.c -- runs a fuzz target as an ordinary test, without libFuzzer.
 *
 *	fuzz_live [--write DIR] [-n COUNT] [FILE|DIR]…
 *
 * Feeds it its seeds, COUNT (500) changed copies of each, always the same ones, and
 * every file given. --write puts the seeds into DIR, for libFuzzer to start from.
 * Whatever is wrong ends the program: build it with sanitizers. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_ROOM = 1 << 20, FUZZ_COPIES = 500 };

static uint8_t seed[FUZZ_ROOM], copy[FUZZ_ROOM];
static unsigned long runs;

static void
run(const uint8_t *data, size_t bytes)
{
	/* memory of exactly that size, so that one byte too far is seen */
	uint8_t *exact = malloc(bytes ? bytes : 1);

	if (exact == NULL)
		abort();
	memcpy(exact, data, bytes);
	LLVMFuzzerTestOneInput(exact, bytes);
	free(exact);
	runs++;
}

static uint32_t
random_below(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 33) % below);
}

/* A few bytes changed, to values that are known to hurt as often as to any. */
static void
run_changed(size_t bytes, uint64_t *state)
{
	static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
	uint32_t changes = 1 + random_below(state, 8);

	memcpy(copy, seed, bytes);
	while (changes-- > 0) {
		uint32_t at = random_below(state, (uint32_t)bytes);

		if (random_below(state, 2) == 0)
			copy[at] = edges[random_below(state, sizeof edges)];
		else
			copy[at] ^= (uint8_t)(1u << random_below(state, 8));
	}
	if (random_below(state, 16) == 0)
		bytes = random_below(state, (uint32_t)bytes);
	run(copy, bytes);
}

static void
write_seed(const char *dir, unsigned n, size_t bytes)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/seed-%u", dir, n);
	f = fopen(path, "wb");
	if (f == NULL || fwrite(seed, 1, bytes, f) != bytes || fclose(f) != 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

static void
run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t bytes;

	if (f == NULL) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	bytes = fread(copy, 1, sizeof copy, f);
	fclose(f);
	run(copy, bytes);
}

static void
run_path(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char file[1024];

	if (dir == NULL) {
		run_file(path);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
		run_file(file);
	}
	closedir(dir);
}

int
main(int argc, char **argv)
{
	unsigned long copies = FUZZ_COPIES;
	const char *write_to = NULL;
	uint64_t state = 4711;
	size_t bytes;
	int i = 1;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (strcmp(argv[i], "--write") == 0)
			write_to = argv[i + 1];
		else
			copies = strtoul(argv[i + 1], NULL, 10);
	}
	run(seed, 0);
	for (unsigned n = 0; (bytes = fuzz_seed(n, seed, sizeof seed)) > 0; n++) {
		if (write_to != NULL)
			write_seed(write_to, n, bytes);
		run(seed, bytes);
		for (unsigned long k = 0; k < copies; k++)
			run_changed(bytes, &state);
	}
	for (; i < argc; i++)
		run_path(argv[i]);
	printf("%lu inputs, none broke it\n", runs);
	return EXIT_SUCCESS;
}
