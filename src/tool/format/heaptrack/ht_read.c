/* SPDX-License-Identifier: MIT */
/* ht_read.c -- reads a data file of heaptrack, in one pass: see ht.h.
 *
 * Memory holds the tables of the file and a row for each stack, however many events there
 * are. What was live at the peak is known without a second pass: every new peak begins an
 * epoch, and a row that changes for the first time in one keeps what it had before. A
 * compressed file may define no more than INPUT_RATIO times its own size, so a small file
 * cannot fill the memory. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ht.h"
#include "shared/compiler.h"
#include "tool/format/format.h"
#include "tool/format/lines.h"
#include "tool/format/stream.h"
#include "tool/util/err.h"

enum {
	HT_POINTS_MAX = 4096, /* as a recording has them */
	HT_POINT_MS = 10,
	HT_TABLE_RATIO = 1100, /* more than deflate can do */
	HT_TABLE_SLACK = 16 << 20,
};

/* ---- what it looks like ---- */

bool
ht_detect(const void *head, size_t bytes)
{
	struct lines in = lines_init(head, bytes);
	struct line l;
	uint64_t version;

	if (!lines_next(&in, &l) || !scan_text(&l, "v 1") || !scan_hex(&l, &version) ||
	    (l.at < l.end && *l.at != ' '))
		return false;
	return memmem(head, bytes, "\nX ", 3) != NULL ||
	       memmem(head, bytes, "\nx ", 3) != NULL;
}

/* ---- lookups ---- */

const char *
ht_text(const struct ht *h, uint32_t string)
{
	return string == 0 || string > h->strings.len
		       ? ""
		       : strtab_str(&h->texts, h->strings.data[string - 1]);
}

const struct ht_ip *
ht_ip(const struct ht *h, uint32_t ip)
{
	static const struct ht_ip none;

	return ip == 0 || ip > h->ips.len ? &none : &h->ips.data[ip - 1];
}

struct ht_trace
ht_trace(const struct ht *h, uint32_t trace)
{
	while (trace != 0 && trace <= h->traces.len) {
		struct ht_trace t = h->traces.data[trace - 1];

		if (!ht_ip(h, t.ip)->skipped)
			return t;
		trace = t.parent;
	}
	return (struct ht_trace){0};
}

uint32_t
ht_row(struct ht *h, uint32_t trace)
{
	uint64_t *at = map_add(&h->row_of_trace, trace);

	if (*at == 0) {
		struct ht_row *r = vec_add(&h->rows);

		r->trace = trace;
		*at = h->rows.len;
	}
	return (uint32_t)*at - 1;
}

/* ---- definitions ---- */

/* The next number of a line, behind a blank unless it is the first one. */
static bool
ht_number(struct line *l, uint64_t *ret)
{
	struct line at = *l;

	scan_char(&at, ' ');
	if (!scan_hex(&at, ret) || (at.at < at.end && *at.at != ' '))
		return false;
	*l = at;
	return true;
}

/* The same for the number of a row of a table of `n`. */
static bool
ht_index(struct line *l, size_t n, uint32_t *ret)
{
	uint64_t v;

	if (!ht_number(l, &v) || v > n)
		return false;
	*ret = (uint32_t)v;
	return true;
}

static bool
ht_string(struct ht *h, struct line l)
{
	uint64_t n = line_len(&l);
	bool whole = true;

	if (h->version >= 3) {
		whole = ht_number(&l, &n);
		scan_char(&l, ' ');
		whole = whole && n == line_len(&l);
		n = line_len(&l);
	}
	/* Those behind it are named by their number: it has a place in any case. */
	vec_push(&h->strings, strtab_addn(&h->texts, l.at, n));
	return whole;
}

static bool
ht_frame(struct ht *h, struct line *l, struct ht_frame *ret)
{
	uint64_t line = 0;

	if (!ht_index(l, h->strings.len, &ret->function))
		return false;
	if (ht_index(l, h->strings.len, &ret->file) && ht_number(l, &line))
		ret->line = line < INT32_MAX ? (uint32_t)line : 0;
	return true;
}

static bool
ht_address(struct ht *h, struct line l)
{
	static const char *const op_new[] = {
		"operator new(unsigned long)",
		"operator new[](unsigned long)",
		"operator new(unsigned int)",
		"operator new[](unsigned int)",
	};
	struct ht_ip ip = {.inlined = (uint32_t)h->inlined.len};
	struct ht_frame f = {0};
	bool whole =
		ht_number(&l, &ip.address) && ht_index(&l, h->strings.len, &ip.module);

	if (whole && ht_frame(h, &l, &ip.frame)) {
		const char *name = ht_text(h, ip.frame.function);

		for (size_t i = 0; i < ARRAY_LEN(op_new); i++)
			ip.skipped = ip.skipped || strcmp(name, op_new[i]) == 0;
		for (; ht_frame(h, &l, &f); f = (struct ht_frame){0}) {
			vec_push(&h->inlined, f);
			ip.ninlined++;
		}
	}
	vec_push(&h->ips, ip);
	return whole && l.at == l.end;
}

