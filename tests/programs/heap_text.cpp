// SPDX-License-Identifier: MIT
// heap_text.cpp -- makes heap profiles with the profiler of the allocator it runs on.
//
// The goldens in tests/golden/heap are made by it (see README.md there), and tests/e2e/heap_text.sh
// runs it again. Nothing in it allocates but the functions below, apart from what the C++ library
// does when it starts. With an argument of its own it writes what tcmalloc gives only through
// functions: `sample FILE` the sampled heap, `growth FILE` what the heap was grown by.
// cflags: -O1 -g -pthread
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <unistd.h>

enum { SMALL = 101, LARGE = 13, MIXED = 211, MIXED_FREED = 151, WORKER = 37 };

static void *volatile keep[SMALL + LARGE + MIXED + WORKER];
static unsigned kept;

extern "C" {
__attribute__((noinline)) void
leak_small(void)
{
	keep[kept++] = malloc(24);
	asm volatile("");
}

__attribute__((noinline)) void
leak_large(void)
{
	keep[kept++] = malloc(70001);
	asm volatile("");
}

__attribute__((noinline)) void
mixed(unsigned i)
{
	void *p = malloc(100);

	asm volatile("" : "+r"(p));
	if (i < MIXED_FREED)
		free(p);
	else
		keep[kept++] = p;
}

__attribute__((noinline)) void *
worker(void *arg)
{
	pthread_setname_np(pthread_self(), "worker 1");
	for (unsigned i = 0; i < WORKER; i++)
		keep[kept++] = malloc(512);
	return arg;
}

__attribute__((noinline)) void
work(void)
{
	for (unsigned i = 0; i < SMALL; i++)
		leak_small();
	for (unsigned i = 0; i < LARGE; i++)
		leak_large();
	for (unsigned i = 0; i < MIXED; i++)
		mixed(i);
}
}

// One of MallocExtension's functions that fill a string.
static void
ask_tcmalloc(const char *function, const char *file)
{
	std::string mangled = std::string("_ZN15MallocExtension") + function +
			      "EPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
	void *(*instance)(void) = reinterpret_cast<void *(*)(void)>(
		dlsym(RTLD_DEFAULT, "_ZN15MallocExtension8instanceEv"));
	void (*get)(void *, std::string *) =
		reinterpret_cast<void (*)(void *, std::string *)>(
			dlsym(RTLD_DEFAULT, mangled.c_str()));
	std::string text;
	FILE *out = fopen(file, "w");

	if (instance == nullptr || get == nullptr || out == nullptr)
		exit(EXIT_FAILURE);
	get(instance(), &text);
	fwrite(text.data(), 1, text.size(), out);
	fclose(out);
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	void *volatile much = nullptr;

	// tcmalloc's sampler looks at its setting only after the first 16 MiB.
	for (unsigned i = 0; argc > 1 && i < 64; i++) {
		much = malloc(1 << 20);
		free(much);
	}
	work();
	if (argc > 2 && strcmp(argv[1], "sample") == 0)
		ask_tcmalloc("13GetHeapSample", argv[2]);
	else if (argc > 2 && strcmp(argv[1], "growth") == 0)
		ask_tcmalloc("19GetHeapGrowthStacks", argv[2]);
	if (pthread_create(&thread, nullptr, worker, nullptr) != 0)
		return EXIT_FAILURE;
	pthread_join(thread, nullptr);
	puts("expect live bytes=937381 blocks=211");
	return 0;
}
