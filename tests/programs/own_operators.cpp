// SPDX-License-Identifier: MIT
// cflags: -std=c++17 -O2 -g -fPIC -shared -w
// own_operators.cpp -- a library with operators new and delete of its own, which hand out something else than
// malloc did: every block has a header.
#include <cstdlib>
#include <new>

void *
operator new(std::size_t n)
{
	char *p = static_cast<char *>(std::malloc(n + 32));

	return p + 32;
}

void
operator delete(void *p) noexcept
{
	if (p != nullptr)
		std::free(static_cast<char *>(p) - 32);
}

void *
operator new[](std::size_t n)
{
	return operator new(n);
}

void
operator delete[](void *p) noexcept
{
	operator delete(p);
}

void
operator delete(void *p, std::size_t) noexcept
{
	operator delete(p);
}
