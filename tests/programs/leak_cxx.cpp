// SPDX-License-Identifier: MIT
// leak_cxx.cpp -- what C++ makes of pointers: arrays with a count in front, further bases, strings that share
// their text, containers.
// cflags: -O1 -g -D_GLIBCXX_USE_CXX11_ABI=0
#include "leak_cases.h"

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

static void *volatile root;

struct counted {
	~counted() { ::root = nullptr; }
	char room[37];
};

LEAK_CASE(new_, "definite=37/1")
{
	leak_hide(new char[37]);
}

LEAK_CASE(new_one, "definite=4/1")
{
	leak_hide(new int(5));
}

LEAK_CASE(new_array_with_count, "reachable=415/1")
{
	root = new counted[11];
}

LEAK_CASE(new_array_with_count_lost, "definite=415/1")
{
	leak_hide(new counted[11]);
}

LEAK_CASE(second_element_only, "possible=415/1")
{
	root = new counted[11] + 1;
}

struct first {
	virtual ~first() {}
	virtual void f() {}
	long a;
};
struct second {
	virtual ~second() {}
	virtual void g() {}
	long b;
};
struct both : first, second {
	long c;
};

LEAK_CASE(further_base, "reachable=40/1")
{
	both *p = new both;

	root = static_cast<second *>(p);
}

LEAK_CASE(member_of_object, "possible=40/1")
{
	both *p = new both;

	root = &p->c;
}

LEAK_CASE(shared_text, "reachable=126/1")
{
	static char place[sizeof(std::string)];

	leak_hide(new (place) std::string(101, 'x'));
}

LEAK_CASE(shared_text_lost, "definite=8/1 indirect=126/1")
{
	leak_hide(new std::string(101, 'x'));
}

LEAK_CASE(vector_, "definite=24/1 indirect=2012/1")
{
	leak_hide(new std::vector<int>(503));
}

LEAK_CASE(list_, "definite=16/1 indirect=456/19")
{
	auto *l = new std::list<long>;

	for (long i = 0; i < 19; i++)
		l->push_back(i);
	leak_hide(l);
}

LEAK_CASE(map_, "definite=48/1 indirect=1536/32")
{
	auto *m = new std::map<long, long>;

	for (long i = 0; i < 32; i++)
		(*m)[i] = i;
	leak_hide(m);
}

LEAK_CASE(map_of_strings, "reachable=3272/63")
{
	auto *m = new std::map<long, std::string>;

	for (long i = 0; i < 31; i++)
		(*m)[i] = std::string(31, 'y');
	root = m;
}

struct ring {
	std::shared_ptr<ring> next;
};

LEAK_CASE(shared_ring, "definite=32/1 indirect=32/1")
{
	auto a = std::make_shared<ring>(), b = std::make_shared<ring>();

	a->next = b;
	b->next = a;
}

LEAK_CASE(weak_only, "")
{
	auto a = std::make_shared<ring>();
	std::weak_ptr<ring> w = a;

	a.reset();
}

static void
throw_with_block()
{
	leak_hide(new char[443]);
	throw std::string("thrown");
}

LEAK_CASE(thrown_past, "definite=443/1")
{
	try {
		throw_with_block();
	} catch (const std::string &) {
	}
}

struct at_end {
	char *p;
	at_end() : p(new char[449]) {}
	~at_end() { delete[] p; }
};

LEAK_CASE(static_object, "")
{
	static at_end s;

	leak_hide(&s);
}

LEAK_CASE(unique, "")
{
	std::unique_ptr<int[]> p(new int[457]);

	leak_hide(p.get());
}

LEAK_MAIN()
