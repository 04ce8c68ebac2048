/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -fno-sized-deallocation -Wno-delete-non-virtual-dtor */
/* A destructor that is not virtual: an image deleted as its base class loses its pixels. One in three
 * is deleted as what it is. */
#include "matrix.h"

#include <vector>

struct shape {
	int kind = 0;
	~shape()
	{
	}
};

struct image : shape {
	std::vector<char> pixels;
};

SITE static void
load_pixels(image *into)
{
	into->pixels.resize(3000, 'x');
	fill(into->pixels.data(), 3000);
}

SITE static void
draw()
{
	image *made = new image;

	load_pixels(made);
	if (chance(3) == 0)
		delete made;
	else
		delete static_cast<shape *>(made);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "load_pixels", "LEAK");
	while (tick(8))
		draw();
	return 0;
}
