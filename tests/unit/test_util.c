/* SPDX-License-Identifier: MIT */
/* test_util.c -- the tool's own building blocks: errors, containers and files.
 *
 * The containers are compared with a plain array that does the same the slow way. Files
 * live in a folder of their own under /tmp. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t.h"
#include "tool/util/arena.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"
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

static char *
in_dir(const char *name)
{
	if (dir[0] == '\0') {
		snprintf(dir, sizeof(dir), "/tmp/seep-test-util.XXXXXX");
		if (mkdtemp(dir) == NULL)
			abort();
		atexit(clean_up);
	}
	return xasprintf("%s/%s", dir, name);
}

/* What the whole file holds, or NULL. The caller frees it. */
static char *
contents(const char *path)
{
	struct buf b = {0};

	return buf_read_file(&b, path, NULL) == 0 ? buf_take(&b) : NULL;
}

/* Entries in the test's folder whose names begin with a dot: forgotten temporary
 * files. */
static int
leftovers(void)
{
	char *cmd = xasprintf("test $(ls -A %s | grep -c '^\\.') = 0", dir);
	int r = system(cmd);

	free(cmd);
	return r;
}

T_TEST(map_reserved_does_not_grow)
{
	struct map m = {0};
	size_t cap;

	*map_add(&m, 7) = 70;
	map_reserve(&m, 1000);
	cap = m.cap;
	T_CHECK(cap / 4 * 3 >= 1000);
	for (uint64_t i = 1; i <= 1000; i++)
		*map_add(&m, i) += i;
	T_EQ(m.cap, cap);
	T_EQ(m.len, 1000);
	T_EQ(*map_find(&m, 7), 77);
	map_reserve(&m, 10);
	T_EQ(m.cap, cap);
	map_done(&m);
}

T_TEST(err_keeps_code_and_message)
{
	struct err e = {0};

	errno = ERANGE;
	T_EQ(err_set(&e, -ENOENT, "%s: byte %d", "x.rec", 37), -ENOENT);
	T_EQ(errno, ERANGE);
	T_EQ(e.code, -ENOENT);
	T_STR(e.msg, "x.rec: byte 37");
	T_EQ(err_wrap(&e, e.code, "loading %d", 2), -ENOENT);
	T_STR(e.msg, "loading 2: x.rec: byte 37");
	T_EQ(err_sys(&e, -ENOENT, "y"), -ENOENT);
	T_STR(e.msg, "y: No such file or directory");
	T_EQ(err_set(NULL, -EIO, "nobody hears"), -EIO);
	T_EQ(err_sys(NULL, -EIO, "nobody hears"), -EIO);
}

T_TEST(err_cuts_at_a_whole_character)
{
	struct err e = {0};
	char path[700];

	memset(path, 'a', 510);
	memcpy(path + 510, "\xe2\x86\x92 and more", 13);
	err_set(&e, -EIO, "%s", path);
	T_EQ(strlen(e.msg), 510);
	path[509] = '\0';
	err_set(&e, -EIO, "%s\xc3\xa4z", path); /* the character just fits */
	T_EQ(strlen(e.msg), 511);
	T_STR(e.msg + 509, "\xc3\xa4");
}

T_TEST(take_leaves_null)
{
	char *p = xstrdup("owned");
	char *q = TAKE(p);

	T_CHECK(p == NULL);
	T_STR(q, "owned");
	free(q);
}

T_TEST(buf_grows_and_prints)
{
	struct buf b = {0};

	T_STR(buf_str(&b), "");
	for (int i = 0; i < 1009; i++)
		buf_printf(&b, "%d,", i);
	T_EQ(b.len, 10 * 2 + 90 * 3 + 900 * 4 + 9 * 5);
	T_STR(buf_str(&b) + b.len - 5, "1008,");
	buf_clear(&b);
	buf_add(&b, "a\0b", 3);
	buf_add_char(&b, 'c');
	buf_add_str(&b, "");
	T_EQ(b.len, 4);
	T_MEM(b.data, "a\0bc", 5);
	char *s = buf_take(&b);
	T_EQ(b.len, 0);
	free(s);
	s = buf_take(&b);
	T_STR(s, "");
	free(s);
	buf_done(&b);
	buf_done(&b);
}

