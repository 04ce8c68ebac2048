/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin -std=c++17 -Wno-sized-deallocation */
/* counts_cxx.cpp -- every form of operator new and delete, a known number of times,
 * from eight threads: plain, array, nothrow, aligned, and deleted plainly, sized,
 * aligned, sized and aligned, nothrow; half by the thread that made the block, half by
 * its neighbour. Requests that fail, with an exception or with nullptr, and a
 * new_handler that helps in the end, must not count. With an argument nothing fails: a
 * mimalloc that was built as C aborts instead of throwing. */
#include "truth.h"

#include <pthread.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace
{

constexpr unsigned threads = 8;
constexpr unsigned kept = 3;
constexpr auto al = std::align_val_t(128);

struct block {
	void *at;
	std::size_t bytes;
};

struct kind {
	void *(*make)(std::size_t);
	void (*remove)(void *, std::size_t);
	unsigned count;
	std::size_t bytes;
	tally *t;
	std::vector<block> blocks[threads];
};

} // namespace

#define MAKER(function, call)                                                            \
	extern "C" TRUTH_NOINLINE void *function(std::size_t n);                         \
	static tally function##_tally = {#function, 0, 0, 0, 0};                         \
	extern "C" TRUTH_NOINLINE void *function(std::size_t n)                          \
	{                                                                                \
		void *p = call;                                                          \
                                                                                         \
		if (p != nullptr)                                                        \
			tally_alloc(&function##_tally, n);                               \
		return p;                                                                \
	}

MAKER(with_new, ::operator new(n))
MAKER(with_new_sized, ::operator new(n))
MAKER(with_new_nothrow, ::operator new(n, std::nothrow))
MAKER(with_new_aligned, ::operator new(n, al))
MAKER(with_new_aligned_sized, ::operator new(n, al))
MAKER(with_new_aligned_nothrow, ::operator new(n, al, std::nothrow))
MAKER(with_array, ::operator new[](n))
MAKER(with_array_sized, ::operator new[](n))
MAKER(with_array_nothrow, ::operator new[](n, std::nothrow))
MAKER(with_array_aligned, ::operator new[](n, al))
MAKER(with_array_aligned_sized, ::operator new[](n, al))
MAKER(with_array_aligned_nothrow, ::operator new[](n, al, std::nothrow))
MAKER(with_helped, ::operator new(n))
MAKER(with_failing, ::operator new(n))

namespace
{

kind kinds[] = {
	{with_new,
	 [](void *p, std::size_t) { ::operator delete(p); },
	 101,
	 17,
	 &with_new_tally,
	 {}},
	{with_new_sized,
	 [](void *p, std::size_t n) { ::operator delete(p, n); },
	 97,
	 23,
	 &with_new_sized_tally,
	 {}},
	{with_new_nothrow,
	 [](void *p, std::size_t) { ::operator delete(p, std::nothrow); },
	 89,
	 29,
	 &with_new_nothrow_tally,
	 {}},
	{with_new_aligned,
	 [](void *p, std::size_t) { ::operator delete(p, al); },
	 83,
	 31,
	 &with_new_aligned_tally,
	 {}},
	{with_new_aligned_sized,
	 [](void *p, std::size_t n) { ::operator delete(p, n, al); },
	 79,
	 37,
	 &with_new_aligned_sized_tally,
	 {}},
	{with_new_aligned_nothrow,
	 [](void *p, std::size_t) { ::operator delete(p, al, std::nothrow); },
	 73,
	 41,
	 &with_new_aligned_nothrow_tally,
	 {}},
	{with_array,
	 [](void *p, std::size_t) { ::operator delete[](p); },
	 71,
	 43,
	 &with_array_tally,
	 {}},
	{with_array_sized,
	 [](void *p, std::size_t n) { ::operator delete[](p, n); },
	 67,
	 47,
	 &with_array_sized_tally,
	 {}},
	{with_array_nothrow,
	 [](void *p, std::size_t) { ::operator delete[](p, std::nothrow); },
	 61,
	 53,
	 &with_array_nothrow_tally,
	 {}},
	{with_array_aligned,
	 [](void *p, std::size_t) { ::operator delete[](p, al); },
	 59,
	 59,
	 &with_array_aligned_tally,
	 {}},
	{with_array_aligned_sized,
	 [](void *p, std::size_t n) { ::operator delete[](p, n, al); },
	 53,
	 61,
	 &with_array_aligned_sized_tally,
	 {}},
	{with_array_aligned_nothrow,
	 [](void *p, std::size_t) { ::operator delete[](p, al, std::nothrow); },
	 47,
	 67,
	 &with_array_aligned_nothrow_tally,
	 {}},
};

pthread_barrier_t all_made;

void *
thread(void *arg)
{
	auto me = static_cast<unsigned>(reinterpret_cast<uintptr_t>(arg));
	unsigned other = (me + 1) % threads;

	for (kind &k : kinds)
		for (unsigned i = 0; i < k.count; i++)
			k.blocks[me][i] = {k.make(k.bytes + i), k.bytes + i};
	pthread_barrier_wait(&all_made);
	for (kind &k : kinds) {
		for (unsigned i = kept; i < k.count; i++) {
			const block &b = k.blocks[i % 2 != 0 ? me : other][i];

			k.remove(b.at, b.bytes);
			tally_free(k.t, b.bytes);
		}
	}
	::operator delete(nullptr);
	::operator delete[](nullptr, std::size_t(8));
	return nullptr;
}

unsigned helped;

/* Throws, with a handler installed that gives up at its third call. */
void
give_up()
{
	if (++helped % 3 == 0)
		throw std::bad_alloc();
}

unsigned
fail_all()
{
	unsigned caught = 0;
	volatile std::size_t huge = SIZE_MAX / 4;

	for (unsigned i = 0; i < 13; i++) {
		std::set_new_handler(i % 2 == 0 ? nullptr : give_up);
		try {
			with_failing(huge);
		} catch (const std::bad_alloc &) {
			caught++;
		}
		try {
			with_failing_tally.allocs +=
				::operator new[](huge, al) != nullptr;
		} catch (const std::bad_alloc &) {
			caught++;
		}
		caught += ::operator new(huge, std::nothrow) == nullptr;
		caught += ::operator new[](huge, al, std::nothrow) == nullptr;
		with_helped(19 + i); /* what comes next is recorded at its own place */
	}
	std::set_new_handler(nullptr);
	return caught;
}

} // namespace

int
main(int argc, char **)
{
	pthread_t ids[threads];

	for (kind &k : kinds)
		for (auto &v : k.blocks)
			v.resize(k.count);
	pthread_barrier_init(&all_made, nullptr, threads);
	for (uintptr_t i = 0; i < threads; i++)
		pthread_create(&ids[i], nullptr, thread, reinterpret_cast<void *>(i));
	for (pthread_t id : ids)
		pthread_join(id, nullptr);
	if (argc == 1 && fail_all() != 13 * 4)
		truth_say("not all that must fail failed\n");
	for (const kind &k : kinds)
		truth_tell(k.t);
	truth_tell(&with_helped_tally);
	/* Only the exceptions themselves were allocated there. */
	truth_say("expect in=with_failing live_bytes=%lu live_blocks=0\n",
		  with_failing_tally.alloc_bytes);
	return 0;
}
