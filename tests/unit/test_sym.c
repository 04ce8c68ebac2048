/* SPDX-License-Identifier: MIT */
/* test_sym.c -- symbols and source lines: names, debug files, reasons, broken input.
 *
 * Small programs with known lines are compiled here, with what the machine has. That
 * answers agree with addr2line address by address is the subject of test_sym_peers.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"
#include "tool/sym/demangle.h"
#include "tool/sym/source_text.h"
#include "tool/sym/sym.h"
#include "tool/sym/sym_priv.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

static char dir[64];

/* Also after a run of chosen tests, or a failed one. */
static void
clean_up(void)
{
	char *cmd = xasprintf("rm -rf %s", dir);

	if (getenv("KEEP") == NULL && system(cmd) != 0)
		fprintf(stderr, "%s: not removed\n", dir);
	free(cmd);
}

static const char shop_c[] = "#include <stdlib.h>\n"				  /* 1 */
			     "volatile int sink;\n"				  /* 2 */
			     "static inline __attribute__((always_inline)) int\n" /* 3 */
			     "inner(int x)\n"					  /* 4 */
			     "{\n"						  /* 5 */
			     "	sink = x;\n"					  /* 6 */
			     "	return sink + 7;\n"				  /* 7 */
			     "}\n"						  /* 8 */
			     "static inline __attribute__((always_inline)) int\n" /* 9 */
			     "middle(int x)\n"					  /* 10 */
			     "{\n"						  /* 11 */
			     "	return inner(x * 3);\n"				  /* 12 */
			     "}\n"						  /* 13 */
			     "__attribute__((noinline)) int\n"			  /* 14 */
			     "outer(int x)\n"					  /* 15 */
			     "{\n"						  /* 16 */
			     "	return middle(x + 1);\n"			  /* 17 */
			     "}\n"						  /* 18 */
			     "int\n"						  /* 19 */
			     "main(int argc, char **argv)\n"			  /* 20 */
			     "{\n"						  /* 21 */
			     "	(void)argv;\n"					  /* 22 */
			     "	return outer(argc);\n"				  /* 23 */
			     "}\n";						  /* 24 */

/* Runs a command with %s replaced by the test's folder; its exit status. */
__attribute__((format(printf, 1, 2))) static int
sh(const char *fmt, ...)
{
	va_list ap;
	char *cmd, *all;
	int r;

	va_start(ap, fmt);
	cmd = x_vasprintf(fmt, ap);
	va_end(ap);
	all = xasprintf("cd %s && { %s; } >log 2>&1", dir, cmd);
	r = system(all);
	free(all);
	free(cmd);
	return r;
}

/* Path of a file in the test's folder; good for a few more calls. */
static const char *
at(const char *name)
{
	static char paths[4][160];
	static unsigned next;
	char *p = paths[next++ % 4];

	snprintf(p, sizeof paths[0], "%s/%s", dir, name);
	return p;
}

/* The folder with shop.c and the program made of it in several ways; false: no
 * compiler. */
