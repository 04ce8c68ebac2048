// SPDX-License-Identifier: MIT
// cflags: -std=c++17 -fsized-deallocation -O1 -g -w
// cxx_some.cpp -- replaces some groups of the forms of operator new and delete, as a program may: which ones is
// said by macros: PLAIN (or ONLY_NEW, ONLY_DELETE), ARRAY, NOTHROW, SIZED, ALIGNED. With HEADER, the blocks of the
// replaced forms begin behind a header. Calls every form, frees everything, and prints how many calls of its own new
// had no call of its own delete.
//
// The groups are compiled one by one, as -DGROUP -c, and linked with the rest (-DMAIN) in all combinations.
#include <cstdio>
#include <cstdlib>
#include <new>

// How much room a form's blocks have in front: that of the form which is replaced and which the library's own
// definition of it calls. A group that is not linked leaves its word 0.
extern "C" {
extern int plain_header __attribute__((weak));
extern int array_header __attribute__((weak));
}

static __attribute__((unused)) size_t
header(bool array)
{
	if (array && &array_header != nullptr)
		return array_header;
	return &plain_header != nullptr ? plain_header : 0;
}

extern "C" long blocks_left __attribute__((weak));

static __attribute__((unused)) void *
make(size_t n, size_t front)
{
	char *p = static_cast<char *>(std::malloc(n + front));

	if (p == nullptr)
		throw std::bad_alloc();
	blocks_left++;
	return p + front;
}

static __attribute__((unused)) void
drop(void *p, size_t front)
{
	if (p == nullptr)
		return;
	blocks_left--;
	std::free(static_cast<char *>(p) - front);
}

#ifdef HEADER
enum { FRONT = 32 };
#else
enum { FRONT = 0 };
#endif

#ifdef PLAIN
int plain_header = FRONT;
#endif
#if defined PLAIN || defined ONLY_NEW
void *
operator new(size_t n)
{
	return make(n, FRONT);
}
#endif
#if defined PLAIN || defined ONLY_DELETE
void
operator delete(void *p) noexcept
{
	drop(p, FRONT);
}
#endif

#ifdef ARRAY
int array_header = FRONT;

void *
operator new[](size_t n)
{
	return make(n, FRONT);
}

void
operator delete[](void *p) noexcept
{
	drop(p, FRONT);
}
#endif

#ifdef NOTHROW
void *
operator new(size_t n, const std::nothrow_t &) noexcept
{
	return make(n, header(false));
}

void *
operator new[](size_t n, const std::nothrow_t &) noexcept
{
	return make(n, header(true));
}

void
operator delete(void *p, const std::nothrow_t &) noexcept
{
	drop(p, header(false));
}

void
operator delete[](void *p, const std::nothrow_t &) noexcept
{
	drop(p, header(true));
}
#endif

#ifdef SIZED
void
operator delete(void *p, size_t) noexcept
{
	drop(p, header(false));
}

void
operator delete[](void *p, size_t) noexcept
{
	drop(p, header(true));
}
#endif

#ifdef ALIGNED
void *
operator new(size_t n, std::align_val_t al)
{
	size_t front = FRONT == 0 ? 0 : size_t(al);
	char *p = static_cast<char *>(std::aligned_alloc(size_t(al), ((n + size_t(al) - 1) & -size_t(al)) + front));

	if (p == nullptr)
		throw std::bad_alloc();
	blocks_left++;
	return p + front;
}

void
operator delete(void *p, std::align_val_t al) noexcept
{
	drop(p, FRONT == 0 ? 0 : size_t(al));
}
#endif

#ifdef MAIN
extern "C" long blocks_left;
long blocks_left;

template <class T>
static T *
hide(T *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

int
main()
{
	const std::align_val_t al{128};
	const std::nothrow_t &nt = std::nothrow;

	for (int i = 0; i < 23; i++) {
		// Each way to get one, and each way to give it back.
		operator delete(hide(operator new(41)));
		operator delete(hide(operator new(42)), 42);
		operator delete(hide(operator new(43)), nt);
		operator delete(hide(operator new(44, nt)));
		operator delete(hide(operator new(45, nt)), 45);
		operator delete(hide(operator new(46, nt)), nt);
		operator delete[](hide(operator new[](47)));
		operator delete[](hide(operator new[](48)), 48);
		operator delete[](hide(operator new[](49)), nt);
		operator delete[](hide(operator new[](50, nt)));
		operator delete[](hide(operator new[](51, nt)), 51);
		operator delete[](hide(operator new[](52, nt)), nt);
		operator delete(hide(operator new(53, al)), al);
		operator delete(hide(operator new(54, al)), 54, al);
		operator delete(hide(operator new(55, al, nt)), al, nt);
		operator delete[](hide(operator new[](56, al)), al);
		operator delete[](hide(operator new[](57, al)), 57, al);
		operator delete[](hide(operator new[](58, al, nt)), al, nt);
		operator delete(hide(static_cast<void *>(nullptr)), 59);
	}
	std::printf("left %ld\n", blocks_left);
	return 0;
}
#endif
