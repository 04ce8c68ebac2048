// SPDX-License-Identifier: MIT
// held_map.cpp -- three maps with one holder each: a variable, a pointer, the stack of a thread.
#include <cstdio>
#include <map>
#include <unistd.h>

static std::map<int, long> global_map;
static std::map<int, long> *volatile pointed_map;

static void
fill(std::map<int, long> &m, int n)
{
	for (int i = 0; i < n; i++)
		m[i] = i;
}

int
main()
{
	std::map<int, long> local_map;

	fill(global_map, 2003);
	pointed_map = new std::map<int, long>;
	fill(*pointed_map, 1009);
	fill(local_map, 1511);
	puts("ready");
	fflush(stdout);
	pause();
	return (int)local_map.size();
}
