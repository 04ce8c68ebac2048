/* SPDX-License-Identifier: MIT */
/* input.c -- files and pipes into memory, unpacked.
 *
 * Unpacking grows a mapping as bytes arrive and stops at a multiple of what was packed
 * (deflate itself cannot do more than 1,032 times), at input_max_unpacked, where memory
 * ends, or after the first bytes if they are of no format that is asked for. Sizes that
 * the compressed file claims are never believed. Pages of a mapped file are given back
 * behind the reader, so that a profile of any size costs what is made of it. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "shared/compiler.h"
#include "tool/util/err.h"
#include "tool/util/x.h"

enum {
	INPUT_RATIO_MAX = 1100,
	INPUT_STEP_BYTES = 1 << 18,
	INPUT_FIRST_BYTES = 1 << 20, /* mapped at first */
	INPUT_HEAD_BYTES = 4096,     /* decide about the format */
	INPUT_RELEASE_BYTES = 4 << 20,
	INPUT_ZSTD_WINDOW_LOG = 27,  /* 128 MiB, what the format asks of every reader */
	INPUT_WRITER_WAIT_MS = 5000, /* for somebody to open the other end of a pipe */
};

static const size_t input_slack_bytes = (size_t)16 << 20;

uint64_t input_max_unpacked = INPUT_MAX_UNPACKED;

/* ---- unpacking ---- */

enum input_packing { INPUT_PLAIN, INPUT_GZIP, INPUT_ZSTD };

static enum input_packing
input_packing(const unsigned char *data, size_t bytes)
{
	static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};

	if (bytes >= 3 && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8)
		return INPUT_GZIP;
	if (bytes >= 4 && memcmp(data, zstd, sizeof zstd) == 0)
		return INPUT_ZSTD;
	return INPUT_PLAIN;
}

/* What is unpacked: a mapping that grows where it stands if it can, and moves without
 * being copied if not. */
struct input_grown {
	unsigned char *data;
	size_t bytes, mapped;
	size_t limit; /* more bytes are too many */
	input_known_fn *known;
};

/* More than this many bytes are not unpacked from `packed`. */
static size_t
input_limit(size_t packed)
{
	size_t most = input_max_unpacked < SIZE_MAX / 2 ? (size_t)input_max_unpacked
							: SIZE_MAX / 2;

	if (packed < most / INPUT_RATIO_MAX &&
	    input_slack_bytes + packed * INPUT_RATIO_MAX < most)
		return input_slack_bytes + packed * INPUT_RATIO_MAX;
	return most;
}

