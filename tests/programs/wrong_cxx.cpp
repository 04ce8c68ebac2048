// SPDX-License-Identifier: MIT
// cflags: -std=c++17 -fsized-deallocation -O1 -g -w
// wrong_cxx.cpp -- operators new and delete that do not belong together, one a case; see wrong_heap.c.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define NOINLINE __attribute__((noinline, noclone))

static bool bug;

template <class T>
static T *
hide(T *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static void
expect(const char *what)
{
	std::printf("expect %s\n", bug ? what : "nothing");
	std::fflush(stdout);
}

static NOINLINE void *
make_malloc(size_t n)
{
	void *p = hide(std::malloc(n));
	__asm__ volatile("" : : : "memory");
	return p;
}

static NOINLINE void *
make_new(size_t n)
{
	void *p = hide(::operator new(n));
	__asm__ volatile("" : : : "memory");
	return p;
}

static NOINLINE void *
make_array(size_t n)
{
	void *p = hide(::operator new[](n));
	__asm__ volatile("" : : : "memory");
	return p;
}

static NOINLINE void *
make_aligned(size_t n, size_t align)
{
	void *p = hide(::operator new(n, std::align_val_t(align)));
	__asm__ volatile("" : : : "memory");
	return p;
}

static NOINLINE void
by_free(void *p)
{
	std::free(hide(p));
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void
by_delete(void *p)
{
	::operator delete(hide(p));
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void
by_array(void *p)
{
	::operator delete[](hide(p));
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void
by_sized(void *p, size_t n)
{
	::operator delete(hide(p), n);
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void
by_aligned(void *p, size_t align)
{
	::operator delete(hide(p), std::align_val_t(align));
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void *
resize(void *p, size_t n)
{
	void *q = hide(std::realloc(hide(p), n));
	__asm__ volatile("" : : : "memory");
	return q;
}

static void
malloc_delete()
{
	expect("mismatched-free in=by_delete alloc=make_malloc");
	void *p = make_malloc(23);
	if (bug)
		by_delete(p);
	else
		by_free(p);
}

static void
new_free()
{
	expect("mismatched-free in=by_free alloc=make_new");
	void *p = make_new(23);
	if (bug)
		by_free(p);
	else
		by_delete(p);
}

static void
new_array_delete()
{
	expect("mismatched-free in=by_delete alloc=make_array");
	void *p = make_array(23);
	if (bug)
		by_delete(p);
	else
		by_array(p);
}

static void
new_delete_array()
{
	expect("mismatched-free in=by_array alloc=make_new");
	void *p = make_new(23);
	if (bug)
		by_array(p);
	else
		by_delete(p);
}

static void
new_realloc()
{
	expect("mismatched-free in=resize alloc=make_new");
	void *p = bug ? make_new(23) : make_malloc(23);
	by_free(resize(p, 99));
}

static void
sized_delete()
{
	expect("wrong-size in=by_sized alloc=make_new");
	by_sized(make_new(48), bug ? 40 : 48);
}

static void
aligned_delete()
{
	expect("wrong-alignment in=by_aligned alloc=make_aligned");
	by_aligned(make_aligned(128, 64), bug ? 32 : 64);
}

static void
aligned_plain_delete()
{
	expect("wrong-alignment in=by_delete alloc=make_aligned");
	void *p = make_aligned(128, 64);
	if (bug)
		by_delete(p);
	else
		by_aligned(p, 64);
}

static void
delete_twice()
{
	expect("double-free in=by_delete freed=by_delete alloc=make_new");
	void *p = make_new(23);
	by_delete(p);
	if (bug)
		by_delete(p);
}

static const struct {
	const char *name;
	void (*run)();
} cases[] = {
	{"malloc_delete", malloc_delete},
	{"new_free", new_free},
	{"new_array_delete", new_array_delete},
	{"new_delete_array", new_delete_array},
	{"new_realloc", new_realloc},
	{"sized_delete", sized_delete},
	{"aligned_delete", aligned_delete},
	{"aligned_plain_delete", aligned_plain_delete},
	{"delete_twice", delete_twice},
};

int
main(int argc, char **argv)
{
	bug = argc > 2 && std::strcmp(argv[2], "bug") == 0;
	for (const auto &c : cases) {
		if (argc > 1 && std::strcmp(argv[1], c.name) == 0) {
			c.run();
			std::puts("end");
			return 0;
		}
	}
	for (const auto &c : cases)
		std::puts(c.name);
	return argc > 1 ? 2 : 0;
}
