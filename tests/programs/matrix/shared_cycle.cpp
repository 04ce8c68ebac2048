/* SPDX-License-Identifier: MIT */
/* Two objects that hold each other by shared_ptr; one pair in four is not taken apart. */
#include "matrix.h"

#include <memory>

struct widget {
	std::shared_ptr<widget> peer;
	char payload[2000];
};

SITE static std::shared_ptr<widget>
make_widget()
{
	auto made = std::make_shared<widget>();

	fill(made->payload, sizeof(made->payload));
	return made;
}

SITE static void
pair_up()
{
	auto one = make_widget(), two = make_widget();

	one->peer = two;
	two->peer = one;
	if (chance(4) != 0)
		one->peer.reset();
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "make_widget", "LEAK");
	while (tick(4))
		pair_up();
	return 0;
}