static bool
fixture(void)
{
	static int state;

	if (state != 0)
		return state > 0;
	state = -1;
	snprintf(dir, sizeof dir, "/tmp/seep-test-sym.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return false;
	atexit(clean_up);
	if (file_write(at("shop.c"), shop_c, sizeof shop_c - 1, NULL) != 0)
		return false;
	if (sh("cc -g -O1 -Wl,--build-id shop.c -o full") != 0 ||
	    sh("objcopy --only-keep-debug full full.debug") != 0 ||
	    sh("strip full -o bare") != 0)
		return false;
	state = 1;
	return true;
}

/* Address of a symbol of the program, from nm. */
static uint64_t
address_of(const char *program, const char *symbol)
{
	char *cmd =
		xasprintf("nm %s/%s | awk '$3==\"%s\"{print $1}'", dir, program, symbol);
	FILE *p = popen(cmd, "r");
	unsigned long long a = 0;

	if (p == NULL || fscanf(p, "%llx", &a) != 1)
		a = 0;
	if (p != NULL)
		pclose(p);
	free(cmd);
	return a;
}

/* The first address in outer() at which a line of inner() runs: three frames there. */
static unsigned
find_inner(struct sym *s, uint64_t outer, struct sym_frame *f, unsigned max)
{
	for (uint64_t a = outer; a < outer + 64; a++) {
		unsigned n = sym_find(s, a, f, max);

		if (n > 0 && strcmp(f[0].linkage, "inner") == 0 && f[0].line == 6)
			return n;
	}
	return 0;
}

/* All of what a full answer must be, wherever the debug information came from. */
static void
check_shop(struct sym *s, uint64_t outer)
{
	struct sym_frame f[8];

	T_EQ(find_inner(s, outer, f, 8), 3);
	T_STR(f[0].linkage, "inner");
	T_STR(f[0].short_name, "inner");
	T_EQ(f[0].line, 6);
	T_CHECK(f[0].inlined);
	T_STR(f[0].file, at("shop.c"));
	T_STR(f[1].linkage, "middle");
	T_EQ(f[1].line, 12);
	T_CHECK(f[1].inlined);
	T_STR(f[2].short_name, "outer");
	T_EQ(f[2].line, 17);
	T_STR(f[2].file, at("shop.c"));
	T_CHECK(!f[2].inlined && f[2].offset < 64);
	T_CHECK(sym_reason(s) == NULL);
}

T_TEST(sym_gives_inlined_frames)
{
	struct sym_frame f[8];
	struct err e = {0};

	if (!fixture())
		T_SKIP("no C compiler");
	uint64_t outer = address_of("full", "outer");
	struct sym *s = sym_open(at("full"), NULL, 0, NULL, &e);
	T_STR(e.msg, "");
	if (s == NULL)
		return;
	check_shop(s, outer);
	/* too little room: the real function stays */
	T_EQ(find_inner(s, outer, f, 2), 2);
	T_STR(f[1].linkage, "outer");
	T_EQ(f[1].line, 17);
	T_EQ(sym_find(s, outer, f, 1), 1);
	T_STR(f[0].linkage, "outer");
	T_EQ(f[0].offset, 0);
	T_EQ(sym_find(s, outer + 1, f, 1), 1);
	T_EQ(f[0].offset, 1);
	T_EQ(sym_find(s, outer, f, 0), 0);
	T_EQ(sym_find(s, 0, f, 8), 0);
	T_EQ(sym_find(s, UINT64_MAX, f, 8), 0);
	sym_close(s);
	sym_close(NULL);
}

T_TEST(sym_finds_debug_files)
{
	struct err e = {0};
	struct sym *s;
	char hex[2 * SYM_BUILD_ID_MAX + 1] = "";
	const unsigned char *id = NULL;

	if (!fixture())
		T_SKIP("no C compiler");
	uint64_t outer = address_of("full", "outer");
	struct sym_opts o = {.debug_dirs = at("none")};

	/* by name, beside the binary and in .debug */
	T_EQ(sh("cp bare linked && objcopy --add-gnu-debuglink=full.debug linked"), 0);
	s = sym_open(at("linked"), NULL, 0, &o, &e);
	T_STR(sym_debug_path(s), at("full.debug"));
	check_shop(s, outer);
	sym_close(s);
	T_EQ(sh("mkdir -p .debug sub && mv full.debug .debug/"), 0);
	s = sym_open(at("linked"), NULL, 0, &o, &e);
	T_STR(sym_debug_path(s), at(".debug/full.debug"));
	check_shop(s, outer);
	sym_close(s);

	/* under a debug folder at the binary's own path, which opts may have to tell */
	T_EQ(sh("mkdir -p dbg%s && mv .debug/full.debug dbg%s/ && mv linked sub/", dir,
		dir),
	     0);
	char *dirs = xasprintf("%s:%s/dbg", at("none"), dir);
	o = (struct sym_opts){.debug_dirs = dirs, .real_path = at("linked")};
	s = sym_open(at("sub/linked"), NULL, 0, &o, &e);
	check_shop(s, outer);
	sym_close(s);
	o.real_path = NULL;
	s = sym_open(at("sub/linked"), NULL, 0, &o, &e);
	T_CHECK(sym_debug_path(s) == NULL);
	T_STR(sym_reason(s), "stripped");
	size_t n = sym_build_id(s, &id);
	T_EQ(n, 20);
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	sym_close(s);

	/* by build-id, with no link in the binary; a sysroot before it */
	T_EQ(sh("mkdir -p ids/.build-id/%.2s && "
		"mv dbg%s/full.debug ids/.build-id/%.2s/%s.debug",
		hex, dir, hex, hex + 2),
	     0);
	o = (struct sym_opts){.debug_dirs = "/ids", .sysroot = dir};
	s = sym_open(at("bare"), NULL, 0, &o, &e);
	check_shop(s, outer);
	unsigned char wanted[20];
	memcpy(wanted, s->build_id, 20);
	sym_close(s);
	/* the binary is gone, its id is known */
	s = sym_open(at("gone"), wanted, 20, &o, &e);
	check_shop(s, outer);
	sym_close(s);
	o.no_debug_files = true;
	s = sym_open(at("bare"), wanted, 20, &o, &e);
	T_STR(sym_reason(s), "stripped");
	sym_close(s);
	/* names alone, with the offsets but no lines */
	o = (struct sym_opts){.debug_dirs = "/ids", .sysroot = dir, .names_only = true};
	struct sym_frame f[4];
	s = sym_open(at("bare"), wanted, 20, &o, &e);
	T_EQ(sym_find(s, outer + 1, f, 4), 1);
	T_STR(f[0].short_name, "outer");
	T_EQ(f[0].line, 0);
	T_EQ(f[0].offset, 1);
	T_CHECK(s->dwarf == NULL);
	T_CHECK(sym_reason(s) == NULL);
	sym_close(s);
	T_EQ(sh("mv ids/.build-id/%.2s/%s.debug full.debug", hex, hex + 2), 0);
	free(dirs);
}

T_TEST(sym_refuses_another_build)
{
	struct err e = {0};
	unsigned char id[20];
	struct sym_frame f[4];
	struct sym *s;

	if (!fixture())
		T_SKIP("no C compiler");
	memset(id, 0xab, sizeof id);
	T_CHECK(sym_open(at("full"), id, 20, NULL, &e) == NULL);
	T_EQ(e.code, -ESTALE);
	T_CHECK(strstr(e.msg, "build-id differs: recorded "
			      "abababababababababababababababababababab, "
			      "file has ") != NULL);
	T_EQ(strlen(strstr(e.msg, "file has ")), 9 + 40);
	T_CHECK(sym_open(at("gone"), id, 20, NULL, &e) == NULL);
	T_EQ(e.code, -ENOENT);
	T_CHECK(strstr(e.msg, "/gone: file is gone") != NULL);
	T_CHECK(sym_open(at("shop.c"), NULL, 0, NULL, &e) == NULL);
	T_EQ(e.code, -ENOEXEC);
	T_CHECK(sym_open(dir, NULL, 0, NULL, &e) == NULL);
	T_CHECK(sym_open("/dev/zero", NULL, 0, NULL, &e) == NULL);

	/* a debug file of another program under the right name, with and without a
	 * build-id */
	T_EQ(sh("cp bare other && objcopy --add-gnu-debuglink=full.debug other && "
		"mkdir -p o && "
		"mv other o/ && cc -g -O0 -Wl,--build-id shop.c -o o/x && "
		"objcopy --only-keep-debug o/x o/full.debug"),
	     0);
	struct sym_opts o = {.debug_dirs = at("none")};
	s = sym_open(at("o/other"), NULL, 0, &o, &e);
	T_CHECK(sym_debug_path(s) == NULL);
	char *why = xasprintf("debug file %s/o/full.debug is for another build", dir);
	T_STR(sym_reason(s), why);
	T_EQ(sym_find(s, address_of("full", "outer"), f, 4), 0);
	sym_close(s);
	free(why);

	T_EQ(sh("mkdir -p n && cc -g -O1 -Wl,--build-id=none shop.c -o n/full && cd n && "
		"objcopy --only-keep-debug full full.debug && strip full -o bare && "
		"objcopy --add-gnu-debuglink=full.debug bare"),
	     0);
	s = sym_open(at("n/bare"), NULL, 0, &o, &e);
	check_shop(s, address_of("n/full", "outer")); /* by checksum */
	sym_close(s);
	T_EQ(sh("printf x >>n/full.debug"), 0);
	s = sym_open(at("n/bare"), NULL, 0, &o, &e);
	T_CHECK(sym_debug_path(s) == NULL);
	sym_close(s);
	T_CHECK(sym_open(at("n/full"), id, 20, NULL, &e) == NULL);
	T_CHECK(strstr(e.msg, "file has none") != NULL);
}

T_TEST(sym_says_what_is_missing)
{
	struct sym_frame f[4];
	struct err e = {0};
	struct sym *s;

	if (!fixture())
		T_SKIP("no C compiler");
	T_EQ(sh("cc -O1 shop.c -o nog && strip nog -o nothing"), 0);
	uint64_t outer = address_of("nog", "outer");
	s = sym_open(at("nog"), NULL, 0, NULL, &e);
	T_EQ(sym_find(s, outer + 3, f, 4), 1);
	T_STR(f[0].short_name, "outer");
	T_EQ(f[0].offset, 3);
	T_EQ(f[0].line, 0);
	T_STR(f[0].file, "");
	T_STR(sym_reason(s), "built without -g");
	sym_close(s);
	s = sym_open(at("nothing"), NULL, 0, NULL, &e);
	T_EQ(sym_find(s, outer, f, 4), 0);
	T_STR(sym_reason(s), "stripped");
	sym_close(s);

	/* split debug information, there and not there */
	T_EQ(sh("cc -g -gsplit-dwarf -O1 -c shop.c -o split.o && cc split.o -o split"),
	     0);
	outer = address_of("split", "outer");
	s = sym_open(at("split"), NULL, 0, NULL, &e);
	check_shop(s, outer);
	sym_close(s);
	T_EQ(sh("mv split.dwo away.dwo"), 0);
	s = sym_open(at("split"), NULL, 0, NULL, &e);
	T_EQ(sym_find(s, outer, f, 4), 1);
	T_STR(f[0].short_name, "outer");
	T_CHECK(f[0].line >= 12 && f[0].line <= 17); /* lines are not split off */
	T_STR(sym_reason(s), "split debug file split.dwo is missing");
	sym_close(s);
}

T_TEST(sym_reads_minidebuginfo)
{
	struct sym_frame f[4];
	struct err e = {0};
	struct sym *s;

	if (!fixture())
		T_SKIP("no C compiler");
	if (sh("command -v xz") != 0)
		T_SKIP("no xz");
	T_EQ(sh("cc -O1 shop.c -o whole && objcopy -S --remove-section .gdb_index "
		"--keep-symbol=outer --keep-symbol=main whole mini && xz -k mini && "
		"strip whole -o packed && "
		"objcopy --add-section .gnu_debugdata=mini.xz packed"),
	     0);
	s = sym_open(at("packed"), NULL, 0, NULL, &e);
	T_EQ(sym_find(s, address_of("whole", "outer"), f, 4), 1);
	T_STR(f[0].short_name, "outer");
	T_STR(sym_reason(s), "stripped");
	sym_close(s);
	/* half of it: nothing, and no harm */
	T_EQ(sh("head -c 100 mini.xz >half.xz && strip whole -o broken && "
		"objcopy --add-section .gnu_debugdata=half.xz broken"),
	     0);
	s = sym_open(at("broken"), NULL, 0, NULL, &e);
	T_EQ(sym_find(s, address_of("whole", "outer"), f, 4), 0);
	sym_close(s);
}

/* The slow way to say what sym_paint must: shortest range wins, of equals the largest
 * id. */
static uint32_t
painted(const struct sym_range *r, size_t n, uint64_t addr)
{
	const struct sym_range *best = NULL;

	for (size_t i = 0; i < n; i++) {
		if (addr < r[i].lo || addr >= r[i].hi)
			continue;
		if (best == NULL || r[i].hi - r[i].lo < best->hi - best->lo ||
		    (r[i].hi - r[i].lo == best->hi - best->lo && r[i].id > best->id))
			best = &r[i];
	}
	return best != NULL ? best->id : SYM_NONE;
}

T_TEST(sym_paint_equals_the_slow_way)
{
	srand(4711);
	for (int round = 0; round < 1500; round++) {
		struct sym_ranges r = {0};
		struct sym_spans spans = {0};
		int n = rand() % 23;

		for (int i = 0; i < n; i++) {
			uint64_t lo = (uint64_t)(rand() % 100);

			/* some are empty, some reversed */
			vec_push(&r,
				 (struct sym_range){lo, lo + (uint64_t)(rand() % 40) - 2,
						    (uint32_t)i});
			if (vec_last(&r)->hi > 1000)
				vec_last(&r)->hi = 0;
		}
		sym_paint(&r, &spans);
		for (uint64_t a = 0; a < 150; a++)
			if (sym_span_find(spans.data, spans.len, a) !=
			    painted(r.data, r.len, a))
				T_FAIL("round %d address %d", round, (int)a);
		for (size_t i = 1; i < spans.len; i++)
			T_CHECK(spans.data[i].lo > spans.data[i - 1].lo &&
				spans.data[i].id != spans.data[i - 1].id);
		vec_done(&r);
		vec_done(&spans);
	}
}

T_TEST(demangles)
{
	static const struct {
		const char *in, *full, *brief;
	} rows[] = {
		{"main", NULL, NULL},
		{"_start", NULL, NULL},
		{"_Znonsense", NULL, NULL},
		{"", NULL, NULL},
		{"_ZN2ns3putIiEEvRKT_", "void ns::put<int>(int const&)", "ns::put<int>"},
		{"_Z3fooi", "foo(int)", "foo"},
		{"_Z3fooi.part.0.cold", "foo(int) [clone .part.0] [clone .cold]",
		 "foo.part.0.cold"},
		{"_ZL4initv.llvm.8817", "init()", "init"},
		{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write",
		 "core::fmt::write"},
		{"_ZN4core3fmt5write17h0123456789abcdefE.llvm.77", "core::fmt::write",
		 "core::fmt::write"},
		{"_ZN4core3fmt5write17h0123456789abcdefE.cold", "core::fmt::write.cold",
		 "core::fmt::write.cold"},
		{"_ZN5a..b_5write17h0123456789abcdefE", "a::b_::write", "a::b_::write"},
		{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar",
		 "mycrate::foo::bar"},
		{"_ZN3FooC1Ev", "Foo::Foo()", "Foo::Foo"},
		{"_Znwm", "operator new(unsigned long)", "operator new"},
		/* Return types among the arguments stay, those of the functions around
		 * go. */
		{"_ZSt8__invokeIPFviEJiEENSt15__invoke_resultIT_JDpT0_EE4typeEOS3_DpOS4_",
		 "std::__invoke_result<void (*)(int), int>::type std::__invoke<void "
		 "(*)(int), int>(void (*&&)(int), int&&)",
		 "std::__invoke<void (*)(int), int>"},
		{"_ZNSt8functionIFPvcEEC1Ev", "std::function<void* (char)>::function()",
		 "std::function<void* (char)>::function"},
		{"_ZZ2tfIPFiiEEiT_EN1S1gES1_",
		 "tf<int (*)(int)>(int (*)(int))::S::g(int (*)(int))",
		 "tf<int (*)(int)>(int (*)(int))::S::g"},
		{"_ZZ1fIiEvT_ENKUlvE_clEv",
		 "f<int>(int)::{lambda()#1}::operator()() const",
		 "f<int>(int)::{lambda()#1}::operator()"},
	};
	char *s;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		s = demangle_full(rows[i].in);
		T_STR(s, rows[i].full);
		free(s);
		s = demangle_short(rows[i].in);
		T_STR(s, rows[i].brief);
		free(s);
	}
}