T_TEST(buf_reads_files_of_every_kind)
{
	struct buf b = {0};
	struct err e = {0};

	buf_add_str(&b, "kept");
	T_EQ(buf_read_file(&b, "/no/such/file", &e), -ENOENT);
	T_STR(e.msg, "/no/such/file: cannot open: No such file or directory");
	T_EQ(buf_read_file(&b, "/tmp", &e), -EISDIR);
	T_STR(buf_str(&b), "kept");
	T_EQ(buf_read_file(&b, "/proc/self/stat", &e), 0); /* says it has 0 bytes */
	T_CHECK(b.len > 40);
	char *path = in_dir("big");
	char *data = xmalloc(300007);
	memset(data, 'x', 300007);
	data[300006] = '!';
	T_EQ(file_write(path, data, 300007, &e), 0);
	buf_clear(&b);
	T_EQ(buf_read_file(&b, path, &e), 0);
	T_EQ(b.len, 300007);
	T_CHECK(b.data[300006] == '!');
	buf_clear(&b);
	T_EQ(file_read(path, 300006, &b, &e), -EFBIG);
	T_EQ(b.len, 0);
	T_EQ(file_read(path, 300007, &b, &e), 0);
	T_EQ(b.len, 300007);
	free(data);
	free(path);
	buf_done(&b);
}

T_TEST(vec_pushes_adds_and_sorts)
{
	VEC(int) v = {0};
	struct pair {
		int a, b;
	};
	VEC(struct pair) pairs = {0};

	for (int i = 0; i < 1009; i++)
		vec_push(&v, i * 7);
	T_EQ(v.len, 1009);
	T_EQ(v.data[1008], 7056);
	T_EQ(*vec_last(&v), 7056);
	vec_push(&pairs, (struct pair){3, 4});
	vec_add(&pairs)->b = 11;
	T_EQ(pairs.len, 2);
	T_EQ(pairs.data[0].b, 4);
	T_EQ(pairs.data[1].a, 0);
	T_EQ(pairs.data[1].b, 11);
	vec_done(&v);
	vec_done(&v);
	vec_done(&pairs);
	T_EQ(v.len + v.cap, 0);
}

T_TEST(arena_aligns_zeroes_and_keeps)
{
	struct arena a = {0};
	unsigned char *old = arena_alloc(&a, 24);

	memset(old, 0xa5, 24);
	for (int i = 0; i < 5003; i++) {
		size_t n = (size_t)(i * 37 % 4001);
		unsigned char *p = arena_alloc(&a, n);
		char *s = arena_printf(&a, "%d", i);

		T_EQ((uintptr_t)p % 16, 0);
		for (size_t k = 0; k < n; k++)
			if (p[k] != 0)
				T_FAIL("byte %zu is not zero", k);
		memset(p, 0xff, n);
		T_EQ(atoi(s), i);
	}
	T_EQ(old[0] + old[23], 2 * 0xa5);
	T_CHECK(a.total_bytes > 5003u * 2000 && a.total_bytes < 5003u * 2600);
	T_CHECK(arena_strdup(&a, NULL) == NULL);
	T_MEM(arena_memdup0(&a, "p\0q", 3), "p\0q", 4);
	arena_done(&a);
	arena_done(&a);
}

static uint64_t rng_state = 88172645463325252u;

static uint64_t
rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state;
}

T_TEST(map_equals_an_array)
{
	enum { KEYS = 613 };
	struct map m = {0};
	uint64_t truth[KEYS] = {0};
	bool there[KEYS] = {0};
	size_t count = 0, pos = 0, seen = 0;
	uint64_t key, value;

	T_CHECK(map_find(&m, 0) == NULL && map_find(&m, 5) == NULL);
	T_CHECK(!map_del(&m, 5));
	for (int i = 0; i < 200003; i++) {
		uint64_t k = rng() % KEYS; /* key 0 included */

		if (rng() % 3 == 0) {
			T_CHECK(map_del(&m, k) == there[k]);
			count -= there[k];
			there[k] = false;
		} else {
			uint64_t *at = map_add(&m, k);

			if (!there[k]) {
				T_EQ(*at, 0);
				truth[k] = 0;
				count++;
			}
			there[k] = true;
			*at += k + 1;
			truth[k] += k + 1;
		}
		T_EQ(m.len, count);
	}
	for (uint64_t k = 0; k < KEYS; k++) {
		T_CHECK((map_find(&m, k) != NULL) == there[k]);
		if (there[k])
			T_EQ(*map_find(&m, k), truth[k]);
	}
	while (map_next(&m, &pos, &key, &value)) {
		T_CHECK(key < KEYS && there[key] && truth[key] == value);
		there[key] = false;
		seen++;
	}
	T_EQ(seen, count);
	map_done(&m);
	T_EQ(m.len, 0);
}

