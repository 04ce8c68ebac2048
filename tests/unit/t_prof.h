/* SPDX-License-Identifier: MIT */
/* t_prof.h -- profiles built by hand for the tests of analyze and render.
 *
 * A stack is written innermost first, one string a frame: "function file:line module",
 * with `-` for what is unknown and `<` before a function that is inlined into the next
 * frame, as in "<helper a.c:3 prog". Frames with the same text are one location. */
#ifndef SEEP_TESTS_T_PROF_H
#define SEEP_TESTS_T_PROF_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/model/prof.h"

struct tp_frame {
	char function[128], file[64], module[64];
	unsigned line;
	bool inlined;
};

static struct tp_frame
tp_parse(const char *text)
{
	struct tp_frame f = {0};
	char where[80] = "";
	const char *sp = strchr(text, ' ');
	char *colon;

	f.inlined = text[0] == '<';
	snprintf(f.function, sizeof f.function, "%.*s", (int)(sp - text - f.inlined),
		 text + f.inlined);
	for (char *c = f.function; *c != '\0'; c++) {
		if (*c == '_' && c[1] == '_' && c[2] == '_')
			*c = ' ', memmove(c + 1, c + 3, strlen(c + 3) + 1);
	}
	sscanf(sp, " %79s %63s", where, f.module);
	colon = strchr(where, ':');
	if (colon != NULL) {
		*colon = '\0';
		f.line = (unsigned)atoi(colon + 1);
		snprintf(f.file, sizeof f.file, "%.60s", where);
	}
	return f;
}

static uint32_t
tp_module(struct prof *p, const char *name)
{
	char path[96];

	if (strcmp(name, "-") == 0)
		return 0;
	snprintf(path, sizeof path, "/usr/lib/%s", name);
	return prof_module(p, path, NULL, 0);
}

/* Location of the frames `texts[0 … n-1]`, all but the last inlined. */
static uint32_t
tp_loc(struct prof *p, const char *const *texts, unsigned n)
{
	struct tp_frame outer = tp_parse(texts[n - 1]);
	uint64_t offset = 5381;
	uint32_t loc, old = p->nlocs, first;

	for (unsigned i = 0; i < n; i++) {
		for (const char *c = texts[i]; *c != '\0'; c++)
			offset = (offset * 33 + (unsigned char)*c) & 0xffffff;
	}
	if (strncmp(outer.function, "0x", 2) == 0)
		offset = strtoull(outer.function, NULL, 16);
	loc = prof_loc(p, tp_module(p, outer.module), offset, PROF_LOC_CODE, false);
	if (loc < old || strncmp(outer.function, "0x", 2) == 0)
		return loc;
	first = p->nframes;
	for (unsigned i = 0; i < n; i++) {
		struct tp_frame f = tp_parse(texts[i]);
		uint32_t row = prof_add_frame(p);

		p->frames[row].function = prof_str(p, f.function);
		p->frames[row].line = f.line;
		if (f.line != 0)
			p->frames[row].file = prof_str(p, f.file);
		else
			p->frames[row].symbol_off = 0x1c;
		p->frames[row].inlined = f.inlined;
	}
	p->locs[loc].frames = first;
	p->locs[loc].nframes = n;
	return loc;
}

/* Node of the stack, whose last string is followed by NULL. */
static uint32_t
tp_stack(struct prof *p, const char *const *texts)
{
	uint32_t n = 0, node = 0, end;

	while (texts[n] != NULL)
		n++;
	for (end = n; end > 0;) {
		uint32_t start = end - 1;

		while (start > 0 && texts[start - 1][0] == '<')
			start--;
		node = prof_node(p, node, tp_loc(p, texts + start, end - start));
		end = start;
	}
	return node;
}

#define TP_STACK(p, ...) tp_stack((p), (const char *const[]){__VA_ARGS__, NULL})