T_TEST(src_line_shows_what_was_compiled)
{
	struct src *s = src_new();
	const char *why = NULL;
	struct stat st;

	if (!fixture())
		T_SKIP("no C compiler");
	T_STR(src_line(s, at("shop.c"), 17, NULL, &why), "return middle(x + 1);");
	T_STR(src_line(s, at("shop.c"), 24, NULL, &why), "}");
	T_CHECK(why == NULL);
	T_CHECK(src_line(s, at("shop.c"), 25, NULL, &why) == NULL);
	T_STR(why, "source has no such line");
	T_CHECK(src_line(s, at("shop.c"), 0, NULL, &why) == NULL);
	T_STR(why, "line is unknown");
	T_CHECK(src_line(s, at("nothere.c"), 1, NULL, &why) == NULL);
	T_STR(why, "source file is gone");
	T_CHECK(src_line(s, "/dev/zero", 1, NULL, &why) == NULL);
	T_STR(why, "source is not a regular file");

	T_EQ(stat(at("shop.c"), &st), 0);
	struct timespec built = st.st_mtim;
	T_STR(src_line(s, at("shop.c"), 15, &built, &why), "outer(int x)");
	built.tv_sec--;
	T_CHECK(src_line(s, at("shop.c"), 15, &built, &why) == NULL);
	T_STR(why, "source is newer than the binary");

	T_EQ(file_write(at("odd.c"), "\t a\tb\x1b[31m \r\n\n x", 16, NULL), 0);
	T_STR(src_line(s, at("odd.c"), 1, NULL, NULL), "a b?[31m");
	T_STR(src_line(s, at("odd.c"), 2, NULL, NULL), "");
	T_STR(src_line(s, at("odd.c"), 3, NULL, NULL), "x");
	src_free(s);
	src_free(NULL);
}