static bool
ht_stack(struct ht *h, struct line l)
{
	struct ht_trace t = {0};
	bool whole =
		ht_index(&l, h->ips.len, &t.ip) && ht_index(&l, h->traces.len, &t.parent);

	vec_push(&h->traces, t);
	return whole;
}

static bool
ht_kind(struct ht *h, struct line l)
{
	struct ht_kind k = {0};
	uint32_t trace = 0;
	bool whole = ht_number(&l, &k.bytes) && ht_index(&l, h->traces.len, &trace);

	if (k.bytes > INT64_MAX)
		whole = false, k.bytes = 0;
	k.row = ht_row(h, trace);
	vec_push(&h->kinds, k);
	return whole;
}

/* ---- events ---- */

static void
ht_sum(uint64_t *to, uint64_t v)
{
	if (__builtin_add_overflow(*to, v, to))
		*to = UINT64_MAX;
}

/* The row before it changes. */
static struct ht_row *
ht_touch(struct ht *h, uint32_t row)
{
	struct ht_row *r = &h->rows.data[row];

	if (r->epoch != h->epoch) {
		r->peak_bytes = r->live_bytes;
		r->peak_blocks = r->live_blocks;
		r->epoch = h->epoch;
	}
	return r;
}

static bool
ht_alloc(struct ht *h, struct line l)
{
	struct ht_kind *k;
	struct ht_row *r;
	uint64_t kind;

	if (!ht_number(&l, &kind) || kind >= h->kinds.len)
		return false;
	k = &h->kinds.data[kind];
	r = ht_touch(h, k->row);
	if (r->allocs == 0)
		r->first_ms = h->last_ms;
	k->allocs++;
	r->allocs++;
	ht_sum(&r->alloc_bytes, k->bytes);
	r->live_blocks++;
	line_sum(&r->live_bytes, (int64_t)k->bytes);
	if (r->live_bytes > r->most_bytes) {
		r->most_bytes = r->live_bytes;
		r->most_ms = h->last_ms;
	}
	h->last_kind = kind + 1;
	h->total.allocs++;
	line_sum(&h->total.live_bytes, (int64_t)k->bytes);
	if (h->total.live_bytes > h->total.peak_bytes) {
		h->total.peak_bytes = h->total.live_bytes;
		h->peak_ms = h->last_ms;
		h->epoch++;
	}
	return true;
}

static bool
ht_free(struct ht *h, struct line l)
{
	const struct ht_kind *k;
	struct ht_row *r;
	uint64_t kind;
	bool temporary;

	if (!ht_number(&l, &kind) || kind >= h->kinds.len)
		return false;
	k = &h->kinds.data[kind];
	r = ht_touch(h, k->row);
	/* heaptrack's own tools take "no allocation" for kind 0: as they count it. */
	temporary = h->last_kind == kind + 1 || (h->last_kind == 0 && kind == 0);
	h->last_kind = 0;
	r->frees++;
	ht_sum(&r->free_bytes, k->bytes);
	r->live_blocks--;
	line_sum(&r->live_bytes, -(int64_t)k->bytes);
	line_sum(&h->total.live_bytes, -(int64_t)k->bytes);
	if (temporary) {
		r->temps++;
		ht_sum(&r->temp_bytes, k->bytes);
		h->total.temps++;
	}
	return true;
}

/* ---- time ---- */

static void
ht_point(struct ht *h)
{
	struct ht_point *last = h->points.len > 0 ? vec_last(&h->points) : NULL;

	if (last != NULL && h->last_ms < last->ms + h->points_every_ms)
		return;
	if (h->points.len == HT_POINTS_MAX) {
		for (size_t i = 0; i < HT_POINTS_MAX / 2; i++)
			h->points.data[i] = h->points.data[2 * i];
		h->points.len = HT_POINTS_MAX / 2;
		h->points_every_ms *= 2;
	}
	vec_push(&h->points,
		 (struct ht_point){h->last_ms, h->total.live_bytes, h->rss_pages});
}

static bool
ht_time(struct ht *h, struct line l)
{
	uint64_t ms;

	if (!ht_number(&l, &ms) || ms > UINT32_MAX)
		return false;
	if (h->stamp != NULL)
		h->stamp(h->ctx, h, ms, false);
	h->last_ms = ms > h->last_ms ? ms : h->last_ms;
	ht_point(h);
	return true;
}

static bool
ht_rss(struct ht *h, struct line l)
{
	if (!ht_number(&l, &h->rss_pages))
		return false;
	if (h->rss_pages > h->rss_peak_pages)
		h->rss_peak_pages = h->rss_pages;
	if (h->points.len > 0 && vec_last(&h->points)->ms == h->last_ms)
		vec_last(&h->points)->rss_pages = h->rss_pages;
	return true;
}

/* ---- all of it ---- */

