/* SPDX-License-Identifier: MIT */
/* cxx_replaced.cpp -- replaces one form of operator delete, which libstdc++'s other forms are to come
 * by: sized, array, nothrow; and the aligned one of them. Says how often each was called. */
// cflags: -O1 -g -std=c++17
#include <cstdio>
#include <cstdlib>
#include <new>

static unsigned calls, aligned_calls;

void
operator delete(void *p) noexcept
{
	calls++;
	std::free(p);
}

void
operator delete(void *p, std::align_val_t) noexcept
{
	aligned_calls++;
	std::free(p);
}

int
main()
{
	const std::align_val_t al{64};

	for (int i = 0; i < 1000; i++) {
		operator delete(operator new(40), 40);
		operator delete[](operator new[](40));
		operator delete[](operator new[](40), 40);
		operator delete(operator new(40), std::nothrow);
		operator delete(operator new(40, al), 40, al);
		operator delete[](operator new[](40, al), al);
	}
	std::printf("plain %u, aligned %u\n", calls, aligned_calls);
	return 0;
}
