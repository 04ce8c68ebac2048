/* SPDX-License-Identifier: MIT */
/* test_sym_cache.c -- indexes kept by build-id: the same answers as without, read once,
 * trusted only when whole and our own.
 *
 * A C++ program of three units is compiled here; what is asked of it is every third byte
 * of its functions. That answers are right is the subject of test_sym_peers.c; here they
 * have to be the same with and without the cache. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"
#include "tool/sym/sym.h"
#include "tool/sym/sym_index.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

#include "sym_fixture.h"

static char cache[96];

static const char unit_cc[] =
	"#include <algorithm>\n#include <string>\n#include <vector>\n"
	"namespace SPACE {\n"
	"static inline int clamp(int x) { return x < 0 ? 0 : x > 100 ? 100 : x; }\n"
	"namespace { struct row { std::string name; int n; }; }\n"
	"int work(int n) {\n"
	"  std::vector<row> v;\n"
	"  for (int i = 0; i < n; i++) v.push_back({std::to_string(clamp(i)), i});\n"
	"  std::sort(v.begin(), v.end(), [](const row &a, const row &b) {\n"
	"    return a.name < b.name; });\n"
	"  return clamp(v[n / 2].n); }\n"
	"}\n";

static const char main_cc[] = "namespace one { int work(int); }\n"
			      "namespace two { int work(int); }\n"
			      "int main(int argc, char **) {\n"
			      "  return one::work(argc + 5) + two::work(argc + 7); }\n";

static bool
fixture(void)
{
	static int state;

	if (state != 0)
		return state > 0;
	state = -1;
	if (!make_dir())
		return false;
	snprintf(cache, sizeof cache, "%s/cache/seep/sym", dir);
	if (file_write(at("unit.cc"), unit_cc, sizeof unit_cc - 1, NULL) != 0 ||
	    file_write(at("main.cc"), main_cc, sizeof main_cc - 1, NULL) != 0 ||
	    sh("for s in one two; do g++ -g -O2 -DSPACE=$s -c unit.cc -o $s.o || exit; done; "
	       "g++ -g -O2 -c main.cc && g++ -Wl,--build-id,--export-dynamic one.o two.o main.o -o prog") !=
		    0 ||
	    sh("nm -S --defined-only prog | awk 'NF == 4 && $3 ~ /[tTwW]/' >names") != 0)
		return false;
	state = 1;
	return true;
}

/* Everything sym says of every third byte of the functions whose names have `part` in
 * them, as text. `id` is NULL or 20 bytes. */
static void
ask_id(const char *program, const unsigned char *id, const struct sym_opts *o,
       const char *part, struct buf *ret)
{
	char *cmd = xasprintf("grep '%s' %s/names", part, dir);
	FILE *list = popen(cmd, "r");
	struct sym_frame f[32];
	unsigned long long a, n;
	struct err e = {0};
	struct sym *s = sym_open(program, id, id != NULL ? 20 : 0, o, &e);

	T_CHECK(s != NULL);
	while (s != NULL && fscanf(list, "%llx %llx %*[^\n]", &a, &n) == 2) {
		for (unsigned long long i = 0; i < n; i += 3) {
			unsigned k = sym_find(s, a + i, f, 32);

			for (unsigned j = 0; j < k; j++)
				buf_printf(ret, "%llx %s %s %s:%u +%llu %d\n", a + i,
					   f[j].linkage, f[j].short_name, f[j].file,
					   f[j].line, (unsigned long long)f[j].offset,
					   f[j].inlined);
		}
	}
	if (s != NULL)
		T_CHECK(sym_reason(s) == NULL);
	sym_close(s);
	pclose(list);
	free(cmd);
}

static void
ask(const char *program, const struct sym_opts *o, const char *part, struct buf *ret)
{
	ask_id(program, NULL, o, part, ret);
}

/* Asks the program twice as said and compares with what is said without a cache. */
static void
check_same(const struct sym_opts *o, const char *part)
{
	struct buf plain = {0}, cached = {0};

	ask(at("prog"), NULL, part, &plain);
	ask(at("prog"), o, part, &cached);
	T_CHECK(plain.len > (part[0] == '.' ? 10000 : 300));
	T_CHECK(strcmp(buf_str(&plain), buf_str(&cached)) == 0);
	buf_done(&plain);
	buf_done(&cached);
}

/* Path of the one file in the cache; "" when there is none. Good until the next call. */
static const char *
cache_file(void)
{
	static char path[256];
	char *cmd = xasprintf("ls %s/*.idx 2>/dev/null", cache);
	FILE *p = popen(cmd, "r");

	if (fgets(path, sizeof path, p) == NULL)
		path[0] = '\0';
	path[strcspn(path, "\n")] = '\0';
	pclose(p);
	free(cmd);
	return path;
}

