/* SPDX-License-Identifier: MIT */
/* test_input.c -- profiles that are packed, piped, cut off, or meant to fill the
 * memory. */
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "tool/format/format.h"
#include "tool/format/input.h"
#include "tool/model/prof.h"
#include "tool/util/err.h"

static const char text[] = "heap_v2/1\n  t*: 7: 7777 [0: 0]\n@ 0x10 0x20\n"
			   "  t*: 7: 7777 [0: 0]\n\nMAPPED_LIBRARIES:\n";

/* ---- packing ---- */

static struct buf
gzip(const void *data, size_t bytes)
{
	struct buf out = {0};
	z_stream z = {0};

	deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	z.next_in = (unsigned char *)data;
	z.avail_in = (uInt)bytes;
	z.avail_out = (uInt)deflateBound(&z, bytes);
	z.next_out = (unsigned char *)buf_room(&out, z.avail_out);
	deflate(&z, Z_FINISH);
	out.len = z.total_out;
	deflateEnd(&z);
	return out;
}

static struct buf
zstd(const void *data, size_t bytes)
{
	struct buf out = {0};
	size_t room = ZSTD_compressBound(bytes);

	out.len = ZSTD_compress(buf_room(&out, room), room, data, bytes, 3);
	return out;
}

/* Live bytes of what is in there; -1 = refused. */
static int64_t
live(const struct buf *b, uint32_t *ret_damages)
{
	struct prof *p = NULL;
	int64_t bytes = -1;

	*ret_damages = 0;
	if (format_load_bytes(b->data, b->len, "x", NULL, &p, NULL) == 0) {
		bytes = p->processes[1].live_bytes;
		*ret_damages = p->ndamages;
	}
	prof_free(p);
	return bytes;
}

T_TEST(packed_files_are_read)
{
	struct buf packed[2] = {gzip(text, sizeof text - 1), zstd(text, sizeof text - 1)};
	uint32_t damages;

	for (int i = 0; i < 2; i++) {
		T_EQ(live(&packed[i], &damages), 7777);
		T_EQ(damages, 0);
	}
	T_CHECK(packed[0].data[0] == 0x1f && packed[1].data[0] == 0x28);
	buf_done(&packed[0]);
	buf_done(&packed[1]);
}

T_TEST(members_behind_each_other)
{
	struct buf a = gzip(text, 40), b = gzip(text + 40, sizeof text - 41);
	uint32_t damages;

	buf_add(&a, b.data, b.len);
	buf_add(&a, "\0\0\0\0", 4); /* padding, as tapes had it */
	T_EQ(live(&a, &damages), 7777);
	T_EQ(damages, 0);
	buf_done(&a);
	buf_done(&b);
}

/* Text that does not pack away, so that a cut leaves some of it. */
static struct buf
long_text(void)
{
	struct buf b = {0};
	uint64_t x = 4711;

	buf_add_str(&b, "heap_v2/1\n  t*: 1: 1 [0: 0]\n");
	for (int i = 0; i < 4000; i++) {
		buf_printf(&b, "@");
		for (int k = 0; k < 8; k++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			buf_printf(&b, " 0x%llx", (unsigned long long)(x >> 16));
		}
		buf_add_str(&b, "\n  t*: 1: 100 [0: 0]\n");
	}
	buf_add_str(&b, "\nMAPPED_LIBRARIES:\n");
	return b;
}

T_TEST(packed_and_cut_off)
{
	struct buf whole = long_text();
	struct buf packed[2] = {gzip(whole.data, whole.len), zstd(whole.data, whole.len)};
	uint32_t damages;

	for (int i = 0; i < 2; i++) {
		struct buf *b = &packed[i];
		size_t full = b->len;
		int64_t before = 0;

		T_EQ(live(b, &damages), 400000);
		T_EQ(damages, 0);
		for (size_t n = 0; n < full; n += 9973) {
			int64_t got;

			b->len = n;
			got = live(b, &damages);
			T_CHECK(got <= 400000 && (got < 0 || got >= before));
			T_CHECK(got < 0 || damages > 0);
			if (got > 0)
				before = got;
		}
		T_CHECK(before > 100000);
		buf_done(b);
	}
	buf_done(&whole);
}

