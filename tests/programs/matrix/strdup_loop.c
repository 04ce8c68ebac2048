/* SPDX-License-Identifier: MIT */
/* A setting is read again and again; what it was before is freed only if it has changed. */
#include "matrix.h"

static char *setting;

SITE static void
read_setting(const char *text)
{
	char *copy = strdup(text);

	if (setting != NULL && strcmp(setting, copy) != 0)
		free(setting);
	setting = copy;
}

int
main(int argc, char **argv)
{
	static char text[2900];

	matrix_begin(argc, argv, "read_setting", "LEAK");
	memset(text, 'a', sizeof(text) - 1);
	while (tick(4)) {
		if (chance(3) != 0)
			text[0] = text[0] == 'a' ? 'b' : 'a';
		read_setting(text);
	}
	return 0;
}