/* A process that ended well after `ms`. */
__attribute__((unused)) static uint32_t
tp_process(struct prof *p, const char *exe, unsigned pid, unsigned ms)
{
	uint32_t i = prof_add_process(p);
	struct prof_process *pr = &p->processes[i];

	pr->exe = prof_str(p, exe);
	pr->pid = pid;
	pr->mode = PROF_EXACT;
	pr->end = PROF_END_EXITED;
	pr->duration_ms = ms;
	pr->exit_ms = ms;
	return i;
}

/* Sets one bucket of a site's sizes, or of its lifetimes. */
static inline void
tp_sizes(struct prof *p, uint32_t site, unsigned k, uint64_t count)
{
	struct prof_hist h = prof_hist(p, site);

	h.sizes[k] = count;
	prof_set_hist(p, site, &h);
}

static inline void
tp_lives(struct prof *p, uint32_t site, unsigned k, uint64_t count)
{
	struct prof_hist h = prof_hist(p, site);

	h.lifetimes[k] = count;
	prof_set_hist(p, site, &h);
}

/* `allocs` blocks of which `frees` were freed, all of one size; live when exit began. The
 * process's totals follow, its peak is everything live at once. */
__attribute__((unused)) static struct prof_site *
tp_site(struct prof *p, uint32_t process, uint32_t node, uint64_t allocs, uint64_t frees,
	uint64_t alloc_bytes, uint64_t free_bytes)
{
	uint32_t row = prof_add_site(p); /* the table may move */
	struct prof_site *s = &p->sites[row];
	struct prof_process *pr = &p->processes[process];

	s->process = process;
	s->node = node;
	s->allocs = allocs;
	s->frees = frees;
	s->alloc_bytes = alloc_bytes;
	s->free_bytes = free_bytes;
	s->live_blocks = (int64_t)(allocs - frees);
	s->live_bytes = (int64_t)(alloc_bytes - free_bytes);
	s->at_exit_blocks = s->live_blocks;
	s->at_exit_bytes = s->live_bytes;
	s->at_peak_blocks = (int64_t)allocs;
	s->at_peak_bytes = (int64_t)alloc_bytes;
	s->peak_bytes = (int64_t)alloc_bytes;
	pr->live_bytes += s->live_bytes;
	pr->peak_bytes += s->at_peak_bytes;
	pr->peak_ms = pr->duration_ms;
	return s;
}

__attribute__((unused)) static void
tp_source(struct prof *p, const char *file, unsigned line, const char *text)
{
	for (uint32_t i = 0; i < p->nframes; i++) {
		if (p->frames[i].line == line &&
		    strcmp(prof_text(p, p->frames[i].file), file) == 0)
			p->frames[i].source = prof_str(p, text);
	}
}

/* The program of the first example: 80 blocks of i KiB and 40 of 4 i KiB, none freed. */
__attribute__((unused)) static struct prof *
tp_demo(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/me/jemalloc-demo", 4711, 20);
	uint64_t small = 0, large = 0;

	for (uint64_t i = 0; i < 80; i++)
		small += i * 1024;
	for (uint64_t i = 0; i < 40; i++)
		large += i * 4096;
	tp_site(p, pr,
		TP_STACK(p, "malloc - libseep.so", "do_something jemalloc-demo.c:7 demo",
			 "main jemalloc-demo.c:22 demo",
			 "__libc_start_call_main - libc.so.6", "_start - demo"),
		80, 0, small, 0);
	tp_site(p, pr,
		TP_STACK(p, "malloc - libseep.so",
			 "do_something_else jemalloc-demo.c:13 demo",
			 "main jemalloc-demo.c:27 demo",
			 "__libc_start_call_main - libc.so.6", "_start - demo"),
		40, 0, large, 0);
	tp_source(p, "jemalloc-demo.c", 7, "malloc(i * 1024);");
	tp_source(p, "jemalloc-demo.c", 13, "malloc(i * 4096);");
	tp_source(p, "jemalloc-demo.c", 22, "do_something(i);");
	p->has_names = true;
	return p;
}

#endif
