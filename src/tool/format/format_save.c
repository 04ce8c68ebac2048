/* SPDX-License-Identifier: MIT */
/* format_save.c -- the table of formats that are written, and what their writers
 * share. */
#include "format_save.h"

#include <errno.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/format/pack/pack.h"
#include "tool/format/pprof/pprof.h"
#include "tool/model/prof.h"
#include "tool/util/err.h"
#include "tool/util/file.h"
#include "tool/util/map.h"

enum { EMIT_PIECE_BYTES = 1 << 20 };

const struct format_writer *const format_writers[] = {
	&emit_pprof, &emit_pprof_plain, &emit_heap,   &emit_folded, &emit_speedscope,
	&emit_csv,   &emit_dhat,	&emit_massif, &emit_rec,    NULL,
};

/* ---- seep's own ---- */

/* A recording has no place for what only other tools' profiles have. */
static int
emit_rec_write(const struct prof *p, const struct format_save_opts *o,
	       struct emit_out *out, struct err *e)
{
	(void)o;
	if (p->columns != PROF_HAS_ALL || p->nlabels > 0 || p->nreals > 0)
		return err_set(e, -ENODATA,
			       "only seep's own recordings can be kept as such");
	pack_write(p, out->buf);
	return 0;
}

const struct format_writer emit_rec = {
	.name = "rec",
	.what = "seep recording",
	.endings = ".rec",
	.write = emit_rec_write,
};

/* ---- pprof ---- */

static int
emit_pprof_write(const struct prof *p, const struct format_save_opts *o,
		 struct emit_out *out, struct err *e)
{
	return pprof_write(p, o, false, out, e);
}

const struct format_writer emit_pprof = {
	.name = "pprof",
	.what = "pprof protobuf profile, gzip",
	.endings = ".pb.gz .pprof.gz .pprof",
	.write = emit_pprof_write,
};

static int
emit_plain_write(const struct prof *p, const struct format_save_opts *o,
		 struct emit_out *out, struct err *e)
{
	return pprof_write(p, o, true, out, e);
}

const struct format_writer emit_pprof_plain = {
	.name = "proto",
	.what = "pprof protobuf profile, not compressed",
	.endings = ".pb .proto",
	.write = emit_plain_write,
};

/* ---- finding one ---- */

const struct format_writer *
format_writer_find(const char *name)
{
	for (size_t i = 0; format_writers[i] != NULL; i++) {
		if (strcmp(format_writers[i]->name, name) == 0)
			return format_writers[i];
	}
	return NULL;
}

/* Length of the ending of `path` that is among these; 0 = none. */
static size_t
emit_ending(const char *path, const char *endings)
{
	size_t have = strlen(path);

	while (*endings != '\0') {
		size_t n = strcspn(endings, " ");

		if (n < have && memcmp(path + have - n, endings, n) == 0)
			return n;
		endings += n + (endings[n] == ' ');
	}
	return 0;
}

const struct format_writer *
format_writer_for(const char *path)
{
	const struct format_writer *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; format_writers[i] != NULL; i++) {
		size_t n = emit_ending(path, format_writers[i]->endings);

		if (n > longest) {
			longest = n;
			best = format_writers[i];
		}
	}
	if (best == NULL && strncmp(file_base(path), "massif.out", 10) == 0)
		best = &emit_massif;
	return best;
}

int
format_save(const struct prof *p, const char *format, const struct format_save_opts *o,
	    struct emit_out *out, struct err *e)
{
	static const struct format_save_opts usual = {0};
	const struct format_writer *w = format_writer_find(format);
	struct buf names = {0};
	int r;

	if (w != NULL) {
		r = w->write(p, o != NULL ? o : &usual, out, e);
		return r == 0 ? emit_flush(out, true, e) : r;
	}
	for (size_t i = 0; format_writers[i] != NULL; i++)
		buf_printf(&names, "%s%s", i > 0 ? ", " : "", format_writers[i]->name);
	r = err_set(e, -EINVAL, "no format \"%s\" to write; there are %s", format,
		    buf_str(&names));
	buf_done(&names);
	return r;
}

/* ---- for writers ---- */

int
emit_flush(struct emit_out *out, bool all, struct err *e)
{
	int r = 0;

	if (out->drain == NULL || out->buf->len == 0 ||
	    (!all && out->buf->len < EMIT_PIECE_BYTES))
		return 0;
	r = out->drain(out->ctx, out->buf->data, out->buf->len, e);
	buf_clear(out->buf);
	return r;
}

enum prof_value
emit_choose(const struct prof *p, const struct format_save_opts *o)
{
	bool allocs = strncmp(prof_text(p, p->default_type), "alloc", 5) == 0;

	if (o->value_given)
		return o->value;
	if (prof_has_value(p, PROF_ALLOCATED) &&
	    (allocs || !prof_has_value(p, PROF_LIVE)))
		return PROF_ALLOCATED;
	return PROF_LIVE;
}

int64_t
emit_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

struct emit_start
emit_start_of(const struct prof *p, const struct format_save_opts *o, uint32_t site)
{
	if (o->starts != NULL)
		return o->starts[site];
	return (struct emit_start){.node = p->sites[site].node};
}

uint32_t
emit_caller(const struct prof *p, const struct format_save_opts *o, uint32_t node)
{
	uint32_t caller = p->nodes[node].parent;

	return o->tails != NULL && o->tails[caller] && !o->tails[node] ? 0 : caller;
}

void
emit_left_out(const struct format_save_opts *o)
{
	if (o->ret_left_out != NULL)
		++*o->ret_left_out;
}
