// SPDX-License-Identifier: MIT
// peers_cxx.cpp -- C++ for jeprof and google-pprof: templates, containers, lambdas, overloads, virtual
// functions, a thread; new in many places. Nothing is freed but what the library frees itself.
// cflags: -O1 -g -fno-optimize-sibling-calls -pthread
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace app
{
template <class T> struct Box {
	T v;
	std::vector<T> more;
	explicit Box(T x) : v(x)
	{
		more.reserve(37);
	}
};

template <class T>
NOINLINE Box<T> *
make(T x)
{
	return new Box<T>(x);
}

struct Node {
	std::string s;
	Node *next;
};

NOINLINE Node *
chain(int n)
{
	Node *head = nullptr;
	for (int i = 0; i < n; i++)
		head = new Node{std::string(100 + i, 'x'), head};
	return head;
}

template <class K, class V> struct Store {
	std::map<K, V> all;
	std::unordered_map<K, std::unique_ptr<V>> more;

	NOINLINE void
	put(K k, V v)
	{
		all[k] = v;
		more.emplace(k, new V(v));
	}

	template <class F>
	NOINLINE void
	each(F f)
	{
		for (auto &x : all)
			f(x.second);
	}
};

struct Source {
	virtual ~Source() {}
	virtual void *get(size_t n) = 0;
};

template <int N> struct Times : Source {
	NOINLINE void *
	get(size_t n) override
	{
		return operator new(n *N);
	}
};
}

namespace
{
NOINLINE void *
hidden(size_t n)
{
	return new char[n];
}
}

void *volatile keep[256];

NOINLINE void *
plain(size_t n)
{
	return malloc(n);
}

NOINLINE void *
overload(int n)
{
	return new char[n + 1000];
}

NOINLINE void *
overload(long n)
{
	return new char[n + 3000];
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

	auto *words = new app::Store<int, std::string>;
	keep[52] = words;
	for (int i = 0; i < 29; i++)
		words->put(i, std::string(200, 'y'));
	int at = 60;
	words->each([&](std::string &x) { keep[at++] = new std::string(x + "tail"); });
	auto *numbers = new app::Store<long, double>;
	keep[53] = numbers;
	for (int i = 0; i < 31; i++)
		numbers->put(i, i);

	app::Times<3> three;
	app::Times<5> five;
	app::Source *sources[2] = {&three, &five};
	for (int i = 0; i < 14; i++)
		keep[100 + i] = sources[i % 2]->get(170 + i);
	keep[120] = hidden(7001);
	keep[121] = overload(7);
	keep[122] = overload(7L);

	using maker = std::function<void *(size_t)>;
	auto *f = new maker([words](size_t n) {
		return static_cast<void *>(new std::vector<long>(n + words->all.size()));
	});
	keep[123] = f;
	keep[124] = (*f)(411);
	std::thread t([] {
		keep[130] = new std::string(5003, 'z');
		keep[131] = plain(601);
	});
	t.join();
	return keep[0] == nullptr;
}