/* Makes room for a step; 0, or -ENOMEM with what there is kept. */
static int
input_room(struct input_grown *g)
{
	size_t want = g->mapped > 0 ? g->mapped * 2 : INPUT_FIRST_BYTES;
	void *at;

	if (g->mapped - g->bytes >= INPUT_STEP_BYTES)
		return 0;
	at = g->mapped > 0 ? mremap(g->data, g->mapped, want, MREMAP_MAYMOVE)
			   : mmap(NULL, want, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -ENOMEM;
	g->data = at;
	g->mapped = want;
	return 0;
}

/* Takes `n` more bytes that were put there. 0: go on; else why not. */
static int
input_took(struct input_grown *g, size_t n)
{
	bool first = g->bytes < INPUT_HEAD_BYTES;

	g->bytes += n;
	if (first && g->bytes >= INPUT_HEAD_BYTES && g->known != NULL &&
	    !g->known(g->data, INPUT_HEAD_BYTES))
		return -EMEDIUMTYPE;
	return g->bytes > g->limit ? -EFBIG : 0;
}

/* One or more gzip members behind each other. 1: it breaks off. */
static int
input_gunzip(const unsigned char *data, size_t bytes, struct input_grown *g)
{
	z_stream z = {0};
	int r = inflateInit2(&z, 15 + 16), stop = 0;
	size_t at = 0;

	if (r != Z_OK)
		return -ENOMEM;
	while ((stop = input_room(g)) == 0) {
		size_t give = bytes - at < UINT32_MAX / 2 ? bytes - at : UINT32_MAX / 2;

		z.next_in = (unsigned char *)data + at;
		z.avail_in = (uInt)give;
		z.next_out = g->data + g->bytes;
		z.avail_out = INPUT_STEP_BYTES;
		r = inflate(&z, Z_NO_FLUSH);
		at += give - z.avail_in;
		stop = input_took(g, INPUT_STEP_BYTES - z.avail_out);
		/* What follows a member without being one is padding, as gzip(1) has
		 * it. */
		if (stop != 0 || (r == Z_STREAM_END &&
				  input_packing(data + at, bytes - at) != INPUT_GZIP))
			break;
		if (r == Z_STREAM_END)
			r = inflateReset(&z);
		if (r != Z_OK)
			break;
	}
	inflateEnd(&z);
	return stop != 0 ? stop : r == Z_STREAM_END ? 0 : 1;
}

static int
input_unzstd(const unsigned char *data, size_t bytes, struct input_grown *g)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = {data, bytes, 0};
	size_t r = 1;
	int stop;

	if (z == NULL)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, INPUT_ZSTD_WINDOW_LOG);
	while ((stop = input_room(g)) == 0) {
		ZSTD_outBuffer to = {g->data + g->bytes, INPUT_STEP_BYTES, 0};
		size_t before = in.pos;

		r = ZSTD_decompressStream(z, &to, &in);
		stop = input_took(g, to.pos);
		if (stop != 0 || ZSTD_isError(r) || (in.pos == before && to.pos == 0))
			break;
		if (in.pos == in.size && to.pos < to.size)
			break;
	}
	ZSTD_freeDStream(z);
	return stop != 0 ? stop : r == 0 ? 0 : 1;
}

/* The message for what could not be unpacked to its end. */
static int
input_refuse(int r, const struct input_grown *g, size_t packed, const char *name,
	     struct err *e)
{
	switch (r) {
	case -EFBIG:
		return err_set(
			e, r,
			"%s: %zu compressed bytes unpack to more than %zu MiB: refused%s",
			name, packed, g->limit >> 20,
			g->limit == input_max_unpacked ? " (--max-unpacked)" : "");
	case -ENOMEM:
		return err_set(
			e, r,
			"%s: not enough memory: more than %zu MiB unpacked; see --max-unpacked",
			name, g->bytes >> 20);
	/* -EMEDIUMTYPE: the reader that is asked next says what it begins with */
	default:
		return 0;
	}
}

/* Puts the unpacked bytes in the place of the packed ones, if they are packed. */
static int
input_unpack(struct input *in, const char *name, input_known_fn *known, struct err *e)
{
	enum input_packing packing = input_packing(in->data, in->bytes);
	struct input_grown g = {.limit = input_limit(in->bytes), .known = known};
	struct input packed = *in;
	int r;

	if (packing == INPUT_PLAIN)
		return 0;
	r = packing == INPUT_GZIP ? input_gunzip(in->data, in->bytes, &g)
				  : input_unzstd(in->data, in->bytes, &g);
	if (r > 0 && g.bytes == 0)
		r = err_set(e, -EBADMSG, "%s: nothing in it can be unpacked", name);
	else if (r < 0)
		r = input_refuse(r, &g, in->bytes, name, e);
	if (r < 0) {
		munmap(g.data, g.mapped);
		return r;
	}
	*in = (struct input){.data = g.data, .bytes = g.bytes, .grown = g.mapped};
	if (r > 0)
		in->damage = "compressed data that break off";
	input_close(&packed);
	return 0;
}

/* ---- taking in ---- */

/* A pipe that nobody has opened for writing yet says end of file at once: wait a
 * little. */
