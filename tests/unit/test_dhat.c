/* SPDX-License-Identifier: MIT */
/* test_dhat.c -- DHAT's JSON: read, written and read again, and cut anywhere.
 *
 * The golden is of tests/programs/heaptrack_cases.cpp; its figures are what that program
 * prints. */
#include "t.h"

#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#include "tool/format/format.h"
#include "tool/format/format_save.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"

/* Where the golden is: __FILE__ is as the build folder, two above this binary, sees
 * it. */
static const char *
golden(void)
{
	static char path[3 * PATH_MAX];
	char exe[PATH_MAX] = "", file[] = __FILE__;
	bool relative =
		file[0] != '/' && readlink("/proc/self/exe", exe, sizeof exe - 1) > 0;

	snprintf(path, sizeof path, "%s%s%s/../golden/dhat/cases.dhat",
		 relative ? dirname(exe) : "", relative ? "/../../" : "", dirname(file));
	return path;
}

static struct prof *
load_bytes(const void *data, size_t bytes)
{
	struct prof *p = NULL;
	struct err e = {0};

	if (format_load_bytes(data, bytes, "in", NULL, &p, &e) < 0) {
		T_FAIL("%s", e.msg);
		p = prof_new();
	}
	return p;
}

static const struct prof_frame *
innermost(const struct prof *p, uint32_t site)
{
	return &p->frames[p->locs[p->nodes[p->sites[site].node].loc].frames];
}

static void
check_golden(const struct prof *p, const char *large, const char *small)
{
	int64_t peak = 0, live = 0, deeper = 0;
	uint64_t allocs = 0;

	T_EQ(p->nsites, 8 + 1);
	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];
		const struct prof_frame *f = innermost(p, i);
		const char *name = prof_text(p, f->function);

		peak += s->at_peak_bytes;
		live += s->live_bytes;
		allocs += s->allocs;
		if (strncmp(name, "deeper", 6) == 0)
			deeper += s->at_peak_blocks;
		if (strcmp(name, large) == 0) {
			T_EQ(s->allocs, 19);
			T_EQ(s->alloc_bytes, 153368);
			T_EQ(s->frees, 19);
			T_EQ(s->at_peak_bytes, 153368);
			T_STR(prof_text(p, f->file), "heaptrack_cases.cpp");
			T_EQ(f->line, 27);
		}
		if (strcmp(name, small) == 0) {
			T_EQ(s->live_bytes, 2743);
			T_EQ(s->live_blocks, 13);
		}
	}
	T_EQ(peak, 334422);
	T_EQ(live, 32972);
	T_EQ(allocs, 121);
	T_EQ(deeper, 17);
	T_EQ(p->processes[1].peak_bytes, 334422);
}

T_TEST(golden)
{
	struct prof *p = NULL, *again;
	struct emit_out out = {0};
	struct buf text = {0};
	struct err e = {0};

	T_EQ(format_load(golden(), &p, &e), 0);
	T_STR(prof_text(p, p->format), "dhat");
	T_EQ(p->ndamages, 0);
	check_golden(p, "Box<long, 1009>::make()", "Box<char, 211>::make()");
	out.buf = &text;
	T_EQ(format_save(p, "dhat", NULL, &out, &e), 0);
	again = load_bytes(text.data, text.len);
	check_golden(again, "Box<long, 1009>::make()", "Box<char, 211>::make()");
	T_EQ(again->processes[1].pid, p->processes[1].pid);
	prof_free(p);
	prof_free(again);
	buf_done(&text);
}

#define HEAD " { \"dhatFileVersion\" : 2, \"mode\":\"%s\", \"bklt\":%s, \"tu\":\"µs\", "

static struct prof *
load_made(const char *mode, const char *bklt, const char *rest)
{
	struct buf b = {0};
	struct prof *p;

	buf_printf(&b, HEAD "%s", mode, bklt, rest);
	p = load_bytes(b.data, b.len);
	buf_done(&b);
	return p;
}

T_TEST(frames_of_other_writers)
{
	static const char rest[] =
		"\"te\":9000,\"tg\":2500,\"cmd\":\"a b\",\"pid\":7,"
		"\"pps\":[{\"tb\":10,\"tbk\":2,\"fs\":[1,2,3,4]}],\"ftbl\":[\"[root]\","
		"\"0x10: f::{closure#0} (src/main.rs:12:7)\",\"g(int) (in /lib/x (1).so)\","
		"\"0x12: ??? (in /lib/x (1).so)\",\"0x13: (below main) (a.c:3)\"]}";
	struct prof *p = load_made("rust-heap", "false", rest);
	static const char *const names[] = {"f::{closure#0}", "g(int)", "[x (1).so]",
					    "(below main)"};
	unsigned n = 0;

	T_EQ(p->columns, PROF_HAS_ALLOCS);
	T_EQ(p->processes[1].duration_ms, 9);
	T_EQ(p->processes[1].peak_ms, 2);
	T_STR(prof_text(p, p->processes[1].exe), "a");
	for (uint32_t node = p->sites[1].node; node != 0; node = p->nodes[node].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[node].loc];
		const struct prof_frame *f = &p->frames[l->frames];

		T_STR(prof_text(p, f->function), names[n]);
		if (n == 0) {
			T_STR(prof_text(p, f->file), "src/main.rs");
			T_EQ(f->line, 12);
		}
		if (n == 1)
			T_STR(prof_text(p, p->modules[l->module].path), "/lib/x (1).so");
		n++;
	}
	T_EQ(n, 4);
	prof_free(p);
}

T_TEST(figures_out_of_range)
{
	static const char rest[] =
		"\"pps\":[{\"tb\":1e30,\"tbk\":-3,\"gb\":1e19,\"ebk\":5,\"fs\":[-1,1.5,7]},"
		"3,{\"fs\":9}],\"ftbl\":[\"[root]\",5]}";
	struct prof *p = load_made("heap", "true", rest);

	T_EQ(p->ndamages, 2);
	T_EQ(p->nsites, 3);
	for (uint32_t i = 1; i < p->nsites; i++) {
		T_CHECK(p->sites[i].live_blocks >= 0);
		T_CHECK(p->sites[i].at_peak_bytes >= 0);
	}
	prof_free(p);
}

T_TEST(cut_anywhere)
{
	struct buf file = {0};

	T_EQ(buf_read_file(&file, golden(), NULL), 0);
	for (size_t n = 0; n + 1 < file.len; n++) {
		char *copy = malloc(n + 1); /* so that a byte too far is seen */
		struct prof *p = NULL;
		struct err e = {0};

		memcpy(copy, file.data, n);
		T_CHECK(format_load_bytes(copy, n, "x", NULL, &p, &e) < 0);
		T_CHECK(*e.msg != '\0');
		prof_free(p);
		free(copy);
	}
	buf_done(&file);
}

T_MAIN()
