/* SPDX-License-Identifier: MIT */
/* unwind_exceptions.cpp -- C++ exceptions under way while the unwinder looks at the
 * stack.
 *
 * Every `new` of this program unwinds its stack with our unwinder (memo and ids) and with
 * libunwind and compares: on the way down, in destructors that allocate while an
 * exception passes, in handlers, after a rethrow, in an exception thrown and caught
 * inside such a destructor, and in the frames that are called again where others were
 * unwound a moment ago, which is what a stale memo would get wrong.
 *
 *	g++ -O2 -Isrc unwind_exceptions.cpp libseep_core.a -lunwind
 *
 * Prints how many stacks were compared and how many differed; status 1 if any did. */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

extern "C" {
#include "guest/unwind/unwind.h"
}

namespace
{

constexpr unsigned max_frames = 512;

/* malloc'ed, because our own `new` must not be entered by the test itself */
template <typename T> struct plain_alloc {
	using value_type = T;
	plain_alloc() = default;
	template <typename U> plain_alloc(const plain_alloc<U> &)
	{
	}
	T *allocate(std::size_t n)
	{
		return static_cast<T *>(std::malloc(n * sizeof(T)));
	}
	void deallocate(T *p, std::size_t)
	{
		std::free(p);
	}
	bool operator==(const plain_alloc &) const
	{
		return true;
	}
	bool operator!=(const plain_alloc &) const
	{
		return false;
	}
};

struct node {
	uint32_t parent;
	uintptr_t pc;
	unsigned kind;
};

using key = std::tuple<uint32_t, uintptr_t, unsigned>;
std::map<key, uint32_t, std::less<key>, plain_alloc<std::pair<const key, uint32_t>>> ids;
std::vector<node, plain_alloc<node>> nodes(1);

unw_thread *thread_state;
bool busy = true;
unsigned long stacks, differences, unwinding;
volatile unsigned sink;

bool
find(uintptr_t pc, unw_module *ret)
{
	dl_find_object found;

	if (_dl_find_object(reinterpret_cast<void *>(pc), &found) != 0)
		return false;
	ret->start = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
	ret->end = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
	ret->eh_hdr = static_cast<const unsigned char *>(found.dlfo_eh_frame);
	ret->id = 1;
	return true;
}

uint32_t
node_id(void *, uint32_t parent, uintptr_t pc, uint32_t, unsigned kind)
{
	auto added = ids.emplace(key{parent, pc, kind}, static_cast<uint32_t>(nodes.size()));

	if (added.second)
		nodes.push_back({parent, pc, kind});
	return added.first->second;
}

__attribute__((noinline)) void
check(const unw_start &start)
{
	void *truth[max_frames];
	uint32_t id = unw_stack(thread_state, &start);
	int n = unw_backtrace(truth, max_frames), at = 0;
	bool same = true;

	while (at < n && reinterpret_cast<uintptr_t>(truth[at]) != start.pc)
		at++; /* this function and operator new */
	for (; id != 0; id = nodes[id].parent, at++)
		same = same && nodes[id].kind == UNW_NODE_PC && at < n &&
		       nodes[id].pc == reinterpret_cast<uintptr_t>(truth[at]);
	stacks++;
	unwinding += std::uncaught_exceptions() > 0;
	differences += !same || at != n;
}

} // namespace

__attribute__((noinline)) void *
operator new(std::size_t bytes)
{
	if (!busy) {
		auto frame = static_cast<uintptr_t *>(__builtin_frame_address(0));

		busy = true;
		check({reinterpret_cast<uintptr_t>(__builtin_return_address(0)),
		       reinterpret_cast<uintptr_t>(frame + 2), *frame});
		busy = false;
	}
	return std::malloc(bytes);
}

__attribute__((noinline)) void
operator delete(void *p) noexcept
{
	std::free(p);
}

__attribute__((noinline)) void
operator delete(void *p, std::size_t) noexcept
{
	std::free(p);
}

namespace
{

unsigned
random_number()
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return static_cast<unsigned>(seed >> 33);
}

void descend(unsigned depth);

/* Allocates when it goes, by return or by exception. */
struct guard {
	unsigned depth;

	~guard()
	{
		std::unique_ptr<int> p(new int(1));

		sink += static_cast<unsigned>(*p);
		if (depth % 5 == 0) {
			try { /* an exception inside an exception */
				descend(2);
			} catch (const std::exception &e) {
				sink += static_cast<unsigned>(std::string(e.what()).size());
			}
		}
	}
};

__attribute__((noinline)) void
with_guard(unsigned depth)
{
	guard g{depth};

	descend(depth - 1);
	sink++;
}

__attribute__((noinline)) void
with_handler(unsigned depth)
{
	try {
		descend(depth - 1);
	} catch (const std::logic_error &) {
		std::unique_ptr<long> p(new long(depth));

		sink += static_cast<unsigned>(*p);
		if (random_number() % 2)
			throw;
		descend(depth / 2);
	}
	sink++;
}

__attribute__((noinline)) void
with_rethrow(unsigned depth)
{
	volatile char buffer[48];

	buffer[0] = static_cast<char>(depth);
	try {
		descend(depth - 1);
	} catch (...) {
		guard g{depth};

		sink += static_cast<unsigned char>(buffer[0]);
		throw;
	}
}

__attribute__((noinline)) void
aligned(unsigned depth)
{
	alignas(64) volatile char buffer[64];
	guard g{depth};

	buffer[0] = static_cast<char>(depth);
	descend(depth - 1);
	sink += static_cast<unsigned char>(buffer[0]);
}

void
descend(unsigned depth)
{
	if (depth == 0) {
		std::string text(40 + random_number() % 40, 'x');

		switch (random_number() % 4) {
		case 0:
			throw std::logic_error(text);
		case 1:
			throw std::runtime_error(text);
		default:
			sink += static_cast<unsigned>(text.size());
		}
		return;
	}
	switch (random_number() % 4) {
	case 0:
		with_guard(depth);
		break;
	case 1:
		with_handler(depth);
		break;
	case 2:
		with_rethrow(depth);
		break;
	default:
		aligned(depth);
	}
	sink++;
}

void *
map(std::size_t bytes)
{
	return mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

} // namespace

int
main(int argc, char **argv)
{
	static unw_ops ops{};
	unsigned long wanted = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
	auto shared = static_cast<unw_shared *>(map(unw_shared_bytes()));

	ops.find = find;
	ops.node = node_id;
	unw_shared_init(shared, &ops);
	thread_state = static_cast<unw_thread *>(map(unw_thread_bytes()));
	unw_thread_init(thread_state, shared, nullptr);
	busy = false;
	while (stacks < wanted) {
		try {
			descend(3 + random_number() % 12);
		} catch (const std::exception &) {
			sink++;
		}
	}
	busy = true;
	std::printf("stacks %lu, of them %lu while an exception passed, differences %lu\n",
		    stacks, unwinding, differences);
	return differences != 0 || unwinding < wanted / 10;
}
