// SPDX-License-Identifier: MIT
// leak_report_cxx.cpp -- leaks of C++: operators, templates, inlined calls, containers and threads, for
// reports that valgrind's must agree with.
// cflags: -O2 -g -pthread
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace shop
{

struct item {
	virtual ~item() = default;
	std::string name = std::string(59, 'n');
	int price = 7;
};

struct thing : item {
	std::vector<int> prices = std::vector<int>(31);
};

template <typename T>
__attribute__((noinline)) T *
make(unsigned n)
{
	T *p = new T[n]();

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

/* inlined into its caller */
static inline void *
get(size_t bytes)
{
	void *p = ::operator new(bytes, std::nothrow);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

__attribute__((noinline)) void
lose(int (*)(char), const std::string &)
{
	void *p = get(173);

	__asm__ volatile("" : "+r"(p));
	p = get(179);
	__asm__ volatile("" : "+r"(p));
}

} // namespace shop

static std::map<int, shop::item *> *held;

__attribute__((noinline)) static void
run()
{
	shop::item *volatile lost = new shop::thing;

	lost = nullptr;
	for (int i = 0; i < 3; i++)
		shop::make<double>(11);
	shop::make<shop::item *>(13);
	shop::lose(nullptr, "x");
	held = new std::map<int, shop::item *>;
	(*held)[3] = new shop::item;
	struct alignas(64) wide {
		char c[192];
	};
	wide *volatile w = new wide;
	w = nullptr;
}

__attribute__((noinline)) static void
wipe()
{
	volatile char room[16384];

	for (char volatile &c : room)
		c = 0;
}

int
main()
{
	std::thread t([] {
		char *volatile p = new char[211];
		p = nullptr;
		(void)p;
	});

	t.join();
	run();
	wipe();
	return 0;
}
