/* SPDX-License-Identifier: MIT */
/* test_sym_files.c -- the many places and shapes of debug information, on real files.
 *
 * One small program with known lines, kept in every way that compilers, binutils, dwz and
 * debuginfod have, has to give the same three frames; where something is missing, the
 * reason has to say it. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"
#include "tool/sym/demangle.h"
#include "tool/sym/sym.h"
#include "tool/sym/sym_priv.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"

#include "sym_fixture.h"

static const char shop_c[] =
	"volatile int sink;\n"							 /* 1 */
	"static inline __attribute__((always_inline)) int inner(int x)\n"	 /* 2 */
	"{\n"									 /* 3 */
	"	sink = x;\n"							 /* 4 */
	"	return sink + 7;\n"						 /* 5 */
	"}\n"									 /* 6 */
	"static inline __attribute__((always_inline)) int middle(int x)\n"	 /* 7 */
	"{\n"									 /* 8 */
	"	return inner(x * 3);\n"						 /* 9 */
	"}\n"									 /* 10 */
	"__attribute__((noinline)) int outer(int x)\n"				 /* 11 */
	"{\n"									 /* 12 */
	"	return middle(x + 1);\n"					 /* 13 */
	"}\n"									 /* 14 */
	"int main(int argc, char **argv) { (void)argv; return outer(argc); }\n"; /* 15 */

static uint64_t outer;	     /* its address in "full" */
static unsigned char id[20]; /* build-id of "full" */
static char hex[41];

