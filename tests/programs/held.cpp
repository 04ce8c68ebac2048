/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin -std=c++17 */
/* held.cpp -- memory that is freed only when the program ends.
 *
 * 22 blocks of 1,009 bytes: eleven are freed by an exit handler. 14 strings in a
 * global, freed by its destructor; 7 blocks of a static inside a function, freed
 * likewise; 5 are freed before exit, 3 never. What destructors allocate anew and keep
 * is lost, but was not there at exit. With `quick` it leaves with _exit, and nothing
 * of this happens. */
#include "truth.h"

#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {
TRUTH_NOINLINE void *make_for_handler();
TRUTH_NOINLINE void *make_for_global();
TRUTH_NOINLINE void *make_for_static();
TRUTH_NOINLINE void *make_early();
TRUTH_NOINLINE void *make_never();
TRUTH_NOINLINE void *make_in_destructor();
}

void *
make_for_handler()
{
	return std::malloc(1009);
}

void *
make_for_global()
{
	return new char[503];
}

void *
make_for_static()
{
	return std::calloc(1, 251);
}

void *
make_early()
{
	return std::malloc(127);
}

void *
make_never()
{
	return std::malloc(61);
}

void *
make_in_destructor()
{
	return std::malloc(31);
}

namespace
{

struct owner {
	void *blocks[14];
	void (*give)(void *);
	~owner()
	{
		for (void *p : blocks)
			give(p);
		make_in_destructor();
	}
};

void
give_array(void *p)
{
	delete[] static_cast<char *>(p);
}

void *handlers[22];
owner global = {{}, give_array};

void
on_exit_free()
{
	for (unsigned i = 0; i < 11; i++)
		std::free(handlers[i]);
}

void
fill()
{
	static owner local = {{}, std::free};

	for (unsigned i = 0; i < 7; i++)
		local.blocks[i] = make_for_static();
	for (void *&p : global.blocks)
		p = make_for_global();
	for (void *&p : handlers)
		p = make_for_handler();
	for (unsigned i = 0; i < 5; i++)
		std::free(make_early());
	for (unsigned i = 0; i < 3; i++)
		make_never();
}

} // namespace

int
main(int argc, char **argv)
{
	bool quick = argc > 1 && std::strcmp(argv[1], "quick") == 0;
	bool call = argc > 1 && std::strcmp(argv[1], "exit") == 0;

	fill();
	std::atexit(on_exit_free);
	if (quick) {
		truth_say(
			"expect in=make_for_handler allocs=22 frees=0 live_bytes=22198\n"
			"expect in=make_for_global allocs=14 frees=0 live_bytes=7042\n"
			"expect in=make_for_static allocs=7 frees=0 live_bytes=1757\n"
			"expect in=make_in_destructor allocs=0\n");
		_exit(0);
	}
	truth_say(
		"expect in=make_for_handler at_exit_blocks=22 at_exit_bytes=22198 live_blocks=11\n"
		"expect in=make_for_global at_exit_blocks=14 at_exit_bytes=7042 live_blocks=0\n"
		"expect in=make_for_static at_exit_blocks=7 at_exit_bytes=1757 live_blocks=0\n"
		"expect in=make_early at_exit_blocks=0 frees=5 live_blocks=0\n"
		"expect in=make_never at_exit_blocks=3 at_exit_bytes=183 live_bytes=183\n"
		"expect in=make_in_destructor at_exit_blocks=0 live_blocks=2 live_bytes=62\n");
	if (call)
		std::exit(0);
	return 0;
}
