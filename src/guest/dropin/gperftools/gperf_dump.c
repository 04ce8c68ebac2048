/* SPDX-License-Identifier: MIT */
/* gperf_dump.c -- a heap profile in gperftools' text format.
 *
 *	heap profile:     20: 20971520 [    20: 20971520] @ heapprofile
 *	    20: 20971520 [    20: 20971520] @ 0x5593f412b1b2 0x5593f412b24d …
 *
 *	MAPPED_LIBRARIES:
 *	5593f412a000-5593f412b000 r--p 00000000 00:00 11044378    /path
 *
 * Blocks and bytes in use, in brackets all that were ever allocated there; the stacks
 * with most in use first, those of mappings before them and not in the first line's sums.
 * Of the innermost frame the address is the call's own last byte, not the return address,
 * because google-pprof takes one off all frames but that one and would name the line
 * after it.
 *
 * No program's thread waits for this: the census takes no lock, and nothing is written
 * while anything is held. */
#include "guest/dropin/gperftools/gperf.h"

#include "guest/rt/rt_map.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#ifndef MREMAP_MAYMOVE
#	define MREMAP_MAYMOVE 1
#endif

enum {
	SINK_BYTES = 64 << 10,
	FRAMES_MAX = 1 << 16,
	LINE_MAX_BYTES = 8192, /* of /proc/self/maps: a path and some */
};

/* Where the text goes: a file through a buffer, or memory that grows. */
struct sink {
	int fd; /* -1: memory */
	char *at;
	size_t bytes, len;
	int error; /* -errno; nothing more is written then */
};

static void
sink_flush(struct sink *s)
{
	size_t done = 0;

	while (s->error == 0 && done < s->len) {
		long n = SYS3(SYS_write, s->fd, s->at + done, s->len - done);

		if (n > 0)
			done += (size_t)n;
		else if (n != -EINTR)
			s->error = n == 0 ? -EIO : (int)n;
	}
	s->len = 0;
}

static void
sink_grow(struct sink *s)
{
	char *at = rt_map_grow(s->at, s->bytes, s->bytes * 2);

	if (at == NULL) {
		s->error = -ENOMEM;
		s->len = 0;
		return;
	}
	s->at = at;
	s->bytes *= 2;
}

static void
sink_add(struct sink *s, const char *p, size_t n)
{
	while (n > 0 && s->error == 0) {
		size_t room = s->bytes - s->len;
		size_t k = n < room ? n : room;

		memcpy(s->at + s->len, p, k);
		s->len += k;
		p += k;
		n -= k;
		if (s->len < s->bytes)
			continue;
		if (s->fd >= 0)
			sink_flush(s);
		else
			sink_grow(s);
	}
}

static void
sink_str(struct sink *s, const char *text)
{
	sink_add(s, text, text_len(text));
}

/* ---- buckets ---- */

static void
add_number(struct text *t, int64_t n, unsigned width)
{
	char digits[24];
	struct text d = text_on(digits, sizeof(digits));

	if (n < 0)
		text_add(&d, "-");
	text_dec(&d, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
	for (size_t i = d.len; i < width; i++)
		text_add(t, " ");
	text_add(t, digits);
}

static void
write_counts(struct sink *s, const struct census_count *n)
{
	char line[128];
	struct text t = text_on(line, sizeof(line));

	add_number(&t, n->live_blocks, 6);
	text_add(&t, ": ");
	add_number(&t, n->live_bytes, 8);
	text_add(&t, " [");
	add_number(&t, (int64_t)n->allocs, 6);
	text_add(&t, ": ");
	add_number(&t, (int64_t)n->alloc_bytes, 8);
	text_add(&t, "] @");
	sink_add(s, line, t.len);
}

static void
write_bucket(struct sink *s, const struct census_site *site, uint64_t *frames)
{
	uint32_t n = census_frames(recorder_now, site->node, frames, FRAMES_MAX);

	write_counts(s, &site->n);
	for (uint32_t i = 0; i < n; i++) {
		char word[24];
		struct text t = text_on(word, sizeof(word));
		uint64_t pc = i == 0 ? frames[i] - 1 : frames[i];
		unsigned digits = (67 - (unsigned)__builtin_clzll(pc | 1)) / 4;

		text_add(&t, " 0x");
		text_hex(&t, pc, digits < 8 ? 8 : digits);
		sink_add(s, word, t.len);
	}
	sink_str(s, "\n");
}

/* Is `a` to stand after `b`? Mappings first, most bytes first, older stacks first. */
static bool
after(const struct census_site *a, const struct census_site *b)
{
	if ((a->class == 0) != (b->class == 0))
		return a->class == 0;
	if (a->n.live_bytes != b->n.live_bytes)
		return a->n.live_bytes < b->n.live_bytes;
	return a->ref > b->ref;
}

static void
sift(struct census_site *v, size_t at, size_t n)
{
	struct census_site x = v[at];
	size_t child;

	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n && after(&v[child + 1], &v[child]))
			child++;
		if (!after(&v[child], &x))
			break;
		v[at] = v[child];
		at = child;
	}
	v[at] = x;
}

