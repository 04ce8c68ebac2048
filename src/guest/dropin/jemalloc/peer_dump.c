/* SPDX-License-Identifier: MIT */
/* peer_dump.c -- a heap profile in jemalloc's format, heap_v2. See peer_dump.h.
 *
 *	heap_v2/PERIOD
 *	  t*: BLOCKS: BYTES [ALLOCS: BYTES]           all threads
 *	  tN: BLOCKS: BYTES [ALLOCS: BYTES] NAME      a thread
 *	@ 0xLEAF 0xCALLER ...
 *	  t*: ...                                     the same for one stack
 *	  tN: ...
 *
 *	MAPPED_LIBRARIES:
 *	/proc/self/maps
 *
 * Readers of this format (jeprof, pprof, rust's) estimate what was not sampled from the
 * mean size of a stack's samples: n and s times 1 / (1 - exp(-s/n/PERIOD)). That is wrong
 * for stacks with small and large blocks. We know better, from each sample's own size; so
 * the figures written are those that their formula turns into ours. In exact mode the
 * period is 1, and the same holds.
 *
 * They take the leaf for a frame of the allocator, and all others for return addresses:
 * so the leaf is our malloc. Bytes are what was asked for, not size classes. */
#include "guest/dropin/jemalloc/peer_dump.h"

#include "guest/record/sample.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	OUT_BYTES = 64 << 10,
	FRAMES_MAX = 4096,
	HEX_BYTES = 24,
};

/* A file being written, and room for one stack. */
struct out {
	char buf[OUT_BYTES];
	uint64_t pcs[FRAMES_MAX];
	size_t len;
	int fd;
	int error; /* 0 or -errno; then nothing more is written */
};

static void
out_flush(struct out *o)
{
	size_t done = 0;

	while (o->error == 0 && done < o->len) {
		long r = SYS3(SYS_write, o->fd, o->buf + done, o->len - done);

		if (r > 0)
			done += (size_t)r;
		else if (r != -EINTR)
			o->error = r == 0 ? -EIO : (int)r;
	}
	o->len = 0;
}

static void
out_bytes(struct out *o, const char *s, size_t n)
{
	if (n > sizeof(o->buf) - o->len)
		out_flush(o);
	memcpy(o->buf + o->len, s, n);
	o->len += n;
}

static void
out_text(struct out *o, const char *s)
{
	out_bytes(o, s, text_len(s));
}

static void
out_dec(struct out *o, uint64_t n)
{
	char s[HEX_BYTES];
	struct text t = text_on(s, sizeof(s));

	text_dec(&t, n);
	out_bytes(o, s, t.len);
}

static void
out_address(struct out *o, uint64_t n)
{
	char s[HEX_BYTES];
	size_t i = sizeof(s);

	do
		s[--i] = "0123456789abcdef"[n & 15];
	while ((n >>= 4) != 0);
	s[--i] = 'x';
	s[--i] = '0';
	s[--i] = ' ';
	out_bytes(o, s + i, sizeof(s) - i);
}

/* ---- figures ---- */

static void
out_pair(struct out *o, const struct dump *d, int64_t est, int64_t bytes)
{
	double c = (double)est / CENSUS_ONE, s = (double)bytes, y;
	uint64_t n_out = 0, s_out = 0;

	if (est > 0) {
		if (bytes <= 0)
			s = c; /* malloc(0) only: readers divide by the mean size */
		y = d->unbias ? sample_probability(s / c /
						   (double)(UINT64_C(1) << d->lg_sample))
			      : 1.0;
		n_out = (uint64_t)(c * y + 0.5);
		s_out = (uint64_t)(s * y + 0.5);
		/* Rounded away it would be lost; nothing divides by 0. */
		if (n_out == 0)
			n_out = 1;
		if (s_out == 0)
			s_out = 1;
	}
	out_dec(o, n_out);
	out_text(o, ": ");
	out_dec(o, s_out);
}

static void
out_count(struct out *o, const struct dump *d, const struct census_count *n)
{
	out_pair(o, d, n->live_est, n->live_bytes);
	out_text(o, " [");
	out_pair(o, d, d->accum ? (int64_t)n->alloc_est : 0, (int64_t)n->alloc_bytes);
	out_text(o, "]");
}

static bool
is_nothing(const struct dump *d, const struct census_count *n)
{
	return n->live_est <= 0 && (!d->accum || n->alloc_est == 0);
}

/* ---- parts ---- */