/* "v HEAPTRACK-VERSION FILE-VERSION": 0, or refuses it. */
static int
ht_head(struct ht *h, struct line l, struct err *e)
{
	uint64_t tool = 0, version = 0;

	ht_number(&l, &tool);
	/* Before 1.0 the file had one version only, which is called 1 now. */
	if (!ht_number(&l, &version))
		version = tool == 0x10200 ? 1 : 0;
	if (version < 1 || version > HT_VERSION_MAX)
		return err_set(e, -EINVAL,
			       "a file of heaptrack of version %" PRIu64
			       ", seep reads 1 to %d; use: heaptrack_print FILE",
			       version, HT_VERSION_MAX);
	h->version = (uint32_t)version;
	return 0;
}

/* A line but events, true when it could be read. */
static bool
ht_line(struct ht *h, struct line l, const struct line *whole)
{
	switch (*whole->at) {
	case 's':
		return ht_string(h, l);
	case 'i':
		return ht_address(h, l);
	case 't':
		return ht_stack(h, l);
	case 'a':
		return ht_kind(h, l);
	case 'c':
		return ht_time(h, l);
	case 'R':
		return ht_rss(h, l);
	case 'X':
		h->command = strtab_addn(&h->texts, l.at, line_len(&l));
		return true;
	case 'I':
		return ht_number(&l, &h->page_bytes);
	case 'A':
		h->attached = true;
		return true;
	case 'S':
		vec_push(&h->suppressions, strtab_addn(&h->texts, l.at, line_len(&l)));
		return true;
	default:
		return *whole->at == '#';
	}
}

static int
ht_refuse_raw(struct err *e)
{
	return err_set(
		e, -EINVAL,
		"a raw file of heaptrack (heaptrack --raw), which has no names yet; "
		"unpack it with zstd -d or gunzip, then: heaptrack_interpret < RAW | "
		"gzip > x.gz; seep report x.gz");
}

/* The peak of rows that did not change behind it, and the last point. */
static void
ht_finish(struct ht *h, const struct stream *in)
{
	for (size_t i = 0; i < h->rows.len; i++)
		ht_touch(h, (uint32_t)i);
	h->points_every_ms = 0;
	ht_point(h);
	h->too_long = in->too_long;
	h->damage = in->damage;
	h->damage_off = in->base + in->end;
	if (h->stamp != NULL)
		h->stamp(h->ctx, h, h->last_ms + 1, true);
}

int
ht_read(struct ht *h, struct stream *in, struct err *e)
{
	struct line l, whole;
	int r = 0;

	h->epoch = 1;
	h->points_every_ms = HT_POINT_MS;
	h->table_limit = in->file_bytes > UINT64_MAX / HT_TABLE_RATIO / 2
				 ? UINT64_MAX
				 : in->file_bytes * HT_TABLE_RATIO + HT_TABLE_SLACK;
	while (r == 0 && stream_next(in, &whole)) {
		bool fine;

		if (whole.at == whole.end)
			continue;
		l = whole;
		l.at += line_len(&l) > 1 ? 2 : 1;
		if (*whole.at == '+')
			fine = ht_alloc(h, l);
		else if (*whole.at == '-')
			fine = ht_free(h, l);
		else if (*whole.at == 'v' && h->version == 0) {
			r = ht_head(h, l, e);
			fine = true;
		} else if (*whole.at == 'x' && h->command == 0) {
			r = ht_refuse_raw(e);
			fine = true;
		} else {
			h->table_bytes += line_len(&whole) + 1;
			if (h->table_bytes > h->table_limit) {
				in->damage = "tables that are too large for this file";
				break;
			}
			fine = ht_line(h, l, &whole);
		}
		if (!fine && in->cut && in->damage == NULL)
			in->damage = "a last line that breaks off";
		else if (!fine && h->bad++ == 0) {
			h->bad_line = in->line_number;
			h->bad_off = in->line_off;
		}
	}
	if (r == 0)
		ht_finish(h, in);
	return r;
}

int
ht_read_path(struct ht *h, const char *path, bool *ret_is, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;
	struct stream in = {.fd = -1};
	const char *head;
	size_t n;

	*ret_is = false;
	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", path);
	r = stream_open_fd(&in, fd, e);
	if (r == 0) {
		n = stream_head(&in, &head, FORMAT_HEAD_BYTES);
		*ret_is = ht_detect(head, n);
		if (*ret_is)
			r = ht_read(h, &in, e);
	}
	stream_close(&in);
	close(fd);
	return r < 0 ? err_wrap(e, r, "%s", path) : 0;
}

void
ht_done(struct ht *h)
{
	strtab_done(&h->texts);
	vec_done(&h->strings);
	vec_done(&h->ips);
	vec_done(&h->inlined);
	vec_done(&h->traces);
	vec_done(&h->kinds);
	vec_done(&h->rows);
	vec_done(&h->points);
	vec_done(&h->suppressions);
	map_done(&h->row_of_trace);
}
