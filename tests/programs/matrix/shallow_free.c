/* SPDX-License-Identifier: MIT */
/* A configuration of a root and four texts. One reload in three frees the root only. */
#include "matrix.h"

#define TEXTS 4

struct config {
	char *texts[TEXTS];
};

static struct config *config;

SITE static char *
read_text(void)
{
	return fill(malloc(3000), 3000);
}

static void
load_config(void)
{
	config = fill(malloc(sizeof(*config)), sizeof(*config));
	for (int i = 0; i < TEXTS; i++)
		config->texts[i] = read_text();
}

static void
free_config(int deep)
{
	for (int i = 0; i < TEXTS; i++) {
		if (deep)
			free(config->texts[i]);
		config->texts[i] = NULL;
	}
	free(config);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "read_text", "LEAK");
	load_config();
	while (tick(12)) {
		free_config(chance(3) != 0);
		load_config();
	}
	return 0;
}
