/* SPDX-License-Identifier: MIT */
/* leak_last.c -- see leak_last.h.
 *
 * The file: a line `seep-leaks 1 TIME`, and a line `SITE KIND BLOCKS BYTES` for each
 * place and kind. */
#include "tool/session/leaks/leak_last.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/session/last.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum { FILE_BYTES_MAX = 256 << 20, NEW = 0, MORE = 1, LESS = 2, SAME = 3 };

struct then {
	uint64_t key, blocks, bytes;
	bool seen; /* something is still lost there */
};

struct before {
	bool there;
	uint64_t when_ns;
	struct map rows; /* site and kind -> row + 1 */
	VEC(struct then) figures;
};

static uint64_t
key(uint64_t site, unsigned kind)
{
	return site * CLASSIFY_KINDS + kind;
}

/* A file that makes no sense, or is another version's, is as good as none. */
static void
read_before(const char *path, struct before *b)
{
	struct buf text = {0};
	unsigned version = 0;
	char *line, *rest;

	if (file_read(path, FILE_BYTES_MAX, &text, NULL) == 0 &&
	    sscanf(buf_str(&text), "seep-leaks %u %" SCNu64, &version, &b->when_ns) == 2)
		b->there = version == 1;
	rest = b->there ? strchr(text.data, '\n') : NULL;
	while (rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
		uint64_t site;
		unsigned kind;
		struct then t = {0};

		if (sscanf(line, "%" SCNu64 " %u %" SCNu64 " %" SCNu64, &site, &kind,
			   &t.blocks, &t.bytes) != 4 ||
		    kind >= CLASSIFY_KINDS)
			continue;
		t.key = key(site, kind);
		vec_push(&b->figures, t);
		*map_add(&b->rows, t.key) = b->figures.len;
	}
	buf_done(&text);
}

static int
write_now(const char *path, const struct leakcheck *c, struct err *e)
{
	struct buf b = {0};
	int r;

	buf_printf(&b, "seep-leaks 1 %" PRIu64 "\n", clock_ns(CLOCK_REALTIME));
	for (size_t i = 0; i < c->sites.len; i++) {
		const struct leakcheck_site *s = &c->sites.data[i];

		buf_printf(&b, "%" PRIu32 " %u %" PRIu64 " %" PRIu64 "\n", s->site,
			   (unsigned)s->kind, s->blocks, s->bytes);
	}
	r = file_write(path, buf_str(&b), b.len, e);
	buf_done(&b);
	return r;
}

/* Files of processes that are no more. */
static void
remove_old(const char *folder)
{
	struct dirent *d;
	DIR *dir = opendir(folder);

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		int pid;

		if (sscanf(d->d_name, "leaks.%d.", &pid) == 1 && pid > 0 &&
		    kill(pid, 0) < 0 && errno == ESRCH)
			unlinkat(dirfd(dir), d->d_name, 0);
	}
	if (dir != NULL)
		closedir(dir);
}

static unsigned
compare(const struct then *was, uint64_t blocks, uint64_t bytes)
{
	if (was == NULL)
		return NEW;
	if (blocks == was->blocks && bytes == was->bytes)
		return SAME;
	return bytes > was->bytes || (bytes == was->bytes && blocks > was->blocks) ? MORE
										   : LESS;
}

static bool
is_wanted(enum leak_last_only only, unsigned what)
{
	return only == LEAK_LAST_ALL || what == NEW ||
	       (only == LEAK_LAST_INCREASED && what == MORE) ||
	       (only == LEAK_LAST_CHANGED && what != SAME);
}

static void
filter(struct leakcheck *c, struct before *b, enum leak_last_only only,
       struct leak_last_change *d)
{
	for (size_t i = 0; i < c->sites.len; i++) {
		struct leakcheck_site *s = &c->sites.data[i];
		uint64_t *row = map_find(&b->rows, key(s->site, s->kind));
		struct then *was = row != NULL ? &b->figures.data[*row - 1] : NULL;
		unsigned what = compare(was, s->blocks, s->bytes);

		if (was != NULL)
			was->seen = true;
		if (s->kind != CLASSIFY_REACHABLE) {
			d->places[what]++;
			d->blocks += (int64_t)s->blocks;
			d->bytes += (int64_t)s->bytes;
		}
		if (!is_wanted(only, what))
			s->blocks = s->bytes = s->indirect_bytes = 0;
	}
}

/* Takes off what there was before; what is gone altogether has decreased. */
static void
take_off(const struct before *b, struct leak_last_change *d)
{
	for (size_t i = 0; i < b->figures.len; i++) {
		const struct then *t = &b->figures.data[i];

		if (t->key % CLASSIFY_KINDS == CLASSIFY_REACHABLE)
			continue;
		d->blocks -= (int64_t)t->blocks;
		d->bytes -= (int64_t)t->bytes;
		d->places[LESS] += !t->seen;
	}
}

int
leak_last_compare(const struct livefile *f, struct leakcheck *c, enum leak_last_only only,
		  struct leak_last_change *ret_change, struct err *e)
{
	struct leak_last_change d = {0};
	struct before b = {0};
	char *folder = NULL, *path;
	int r = last_folder(&folder, e);

	if (r < 0)
		return r;
	path = xasprintf("%s/leaks.%d.%" PRIu64, folder, f->pid,
			 livefile_head(f).start_ns);
	read_before(path, &b);
	d.first = !b.there;
	d.since_ns = b.there ? clock_ns(CLOCK_REALTIME) - b.when_ns : 0;
	r = write_now(path, c, e);
	filter(c, &b, only, &d);
	take_off(&b, &d);
	remove_old(folder);
	map_done(&b.rows);
	vec_done(&b.figures);
	free(path);
	free(folder);
	*ret_change = d;
	return r;
}

void
leak_last_text(const struct leak_last_change *d, enum leak_last_only only,
	       struct buf *out)
{
	static const char *const words[] = {"", "; shown: new",
					    "; shown: new and increased",
					    "; only changes are shown"};

	if (d->first) {
		buf_printf(out, "first check of this process: everything is new\n");
		return;
	}
	buf_printf(out,
		   "since the last check %s ago: %" PRIu64 " new, %" PRIu64 " "
		   "increased, %" PRIu64 " decreased, %" PRIu64 " unchanged; %+" PRId64
		   " blocks, %+" PRId64 " bytes%s\n",
		   fmt_duration(d->since_ns).s, d->places[NEW], d->places[MORE],
		   d->places[LESS], d->places[SAME], d->blocks, d->bytes, words[only]);
}
