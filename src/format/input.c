/* SPDX-License-Identifier: MIT */
/* input.c -- files and pipes into memory, unpacked.
 *
 * Unpacking grows its buffer as bytes arrive and stops at a multiple of what was packed
 * (deflate itself cannot do more than 1,032 times), or at an absolute size. Sizes that the
 * compressed file claims are never believed. Pages of a mapped file are given back behind
 * the reader, so that a profile of any size costs what is made of it. */
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

#include "base/compiler.h"
#include "util/err.h"
#include "util/x.h"

enum {
	INPUT_RATIO_MAX = 1100,
	INPUT_STEP_BYTES = 1 << 18,
	INPUT_RELEASE_BYTES = 4 << 20,
	INPUT_ZSTD_WINDOW_LOG = 27,  /* 128 MiB, what the format asks of every reader */
	INPUT_WRITER_WAIT_MS = 5000, /* for somebody to open the other end of a pipe */
};

static const size_t input_slack_bytes = (size_t)16 << 20;
static const size_t input_max_bytes = (size_t)4 << 30;

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

/* More than this many bytes are not unpacked from `packed`. */
static size_t
input_limit(size_t packed)
{
	size_t limit = input_max_bytes;

	if (packed < (input_max_bytes - input_slack_bytes) / INPUT_RATIO_MAX)
		limit = input_slack_bytes + packed * INPUT_RATIO_MAX;
	return limit;
}

static int
input_too_large(const char *name, size_t packed, struct err *e)
{
	return err_set(e, -EFBIG,
		       "%s: %zu compressed bytes unpack to more than %zu MiB: refused",
		       name, packed, input_limit(packed) >> 20);
}

/* One or more gzip members behind each other. 1: it breaks off. */
static int
input_gunzip(const unsigned char *data, size_t bytes, struct buf *out, size_t limit)
{
	z_stream z = {0};
	int r = inflateInit2(&z, 15 + 16);
	size_t at = 0;

	if (r != Z_OK)
		return -ENOMEM;
	while (out->len <= limit) {
		size_t give = bytes - at < UINT32_MAX / 2 ? bytes - at : UINT32_MAX / 2;

		z.next_in = (unsigned char *)data + at;
		z.avail_in = (uInt)give;
		z.next_out = (unsigned char *)buf_room(out, INPUT_STEP_BYTES);
		z.avail_out = INPUT_STEP_BYTES;
		r = inflate(&z, Z_NO_FLUSH);
		at += give - z.avail_in;
		out->len += INPUT_STEP_BYTES - z.avail_out;
		/* What follows a member without being one is padding, as gzip(1) has it. */
		if (r == Z_STREAM_END &&
		    input_packing(data + at, bytes - at) != INPUT_GZIP)
			break;
		if (r == Z_STREAM_END)
			r = inflateReset(&z);
		if (r != Z_OK)
			break;
	}
	inflateEnd(&z);
	if (out->len > limit)
		return -EFBIG;
	return r == Z_STREAM_END ? 0 : 1;
}

static int
input_unzstd(const unsigned char *data, size_t bytes, struct buf *out, size_t limit)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = {data, bytes, 0};
	size_t r = 1;

	if (z == NULL)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, INPUT_ZSTD_WINDOW_LOG);
	while (out->len <= limit) {
		ZSTD_outBuffer to = {buf_room(out, INPUT_STEP_BYTES), INPUT_STEP_BYTES,
				     0};
		size_t before = in.pos;

		r = ZSTD_decompressStream(z, &to, &in);
		out->len += to.pos;
		if (ZSTD_isError(r) || (in.pos == before && to.pos == 0))
			break;
		if (in.pos == in.size && to.pos < to.size)
			break;
	}
	ZSTD_freeDStream(z);
	if (out->len > limit)
		return -EFBIG;
	return r == 0 ? 0 : 1;
}

/* Puts the unpacked bytes in the place of the packed ones, if they are packed. */
static int
input_unpack(struct input *in, const char *name, struct err *e)
{
	enum input_packing packing = input_packing(in->data, in->bytes);
	struct input packed = *in;
	struct buf out = {0};
	int r;

	if (packing == INPUT_PLAIN)
		return 0;
	if (packing == INPUT_GZIP)
		r = input_gunzip(in->data, in->bytes, &out, input_limit(in->bytes));
	else
		r = input_unzstd(in->data, in->bytes, &out, input_limit(in->bytes));
	if (r == -EFBIG)
		r = input_too_large(name, in->bytes, e);
	else if (r < 0)
		r = err_sys(e, r, "%s: cannot unpack", name);
	else if (r > 0 && out.len == 0)
		r = err_set(e, -EBADMSG, "%s: nothing in it can be unpacked", name);
	if (r < 0) {
		buf_done(&out);
		return r;
	}
	*in = (struct input){.own = out, .bytes = out.len};
	in->data = (const unsigned char *)buf_str(&in->own);
	if (r > 0)
		in->damage = "compressed data that break off";
	input_close(&packed);
	return 0;
}

/* ---- taking in ---- */

/* A pipe that nobody has opened for writing yet says end of file at once: wait a little. */
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

static int
input_read(struct input *in, int fd, const char *name, struct err *e)
{
	int r = buf_read_fd(&in->own, fd, input_max_bytes, name, e);

	if (r == 0) {
		in->data = (const unsigned char *)buf_str(&in->own);
		in->bytes = in->own.len;
	}
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
input_open_fd(struct input *ret_in, int fd, const char *name, struct err *e)
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
		r = input_read(&in, fd, name, e);
	}
	if (r == 0)
		r = input_unpack(&in, name, e);
	if (r == 0)
		*ret_in = in;
	else
		input_close(&in);
	return r;
}

int
input_open_buf(struct input *ret_in, struct buf *raw, const char *name, struct err *e)
{
	struct input in = {.own = *raw, .bytes = raw->len};
	int r;

	*raw = (struct buf){0};
	in.data = (const unsigned char *)buf_str(&in.own);
	r = input_unpack(&in, name, e);
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
	buf_done(&in->own);
	*in = (struct input){0};
}
