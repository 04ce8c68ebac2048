// SPDX-License-Identifier: MIT
// dump_objects.cpp -- objects in prime numbers on the heap, for seep dump to find: 1,009 of a class,
// 101 of a class template, 211 structs without virtual functions.
// cflags: -O1 -g
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

struct Session {
	virtual ~Session()
	{
	}
	char name[80];
};

namespace ns
{
template <class T> struct Cache : Session {
	T value;
	virtual void keep()
	{
	}
};
}

struct Plain {
	long number;
	char rest[490];
};

static Session *sessions[1009];
static ns::Cache<int> *caches[101];
static Plain *plains[211];

int
main()
{
	for (int i = 0; i < 1009; i++) {
		sessions[i] = new Session;
		memset(sessions[i]->name, 0, sizeof sessions[i]->name);
		snprintf(sessions[i]->name, sizeof sessions[i]->name,
			 "user-%d@example.com", i);
	}
	for (int i = 0; i < 101; i++) {
		caches[i] = new ns::Cache<int>;
		memset(caches[i]->name, 0, sizeof caches[i]->name);
	}
	for (int i = 0; i < 211; i++) {
		plains[i] = (Plain *)calloc(1, sizeof *plains[i]);
		plains[i]->number = 4711;
	}
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}