/* Number of units in the cache file that are filled in, and of all; -1 without a file. */
static int
cached_units(unsigned *ret_all)
{
	struct sym_index_head head;
	struct sym_index x;
	struct sym_part part;
	struct buf b = {0};
	int n = -1;

	if (buf_read_file(&b, cache_file(), NULL) == 0 && b.len > sizeof head) {
		memcpy(&head, b.data, sizeof head);
		if (sym_index_open(b.data, b.len, head.build_id, head.build_id_bytes,
				   &x) == 0) {
			n = 0;
			for (uint32_t i = 0; i < head.nunits; i++)
				n += sym_index_part(&x, i, &part);
			if (ret_all != NULL)
				*ret_all = head.nunits;
		}
	}
	buf_done(&b);
	return n;
}

T_TEST(cache_says_the_same)
{
	struct sym_opts o = {.cache_dir = cache, .cache_all = true};
	unsigned all = 0;
	struct stat st;

	if (!fixture())
		T_SKIP("no g++");
	check_same(&o, "3one4work");
	T_EQ(cached_units(&all), 1); /* one was asked about */
	T_EQ(all, 3);
	check_same(&o, "3one4work");
	T_EQ(cached_units(&all), 1);
	/* more of it is added, and what was there is kept */
	check_same(&o, "main");
	check_same(&o, "3two4work");
	T_EQ(cached_units(&all), 3);
	check_same(&o, ".");
	T_EQ(stat(cache_file(), &st), 0);
	T_EQ(st.st_mode & 0777, 0600);
	T_EQ(stat(cache, &st), 0);
	T_EQ(st.st_mode & 0777, 0700);
}

T_TEST(cache_is_read_instead_of_debug_information)
{
	struct sym_opts o = {.cache_dir = cache, .cache_all = true};
	struct sym_frame f[16];
	struct err e = {0};
	struct stat before, after;
	struct sym *s;
	uint64_t entry;

	if (!fixture())
		T_SKIP("no g++");
	check_same(&o, ".");
	T_EQ(stat(cache_file(), &before), 0);
	s = sym_open(at("prog"), NULL, 0, &o, &e);
	entry = s->base;
	for (uint64_t i = 0; i < 4096; i += 5)
		sym_find(s, entry + i, f, 16);
	T_CHECK(s->dwarf == NULL);
	T_CHECK(s->cache != NULL);
	sym_close(s);
	T_EQ(stat(cache_file(), &after), 0);
	T_EQ(after.st_ino, before.st_ino); /* not written anew */
	/* without it the debug information is opened */
	s = sym_open(at("prog"), NULL, 0, NULL, &e);
	sym_find(s, entry, f, 16);
	T_CHECK(s->dwarf != NULL);
	T_CHECK(s->cache == NULL);
	sym_close(s);
}

T_TEST(cache_knows_a_binary_that_is_gone)
{
	struct sym_opts o = {.cache_dir = cache, .cache_all = true};
	unsigned char id[20] = {0}, other[20] = {1};
	struct buf plain = {0}, gone = {0};
	const unsigned char *p;
	struct err e = {0};
	struct sym *s;

	if (!fixture())
		T_SKIP("no g++");
	check_same(&o, ".");
	ask(at("prog"), NULL, ".", &plain);
	s = sym_open(at("prog"), NULL, 0, NULL, &e);
	T_EQ(sym_build_id(s, &p), 20);
	memcpy(id, p, 20);
	sym_close(s);
	T_EQ(sh("mkdir -p away && mv prog away/"), 0);
	ask_id(at("prog"), id, &o, ".", &gone);
	T_CHECK(plain.len > 10000 && strcmp(buf_str(&plain), buf_str(&gone)) == 0);
	T_CHECK(sym_open(at("prog"), other, 20, &o, &e) == NULL);
	T_EQ(e.code, -ENOENT);
	o.cache_dir = NULL;
	T_CHECK(sym_open(at("prog"), id, 20, &o, &e) == NULL);
	/* another build in its place */
	T_EQ(sh("g++ -g -O1 -Wl,--build-id one.o two.o main.cc -o prog"), 0);
	T_CHECK(sym_open(at("prog"), id, 20, &o, &e) == NULL);
	T_EQ(e.code, -ESTALE);
	o.cache_dir = cache;
	buf_clear(&gone);
	ask_id(at("prog"), id, &o, ".", &gone);
	T_CHECK(strcmp(buf_str(&plain), buf_str(&gone)) == 0);
	T_EQ(sh("mv away/prog ."), 0);
	buf_done(&plain);
	buf_done(&gone);
}