/* Opens the file and asks it about everything, in a child. 0: it lived. */
static int
survives(const char *path, uint64_t around)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		struct sym_frame f[16];
		struct err e = {0};
		struct sym *s = sym_open(path, NULL, 0, NULL, &e);

		alarm(20); /* a loop is a failure too */
		for (uint64_t a = around - 64; s != NULL && a < around + 256; a += 3)
			for (unsigned i = 0, n = sym_find(s, a, f, 16); i < n; i++)
				if (strlen(f[i].short_name) + strlen(f[i].file) >
				    1u << 20)
					_exit(3);
		if (s == NULL && (e.code >= 0 || e.msg[0] == '\0'))
			_exit(4); /* refused without a word */
		sym_close(s);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

T_TEST(sym_survives_cut_files)
{
	struct buf b = {0};
	uint64_t outer;

	if (!fixture())
		T_SKIP("no C compiler");
	outer = address_of("full", "outer");
	T_EQ(buf_read_file(&b, at("full"), NULL), 0);
	for (size_t i = 0; i < 200; i++) {
		/* the first ones inside of the headers, the last ones of the section
		 * table */
		size_t n = i < 40    ? i * 8
			   : i < 160 ? b.len * (i - 40) / 120
				     : b.len - (200 - i) * 16;

		T_EQ(file_write(at("cut"), b.data, n, NULL), 0);
		int r = survives(at("cut"), outer);
		if (r != 0)
			T_FAIL("cut to %zu of %zu bytes: status 0x%x", n, b.len, r);
	}
	buf_done(&b);
}

T_TEST(sym_survives_flipped_bytes)
{
	struct buf b = {0};
	char *copy;
	uint64_t outer;

	if (!fixture())
		T_SKIP("no C compiler");
	outer = address_of("full", "outer");
	T_EQ(buf_read_file(&b, at("full"), NULL), 0);
	copy = xmalloc(b.len);
	srand(1009);
	for (int i = 0; i < 400; i++) {
		memcpy(copy, b.data, b.len);
		/* every second round in the last third: debug sections and section
		 * headers */
		for (int k = rand() % 12 + 1; k > 0; k--) {
			size_t span = i % 2 ? b.len / 3 : b.len;

			copy[b.len - 1 - (size_t)rand() % span] = (char)rand();
		}
		T_EQ(file_write(at("flip"), copy, b.len, NULL), 0);
		int r = survives(at("flip"), outer);
		if (r != 0)
			T_FAIL("round %d: status 0x%x", i, r);
	}
	free(copy);
	buf_done(&b);
}

T_MAIN()