/* A gigabyte in a few kilobytes must not become one. */
static struct buf
bomb_of(const char *head)
{
	enum { STEP = 1 << 20, STEPS = 1024 };
	char *zeros = calloc(1, STEP);
	ZSTD_CStream *z = ZSTD_createCStream();
	struct buf bomb = {0};

	memcpy(zeros, head, strlen(head));
	ZSTD_initCStream(z, 3);
	for (int i = 0; i < STEPS; i++) {
		ZSTD_inBuffer in = {zeros, STEP, 0};
		ZSTD_outBuffer out = {buf_room(&bomb, STEP), STEP, 0};

		ZSTD_compressStream2(z, &out, &in,
				     i + 1 < STEPS ? ZSTD_e_continue : ZSTD_e_end);
		bomb.len += out.pos;
	}
	ZSTD_freeCStream(z);
	free(zeros);
	T_CHECK(bomb.len < 200000);
	return bomb;
}

T_TEST(bombs_are_refused)
{
	struct buf zeros = bomb_of(""), heap = bomb_of("heap_v2/1\n  t*: 1: 8 [0: 0]\n");
	struct rusage use;
	struct prof *p = NULL;
	struct err e = {0};

	/* The first bytes of zeros tell that nobody wants the rest. */
	T_EQ(format_load_bytes(zeros.data, zeros.len, "zeros", NULL, &p, &e), -EINVAL);
	T_STR(e.msg,
	      "zeros: unknown file format (begins with 00 00 00 00 00 00 00 00); man "
	      "seep-report lists the known ones");
	getrusage(RUSAGE_SELF, &use);
	T_CHECK(use.ru_maxrss < 100 * 1024);
	T_EQ(format_load_bytes(heap.data, heap.len, "heap", NULL, &p, &e), -EFBIG);
	T_CHECK(strstr(e.msg, "heap: ") == e.msg && strstr(e.msg, "refused") != NULL);
	getrusage(RUSAGE_SELF, &use);
	T_CHECK(use.ru_maxrss < 900 * 1024);
	buf_done(&zeros);
	buf_done(&heap);
}

/* ---- files and pipes ---- */

static char dir[] = "/tmp/seep-input.XXXXXX";

static void *
write_later(void *path)
{
	int fd;

	usleep(50000);
	fd = open(path, O_WRONLY);
	if (write(fd, text, 30) == 30) {
		usleep(20000);
		if (write(fd, text + 30, sizeof text - 31) < 0)
			perror("write");
	}
	close(fd);
	return NULL;
}

T_TEST(pipes_are_read)
{
	char path[64];
	struct prof *p = NULL;
	struct err e = {0};
	pthread_t thread;
	int fds[2];

	T_CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof path, "%s/fifo", dir);
	T_EQ(mkfifo(path, 0600), 0);
	/* Its writer comes later than its reader. */
	T_EQ(pthread_create(&thread, NULL, write_later, path), 0);
	T_EQ(format_load(path, &p, &e), 0);
	T_STR(e.msg, "");
	if (p != NULL)
		T_EQ(p->processes[1].live_bytes, 7777);
	pthread_join(thread, NULL);
	prof_free(p);
	p = NULL;
	T_EQ(pipe(fds), 0);
	T_EQ(write(fds[1], text, sizeof text - 1), (ssize_t)sizeof text - 1);
	close(fds[1]);
	T_EQ(format_load_fd(fds[0], "pipe", &p, &e), 0);
	if (p != NULL)
		T_EQ(p->processes[1].live_bytes, 7777);
	prof_free(p);
	close(fds[0]);
	unlink(path);
	rmdir(dir);
}

T_TEST(what_is_no_file_is_refused)
{
	struct prof *p = NULL;
	struct err e = {0};

	T_EQ(format_load("/tmp", &p, &e), -EISDIR);
	T_EQ(format_load("/dev/zero", &p, &e), -EINVAL);
	T_STR(e.msg, "/dev/zero: a device, not a file");
	T_EQ(format_load("/nonexistent/x", &p, &e), -ENOENT);
	T_EQ(format_load_bytes("", 0, "nothing", NULL, &p, &e), -EINVAL);
	T_STR(e.msg, "nothing: empty file");
	T_EQ(format_load_bytes("\x1f\x8b\x08zzzz", 7, "bad", NULL, &p, &e), -EBADMSG);
	T_STR(e.msg, "bad: nothing in it can be unpacked");
	T_EQ(format_load_bytes("just words\n", 11, "words", NULL, &p, &e), -EINVAL);
	T_CHECK(input_is_url("http://x") && input_is_url("HTTPS://x"));
	T_CHECK(!input_is_url("httpd.heap"));
}

T_MAIN()
