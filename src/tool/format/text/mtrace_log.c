/* SPDX-License-Identifier: MIT */
/* mtrace_log.c -- logs that glibc's mtrace() writes.
 *
 *	= Start
 *	@ ./prog:(main+0x12)[0x1156] + 0x55d0b2a0 0x10       malloc: address, bytes
 *	@ ./prog:[0x1170] - 0x55d0b2a0                       free
 *	@ ./prog:[0x1188] < 0x55d0b2a0                       realloc: the old block
 *	@ ./prog:[0x1188] > 0x55d0b2c0 0x20                            the new one
 *	@ ./prog:[0x1190] ! 0x55d0b2c0 0x7fff0000            realloc that failed
 *	= End
 *
 * The log has one event a line and no stacks: a place is the one return address that is
 * written, counted from where its file was loaded. What was allocated before mtrace() and
 * freed after it is counted as a free of something unknown. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/format/elfload.h"
#include "tool/format/format.h"
#include "tool/format/input.h"
#include "tool/format/lines.h"
#include "tool/model/prof.h"
#include "tool/util/err.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

struct mtrace_block {
	uint64_t addr, bytes;
	uint32_t site;
};

struct mtrace_log {
	struct prof *p;
	uint32_t process;
	struct map modules;  /* string of a path -> module << 32 | row in bases */
	VEC(uint64_t) bases; /* virtual address that a file's offsets count from */
	struct map places;   /* location -> site */
	struct map live;     /* address -> row in blocks + 1 */
	VEC(struct mtrace_block) blocks;
	uint64_t bad, bad_first;
};

/* ---- places ---- */

/* Virtual address that the file was linked to begin at: not 0 in programs that cannot
 * move. */
static uint64_t
mtrace_base(const char *path)
{
	struct elfload *loads = NULL;
	uint64_t base = UINT64_MAX;
	uint32_t n = 0;

	if (!elfload_read(path, &loads, &n))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		if (loads[i].vaddr < base)
			base = loads[i].vaddr;
	}
	free(loads);
	return base & ~UINT64_C(0xfff);
}

/* Module of a path; adds where its offsets count from to *offset. */
static uint32_t
mtrace_module(struct mtrace_log *m, const struct line *file, uint64_t *offset)
{
	uint32_t path = prof_strn(m->p, file->at, line_len(file));
	uint64_t *found = map_add(&m->modules, path);

	if (*found == 0) {
		const char *text = prof_text(m->p, path);
		char *real = text[0] != '/' ? realpath(text, NULL) : NULL;
		uint32_t module = prof_module(m->p, real != NULL ? real : text, NULL, 0);

		*found = (uint64_t)module << 32 | m->bases.len;
		vec_push(&m->bases, mtrace_base(real != NULL ? real : text));
		free(real);
	}
	*offset += m->bases.data[(uint32_t)*found];
	return (uint32_t)(*found >> 32);
}

/* `file:(name+0x12)[0x1156]`, `file:[0x1156]` or `[0x401156]`: its location, 0 = none. */
static uint32_t
mtrace_where(struct mtrace_log *m, struct line w)
{
	const char *open = memrchr(w.at, '[', line_len(&w));
	struct line file = {w.at, open}, number = {open, w.end};
	const char *paren;
	uint32_t module = 0;
	uint64_t offset;

	if (open == NULL || !scan_char(&number, '[') || !scan_hex(&number, &offset) ||
	    !scan_char(&number, ']'))
		return 0;
	paren = memmem(file.at, line_len(&file), ":(", 2); /* the name of a function */
	if (paren != NULL)
		file.end = paren + 1;
	if (file.end > file.at && file.end[-1] == ':')
		file.end--;
	if (file.end > file.at)
		module = mtrace_module(m, &file, &offset);
	return prof_loc(m->p, module, offset, PROF_LOC_CODE, false);
}

static uint32_t
mtrace_site(struct mtrace_log *m, uint32_t loc)
{
	uint64_t *site = map_add(&m->places, loc);

	if (*site == 0) {
		uint32_t node = loc != 0 ? prof_node(m->p, 0, loc) : 0;

		*site = prof_add_site(m->p);
		m->p->sites[*site].process = m->process;
		m->p->sites[*site].node = node;
	}
	return (uint32_t)*site;
}

/* ---- events ---- */

static void
mtrace_free(struct mtrace_log *m, uint64_t addr)
{
	uint64_t *row = map_find(&m->live, addr);
	struct mtrace_block *b;
	struct prof_site *s;

	if (addr == 0)
		return;
	if (row == NULL) {
		m->p->processes[m->process].frees_unknown++;
		return;
	}
	b = &m->blocks.data[*row - 1];
	s = &m->p->sites[b->site];
	s->frees++;
	s->free_bytes += b->bytes;
	map_del(&m->live, addr);
	b->site = 0;
}

