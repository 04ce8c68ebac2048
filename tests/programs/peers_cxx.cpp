// SPDX-License-Identifier: MIT
// peers_cxx.cpp -- C++ for jeprof and google-pprof: templates, strings, new in many places.
// cflags: -O1 -g -fno-optimize-sibling-calls
#include <cstdlib>
#include <string>
#include <vector>

namespace app {
template <class T> struct Box {
	T v;
	std::vector<T> more;
	explicit Box(T x) : v(x) { more.reserve(37); }
};

template <class T> __attribute__((noinline)) Box<T> *
make(T x)
{
	return new Box<T>(x);
}

struct Node {
	std::string s;
	Node *next;
};

__attribute__((noinline)) Node *
chain(int n)
{
	Node *head = nullptr;
	for (int i = 0; i < n; i++)
		head = new Node{std::string(100 + i, 'x'), head};
	return head;
}
}

void *volatile keep[64];

__attribute__((noinline)) void *
plain(size_t n)
{
	return malloc(n);
}

int
main()
{
	for (int i = 0; i < 11; i++)
		keep[i] = app::make<int>(i);
	for (int i = 0; i < 13; i++)
		keep[20 + i] = app::make<double>(i);
	keep[50] = app::chain(53);
	keep[51] = plain(3333);
	return keep[0] == nullptr;
}
