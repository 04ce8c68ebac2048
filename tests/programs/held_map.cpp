// SPDX-License-Identifier: MIT
// held_map.cpp -- three maps with one holder each: a variable, a pointer, the stack of a thread, which has
// nodes of it in registers too. A node of the first one is on the stack as well. Waits for a signal.
// cflags: -O1 -g
#include <cstdio>
#include <map>
#include <unistd.h>

static std::map<int, long> global_map;
static std::map<int, long> *volatile pointed_map;

int
main()
{
	for (int i = 0; i < 2003; i++)
		global_map[i] = i;
	std::map<int, long> *made = new std::map<int, long>;

	pointed_map = made;
	for (int i = 0; i < 1009; i++)
		(*made)[i] = i;
	std::map<long, long> local_map;

	for (int i = 0; i < 1511; i++)
		local_map[i] = i;
	const void *volatile node = &*global_map.find(1009);

	puts("ready");
	fflush(stdout);
	pause();
	return node != nullptr ? (int)local_map.size() : 0;
}