static int
input_wait(int fd, const char *name, struct err *e)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	int flags = fcntl(fd, F_GETFL);
	int r;

	if (flags < 0 || (flags & O_NONBLOCK) == 0)
		return 0;
	do
		r = poll(&poll_fd, 1, INPUT_WRITER_WAIT_MS);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return err_set(e, -ETIMEDOUT, "%s: nobody has written into it for %d s",
			       name, INPUT_WRITER_WAIT_MS / 1000);
	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return 0;
}

/* All that comes through a pipe, as long as it looks like something. */
static int
input_read(struct input *in, int fd, const char *name, input_known_fn *known,
	   struct err *e)
{
	struct input_grown g = {.limit = input_limit(SIZE_MAX), .known = known};
	ssize_t got = 0;
	int r;

	while ((r = input_room(&g)) == 0) {
		got = read(fd, g.data + g.bytes, INPUT_STEP_BYTES);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		r = input_took(&g, (size_t)got);
		if (r == -EMEDIUMTYPE && input_packing(g.data, g.bytes) != INPUT_PLAIN)
			r = 0;
		if (r != 0)
			break;
	}
	if (got < 0)
		r = err_sys(e, -errno, "%s: cannot read", name);
	else if (r == -EFBIG)
		r = err_set(e, r, "%s: larger than %zu MiB: refused (--max-unpacked)",
			    name, g.limit >> 20);
	else if (r == -ENOMEM)
		r = err_set(e, r, "%s: no memory for more than %zu MiB of it", name,
			    g.bytes >> 20);
	else
		r = 0;
	*in = (struct input){.data = g.data, .bytes = g.bytes, .grown = g.mapped};
	if (r < 0)
		input_close(in);
	return r;
}

static int
input_map(struct input *in, int fd, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	madvise(at, bytes, MADV_SEQUENTIAL);
	in->data = at;
	in->bytes = in->mapped = bytes;
	return 0;
}

int
input_open_fd(struct input *ret_in, int fd, const char *name, input_known_fn *known,
	      struct err *e)
{
	struct input in = {.data = (const unsigned char *)""};
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) != 0)
		return err_sys(e, -errno, "%s: cannot read", name);
	if (S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR, "%s: is a directory", name);
	/* A device such as /dev/zero has no end. */
	if (S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd)))
		return err_set(e, -EINVAL, "%s: a device, not a file", name);
	if (S_ISFIFO(st.st_mode))
		r = input_wait(fd, name, e);
	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    input_map(&in, fd, (size_t)st.st_size) < 0) {
		if (S_ISREG(st.st_mode))
			lseek(fd, 0, SEEK_SET);
		r = input_read(&in, fd, name, known, e);
	}
	if (r == 0)
		r = input_unpack(&in, name, known, e);
	if (r == 0)
		*ret_in = in;
	else
		input_close(&in);
	return r;
}

int
input_open_buf(struct input *ret_in, struct buf *raw, const char *name,
	       input_known_fn *known, struct err *e)
{
	struct input in = {.own = *raw, .bytes = raw->len};
	int r;

	*raw = (struct buf){0};
	in.data = (const unsigned char *)buf_str(&in.own);
	r = input_unpack(&in, name, known, e);
	if (r == 0)
		*ret_in = in;
	else
		input_close(&in);
	return r;
}

void
input_release(struct input *in, size_t upto)
{
	upto = ALIGN_DOWN(upto, (size_t)INPUT_RELEASE_BYTES);
	if (upto > in->mapped || upto <= in->released)
		return;
	madvise((char *)in->data + in->released, upto - in->released, MADV_DONTNEED);
	in->released = upto;
}

void
input_close(struct input *in)
{
	if (in->mapped != 0)
		munmap((void *)in->data, in->mapped);
	if (in->grown != 0)
		munmap((void *)in->data, in->grown);
	buf_done(&in->own);
	*in = (struct input){0};
}
