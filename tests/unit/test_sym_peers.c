/* SPDX-License-Identifier: MIT */
/* test_sym_peers.c -- every answer of src/tool/sym beside binutils' own, address by
 * address.
 *
 * A C++ program is compiled in the ways that change how debug information is kept, and
 * addr2line -aif is asked about addresses all over its functions: function, file, line
 * and the chain of inlined calls must be the same. Where addr2line is known to be wrong
 * the rule is written at frames_agree, and how often it was used is bounded. */
#include <unistd.h>

#include "t.h"
#include "tool/sym/demangle.h"
#include "tool/sym/sym.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

#include "sym_peer.h"

#define MOST_FRAMES 64
#define LEAST_ADDRESSES 2000

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

static const char program_cc[] =
	"#include <algorithm>\n#include <functional>\n#include <iostream>\n"
	"#include <map>\n#include <memory>\n#include <string>\n#include <vector>\n"
	"namespace shop {\n"
	"struct item { std::string name; int price; virtual ~item() {}\n"
	"  virtual int cost() const { return price; } };\n"
	"struct bulk : item { int n;\n"
	"  int cost() const override { return price * n; } };\n"
	"template <typename T> T twice(T x) { return x + x; }\n"
	"static inline int clamp(int x) {\n"
	"  if (x < 0)\n"
	"    return 0;\n"
	"  return twice(x) > 100 ? 100 : x; }\n"
	"namespace { int hidden(int x) { return clamp(x) +\n"
	"  clamp(x * 3); } }\n"
	"class store { std::map<std::string, std::unique_ptr<item>> items;\n"
	"public:\n"
	"  void add(const std::string &n, int p) {\n"
	"    auto b = std::make_unique<bulk>();\n"
	"    b->name = n; b->price = hidden(p); b->n = 3;\n"
	"    items[n] = std::move(b); }\n"
	"  int total() const { int t = 0;\n"
	"    for (auto &kv : items) t += kv.second->cost();\n"
	"    auto f = [&](int q) { return q + t; };\n"
	"    return f(twice(t)); }\n"
	"  std::vector<std::string> names() const { std::vector<std::string> v;\n"
	"    for (auto &kv : items) v.push_back(twice(kv.first));\n"
	"    std::sort(v.begin(), v.end(), [](auto &a, auto &b) {\n"
	"      return a.size() < b.size(); });\n"
	"    return v; }\n"
	"};\n"
	"}\n"
	"int main(int argc, char **argv) {\n"
	"  shop::store s;\n"
	"  for (int i = 0; i < argc; i++)\n"
	"    s.add(std::string(argv[i]) + \"x\", i);\n"
	"  std::function<int(int)> g = [&](int x) { return x + s.total(); };\n"
	"  for (auto &n : s.names()) std::cout << n << '\\n';\n"
	"  return g(argc) & 1; }\n";

static const char program_rs[] =
	"use std::collections::HashMap;\n"
	"fn leak(n: usize) -> Vec<String> {\n"
	"  (0..n).map(|i| format!(\"x{}\", i * 3)).filter(|s| s.len() > 2).collect() }\n"
	"struct Shop { m: HashMap<String, Vec<u32>> }\n"
	"impl Shop {\n"
	"  fn put(&mut self, k: &str, v: u32) {\n"
	"    self.m.entry(k.to_string()).or_default().push(v); }\n"
	"  fn sum(&self) -> u32 { self.m.values().flat_map(|v| v.iter()).sum() } }\n"
	"fn main() { let mut s = Shop { m: HashMap::new() };\n"
	"  for (i, w) in leak(100).iter().enumerate() { s.put(w, i as u32); }\n"
	"  println!(\"{}\", s.sum()); }\n";

/* Runs a command in the test's folder; its exit status. */
__attribute__((format(printf, 1, 2))) static int
sh(const char *fmt, ...)
{
	va_list ap;
	char *cmd, *all;
	int r;

	va_start(ap, fmt);
	cmd = x_vasprintf(fmt, ap);
	va_end(ap);
	all = xasprintf("cd %s && { %s; } 2>log", dir, cmd);
	r = system(all);
	free(all);
	free(cmd);
	return r;
}

