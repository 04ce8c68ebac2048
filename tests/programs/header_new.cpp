// SPDX-License-Identifier: MIT
// cflags: -O2 -g -fPIC -shared -fno-builtin
// header_new.cpp -- an operator new that asks malloc for more than it was asked for, and gives out what is behind a
// header: as a library, to be preloaded behind seep.
#include <cstddef>
#include <cstdlib>
#include <new>

enum { HEADER = 16 };

void *
operator new(std::size_t n)
{
	char *p = static_cast<char *>(std::malloc(n + HEADER));

	if (p == nullptr)
		throw std::bad_alloc();
	return p + HEADER;
}

void
operator delete(void *p) noexcept
{
	if (p != nullptr)
		std::free(static_cast<char *>(p) - HEADER);
}

void
operator delete(void *p, std::size_t) noexcept
{
	operator delete(p);
}