/* In place and without recursion: libc's qsort may allocate. */
static void
sort_sites(struct census_site *v, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(v, i, n);
	while (n > 1) {
		struct census_site last = v[--n];

		v[n] = v[0];
		v[0] = last;
		sift(v, 0, n);
	}
}

static void
write_buckets(struct sink *s, struct census *c, uint64_t *frames)
{
	static const struct census_count none;
	bool heap = !gperf_settings.only_mmap;

	sort_sites(c->sites, c->nsites);
	sink_str(s, "heap profile: ");
	write_counts(s, heap ? &c->n : &none);
	sink_str(s, " heapprofile\n");
	for (uint32_t i = 0; i < c->nsites; i++)
		if (c->sites[i].n.allocs != 0 && (heap || c->sites[i].class != 0))
			write_bucket(s, &c->sites[i], frames);
}

/* ---- the map ---- */

/* The next word of a line, blanks before it skipped. */
static const char *
word(const char **at, const char *end, size_t *ret_len)
{
	const char *s = *at, *start;

	while (s < end && *s == ' ')
		s++;
	start = s;
	while (s < end && *s != ' ')
		s++;
	*at = s;
	*ret_len = (size_t)(s - start);
	return start;
}

/* One line of /proc/self/maps, as gperftools rewrites it: no device, the inode in a
 * column. */
static void
write_map_line(struct sink *s, const char *at, const char *end)
{
	size_t n;
	const char *w;

	for (int i = 0; i < 3; i++) { /* range, permissions, offset */
		w = word(&at, end, &n);
		sink_add(s, w, n);
		sink_str(s, " ");
	}
	word(&at, end, &n);
	sink_str(s, "00:00 ");
	w = word(&at, end, &n);
	sink_add(s, w, n);
	for (; n < 11; n++)
		sink_str(s, " ");
	sink_str(s, " ");
	while (at < end && *at == ' ')
		at++;
	sink_add(s, at, (size_t)(end - at));
	sink_str(s, "\n");
}

static void
write_map(struct sink *s, char *buf)
{
	long fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	size_t have = 0;
	long got;

	sink_str(s, "\nMAPPED_LIBRARIES:\n");
	while (fd >= 0 &&
	       (got = sys_read((int)fd, buf + have, LINE_MAX_BYTES - have)) > 0) {
		size_t from = 0;

		have += (size_t)got;
		for (size_t i = 0; i < have; i++) {
			if (buf[i] != '\n')
				continue;
			write_map_line(s, buf + from, buf + i);
			from = i + 1;
		}
		memmove(buf, buf + from, have - from);
		have = have - from < LINE_MAX_BYTES ? have - from : 0;
	}
	if (fd >= 0)
		sys_close((int)fd);
}

/* ---- all of it ---- */

static void
write_profile(struct sink *s, const struct census *base, struct census_count *ret_total)
{
	const size_t bytes = FRAMES_MAX * sizeof(uint64_t);
	unsigned flags = gperf_settings.mmap ? CENSUS_MAPPINGS : 0;
	uint64_t *frames = rt_map(bytes);
	struct census c;

	if (frames == NULL ||
	    (s->error = census_take(recorder_now, flags, base, &c)) != 0) {
		s->error = frames == NULL ? -ENOMEM : s->error;
	} else {
		if (ret_total != NULL)
			*ret_total = c.n;
		write_buckets(s, &c, frames);
		census_done(&c);
		write_map(s, (char *)frames);
	}
	if (frames != NULL)
		rt_unmap(frames, bytes);
}

int
gperf_dump(const char *path, const struct census *base, struct census_count *ret_total)
{
	struct sink s = {.bytes = SINK_BYTES};
	long fd;

	if (rt_sealed)
		return -EPERM;
	fd = sys_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0664);
	if (fd < 0)
		return (int)fd;
	s.fd = (int)fd;
	s.at = rt_map(s.bytes);
	if (s.at == NULL) {
		s.error = -ENOMEM;
	} else {
		write_profile(&s, base, ret_total);
		sink_flush(&s);
		rt_unmap(s.at, s.bytes);
	}
	sys_close(s.fd);
	return s.error;
}

char *
gperf_text(const struct census *base, size_t *ret_mapped, size_t *ret_len)
{
	struct sink s = {.fd = -1, .bytes = SINK_BYTES};

	s.at = rt_sealed ? NULL : rt_map(s.bytes);
	if (s.at == NULL)
		return NULL;
	write_profile(&s, base, NULL);
	sink_add(&s, "", 1);
	if (s.error != 0) {
		rt_unmap(s.at, s.bytes);
		return NULL;
	}
	*ret_mapped = s.bytes;
	*ret_len = s.len - 1;
	return s.at;
}
