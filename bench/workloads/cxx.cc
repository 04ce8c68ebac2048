/* SPDX-License-Identifier: MIT */
/* cxx.cc -- what C++ containers do to an allocator: map, unordered_map, vector, string.
 *
 * Three phases a round: a map from string to vector grows and is read, an unordered_map is
 * filled and half erased, strings are joined and cut. The counts come from a counting
 * allocator, so operator new stays the library's own.
 *
 * Usage: cxx OPERATIONS
 * Everything is freed at the end but one map, kept live on purpose. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

struct counts {
	uint64_t allocs, frees, live_bytes;
} counted;

template <class T> struct counting {
	using value_type = T;

	counting() = default;
	template <class U> counting(const counting<U> &)
	{
	}

	T *
	allocate(std::size_t n)
	{
		counted.allocs++;
		counted.live_bytes += n * sizeof(T);
		return std::allocator<T>().allocate(n);
	}

	void
	deallocate(T *p, std::size_t n)
	{
		counted.frees++;
		counted.live_bytes -= n * sizeof(T);
		std::allocator<T>().deallocate(p, n);
	}

	template <class U>
	bool
	operator==(const counting<U> &) const
	{
		return true;
	}
	template <class U>
	bool
	operator!=(const counting<U> &) const
	{
		return false;
	}
};

using text = std::basic_string<char, std::char_traits<char>, counting<char>>;
using list = std::vector<uint32_t, counting<uint32_t>>;
using index_map =
	std::map<text, list, std::less<text>, counting<std::pair<const text, list>>>;
using id_map =
	std::unordered_map<uint64_t, text, std::hash<uint64_t>, std::equal_to<uint64_t>,
			   counting<std::pair<const uint64_t, text>>>;

constexpr uint64_t KEYS = 20000, ROUND = 50000;

uint64_t rng = 0x9e3779b97f4a7c15;
uint64_t sum; /* printed, so nothing can be left out */

uint64_t
random_next()
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

/* 24 characters: longer than what fits inside a string object. */
text
key_of(uint64_t n)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "key/of/element/%09u", static_cast<unsigned>(n));
	return text(buf);
}

__attribute__((noinline)) void
index_phase(index_map &m, uint64_t ops)
{
	for (uint64_t i = 0; i < ops; i++) {
		uint64_t x = random_next();
		list &l = m[key_of(x % KEYS)];

		l.push_back(static_cast<uint32_t>(x >> 32));
		if (l.size() > 40)
			list().swap(l);
		sum += l.size();
	}
}

__attribute__((noinline)) void
id_phase(uint64_t ops)
{
	id_map m;

	for (uint64_t i = 0; i < ops; i++) {
		uint64_t x = random_next();

		m.emplace(x, text(16 + x % 64, 'x'));
		if (x % 2 == 0)
			m.erase(x);
	}
	sum += m.size();
}

__attribute__((noinline)) void
text_phase(uint64_t ops)
{
	for (uint64_t i = 0; i < ops; i++) {
		text s = key_of(i) + text("=") + key_of(random_next() % KEYS);

		sum += s.substr(20).size();
	}
}

} // namespace

int
main(int argc, char **argv)
{
	uint64_t ops = argc > 1 ? strtoull(argv[1], nullptr, 10) : 100000;
	static index_map *kept = new index_map; /* live at exit, on purpose */

	for (uint64_t done = 0; done < ops;) {
		uint64_t round = ops - done < ROUND ? ops - done : ROUND;

		index_phase(*kept, round);
		id_phase(round / 2);
		text_phase(round);
		done += round;
	}
	/* The map object itself is one allocation more. */
	printf("count allocs=%llu frees=%llu live_blocks=%llu live_bytes=%llu\n",
	       static_cast<unsigned long long>(counted.allocs + 1),
	       static_cast<unsigned long long>(counted.frees),
	       static_cast<unsigned long long>(counted.allocs + 1 - counted.frees),
	       static_cast<unsigned long long>(counted.live_bytes + sizeof(index_map)));
	printf("sum %llu\n", static_cast<unsigned long long>(sum));
	return 0;
}