static bool
fixture(void)
{
	static int state;
	const unsigned char *p;
	struct sym *s;
	FILE *f;
	unsigned long long a = 0;

	if (state != 0)
		return state > 0;
	state = -1;
	if (!make_dir() ||
	    file_write(at("shop.c"), shop_c, sizeof shop_c - 1, NULL) != 0 ||
	    sh("cc -g -O1 -Wl,--build-id shop.c -o full && strip full -o bare && "
	       "objcopy --only-keep-debug full full.debug && "
	       "nm full | awk '$3 == \"outer\" {print $1}' >where") != 0)
		return false;
	f = fopen(at("where"), "r");
	if (f == NULL || fscanf(f, "%llx", &a) != 1)
		abort();
	fclose(f);
	outer = a;
	s = sym_open(at("full"), NULL, 0, NULL, NULL);
	if (s == NULL || sym_build_id(s, &p) != sizeof id)
		abort();
	memcpy(id, p, sizeof id);
	for (unsigned i = 0; i < sizeof id; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	sym_close(s);
	state = 1;
	return true;
}

static bool
have(const char *tool)
{
	return fixture() && sh("command -v %s", tool) == 0;
}

/* All of what a full answer must be, wherever the debug information came from. Closes
 * `s`. */
static void
check(struct sym *s, uint64_t from, const char *what)
{
	struct sym_frame f[8] = {0};
	unsigned n = 0;

	if (s == NULL) {
		T_FAIL("%s: not opened", what);
		return;
	}
	for (uint64_t a = from; a < from + 64; a++) {
		n = sym_find(s, a, f, 8);
		if (n > 0 && f[0].line == 4)
			break;
	}
	if (n != 3 || f[0].line != 4 || f[1].line != 9 || f[2].line != 13 ||
	    strcmp(f[0].linkage, "inner") != 0 || strcmp(f[1].linkage, "middle") != 0 ||
	    strcmp(f[2].linkage, "outer") != 0 || !f[0].inlined || f[2].inlined ||
	    strcmp(f[0].file, at("shop.c")) != 0)
		T_FAIL("%s: %u frames, %s %s:%u; %s", what, n, n ? f[0].linkage : "-",
		       n ? f[0].file : "-", n ? f[0].line : 0,
		       sym_reason(s) ? sym_reason(s) : "no reason");
	T_CHECK(sym_reason(s) == NULL);
	sym_close(s);
}

/* Moves the file `from` to `place`, asks, and moves it back. */
static void
check_at(const char *from, const char *place, const char *binary,
	 const unsigned char *want, const struct sym_opts *o)
{
	T_EQ(sh("mkdir -p \"$(dirname '%s')\" && mv '%s' '%s'", place, from, place), 0);
	check(sym_open(binary, want, want != NULL ? 20 : 0, o, NULL), outer, place);
	T_EQ(sh("mv '%s' '%s'", place, from), 0);
	/* and without it there is nothing */
	struct sym *s = sym_open(binary, want, want != NULL ? 20 : 0, o, NULL);
	T_CHECK(s == NULL || sym_reason(s) != NULL);
	sym_close(s);
}

T_TEST(debug_file_by_the_binarys_path)
{
	struct sym_opts o = {.debug_dirs = NULL};
	char *dirs, *place;

	if (!fixture())
		T_SKIP("no C compiler");
	T_EQ(sh("mkdir -p \"with space\" && cp bare \"with space/bare\""), 0);
	dirs = xasprintf("%s/none:%s/dbg", dir, dir);
	place = xasprintf("dbg%s/with space/bare.debug", dir);
	o.debug_dirs = dirs;
	check_at("full.debug", place, at("with space/bare"), NULL, &o);
	free(place);
	/* by id, where id and name are of a binary that is gone */
	place = xasprintf("dbg/.build-id/%.2s/%s.debug", hex, hex + 2);
	check_at("full.debug", place, at("gone"), id, &o);
	check_at("full.debug", place, at("bare"), id, &o);
	free(place);
	/* the whole binary under its id, as some distributions link it */
	place = xasprintf("dbg/.build-id/%.2s/%s", hex, hex + 2);
	check_at("full", place, at("moved"), id, &o);
	free(place);
	free(dirs);
}

T_TEST(folders_as_pprof_has_them)
{
	static const char *const debug[] = {
		"bins/%1$s/bare",
		"bins/%1$s/any name",
		"bins%2$s/bare/%1$s",
		"bins/%3$s/%4$s.debug",
		"bins/bare",
		"bins%2$s/bare",
		"bins%2$s/bare.debug",
		"bins%2$s/.debug/bare.debug",
		"bins/usr/lib/debug%2$s/bare.debug",
	};
	struct sym_opts o = {.debug_dirs = "/none"};
	char *dirs, *place, ab[3] = "";

	if (!fixture())
		T_SKIP("no C compiler");
	memcpy(ab, hex, 2);
	dirs = xasprintf("%s/none:%s/bins", dir, dir);
	o.binary_dirs = dirs;
	for (size_t i = 0; i < sizeof debug / sizeof *debug; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		place = xasprintf(debug[i], hex, dir, ab, hex + 2);
#pragma GCC diagnostic pop
		/* the debug file of a binary that is there, and of one that is not */
		check_at("full.debug", place, at("bare"), NULL, &o);
		T_EQ(sh("mv bare away"), 0);
		check_at("full.debug", place, at("bare"), id, &o);
		T_EQ(sh("mv away bare; rm -r bins"),
		     0); /* a folder may be another's file */
		free(place);
	}
	/* no build-id was recorded: by name alone */
	check_at("full", "bins/other", "/some/where/other", NULL, &o);
	free(dirs);
}

T_TEST(sysroot_is_a_root)
{
	struct sym_opts o = {.debug_dirs = "/usr/lib/debug"};
	char *root, *path, *place;

	if (!fixture())
		T_SKIP("no C compiler");
	/* the link means root/real, and not what the same path is outside */
	T_EQ(sh("mkdir -p root/bin root/real && cp bare root/real/x && "
		"ln -s /real/x root/bin/x"),
	     0);
	root = xasprintf("%s/root", dir);
	path = xasprintf("%s/bin/x", root);
	o.sysroot = root;
	o.real_path = "/bin/x";
	place = xasprintf("root/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	check_at("full.debug", place, path, id, &o);
	check_at("full.debug", "root/usr/lib/debug/bin/x.debug", path, id, &o);
	free(place);
	free(path);
	/* one that leads out of it leads nowhere */
	T_EQ(sh("ln -s ../../full root/bin/out"), 0);
	path = xasprintf("%s/bin/out", root);
	struct sym *s = sym_open(path, NULL, 0, &o, NULL);
	T_CHECK(s == NULL);
	sym_close(s);
	free(path);
	free(root);
}

T_TEST(another_build_is_refused_with_both_ids)
{
	unsigned char other[20];
	struct err e = {0};

	if (!fixture())
		T_SKIP("no C compiler");
	memset(other, 0xab, sizeof other);
	T_CHECK(sym_open(at("full"), other, 20, NULL, &e) == NULL);
	T_EQ(e.code, -ESTALE);
	T_CHECK(strstr(e.msg, "abababababababababababababababababababab") != NULL);
	T_CHECK(strstr(e.msg, hex) != NULL);
}

/* The program `name`, which `make` compiles; $x is its name. */
static void
check_built(const char *name, const char *make)
{
	unsigned long long a = 0;
	FILE *f;

	T_EQ(sh("x=%s; %s && nm $x | awk '$3 == \"outer\" {print $1}' >where", name,
		make),
	     0);
	f = fopen(at("where"), "r");
	T_EQ(fscanf(f, "%llx", &a), 1);
	fclose(f);
	check(sym_open(at(name), NULL, 0, NULL, NULL), a, name);
}

T_TEST(versions_and_packing)
{
	if (!fixture())
		T_SKIP("no C compiler");
	check_built("v2", "cc -gdwarf-2 -O1 shop.c -o $x");
	check_built("v3", "cc -gdwarf-3 -O1 shop.c -o $x");
	check_built("v4", "cc -gdwarf-4 -O1 shop.c -o $x");
	check_built("v5", "cc -gdwarf-5 -O1 shop.c -o $x");
	check_built("types", "cc -gdwarf-4 -fdebug-types-section -O1 shop.c -o $x");
	check_built("bits64", "cc -g -gdwarf64 -O1 shop.c -o $x");
	check_built("zlib", "cc -g -gz -O1 shop.c -o $x && readelf -t $x | grep -q ZLIB");
	check_built("gnu", "cc -g -gz=zlib-gnu -O1 shop.c -o $x && "
			   "readelf -S $x | grep -q zdebug");
	check_built("split4", "cc -gdwarf-4 -gsplit-dwarf -O1 -c shop.c -o $x.o && "
			      "cc $x.o -o $x");
	check_built("split5", "cc -gdwarf-5 -gsplit-dwarf -O1 -c shop.c -o $x.o && "
			      "cc $x.o -o $x");
	/* gcc 12 has no way to ask for it, binutils have since 2.40 */
	if (sh("objcopy --compress-debug-sections=zstd full zstd && "
	       "readelf -t zstd | grep -q ZSTD") != 0)
		T_SKIP("objcopy cannot pack with zstd");
	check(sym_open(at("zstd"), NULL, 0, NULL, NULL), outer, "zstd");
	/* cut in the middle of a packed section: nothing, and no harm */
	T_EQ(sh("cp zstd cut && o=$(readelf -SW cut | sed -n 's/.* .debug_info *PROGBITS *//p' "
		"| awk '{print $2}') && printf 'aaaaaaaaaaaaaaaa' | dd of=cut bs=1 "
		"conv=notrunc seek=$((0x$o + 40))"),
	     0);
	struct sym *s = sym_open(at("cut"), NULL, 0, NULL, NULL);
	T_STR(sym_reason(s),
	      "debug information is packed with zstd and cannot be unpacked");
	sym_close(s);
}

T_TEST(dwz_shares_between_files)
{
	struct sym_opts o = {.debug_dirs = "/none"};
	struct sym *s;
	char *dirs;

	if (!have("dwz"))
		T_SKIP("no dwz");
	/* types enough to share some; the address of outer() is another one here */
	T_EQ(sh("mkdir -p z && cp shop.c two.c && for x in shop two; do "
		"cc -g -O1 -include stdio.h -include sys/socket.h "
		"-fno-eliminate-unused-debug-types -Wl,--build-id $x.c -o z/$x || exit; done; "
		"cd z && nm shop | awk '$3 == \"outer\" {print $1}' >../where && "
		"for x in shop two; do objcopy --only-keep-debug $x $x.debug; strip $x; "
		"objcopy --add-gnu-debuglink=$x.debug $x; done; "
		"dwz -r -m common.debug shop.debug two.debug && "
		"readelf -S shop.debug | grep -q debugaltlink && "
		"readelf -S common.debug | grep -q debug_info"),
	     0);
	FILE *where = fopen(at("where"), "r");
	unsigned long long a = 0;
	T_EQ(fscanf(where, "%llx", &a), 1);
	fclose(where);
	/* the checksum of the link is of the file before dwz, so it is found by its id */
	check(sym_open(at("z/shop"), NULL, 0, &o, NULL), a, "dwz, beside");
	T_EQ(sh("mkdir -p dz/.dwz && mv z/common.debug dz/.dwz/"), 0);
	s = sym_open(at("z/shop"), NULL, 0, &o, NULL);
	T_STR(sym_reason(s),
	      "debug file common.debug, which others share by dwz, is missing");
	sym_close(s);
	dirs = xasprintf("%s/dz", dir);
	o.debug_dirs = dirs;
	check(sym_open(at("z/shop"), NULL, 0, &o, NULL), a, "dwz, in a debug folder");
	/* one of another build in its place is not taken */
	T_EQ(sh("cp z/two.debug dz/.dwz/common.debug"), 0);
	s = sym_open(at("z/shop"), NULL, 0, &o, NULL);
	T_CHECK(sym_reason(s) != NULL && strstr(sym_reason(s), "is missing") != NULL);
	sym_close(s);
	free(dirs);
}

T_TEST(dwp_is_refused_with_a_line)
{
	struct sym_frame f[8];
	struct sym *s;
	char *why;

	/* binutils' dwp knows version 4 */
	if (!have("dwp") ||
	    sh("cc -gdwarf-4 -gsplit-dwarf -O1 -c shop.c -o p.o && "
	       "cc p.o -o p && timeout 20 dwp -e p -o p.dwp && rm p.dwo") != 0)
		T_SKIP("no dwp");
	s = sym_open(at("p"), NULL, 0, NULL, NULL);
	for (uint64_t i = 0; i < 512; i++)
		sym_find(s, s->base + i, f, 8);
	if (sym_reason(s) == NULL) {
		sym_close(s);
		T_SKIP("this libdw reads .dwp");
	}
	why = xasprintf("split debug information in %s/p.dwp cannot be read; "
			"keep the .dwo files",
			dir);
	T_STR(sym_reason(s), why);
	free(why);
	sym_close(s);
}

T_TEST(debuginfod_is_asked_only_when_told)
{
	struct sym_opts o = {.debug_dirs = "/none"};
	struct sym *s;
	char url[64];
	int port = 20000 + getpid() % 20000;
	pid_t server;

	if (!have("debuginfod"))
		T_SKIP("no debuginfod");
	T_EQ(sh("mkdir -p served asked alone && cp full.debug served/ && cp bare alone/"),
	     0);
	setenv("DEBUGINFOD_CACHE_PATH", at("asked"), 1);
	unsetenv("DEBUGINFOD_URLS");
	o.debuginfod = true;
	s = sym_open(at("alone/bare"), NULL, 0, &o, NULL);
	T_STR(sym_reason(s), "debuginfod has no servers: set DEBUGINFOD_URLS");
	sym_close(s);
	snprintf(url, sizeof url, "%d", port);
	server = fork();
	if (server == 0) {
		char *cmd = xasprintf("exec >%s/server 2>&1", dir);

		if (system(cmd) != 0 || freopen(at("server"), "w", stderr) == NULL)
			_exit(3);
		execlp("debuginfod", "debuginfod", "-F", "-p", url, "-d",
		       ":memory:", at("served"), (char *)NULL);
		_exit(4);
	}
	snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_TIMEOUT", "5", 1);
	/* until it has looked at its files */
	for (int i = 0; i < 100; i++) {
		sh("rm -rf asked; mkdir asked");
		s = sym_open(at("alone/bare"), NULL, 0, &o, NULL);
		if (sym_debug_path(s) != NULL)
			break;
		sym_close(s);
		s = NULL;
		usleep(100000);
	}
	check(s, outer, "debuginfod");
	check(sym_open(at("nowhere"), id, 20, &o, NULL), outer, "debuginfod, gone");
	T_EQ(sh("rm -rf asked; mkdir asked"), 0);
	o.debuginfod = false;
	s = sym_open(at("alone/bare"), NULL, 0, &o, NULL);
	T_STR(sym_reason(s), "stripped");
	sym_close(s);
	T_EQ(sh("test -z \"$(ls asked)\""), 0); /* nothing was asked for */
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
}

/* Lambdas and functions of an anonymous namespace that are inlined everywhere have no
 * linkage name; their whole names tell them apart. */
T_TEST(nameless_functions_are_told_apart)
{
	static const char text[] =
		"volatile int sink;\n"					   /* 1 */
		"namespace shop { namespace {\n"			   /* 2 */
		"struct box { int n;\n"					   /* 3 */
		"  inline int get() const { sink = n; return sink; } };\n" /* 4 */
		"} }\n"							   /* 5 */
		"int work(int x);\n"					   /* 6 */
		"int work(int x) {\n"					   /* 7 */
		"  auto f = [](int q) { sink = q; return sink + 1; };\n"   /* 8 */
		"  auto g = [](int q) { sink = q; return sink + 2; };\n"   /* 9 */
		"  return f(x) + g(x) + shop::box{x}.get(); }\n"	   /* 10 */
		"int main(int argc, char **) { return work(argc); }\n";	   /* 11 */
	struct sym_frame f[8];
	unsigned seen[3] = {0}, n;
	struct sym *s;

	if (!have("g++"))
		T_SKIP("no g++");
	T_EQ(file_write(at("n.cc"), text, sizeof text - 1, NULL), 0);
	T_EQ(sh("g++ -g -O2 n.cc -o nameless"), 0);
	s = sym_open(at("nameless"), NULL, 0, NULL, NULL);
	for (uint64_t i = 0; i < 4096; i++) {
		n = sym_find(s, s->base + i, f, 8);
		if (n < 2 || !f[0].inlined)
			continue;
		seen[0] += f[0].line == 8 &&
			   strcmp(f[0].short_name, "work::<lambda:8>::operator()") == 0;
		seen[1] += f[0].line == 9 &&
			   strcmp(f[0].short_name, "work::<lambda:9>::operator()") == 0;
		seen[2] += f[0].line == 4 &&
			   strcmp(f[0].short_name,
				  "shop::(anonymous namespace)::box::get") == 0;
	}
	T_CHECK(seen[0] > 0);
	T_CHECK(seen[1] > 0);
	T_CHECK(seen[2] > 0);
	sym_close(s);
}

/* C++, and Rust in both of its schemes, in one file without any debug information. */
T_TEST(mangled_symbols_of_three_kinds_in_one_binary)
{
	static const struct {
		const char *linkage, *brief, *full;
	} rows[] = {
		{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write",
		 "core::fmt::write"},
		{"_ZN4core3fmt5write17hfedcba9876543210E", "core::fmt::write",
		 "core::fmt::write"},
		{"_RNvXs_NtCs1_1a1bNtB4_1cNtB4_1d3fmt", "<a::b::c as a::b::d>::fmt",
		 "<a::b::c as a::b::d>::fmt"},
		{"_RINvNtCs1_3std3mem4swaplEB2_", "std::mem::swap::<i32>",
		 "std::mem::swap::<i32>"},
		{"_ZN1a1b3vecIiLi3EE3putIcEET_iS4_", "a::b::vec<int, 3>::put<char>",
		 "char a::b::vec<int, 3>::put<char>(int, char)"},
		{"_ZN1a1b3vecIiLi3EE3putIlEET_iS4_", "a::b::vec<int, 3>::put<long>",
		 "long a::b::vec<int, 3>::put<long>(int, long)"},
		{"_Z3putPKc", "put", "put(char const*)"},
		{"_Z3puti", "put", "put(int)"},
		{"_ZNK12_GLOBAL__N_13hidcvbEv",
		 "(anonymous namespace)::hid::operator bool",
		 "(anonymous namespace)::hid::operator bool() const"},
		{"_ZNK12_GLOBAL__N_13hidltERKS0_",
		 "(anonymous namespace)::hid::operator<",
		 "(anonymous namespace)::hid::operator<((anonymous namespace)::hid const&) "
		 "const"},
		{"_ZN12_GLOBAL__N_13hidlsEi", "(anonymous namespace)::hid::operator<<",
		 "(anonymous namespace)::hid::operator<<(int)"},
		{"_ZZN1a1b3vecIiLi3EE3lamEiENKUliE_clEi",
		 "a::b::vec<int, 3>::lam(int)::{lambda(int)#1}::operator()",
		 "a::b::vec<int, 3>::lam(int)::{lambda(int)#1}::operator()(int) const"},
		{"_Zli3_kmy", "operator\"\" _km", "operator\"\" _km(unsigned long long)"},
		{"_Z3barIiEvT_.constprop.0.cold", "bar<int>.constprop.0.cold",
		 "void bar<int>(int) [clone .constprop.0] [clone .cold]"},
		{"_ZN12_GLOBAL__N_13fooEv.isra.0", "(anonymous namespace)::foo.isra.0",
		 "(anonymous namespace)::foo() [clone .isra.0]"},
		{"plain", "plain", NULL},
	};
	const size_t count = sizeof rows / sizeof *rows;
	struct buf text = {0};
	struct sym_frame f[2];
	unsigned long long a;
	struct sym *s;
	char *full;
	FILE *list;

	if (!fixture())
		T_SKIP("no C compiler");
	for (size_t i = 0; i < count; i++)
		buf_printf(
			&text,
			"\t.text\n\t.globl \"%s\"\n\t.type \"%s\", @function\n\"%s\":\n"
			"\tnop\n\tnop\n\tnop\n\tret\n\t.size \"%s\", 4\n",
			rows[i].linkage, rows[i].linkage, rows[i].linkage,
			rows[i].linkage);
	buf_add_str(&text, "\t.section .note.GNU-stack,\"\"\n");
	T_EQ(file_write(at("names.s"), text.data, text.len, NULL), 0);
	T_EQ(sh("cc -shared -nostdlib -Wl,--build-id names.s -o names.so && "
		"nm names.so >list"),
	     0);
	s = sym_open(at("names.so"), NULL, 0, NULL, NULL);
	for (size_t i = 0; i < count; i++) {
		char *cmd = xasprintf("awk '$3 == \"%s\" {print $1}' %s", rows[i].linkage,
				      at("list"));

		list = popen(cmd, "r");
		T_EQ(fscanf(list, "%llx", &a), 1);
		pclose(list);
		free(cmd);
		T_EQ(sym_find(s, a + 2, f, 2), 1);
		T_STR(f[0].linkage, rows[i].linkage);
		T_STR(f[0].short_name, rows[i].brief);
		T_EQ(f[0].offset, 2);
		full = demangle_full(rows[i].linkage);
		T_STR(full, rows[i].full);
		free(full);
	}
	sym_close(s);
	buf_done(&text);
}

T_MAIN()
