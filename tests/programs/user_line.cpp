/* SPDX-License-Identifier: MIT */
/* user_line.cpp -- leaks behind many frames of the C++ library: a shared_ptr cycle, a map, strings and
 * a vector filled by a thread. Each line that loses memory is named by a comment at its end. */
// cflags: -g -O0 -pthread
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct node {
	std::shared_ptr<node> next;
	char payload[40];
};

static void
cycle()
{
	auto a = std::make_shared<node>(); /* 11 lost: the cycle's root */
	auto b = std::make_shared<node>(); /* 11 lost through these */
	a->next = b;
	b->next = a;
}

static void
fill(std::map<int, std::string> *m, int n)
{
	for (int i = 0; i < n; i++)
		(*m)[i] = std::string(100 + i, 'x'); /* 17 nodes, 17 strings */
}

static void
work(int n)
{
	auto *v = new std::vector<std::string>; /* 1 lost */
	for (int i = 0; i < n; i++)
		v->push_back(std::string(50, 'y')); /* 13 strings, 1 array */
	v = nullptr;
}

int
main()
{
	for (int i = 0; i < 11; i++)
		cycle();
	auto *m = new std::map<int, std::string>; /* 1 lost */
	fill(m, 17);
	m = nullptr;
	std::thread t(work, 13);
	t.join();
}
