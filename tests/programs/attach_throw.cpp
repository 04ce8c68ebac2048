/* SPDX-License-Identifier: MIT */
/* attach_throw.cpp -- asks for more memory than there is, again and again, and catches what operator new
 * throws then. Until SIGTERM; then it says how it went. */
#include <csignal>
#include <cstdio>
#include <new>
#include <unistd.h>

static volatile std::sig_atomic_t stop;

static void
on_term(int)
{
	stop = 1;
}

int
main()
{
	volatile std::size_t huge = static_cast<std::size_t>(1) << 62;
	long asked = 0, caught = 0;

	std::signal(SIGTERM, on_term);
	std::puts("ready");
	std::fflush(stdout);
	while (stop == 0) {
		for (int i = 0; i < 100; i++) {
			char *volatile p = new char[100];

			delete[] p;
		}
		try {
			void *volatile p = ::operator new(huge);

			::operator delete(p);
		} catch (const std::bad_alloc &) {
			caught++;
		}
		asked++;
		usleep(1000);
	}
	std::puts(asked > 0 && asked == caught ? "fine" : "broken");
	return 0;
}