/* Does something to the cache file; the answers must stay the same, and the file be whole
 * again. */
static void
check_damage(const char *what)
{
	struct sym_opts o = {.cache_dir = cache, .cache_all = true};

	T_EQ(sh("rm -rf %s", cache), 0);
	check_same(&o, ".");
	T_EQ(cached_units(NULL), 3);
	T_EQ(sh("f=%s; %s", cache_file(), what), 0);
	check_same(&o, ".");
	if (cached_units(NULL) != 3)
		T_FAIL("not mended after: %s", what);
	check_same(&o, ".");
}

T_TEST(cache_that_is_broken_is_made_anew)
{
	if (!fixture())
		T_SKIP("no g++");
	check_damage("truncate -s 100 $f");
	check_damage("truncate -s 0 $f");
	check_damage("truncate -s -1 $f");
	check_damage("printf x >>$f");
	check_damage("printf 'garbage of some length' >$f");
	check_damage("printf '\\377' | dd of=$f bs=1 seek=8 conv=notrunc"); /* version */
	check_damage(
		"printf '\\377' | dd of=$f bs=1 seek=70 conv=notrunc"); /* build-id */
	/* inside of a unit: that one is read again */
	check_damage("printf '\\377\\376' | dd of=$f bs=1 conv=notrunc "
		     "seek=$(($(stat -c %s $f) / 2))");
	check_damage("rm $f; mkdir $f; rmdir $f");
}

T_TEST(cache_of_somebody_else_is_not_read)
{
	struct sym_opts o = {.cache_dir = cache, .cache_all = true};

	if (!fixture())
		T_SKIP("no g++");
	/* who else may write to file or folder could have forged it */
	T_EQ(sh("rm -rf %s", cache), 0);
	check_same(&o, ".");
	T_EQ(sh("chmod 0666 %s", cache_file()), 0);
	check_same(&o, ".");
	struct stat st;
	T_EQ(stat(cache_file(), &st), 0);
	T_EQ(st.st_mode & 0777, 0600); /* a new one in its place */
	T_EQ(sh("chmod 0777 %s; touch -d 2001-01-01 %s", cache, cache_file()), 0);
	check_same(&o, ".");
	T_EQ(stat(cache_file(), &st), 0);
	T_EQ(st.st_mtime < 1000000000, 1); /* neither used nor written */
	T_EQ(sh("chmod 0700 %s", cache), 0);
	/* a link in the folder's place, or the file's */
	T_EQ(sh("mv %s real && ln -s %s/real %s", cache, dir, cache), 0);
	check_same(&o, ".");
	T_EQ(stat(cache_file(), &st), 0);
	T_CHECK(st.st_mtime < 1000000000);
	T_EQ(sh("rm %s && mv real %s", cache, cache), 0);
	if (geteuid() != 0)
		return;
	/* as root: another user's folder is neither read nor made in his home */
	T_EQ(sh("chown 12345 %s", cache), 0);
	check_same(&o, ".");
	T_EQ(stat(cache_file(), &st), 0);
	T_CHECK(st.st_mtime < 1000000000);
	T_EQ(sh("mkdir -p home && chown 12345 home"), 0);
	o.cache_dir = at("home/.cache/seep/sym");
	check_same(&o, ".");
	T_CHECK(access(at("home/.cache"), F_OK) != 0);
	/* and nothing is kept of another user's binary, whose build-id he may have made
	 * up */
	T_EQ(sh("rm -rf %s; chown 12345 prog", cache), 0);
	o.cache_dir = cache;
	check_same(&o, ".");
	T_STR(cache_file(), "");
	T_EQ(sh("chown 0 prog"), 0);
}

T_TEST(cache_needs_a_build_id_and_a_reason)
{
	struct sym_opts o = {.cache_dir = cache, .cache_all = true};
	struct buf b = {0};

	if (!fixture())
		T_SKIP("no g++");
	T_EQ(sh("rm -rf %s; objcopy --remove-section .note.gnu.build-id prog noid",
		cache),
	     0);
	ask(at("noid"), &o, "main", &b);
	T_CHECK(b.len > 0);
	T_STR(cache_file(), "");
	/* what is read in no time is not worth a file */
	o.cache_all = false;
	buf_clear(&b);
	ask(at("prog"), &o, "main", &b);
	T_STR(cache_file(), "");
	buf_done(&b);
}