static char *
at(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

static bool
fixture(void)
{
	char *cc, *rs;
	bool ok;

	if (dir[0] != '\0')
		return true;
	snprintf(dir, sizeof dir, "/tmp/seep-test-peers.XXXXXX");
	if (mkdtemp(dir) == NULL)
		abort();
	atexit(clean_up);
	cc = at("program.cc");
	rs = at("program.rs");
	ok = file_write(cc, program_cc, sizeof program_cc - 1, NULL) == 0 &&
	     file_write(rs, program_rs, sizeof program_rs - 1, NULL) == 0;
	free(cc);
	free(rs);
	return ok;
}

static bool
have(const char *tool)
{
	return fixture() && sh("command -v %s >/dev/null", tool) == 0;
}

/* Addresses every `step` bytes in every function of `program` that has a size go to the
 * file addrs; addr2line's answers about them to `p`. */
static void
ask_addr2line(const char *program, unsigned step, struct peer *p)
{
	char *path = at("said");

	T_EQ(sh("nm -S --defined-only %s | awk 'NF==4 && tolower($3)~/[twi]/"
		"{print $1, $2}' | sort -u | while read -r a n; do i=0; n=$((0x$n)); "
		"while [ $i -lt $n ]; do printf '0x%%x\\n' $((0x$a + i)); i=$((i + %u)); "
		"done; done >addrs",
		program, step),
	     0);
	T_EQ(sh("addr2line -e %s -aif <addrs >said", program), 0);
	T_EQ(peer_read(p, path), 0);
	free(path);
}

/* Equal but for ".cold" at the end: addr2line names main's cold part by whichever half it
 * was asked about first. */
static bool
same_name(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);

	if (na > 5 && strcmp(a + na - 5, ".cold") == 0)
		na -= 5;
	if (nb > 5 && strcmp(b + nb - 5, ".cold") == 0)
		nb -= 5;
	return na == nb && memcmp(a, b, na) == 0;
}

/* *exempt counts inlined frames whose debug information has no mangled name: addr2line
 * puts the enclosing symbol there, so names are not compared. A file without a line is
 * not compared either: addr2line takes it from the symbol table. */
static bool
frames_agree(const struct sym_frame *f, const struct said_frame *want, unsigned *exempt)
{
	bool nameless = f->inlined && strncmp(f->linkage, "_Z", 2) != 0 &&
			strncmp(f->linkage, "_R", 2) != 0;

	if (f->line != want->line || (f->line != 0 && strcmp(f->file, want->file) != 0))
		return false;
	if (nameless) {
		++*exempt;
		return true;
	}
	return same_name(f->linkage[0] != '\0' ? f->linkage : "??", want->function);
}

/* Compares sym on `program` with addr2line on `judge`, the same program with its
 * symbols. */
static void
compare(const char *program, const char *judge, unsigned step)
{
	struct peer p = {0};
	struct sym_frame f[MOST_FRAMES];
	struct err e = {0};
	char *path = at(program), *dbg = at("dbg");
	struct sym_opts o = {.debug_dirs = dbg};
	struct sym *s = sym_open(path, NULL, 0, &o, &e);
	unsigned bad = 0, exempt = 0, inlined = 0;

	T_STR(e.msg, "");
	ask_addr2line(judge, step, &p);
	for (size_t i = 0; s != NULL && i < p.all.len; i++) {
		const struct said *w = &p.all.data[i];
		unsigned n = sym_find(s, w->addr, f, MOST_FRAMES);
		bool ok = n == w->count;

		for (unsigned k = 0; ok && k < n; k++)
			ok = frames_agree(&f[k], &p.frames.data[w->first + k], &exempt);
		inlined += n > 1;
		/* "??" at "??:0" is one frame there and none here */
		if (n == 0 && w->count == 1 && p.frames.data[w->first].line == 0 &&
		    strcmp(p.frames.data[w->first].function, "??") == 0)
			ok = true;
		if (!ok && bad++ < 3)
			T_FAIL("%s 0x%llx: %u frames, %s %s:%u, addr2line %zu, %s %s:%u",
			       program, (unsigned long long)w->addr, n,
			       n ? f[0].linkage : "-", n ? f[0].file : "-",
			       n ? f[0].line : 0, w->count,
			       p.frames.data[w->first].function,
			       p.frames.data[w->first].file,
			       p.frames.data[w->first].line);
	}
	printf("    %s: %zu addresses, %zu frames, %u inlined, %u differ, %u nameless\n",
	       program, p.all.len, p.frames.len, inlined, bad, exempt);
	T_EQ(bad, 0);
	T_CHECK(p.all.len >= LEAST_ADDRESSES);
	T_CHECK(inlined * 4 > p.all.len);
	T_CHECK(exempt * 10 < p.frames.len);
	sym_close(s);
	peer_done(&p);
	free(path);
	free(dbg);
}

