/* SPDX-License-Identifier: MIT */
/* Two buffers take turns; each is resized to what the next frame needs. */
#include "matrix.h"

static char *buffers[2];

SITE static void
resize_buffer(unsigned which)
{
	size_t bytes = 20000 + chance(40000);

	buffers[which] = fill(realloc(buffers[which], bytes), bytes);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "resize_buffer", "healthy");
	for (unsigned i = 0; tick(5); i++)
		resize_buffer(i % 2);
	free(buffers[0]);
	free(buffers[1]);
	return 0;
}
