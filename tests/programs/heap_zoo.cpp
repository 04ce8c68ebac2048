// SPDX-License-Identifier: MIT
// heap_zoo.cpp -- blocks of every sort that glibc's malloc has, some of them lost: for looks at a process
// that nobody recorded. Says what is lost, then "ready", and waits for a line; with LeakSanitizer
// in it, that is asked for its opinion then.
//
// cflags: -O1 -g -pthread
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));

struct Session {
	Session()
	{
		std::memset(name, 'n', sizeof name);
	}
	virtual ~Session()
	{
	}
	virtual void
	run()
	{
		std::puts(name);
	}
	Session *volatile next = nullptr;
	char name[40];
};

namespace net
{
struct Request : Session {
	void
	run() override
	{
		std::puts("request");
	}
	char body[100] = {};
};
} // namespace net

struct node {
	struct node *next;
	char text[56];
};

// What stays reachable, each in its own way.
Session *sessions;
node *held_list;
void *held_large;
static __thread void *volatile in_tls;
void *sink;

static unsigned definite, indirect;

// The compiler must not think that nobody will ever look at it.
static inline void
seen(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

__attribute__((noinline)) static void *
block(size_t n)
{
	void *p = std::malloc(n);

	std::memset(p, 0x5a, n);
	return p;
}

__attribute__((noinline)) static node *
new_node(node *next)
{
	node *n = static_cast<node *>(block(sizeof *n));

	std::memset(n->text, 't', sizeof n->text);
	n->text[sizeof n->text - 1] = '\0';
	n->next = next;
	return n;
}

// Freed ones end up in the thread's cache, in fast bins, in lists, and at the end of the heap.
__attribute__((noinline)) static void
churn()
{
	static const size_t sizes[] = {24, 56, 120, 600, 1500, 5000};
	void *p[600];

	for (int i = 0; i < 600; i++)
		p[i] = block(sizes[i % 6]);
	for (int i = 0; i < 600; i += 2)
		std::free(p[i]);
	for (int i = 1; i < 600; i += 2)
		std::free(p[i]);
	std::memset(p, 0, sizeof p);
	sink = p;
	sink = nullptr;
}

__attribute__((noinline)) static void
lose_plain()
{
	for (int i = 0; i < 101; i++)
		block(100);
	for (int i = 0; i < 53; i++)
		block(5000);
	for (int i = 0; i < 3; i++)
		block(300000); // mappings of their own
	definite += 101 + 53 + 3;
}

__attribute__((noinline)) static void
lose_aligned()
{
	static const size_t aligns[] = {64, 4096, 65536};
	void *p = nullptr;

	for (int i = 0; i < 3; i++) {
		if (posix_memalign(&p, aligns[i], 700) == 0)
			std::memset(p, 1, 700);
		if (posix_memalign(&p, aligns[i], 400000) == 0)
			std::memset(p, 1, 400000);
	}
	p = nullptr;
	sink = &p;
	sink = nullptr;
	definite += 6;
}

__attribute__((noinline)) static void
lose_lists()
{
	for (int i = 0; i < 37; i++)
		new_node(new_node(new_node(nullptr)));
	definite += 37;
	indirect += 74;
}

__attribute__((noinline)) static void
lose_objects()
{
	for (int i = 0; i < 29; i++) {
		Session *s = new net::Request;
		s->next = new Session;
		seen(s);
	}
	definite += 29;
	indirect += 29;
}

__attribute__((noinline)) static void
keep()
{
	for (int i = 0; i < 1009; i++)
		held_list = new_node(held_list);
	for (int i = 0; i < 211; i++) {
		Session *s = new Session;
		s->next = sessions;
		sessions = s;
	}
	held_large = block(1 << 20);
}

static pthread_barrier_t all_there;

__attribute__((noinline)) static void
in_thread()
{
	for (int i = 0; i < 17; i++)
		block(300);
	churn();
	in_tls = block(4000);
}

__attribute__((noinline)) static void
scrub()
{
	volatile char dead[65536];

	for (size_t i = 0; i < sizeof dead; i++)
		dead[i] = 0;
#ifdef __x86_64__
	/* malloc and memset leave addresses in these. */
	__asm__ volatile("pxor %%xmm0, %%xmm0; movdqa %%xmm0, %%xmm1; movdqa %%xmm0, %%xmm2;"
			 "movdqa %%xmm0, %%xmm3; movdqa %%xmm0, %%xmm4; movdqa %%xmm0, %%xmm5"
			 :
			 :
			 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5");
#endif
}

static void *
worker(void *)
{
	in_thread();
	scrub();
	pthread_barrier_wait(&all_there);
	for (;;)
		pause();
}

// Puts nothing on the heap: stdio's buffers are libc's.
static void
say(const char *text)
{
	if (write(STDOUT_FILENO, text, std::strlen(text)) < 0)
		_exit(1);
}

int
main(int argc, char **)
{
	char line[128];

	churn();
	keep();
	if (argc < 2) { // any word: nothing is lost
		lose_plain();
		lose_aligned();
		lose_lists();
		lose_objects();
		pthread_barrier_init(&all_there, nullptr, 4);
		for (int i = 0; i < 3; i++) {
			pthread_t t;

			pthread_create(&t, nullptr, worker, nullptr);
		}
		definite += 3 * 17;
		pthread_barrier_wait(&all_there);
	}
	churn();
	scrub();
	std::snprintf(line, sizeof line, "expect definite=%u indirect=%u\nready\n",
		      definite, indirect);
	say(line);
	while (read(STDIN_FILENO, line, sizeof line) > 0) {
		if (__lsan_do_recoverable_leak_check)
			__lsan_do_recoverable_leak_check();
		say("done\n");
	}
	_exit(0);
}