T_TEST(cplusplus_dwarf5)
{
	if (!have("g++") || !have("addr2line"))
		T_SKIP("no g++ or addr2line");
	T_EQ(sh("g++ -std=c++17 -g -gdwarf-5 -O2 program.cc -o five"), 0);
	compare("five", "five", 2);
}

T_TEST(cplusplus_dwarf4_compressed)
{
	if (!have("g++") || !have("addr2line"))
		T_SKIP("no g++ or addr2line");
	T_EQ(sh("g++ -std=c++17 -g -gdwarf-4 -gz -O2 program.cc -o four"), 0);
	compare("four", "four", 3);
}

T_TEST(cplusplus_dwarf2)
{
	if (!have("g++") || !have("addr2line"))
		T_SKIP("no g++ or addr2line");
	T_EQ(sh("g++ -std=c++17 -g -gdwarf-2 -gstrict-dwarf -O1 program.cc -o two"), 0);
	compare("two", "two", 3);
	/* a unit then says one range of its many: without this section it must be read
	 * whole */
	T_EQ(sh("objcopy --remove-section .debug_aranges two blind"), 0);
	compare("blind", "two", 3);
}

T_TEST(cplusplus_clang)
{
	if (!have("clang++") || !have("addr2line"))
		T_SKIP("no clang++ or addr2line");
	/* in version 5 addr2line does not find clang's inlined calls */
	T_EQ(sh("clang++ -std=c++17 -g -gdwarf-4 -O2 program.cc -o clang"), 0);
	compare("clang", "clang", 3);
}

T_TEST(cplusplus_separate_debug_file)
{
	if (!have("g++") || !have("addr2line") || !have("objcopy"))
		T_SKIP("no g++, addr2line or objcopy");
	T_EQ(sh("g++ -std=c++17 -g -O2 -Wl,--build-id program.cc -o whole && "
		"objcopy --only-keep-debug whole whole.debug && strip whole -o linked && "
		"cp linked by_id && objcopy --add-gnu-debuglink=whole.debug linked"),
	     0);
	compare("linked", "whole", 4);
	T_EQ(sh("id=$(readelf -n whole | awk '/Build ID/{print $3}') && "
		"d=dbg/.build-id/$(echo $id | cut -c1-2) && mkdir -p $d && "
		"mv whole.debug $d/$(echo $id | cut -c3-).debug"),
	     0);
	compare("by_id", "whole", 4);
}

/* addr2line cannot read version 5 split by gcc, so the same program unsplit is the
 * judge. */
T_TEST(cplusplus_split)
{
	struct sym_frame f[MOST_FRAMES], g[MOST_FRAMES];
	struct err e = {0};
	struct peer p = {0};
	unsigned differ = 0, deep = 0;

	if (!have("g++") || !have("addr2line") || !have("objcopy"))
		T_SKIP("no g++, addr2line or objcopy");
	T_EQ(sh("g++ -std=c++17 -g -O2 program.cc -o one && "
		"g++ -std=c++17 -g -gsplit-dwarf -O2 program.cc -o split && "
		"for x in one split; do objcopy -O binary -j .text $x $x.text; done"),
	     0);
	if (sh("cmp one.text split.text") != 0)
		T_SKIP("g++ makes other code with -gsplit-dwarf");
	ask_addr2line("one", 3, &p);
	char *a = at("one"), *b = at("split");
	struct sym *one = sym_open(a, NULL, 0, NULL, &e);
	struct sym *split = sym_open(b, NULL, 0, NULL, &e);
	for (size_t i = 0; i < p.all.len; i++) {
		unsigned n = sym_find(one, p.all.data[i].addr, f, MOST_FRAMES);
		unsigned m = sym_find(split, p.all.data[i].addr, g, MOST_FRAMES);
		bool ok = n == m;

		for (unsigned k = 0; ok && k < n; k++)
			ok = strcmp(f[k].linkage, g[k].linkage) == 0 &&
			     strcmp(f[k].file, g[k].file) == 0 && f[k].line == g[k].line;
		differ += !ok;
		deep += m > 2;
	}
	T_EQ(differ, 0);
	T_CHECK(p.all.len >= LEAST_ADDRESSES && deep > 500);
	T_CHECK(sym_reason(split) == NULL);
	sym_close(one);
	sym_close(split);
	peer_done(&p);
	free(a);
	free(b);
}

