/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin -std=c++17 */
/* thread_ends.cpp -- destructors that allocate and free while their thread ends.
 *
 * Threads with a C++ thread_local and with forty pthread keys, more than libc keeps in
 * the thread itself. Each key's destructor frees its block and makes another, round
 * after round, as long as libc calls it: in the last round some run after seep's own,
 * whatever order there is. The keys are made before and after others are deleted, so
 * their numbers do not follow the order of making. */
#include "truth.h"

#include <limits.h>
#include <pthread.h>

#include <cstdint>
#include <cstdlib>

namespace
{

constexpr unsigned keys = 40;
constexpr std::size_t block_bytes = 61;

tally in_key = {"make_in_key", 0, 0, 0, 0};
tally in_local = {"make_in_local", 0, 0, 0, 0};
pthread_key_t key[keys];

struct block {
	unsigned key, round;
	char rest[block_bytes - 2 * sizeof(unsigned)];
};

} // namespace

extern "C" TRUTH_NOINLINE void *make_in_key(unsigned k, unsigned round);
extern "C" TRUTH_NOINLINE char *make_in_local(std::size_t n);

void *
make_in_key(unsigned k, unsigned round)
{
	auto b = static_cast<block *>(std::malloc(block_bytes));

	b->key = k;
	b->round = round;
	tally_alloc(&in_key, block_bytes);
	return b;
}

char *
make_in_local(std::size_t n)
{
	char *p = new char[n];

	tally_alloc(&in_local, n);
	return p;
}

namespace
{

void
end_key(void *p)
{
	block b = *static_cast<block *>(p);

	std::free(p);
	tally_free(&in_key, block_bytes);
	if (b.round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key[b.key], make_in_key(b.key, b.round + 1));
}

struct local {
	char *p = make_in_local(17);
	~local()
	{
		char *q = make_in_local(19);

		delete[] p;
		tally_free(&in_local, 17);
		delete[] q;
		tally_free(&in_local, 19);
		make_in_local(23); /* and that one is never freed */
	}
};

thread_local local here;

void *
thread(void *)
{
	for (unsigned k = 0; k < keys; k++)
		pthread_setspecific(key[k], make_in_key(k, 1));
	here.p[0] = 1;
	return nullptr;
}

} // namespace

int
main(int argc, char **argv)
{
	unsigned n = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 37;
	pthread_key_t unused[3];

	for (pthread_key_t &k : unused)
		pthread_key_create(&k, nullptr);
	for (unsigned k = 0; k < keys / 2; k++)
		pthread_key_create(&key[k], end_key);
	for (pthread_key_t k : unused)
		pthread_key_delete(k);
	for (unsigned k = keys / 2; k < keys; k++)
		pthread_key_create(&key[k], end_key);
	for (unsigned i = 0; i < n; i++) {
		pthread_t id;

		if (pthread_create(&id, nullptr, thread, nullptr) != 0)
			std::abort();
		pthread_join(id, nullptr);
	}
	truth_tell(&in_key);
	truth_tell(&in_local);
	return 0;
}