T_TEST(strtab_gives_one_id_per_string)
{
	struct strtab t = {0};
	uint32_t id = 77;
	const char *first;

	T_EQ(strtab_count(&t), 1);
	T_EQ(strtab_add(&t, ""), 0);
	T_STR(strtab_str(&t, 0), "");
	T_CHECK(!strtab_find(&t, "s1", 2, &id));
	T_EQ(id, 77);
	T_EQ(strtab_add(&t, "s0"), 1);
	first = strtab_str(&t, 1);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 10007; i++) {
			char s[16];

			snprintf(s, sizeof s, "s%d", i);
			T_EQ(strtab_add(&t, s), i + 1);
		}
	}
	T_EQ(strtab_count(&t), 10008);
	T_CHECK(first == strtab_str(&t, 1)); /* did not move */
	T_STR(strtab_str(&t, 10007), "s10006");
	T_EQ(strtab_len(&t, 10007), 6);
	T_CHECK(strtab_find(&t, "s1", 2, &id) && id == 2);
	T_EQ(strtab_addn(&t, "n\0m", 3), 10008);
	T_EQ(strtab_addn(&t, "n\0o", 3), 10009);
	T_EQ(strtab_addn(&t, "n", 1), 10010);
	T_MEM(strtab_str(&t, 10008), "n\0m", 4);
	T_STR(strtab_str(&t, 999999), "");
	strtab_done(&t);
	strtab_done(&t);
}

T_TEST(file_write_replaces_whole)
{
	struct err e = {0};
	char *path = in_dir("out");
	char *got;
	struct stat st;

	T_EQ(file_write(path, "first", 5, &e), 0);
	T_EQ(stat(path, &st), 0);
	T_EQ(st.st_mode & 07777, 0600);
	T_EQ(file_write(path, "second one", 10, &e), 0);
	got = contents(path);
	T_STR(got, "second one");
	free(got);

	/* given up half way: the old one stays */
	struct file_out f = {0};
	T_EQ(file_out_open(&f, path, &e), 0);
	T_EQ(file_out_write(&f, "half", 4, &e), 0);
	file_out_done(&f);
	file_out_done(&f);
	got = contents(path);
	T_STR(got, "second one");
	free(got);
	T_EQ(leftovers(), 0);
	free(path);
}

T_TEST(file_write_never_follows_a_link)
{
	struct err e = {0};
	char *victim = in_dir("victim"), *link_path = in_dir("link");
	char *got;
	struct stat st;

	T_EQ(file_write(victim, "precious", 8, &e), 0);
	T_EQ(symlink(victim, link_path), 0);
	T_EQ(file_write(link_path, "new", 3, &e), 0);
	got = contents(victim);
	T_STR(got, "precious");
	free(got);
	T_EQ(lstat(link_path, &st), 0);
	T_CHECK(S_ISREG(st.st_mode));
	free(victim);
	free(link_path);
}

T_TEST(file_write_into_devices_and_not_into_folders)
{
	struct err e = {0};
	struct stat st;
	struct file_out f = {0};
	char *fifo = in_dir("fifo"), *nowhere = in_dir("no/such/out");
	char got[8] = "";

	T_EQ(file_write("/dev/null", "x", 1, &e), 0);
	T_EQ(stat("/dev/null", &st), 0);
	T_CHECK(S_ISCHR(st.st_mode)); /* not replaced by a file */
	T_EQ(file_write("/dev/full", "x", 1, &e), -ENOSPC);
	T_STR(e.msg, "/dev/full: cannot write: No space left on device");
	T_EQ(file_write(dir, "x", 1, &e), -EISDIR);
	T_EQ(file_write(nowhere, "x", 1, &e), -ENOENT);
	T_EQ(mkfifo(fifo, 0600), 0);
	int fd = open(fifo, O_RDWR);
	T_EQ(file_out_open(&f, fifo, &e), 0);
	T_EQ(file_out_write(&f, "piped", 5, &e), 0);
	T_EQ(file_out_commit(&f, &e), 0);
	T_EQ(read(fd, got, 5), 5);
	T_STR(got, "piped");
	close(fd);
	free(fifo);
	free(nowhere);
}

T_TEST(file_reads_links_of_any_length)
{
	struct err e = {0};
	char *path = in_dir("long"), *target = xmalloc(1024), *got = NULL;
	bool deleted = true;

	memset(target, 'd', 1023);
	target[1023] = '\0';
	T_EQ(symlink(target, path), 0);
	T_EQ(file_readlink(path, &got, &e), 0);
	T_STR(got, target);
	free(got);
	T_EQ(file_readlink(dir, &got, &e), -EINVAL);
	T_EQ(file_proc_link((int)getpid(), "exe", &got, &deleted, &e), 0);
	T_CHECK(strstr(got, "test_util") != NULL && !deleted);
	free(got);
	free(path);
	path = in_dir("gone");
	int fd = open(path, O_CREAT | O_RDWR, 0600);
	char name[16];
	snprintf(name, sizeof name, "fd/%d", fd);
	unlink(path);
	T_EQ(file_proc_link((int)getpid(), name, &got, &deleted, &e), 0);
	T_STR(got, path);
	T_CHECK(deleted);
	close(fd);
	free(got);
	free(path);
	free(target);
}

T_MAIN()