static void
list_symbols(const struct sym *s, struct buf *ret)
{
	for (uint32_t i = 0; i < s->symbols.nsymbols; i++) {
		const struct sym_symbol *x = &s->symbols.symbols[i];

		buf_printf(ret, "%x-%x %s\n", x->lo, x->hi,
			   sym_part_text(s, &s->symbols, x->name));
	}
}

T_TEST(cache_keeps_only_symbols_while_a_debug_file_is_missing)
{
	struct sym_opts o = {
		.cache_dir = cache, .cache_all = true, .debug_dirs = at("none")};
	struct sym_frame f[8];
	struct err e = {0};
	struct sym *s;

	if (!fixture())
		T_SKIP("no g++");
	T_EQ(sh("rm -rf %s; strip prog -o bare && objcopy --only-keep-debug prog bare.debug "
		"&& objcopy --add-gnu-debuglink=bare.debug bare && mv bare.debug later",
		cache),
	     0);
	struct buf read = {0}, kept = {0};
	unsigned all = 7;
	s = sym_open(at("bare"), NULL, 0, &o, &e);
	sym_find(s, s->base + 512, f, 8);
	T_STR(sym_reason(s), "stripped");
	T_CHECK(s->symbols.text == NULL);
	list_symbols(s, &read);
	sym_close(s);
	T_CHECK(strstr(buf_str(&read), " _ZN3one4workEi\n") != NULL);
	T_EQ(cached_units(&all), 0);
	T_EQ(all, 0);
	/* the second time they are out of the cache, with the same answers */
	s = sym_open(at("bare"), NULL, 0, &o, &e);
	sym_find(s, s->base + 512, f, 8);
	T_CHECK(s->symbols_loaded && s->symbols.text != NULL);
	T_STR(sym_reason(s), "stripped");
	list_symbols(s, &kept);
	sym_close(s);
	T_STR(buf_str(&kept), buf_str(&read));
	buf_done(&read);
	buf_done(&kept);
	/* its debug file comes later */
	T_EQ(sh("mv later bare.debug"), 0);
	struct buf plain = {0}, b = {0};
	ask(at("prog"), NULL, ".", &plain);
	ask(at("bare"), &o, ".", &b);
	T_CHECK(strcmp(buf_str(&plain), buf_str(&b)) == 0);
	T_EQ(cached_units(NULL), 3);
	/* and goes again: what was kept still answers */
	T_EQ(sh("mv bare.debug later"), 0);
	buf_clear(&b);
	ask(at("bare"), &o, ".", &b);
	T_CHECK(strcmp(buf_str(&plain), buf_str(&b)) == 0);
	buf_done(&plain);
	buf_done(&b);
}

T_TEST(cache_has_a_limit)
{
	struct sym_opts o = {.cache_dir = cache, .cache_all = true};
	struct stat st;

	if (!fixture())
		T_SKIP("no g++");
	T_EQ(sh("rm -rf %s", cache), 0);
	check_same(&o, ".");
	T_EQ(stat(cache_file(), &st), 0);
	T_EQ(sh("rm -f %s/*; "
		"head -c 10000 /dev/zero >%s/aa01.idx; touch -d '3 days ago' %s/aa01.idx; "
		"head -c 10000 /dev/zero >%s/aa02.idx; touch -d '2 days ago' %s/aa02.idx; "
		"head -c 10000 /dev/zero >%s/.aa03.idx.77; touch -d '4 days ago' %s/.aa03.idx.77; "
		"head -c 10000 /dev/zero >%s/mine.txt; touch -d '9 days ago' %s/mine.txt",
		cache, cache, cache, cache, cache, cache, cache, cache, cache),
	     0);
	/* room for the new file twice over, and for one of the old ones */
	o.cache_most_bytes = 2 * (uint64_t)st.st_size;
	T_CHECK(st.st_size > 30000 && o.cache_most_bytes > 0);
	T_EQ(sh("truncate -s %lld %s/aa01.idx; touch -d '3 days ago' %s/aa01.idx",
		(long long)st.st_size - 15000, cache, cache),
	     0);
	check_same(&o, ".");
	T_EQ(sh("test ! -e %s/.aa03.idx.77", cache), 0); /* the oldest went */
	T_EQ(sh("test -e %s/aa02.idx", cache), 0);
	T_EQ(sh("test -e %s/mine.txt", cache), 0); /* not ours to remove */
	T_EQ(sh("test -e %s/aa01.idx", cache), 0);
	T_EQ(sh("rm -f %s/*", cache), 0);
	/* one that would fill it alone is not kept */
	o.cache_most_bytes = (uint64_t)st.st_size;
	check_same(&o, ".");
	T_STR(cache_file(), "");
}

T_MAIN()