static void
mtrace_alloc(struct mtrace_log *m, uint32_t loc, uint64_t addr, uint64_t bytes)
{
	struct prof_site *s;
	uint32_t site;

	if (addr == 0)
		return; /* there was no memory */
	if (map_find(&m->live, addr) != NULL) {
		mtrace_free(m, addr); /* freed where the log did not see it */
		m->p->processes[m->process].frees_unseen++;
	}
	site = mtrace_site(m, loc);
	s = &m->p->sites[site];
	s->allocs++;
	s->alloc_bytes += bytes;
	vec_push(&m->blocks, (struct mtrace_block){addr, bytes, site});
	*map_add(&m->live, addr) = m->blocks.len;
}

/* A line; false when it is no event. */
static bool
mtrace_event(struct mtrace_log *m, struct line l)
{
	uint64_t addr, bytes = 0;
	uint32_t loc = 0;
	char what;

	if (scan_text(&l, "@ ")) {
		const char *close = memrchr(l.at, ']', line_len(&l));
		struct line where = {l.at, close != NULL ? close + 1 : l.at};

		loc = mtrace_where(m, where);
		if (loc == 0)
			return false;
		l.at = where.end;
		scan_blanks(&l);
	}
	if (l.at == l.end)
		return false;
	what = *l.at++;
	scan_blanks(&l);
	if (strchr("+-<>!", what) == NULL || what == '\0' ||
	    !(scan_text(&l, "(nil)") ? (addr = 0, true) : scan_hex(&l, &addr)))
		return false;
	scan_blanks(&l);
	if ((what == '+' || what == '>') && (!scan_hex(&l, &bytes) || bytes > INT64_MAX))
		return false;
	if (what == '-' || what == '<')
		mtrace_free(m, addr);
	else if (what != '!')
		mtrace_alloc(m, loc, addr, bytes);
	return true;
}

/* ---- all ---- */

static void
mtrace_finish(struct mtrace_log *m)
{
	struct prof *p = m->p;
	struct prof_process *pr = &p->processes[m->process];
	char text[80];

	for (uint32_t i = 1; i < p->nsites; i++) {
		struct prof_site *s = &p->sites[i];

		s->live_blocks = s->at_exit_blocks = (int64_t)(s->allocs - s->frees);
		s->live_bytes = s->at_exit_bytes =
			(int64_t)(s->alloc_bytes - s->free_bytes);
		if (__builtin_add_overflow(pr->live_bytes, s->live_bytes,
					   &pr->live_bytes))
			pr->live_bytes = INT64_MAX;
	}
	pr->mode = PROF_EXACT;
	p->format = prof_str(p, "mtrace");
	p->columns = PROF_HAS_LIVE | PROF_HAS_ALLOCS;
	if (m->bad > 0) {
		snprintf(text, sizeof text,
			 "lines that are not events (%s line %" PRIu64 ")",
			 m->bad > 1 ? "first is" : "it is", m->bad_first);
		prof_add_damage(p, text, m->bad);
	}
}

static int
mtrace_parse(struct input *in, const struct format_opts *o, struct prof *p, struct err *e)
{
	struct lines lines = lines_init(in->data, in->bytes);
	struct mtrace_log m = {.p = p, .process = prof_add_process(p)};
	struct line l;

	(void)e;
	p->processes[m.process].exe = prof_str(p, o->exe);
	p->processes[m.process].allocator = prof_str(p, "glibc");
	while (lines_next(&lines, &l)) {
		input_release(in, (size_t)(l.at - (const char *)in->data));
		scan_trim(&l);
		if (l.at == l.end || *l.at == '=')
			continue;
		if (!mtrace_event(&m, l) && m.bad++ == 0)
			m.bad_first = lines.number;
	}
	mtrace_finish(&m);
	map_done(&m.modules);
	map_done(&m.places);
	map_done(&m.live);
	vec_done(&m.bases);
	vec_done(&m.blocks);
	return 0;
}

static bool
mtrace_detect(const void *head, size_t bytes)
{
	struct lines in = lines_init(head, bytes);
	struct line l;

	return lines_next(&in, &l) && scan_text(&l, "= Start") && l.at == l.end;
}

const struct format format_mtrace = {
	.name = "mtrace",
	.what = "log of mtrace()",
	.detect = mtrace_detect,
	.parse = mtrace_parse,
};
