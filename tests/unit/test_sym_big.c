/* SPDX-License-Identifier: MIT */
/* test_sym_big.c -- many addresses in large binaries: in time, and every line as
 * addr2line's.
 *
 * A generated C++ program (bench/workloads/symbols.py), and the debug builds of libstdc++
 * and python where they are installed. Under SEEP_SOAK the program has 150 MB of DWARF 5
 * and each is asked about 60,000 addresses; else it is a fortieth of that. Times are CPU
 * time, since the machine may be anybody's.
 *
 * Where addr2line says another line than we do, llvm-symbolizer is the judge: it has to
 * say what we say. Two faults of addr2line 2.40 are known. In version 5 of DWARF a
 * sequence of rows that sets no file begins in file 1, and it takes file 0. And for some
 * last bytes of 256 it says nothing when it was asked about others before. */
#include <time.h>
#include <unistd.h>

#include "t.h"
#include "tool/sym/sym.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/vec.h"

#include "sym_fixture.h"
#include "sym_peer.h"

#define MOST_FRAMES 64

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#	define SLOW 20
#else
#	define SLOW 1
#endif

static bool soak;
struct addresses VEC_BODY(uint64_t);

static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Distinct addresses, spread evenly over the bytes of all functions and in no order. */
static void
pick(const char *program, size_t count, struct addresses *ret)
{
	char *cmd = xasprintf("nm -S --defined-only %s | awk 'NF == 4 && $3 ~ /[tTwWi]/ "
			      "{print $1, $2}' | sort -u",
			      program);
	FILE *list = popen(cmd, "r");
	VEC(uint64_t) starts = {0}, ends = {0}; /* ends count the bytes so far */
	unsigned long long a, n, last = 0;
	uint64_t total = 0, at, seed = 4711;
	size_t lo, hi, mid;

	while (fscanf(list, "%llx %llx", &a, &n) == 2) {
		if (a < last)
			continue; /* an alias */
		last = a + n;
		vec_push(&starts, a);
		vec_push(&ends, total += n);
	}
	pclose(list);
	free(cmd);
	T_CHECK(total > count);
	for (size_t i = 0; i < count && total > count; i++) {
		/* one in each stretch of equal length: all are different */
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		at = total * i / count + (seed >> 33) % (total / count);
		for (lo = 0, hi = ends.len; lo < hi;) {
			mid = (lo + hi) / 2;
			if (ends.data[mid] <= at)
				lo = mid + 1;
			else
				hi = mid;
		}
		vec_push(ret, starts.data[lo] + at - (lo > 0 ? ends.data[lo - 1] : 0));
	}
	for (size_t i = ret->len; i > 1; i--) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		lo = (seed >> 33) % i;
		at = ret->data[i - 1];
		ret->data[i - 1] = ret->data[lo];
		ret->data[lo] = at;
	}
	vec_done(&starts);
	vec_done(&ends);
}

/* Asks all of them, closes, and says how long it took. */
static double
ask_all(const char *program, const struct addresses *all, const struct sym_opts *o,
	unsigned long *ret_frames)
{
	struct sym_frame f[MOST_FRAMES];
	double began = cpu_seconds();
	struct sym *s = sym_open(program, NULL, 0, o, NULL);
	unsigned long n = 0;

	for (size_t i = 0; s != NULL && i < all->len; i++)
		n += sym_find(s, all->data[i], f, MOST_FRAMES);
	T_CHECK(s != NULL && sym_reason(s) == NULL);
	sym_close(s);
	*ret_frames = n;
	return cpu_seconds() - began;
}

/* The line of every frame is the peer's. */
static bool
lines_agree(struct sym *s, const struct peer *p, const struct said *w)
{
	struct sym_frame f[MOST_FRAMES];
	unsigned n = sym_find(s, w->addr, f, MOST_FRAMES);
	const struct said_frame *want = &p->frames.data[w->first];

	if (n == 0)
		return w->count == 1 && want->line == 0;
	if (n != w->count)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (f[i].line != want[i].line ||
		    (f[i].line != 0 && strcmp(f[i].file, want[i].file) != 0))
			return false;
	return true;
}

/* Compares with a file of answers; addresses where they differ go to `ret`. */
static void
compare(const char *program, const char *said, struct addresses *ret)
{
	struct sym *s = sym_open(program, NULL, 0, NULL, NULL);
	struct peer p = {0};

	T_EQ(peer_read(&p, at(said)), 0);
	for (size_t i = 0; i < p.all.len; i++)
		if (!lines_agree(s, &p, &p.all.data[i]))
			vec_push(ret, p.all.data[i].addr);
	sym_close(s);
	peer_done(&p);
}

