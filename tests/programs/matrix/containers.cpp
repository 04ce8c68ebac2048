/* SPDX-License-Identifier: MIT */
/* Maps, strings and unique_ptr that come and go; the map is bounded by its keys. */
#include "matrix.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

static std::map<unsigned, std::unique_ptr<std::string>> names;
static std::vector<std::string> lines;

SITE static void
set_name(unsigned key)
{
	names[key] = std::make_unique<std::string>(200 + chance(2000), 'n');
}

SITE static void
add_line()
{
	lines.push_back(std::string(1000, 'l'));
	if (lines.size() == 50)
		lines.clear();
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "set_name", "healthy");
	while (tick(4)) {
		set_name(chance(40));
		if (chance(3) == 0)
			names.erase(chance(40));
		add_line();
	}
	return 0;
}
