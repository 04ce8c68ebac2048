/* SPDX-License-Identifier: MIT */
/* attach_cxx.cpp -- as attach_steps.c in C++: containers, strings, objects with virtual functions, from
 * templates and through exceptions. Says "ready", does a round for each line it reads, says "done". */
// cflags: -O2 -g -fomit-frame-pointer
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "truth.h"

static std::vector<std::string> texts;
static std::map<int, std::string> tree;

struct shape {
	virtual ~shape() = default;
	virtual void grow(int by) = 0;
};

struct box : shape {
	std::vector<int> *sides = nullptr;

	TRUTH_NOINLINE void
	grow(int by) override
	{
		sides = new std::vector<int>(static_cast<size_t>(by));
	}
};

template <typename T>
TRUTH_NOINLINE static T *
make_many(int n)
{
	return new T[static_cast<size_t>(n)];
}

TRUTH_NOINLINE static void
thrown(int n)
{
	if (n > 0)
		throw std::string(static_cast<size_t>(n), 'x');
}

TRUTH_NOINLINE static void
a_round(int n)
{
	shape *s = new box;

	s->grow(97);
	texts.push_back(std::string(101, 'a'));
	tree[n] = std::string(43, 'b');
	(void)make_many<long>(19);
	(void)make_many<char>(1021);
	try {
		thrown(211);
	} catch (const std::string &e) {
		texts.push_back(e);
	}
}

int
main()
{
	int n = 0;
	char c;

	truth_say("ready\n");
	while (read(0, &c, 1) == 1) {
		if (c == '\n') {
			a_round(n++);
			truth_say("done\n");
		}
	}
	return 0;
}