static void
write_addresses(const struct addresses *all, const char *name)
{
	struct buf b = {0};

	for (size_t i = 0; i < all->len; i++)
		buf_printf(&b, "0x%llx\n", (unsigned long long)all->data[i]);
	T_EQ(file_write(at(name), buf_str(&b), b.len, NULL), 0);
	buf_done(&b);
}

/* Every line as addr2line has it, or as llvm-symbolizer has it. How many were the
 * latter. */
static size_t
check_lines(const char *program, const struct addresses *all)
{
	struct addresses differ = {0}, wrong = {0};
	size_t n;

	write_addresses(all, "addrs");
	T_EQ(sh("addr2line -aif -e %s <addrs >said", program), 0);
	compare(program, "said", &differ);
	n = differ.len;
	if (n > 0 && sh("command -v llvm-symbolizer") == 0) {
		/* "file:12:3" and a blank line behind each become what addr2line says */
		write_addresses(&differ, "differ");
		T_EQ(sh("while read -r a; do printf '0x%%016x\\n' $a; llvm-symbolizer "
			"--no-demangle --inlines --obj=%s $a | sed -e '/^$/d' "
			"-e 's/:[0-9]*$//'; done <differ >judged",
			program),
		     0);
		compare(program, "judged", &wrong);
		for (size_t i = 0; i < wrong.len && i < 3; i++)
			T_FAIL("%s 0x%llx: neither addr2line nor llvm-symbolizer says so",
			       program, (unsigned long long)wrong.data[i]);
	}
	vec_done(&differ);
	vec_done(&wrong);
	return n;
}

/* Cold, with the making of the cache, and from it: as fast as asked, and lines that are
 * right. `allowed` differences from addr2line in 10,000 addresses, all of them for the
 * judge. */
static void
measure(const char *program, unsigned allowed)
{
	struct addresses all = {0};
	char *cache = xasprintf("%s/cache-%d", dir, rand());
	struct sym_opts o = {.cache_dir = cache};
	unsigned long first, again;
	double cold, warm;
	size_t differ;

	pick(program, soak ? 60000 : 1500, &all);
	cold = ask_all(program, &all, &o, &first);
	warm = ask_all(program, &all, &o, &again);
	differ = check_lines(program, &all);
	printf("    %s: %zu addresses, %lu frames; %.3f s cold, %.3f s from the cache; %zu "
	       "unlike addr2line\n",
	       program, all.len, first, cold, warm, differ);
	T_EQ(first, again);
	T_CHECK(first >= all.len * 9 / 10);
	T_CHECK(differ * 10000 <= all.len * (size_t)allowed);
	T_CHECK(cold <= 2.0 * SLOW);
	T_CHECK(warm <= 0.3 * SLOW);
	T_EQ(sh("test $(ls %s | wc -l) = 1", cache), 0);
	vec_done(&all);
	free(cache);
}

static bool
fixture(void)
{
	soak = getenv("SEEP_SOAK") != NULL;
	return (dir[0] != '\0' || make_dir()) &&
	       sh("command -v addr2line && command -v nm") == 0;
}

T_TEST(generated_program)
{
	const char *root = getenv("SEEP_ROOT"), *build = getenv("SEEP_BUILD");
	unsigned long long bytes = 0;
	char *folder, *program;
	FILE *size;

	if (!fixture() || sh("command -v g++") != 0)
		T_SKIP("no g++ or addr2line");
	/* kept with the build, because it takes minutes to make */
	folder = soak && build != NULL ? xasprintf("%s/symbols", build)
				       : xasprintf("%s/symbols", dir);
	if (root == NULL)
		root = getenv("PWD");
	if (sh("/usr/bin/python3 '%s/bench/workloads/symbols.py' '%s' %d && cp log bytes",
	       root, folder, soak ? 40 : 1) != 0) {
		T_FAIL("%s/bench/workloads/symbols.py failed: is SEEP_ROOT set?", root);
		return;
	}
	size = fopen(at("bytes"), "r");
	T_EQ(fscanf(size, "%llu", &bytes), 1);
	fclose(size);
	T_CHECK(bytes >= (soak ? 150000000 : 3000000));
	printf("    %llu bytes of debug sections\n", bytes);
	program = xasprintf("%s/program", folder);
	measure(program, 1);
	free(program);
	free(folder);
}

T_TEST(libstdcxx)
{
	static const char lib[] = "/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6";

	if (!fixture() || access(lib, R_OK) != 0)
		T_SKIP("no libstdc++6-12-dbg");
	measure(lib, 100);
}

T_TEST(python)
{
	static const char program[] = "/usr/bin/python3.11d";

	if (!fixture() || access(program, R_OK) != 0)
		T_SKIP("no python3.11-dbg");
	measure(program, 100);
}

T_MAIN()