T_TEST(rust_program)
{
	const char *path = getenv("PATH"), *home = getenv("HOME");
	char *longer = xasprintf("%s:%s/.cargo/bin", path ? path : "", home ? home : "");

	setenv("PATH", longer, 1);
	free(longer);
	if (!have("rustc") || !have("addr2line"))
		T_SKIP("no rustc or addr2line");
	if (sh("rustc -g -O program.rs -o rust") != 0)
		T_SKIP("rustc does not work here");
	compare("rust", "rust", 61);
}

/* Every dynamic function of a stripped program, at its first and last byte. */
T_TEST(stripped_program_has_dynamic_names)
{
	static const char python[] = "/usr/bin/python3.11";
	struct sym_opts o = {.no_debug_files = true};
	struct err e = {0};
	struct buf text = {0};
	struct sym_frame f[2];
	unsigned long long addr, size;
	unsigned count = 0, bad = 0;
	char name[512], type, *line, *rest, *list;

	if (access(python, R_OK) != 0 || !have("nm"))
		T_SKIP("no python3.11 or nm");
	T_EQ(sh("nm -D -S --defined-only --without-symbol-versions %s >list", python), 0);
	list = at("list");
	T_EQ(buf_read_file(&text, list, NULL), 0);
	struct sym *s = sym_open(python, NULL, 0, &o, &e);
	T_CHECK(s != NULL);
	rest = text.data;
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (sscanf(line, "%llx %llx %c %500s", &addr, &size, &type, name) != 4 ||
		    type != 'T' || size == 0)
			continue;
		count++;
		if (sym_find(s, addr, f, 2) != 1 || f[0].offset != 0 ||
		    (strcmp(f[0].short_name, name) != 0 &&
		     sh("grep -q '^%016llx .* %s$' list", addr, f[0].short_name) != 0))
			bad++;
		if (sym_find(s, addr + size - 1, f, 2) != 1 || f[0].offset != size - 1)
			bad++;
	}
	T_EQ(bad, 0);
	T_CHECK(count > 1000);
	T_STR(sym_reason(s), "stripped");
	sym_close(s);
	buf_done(&text);
	free(list);
}

T_TEST(names_as_cplusfilt_has_them)
{
	struct buf text = {0};
	char *line, *rest, *tab, *full, *brief, *path;
	unsigned count = 0, bad = 0;

	if (!have("g++") || !have("c++filt") || !have("nm"))
		T_SKIP("no g++, c++filt or nm");
	T_EQ(sh("test -e five || g++ -std=c++17 -g -O2 program.cc -o five; "
		"{ for x in five rust; do test ! -e $x || nm $x; done; "
		"nm -D --without-symbol-versions $(g++ -print-file-name=libstdc++.so); } | "
		"awk '$NF~/^_[ZR]/{print $NF}' | grep -v '[.@]' | sort -u >mangled && "
		"c++filt -i <mangled >plain && paste mangled plain >both"),
	     0);
	path = at("both");
	T_EQ(buf_read_file(&text, path, NULL), 0);
	rest = text.data;
	while ((line = strsep(&rest, "\n")) != NULL &&
	       (tab = strchr(line, '\t')) != NULL) {
		*tab = '\0';
		count++;
		full = demangle_full(line);
		brief = demangle_short(line);
		if (strcmp(full != NULL ? full : line, tab + 1) != 0 && bad++ < 5)
			T_FAIL("%s: '%s', c++filt '%s'", line, full ? full : "(NULL)",
			       tab + 1);
		/* dropping parameters cannot make it longer */
		if (brief != NULL && (brief[0] == '\0' || strlen(brief) > strlen(full)))
			T_FAIL("%s: short form '%s'", line, brief);
		free(full);
		free(brief);
	}
	T_EQ(bad, 0);
	T_CHECK(count > 1000);
	buf_done(&text);
	free(path);
}

T_MAIN()