/* The name that the kernel has now. */
static void
out_kernel_name(struct out *o, uint32_t tid)
{
	char path[64], name[32];
	struct text t = text_on(path, sizeof(path));
	long fd, got;

	if (tid == 0)
		return;
	text_add(&t, "/proc/self/task/");
	text_dec(&t, tid);
	text_add(&t, "/comm");
	fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	got = sys_read((int)fd, name, sizeof(name));
	sys_close((int)fd);
	while (got > 0 && name[got - 1] == '\n')
		got--;
	if (got > 0) {
		out_text(o, " ");
		out_bytes(o, name, (size_t)got);
	}
}

static void
out_thread(struct out *o, const struct census_thread *t)
{
	out_text(o, "  t");
	out_dec(o, t->serial - 1u);
	out_text(o, ": ");
}

static void
out_threads(struct out *o, const struct dump *d, const struct census *c)
{
	for (uint32_t i = 0; i < c->nthreads && o->error == 0; i++) {
		const struct census_thread *t = &c->threads[i];
		const char *name;

		if (t->shares == 0)
			continue; /* nothing of it was ever sampled */
		out_thread(o, t);
		out_count(o, d, &t->n);
		name = d->kernel_names ? NULL : d->thread_name(t->serial);
		if (d->kernel_names) {
			out_kernel_name(o, t->tid);
		} else if (name != NULL && name[0] != '\0') {
			out_text(o, " ");
			out_text(o, name);
		}
		out_text(o, "\n");
	}
}

static void
out_stack(struct out *o, const struct dump *d, const struct census *c,
	  const struct census_site *s)
{
	uint32_t max = d->frames_max == 0 || d->frames_max > FRAMES_MAX ? FRAMES_MAX
									: d->frames_max;
	uint32_t n = census_frames(recorder_now, s->node, o->pcs, max);

	out_text(o, "@");
	out_address(o, (uintptr_t)malloc + 4);
	for (uint32_t i = 0; i < n; i++)
		out_address(o, o->pcs[i]);
	out_text(o, "\n  t*: ");
	out_count(o, d, &s->n);
	out_text(o, "\n");
	for (uint32_t k = s->first; k != CENSUS_NONE; k = c->shares[k].next) {
		if (is_nothing(d, &c->shares[k].n))
			continue;
		out_thread(o, &c->threads[c->shares[k].thread]);
		out_count(o, d, &c->shares[k].n);
		out_text(o, "\n");
	}
}

static void
out_maps(struct out *o)
{
	/* Not self: the first thread may have ended. */
	long fd = sys_open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0), got;

	if (fd < 0)
		return;
	out_text(o, "\nMAPPED_LIBRARIES:\n");
	do {
		if (sizeof(o->buf) - o->len < 4096)
			out_flush(o);
		got = sys_read((int)fd, o->buf + o->len, sizeof(o->buf) - o->len);
		if (got > 0)
			o->len += (size_t)got;
	} while ((got > 0 || got == -EINTR) && o->error == 0);
	sys_close((int)fd);
}

/* A file cut short would be taken for a whole one. Only a file of ours: not a device, for
 * one. */
static void
remove_half(int fd, const char *path)
{
	struct stat st;

	if (SYS2(SYS_fstat, fd, &st) == 0 && S_ISREG(st.st_mode))
		sys_unlink(path);
}

int
dump_write(const struct dump *d, const struct census *c, const char *path,
	   bool *ret_opened)
{
	struct out *o = rt_map(sizeof(*o));
	long fd = -ENOMEM;
	int error;

	if (o != NULL)
		fd = sys_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	*ret_opened = fd >= 0;
	if (fd < 0) {
		rt_unmap(o, sizeof(*o));
		return (int)fd;
	}
	o->fd = (int)fd;
	out_text(o, "heap_v2/");
	out_dec(o, UINT64_C(1) << d->lg_sample);
	out_text(o, "\n  t*: ");
	out_count(o, d, &c->n);
	out_text(o, "\n");
	out_threads(o, d, c);
	for (uint32_t i = 0; i < c->nsites && o->error == 0; i++)
		if (!is_nothing(d, &c->sites[i].n))
			out_stack(o, d, c, &c->sites[i]);
	out_maps(o);
	out_flush(o);
	error = o->error;
	if (error != 0)
		remove_half(o->fd, path);
	sys_close(o->fd);
	rt_unmap(o, sizeof(*o));
	return error;
}

struct dump_live
dump_live_of(const struct census *c)
{
	struct dump_live l = {0, 0, 0};

	for (uint32_t i = 0; i < c->nsites; i++) {
		const struct census_count *n = &c->sites[i].n;

		if (n->live_est <= 0)
			continue;
		l.sites++;
		l.bytes += n->live_bytes > 0 ? (uint64_t)n->live_bytes : 0;
		l.blocks += (uint64_t)n->live_est;
	}
	l.blocks = (l.blocks + CENSUS_ONE / 2) / CENSUS_ONE;
	return l;
}
