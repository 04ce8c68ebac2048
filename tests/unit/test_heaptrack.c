/* SPDX-License-Identifier: MIT */
/* test_heaptrack.c -- data files of heaptrack, as a whole, cut anywhere, and line by
 * line.
 *
 * The golden is of tests/programs/heaptrack_cases.cpp; its figures are what that program
 * prints and what heaptrack_print 1.4 says of it. */
#include "t.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "tool/format/format.h"
#include "tool/format/lines.h"
#include "tool/format/stream.h"
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

	snprintf(path, sizeof path, "%s%s%s/../golden/heaptrack/cases.zst",
		 relative ? dirname(exe) : "", relative ? "/../../" : "", dirname(file));
	return path;
}

/* A profile from a file with these bytes: as they are read line by line. NULL:
 * refused. */
static struct prof *
load_file(const void *data, size_t bytes, struct err *e)
{
	int fd = memfd_create("in", MFD_CLOEXEC);
	struct prof *p = NULL;

	T_CHECK(write(fd, data, bytes) == (ssize_t)bytes);
	if (format_load_fd(fd, "in", &p, e) < 0)
		p = NULL;
	close(fd);
	return p;
}

static struct prof *
load_text(const char *text)
{
	struct err e = {0};
	struct prof *p = load_file(text, strlen(text), &e);

	if (p == NULL) {
		T_FAIL("%s", e.msg);
		p = prof_new();
	}
	return p;
}

/* The frames of a stack, outermost first. */
static const char *
stack(const struct prof *p, uint32_t site)
{
	static char text[2048];
	char before[2048];

	text[0] = '\0';
	for (uint32_t n = p->sites[site].node; n != 0; n = p->nodes[n].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[n].loc];

		for (uint32_t i = 0; i < l->nframes; i++) {
			const struct prof_frame *f = &p->frames[l->frames + i];

			memcpy(before, text, sizeof before);
			snprintf(text, sizeof text, "%.200s:%u%s%s%.1700s",
				 prof_text(p, f->function), f->line,
				 f->inlined ? "^" : "", before[0] != '\0' ? ";" : "",
				 before);
		}
	}
	return text;
}

/* Where a site's stack begins, without operator new. */
static const char *
innermost(const struct prof *p, uint32_t site)
{
	const char *name = "";

	for (uint32_t n = p->sites[site].node; n != 0; n = p->nodes[n].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[n].loc];

		name = prof_text(p, p->frames[l->frames].function);
		if (strncmp(name, "operator new", 12) != 0)
			break;
	}
	return name;
}

/* The sum of the sites whose innermost frame is of `function`. */
static struct prof_site
sum_of(const struct prof *p, const char *function)
{
	struct prof_site sum = {0};

	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];

		if (strcmp(innermost(p, i), function) != 0)
			continue;
		sum.allocs += s->allocs;
		sum.alloc_bytes += s->alloc_bytes;
		sum.at_peak_bytes += s->at_peak_bytes;
		sum.at_peak_blocks += s->at_peak_blocks;
		sum.live_bytes += s->live_bytes;
		sum.temps += s->temps;
	}
	return sum;
}

static struct prof *
load_golden(void)
{
	struct prof *p = NULL;
	struct err e = {0};

	if (format_load(golden(), &p, &e) < 0) {
		T_FAIL("%s", e.msg);
		exit(EXIT_FAILURE);
	}
	return p;
}

T_TEST(golden_says_what_the_program_said)
{
	static const struct {
		const char *function;
		uint64_t calls, bytes;
		int64_t peak, end;
		uint64_t temporary;
	} want[] = {
		{"leave", 23, 23299, 23299, 16208, 0},
		{"at_once", 41, 1517, 0, 0, 41},
		{"Box<long, 1009>::make()", 19, 153368, 153368, 0, 0},
		{"deeper", 17, 85051, 85051, 0, 0},
		{"Box<char, 211>::make()", 13, 2743, 0, 2743, 0},
		{"grow", 7, 14021, 0, 14021, 0},
		/* libstdc++'s pool for exceptions; heaptrack frees it at the end */
		{"[libstdc++.so.6]", 1, 72704, 72704, 0, 0},
	};
	struct prof *p = load_golden();
	uint64_t calls = 0, temps = 0;

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct prof_site s = sum_of(p, want[i].function);

		T_STR(want[i].function, want[i].function);
		T_EQ(s.allocs, want[i].calls);
		T_EQ(s.alloc_bytes, want[i].bytes);
		T_EQ(s.at_peak_bytes, want[i].peak);
		T_EQ(s.live_bytes, want[i].end);
		T_EQ(s.temps, want[i].temporary);
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		calls += p->sites[i].allocs;
		temps += p->sites[i].temps;
	}
	T_EQ(calls, 121); /* heaptrack_print: 121, 41, 334.42K, 32.97K, 4.24M */
	T_EQ(temps, 41);
	T_EQ(p->processes[1].peak_bytes, 334422);
	T_EQ(p->processes[1].live_bytes, 32972);
	T_EQ(p->processes[1].rss_peak_kib, 4136);
	T_STR(prof_text(p, p->processes[1].cmdline), "./heaptrack_cases");
	T_EQ(p->ndamages, 0);
	prof_free(p);
}

T_TEST(golden_has_stacks_and_a_timeline)
{
	struct prof *p = load_golden();
	bool inlined = false, peak = false;
	uint32_t last = 0;

	for (uint32_t i = 1; i < p->nsites; i++)
		inlined = inlined ||
			  strcmp(stack(p, i), "_start:0;__libc_start_main_impl:360;"
					      "__libc_start_call_main:58;main:84;"
					      "leave_inlined(unsigned long):44^;"
					      "leave:36") == 0;
	T_CHECK(inlined);
	T_CHECK(p->npoints >= 5);
	for (uint32_t i = 0; i < p->npoints; i++) {
		T_CHECK(p->points[i].ms >= last);
		last = p->points[i].ms;
		peak = peak || (p->points[i].live_bytes == 334422 &&
				p->points[i].ms == p->processes[1].peak_ms);
	}
	T_CHECK(peak);
	prof_free(p);
}

/* Two threads' worth of everything that can stand on a line, by hand. */
#define HEAD3                                                                            \
	"v 10400 3\nX ./prog a b\nI 1000 400\ns 9 /bin/prog\ns 4 main\ns 5 a b.c\n"      \
	"s 1b operator new(unsigned long)\ni 401000 1 2 3 7\ni 7f01 1 4\nt 1 0\nt 2 1\n" \
	"a 10 1\na 3f5 2\n"

T_TEST(temporary_is_what_is_freed_next)
{
	struct prof *p = load_text(HEAD3 "+ 0\n- 0\n+ 1\n- 1\n+ 1\n+ 0\n- 1\n- 0\n+ 1\n"
					 "c 7\n- 1\nc 9\n");

	/* + 0 - 0; + 1 - 1; and the last - 0: that of kind 0 without an allocation before
	 * it counts in heaptrack's tools, too; and + 1 with a time stamp in between. */
	T_EQ(p->sites[1].temps, 2);
	T_EQ(p->sites[2].temps, 2);
	T_EQ(p->sites[2].temp_bytes, 2 * 0x3f5);
	T_EQ(p->sites[2].allocs, 3);
	T_EQ(p->processes[1].peak_bytes, 0x3f5 + 0x10);
	T_EQ(p->sites[1].at_peak_bytes, 0x10);
	T_EQ(p->sites[2].at_peak_bytes, 0x3f5);
	T_EQ(p->processes[1].live_bytes, 0);
	T_EQ(p->processes[1].duration_ms, 9);
	prof_free(p);
}

T_TEST(older_versions)
{
	/* 2: no lengths; 1 had the file's version in the place of heaptrack's. */
	static const char *const heads[] = {"v 10200 2", "v 10100 1", "v 10200"};

	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		char text[300];
		struct prof *p;

		snprintf(
			text, sizeof text,
			"%s\nX ./prog\ns /bin/prog x\ns main\ns a b.c\ni 401000 1 2 3 7\n"
			"t 1 0\na 65 1\n+ 0\n+ 0\n- 0\n",
			heads[i]);
		p = load_text(text);
		T_STR(stack(p, 1), "main:7");
		T_STR(prof_text(p, p->modules[1].path), "/bin/prog x");
		T_EQ(p->processes[1].live_bytes, 101);
		T_EQ(p->processes[1].peak_bytes, 202);
		T_EQ(p->ndamages, 0);
		prof_free(p);
	}
}

static void
expect_refused(const char *text, const char *why)
{
	struct err e = {0};
	struct prof *p = load_file(text, strlen(text), &e);

	T_CHECK(p == NULL);
	if (strstr(e.msg, why) == NULL)
		T_FAIL("\"%s\" does not say \"%s\"", e.msg, why);
	prof_free(p);
}

T_TEST(refuses_what_it_cannot_read)
{
	expect_refused("v 10500 4\nX x\n", "of version 4, seep reads 1 to 3");
	expect_refused("v 10400 3\nx 9 /bin/prog\nX prog\n+ 10 1 55d0\n",
		       "a raw file of heaptrack");
}

T_TEST(counts_what_is_wrong)
{
	/* Line 14: a kind that is not there; 15: no number; 16: not a line; 18: a stack
	 * that is not there yet. */
	struct prof *p = load_text(HEAD3 "+ 2\n+ x\n?\n+ 0\nt 1 9\na 10\n+ 1");

	T_EQ(p->ndamages, 1);
	T_EQ(p->damages[0].count, 5);
	T_STR(prof_text(p, p->damages[0].what),
	      "lines that are not heaptrack's (first is line 14, at byte 155 unpacked)");
	T_EQ(p->processes[1].live_bytes, 0x10 + 0x3f5);
	prof_free(p);
	p = load_text(HEAD3 "+ 0\n+");
	T_EQ(p->ndamages, 1);
	T_STR(prof_text(p, p->damages[0].what),
	      "a last line that breaks off (at byte 160 unpacked)");
	T_EQ(p->processes[1].live_bytes, 0x10);
	prof_free(p);
}

/* Unpacked, and packed as heaptrack may have been built: cut at every byte. */
static void
cut_anywhere(const void *data, size_t bytes, unsigned least)
{
	unsigned read = 0;

	for (size_t n = 0; n <= bytes; n++) {
		struct prof *p = load_file(data, n, NULL);

		if (p != NULL) {
			read++;
			T_CHECK(p->nsites <= 9 + 1);
			T_CHECK(p->processes[1].peak_bytes <= 334422);
		}
		if (n == bytes) {
			T_CHECK(p != NULL);
			T_EQ(p->ndamages, 0);
			T_EQ(p->processes[1].live_bytes, 32972);
		}
		prof_free(p);
	}
	T_CHECK(read >= least);
}

T_TEST(cut_anywhere)
{
	struct buf file = {0}, text = {0}, packed = {0};
	int fd = open(golden(), O_RDONLY | O_CLOEXEC);
	struct stream in = {.fd = -1};
	struct line l;
	uLongf room;

	T_EQ(stream_open_fd(&in, fd, NULL), 0);
	while (stream_next(&in, &l)) {
		buf_add(&text, l.at, line_len(&l));
		buf_add_char(&text, '\n');
	}
	T_EQ(in.damage, NULL);
	stream_close(&in);
	close(fd);
	cut_anywhere(text.data, text.len, (unsigned)text.len - 30);
	T_EQ(buf_read_file(&file, golden(), NULL), 0);
	cut_anywhere(file.data, file.len, 1);
	room = compressBound(text.len) + 64;
	{
		z_stream z = {0};

		T_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
		     Z_OK);
		z.next_in = (void *)text.data;
		z.avail_in = (uInt)text.len;
		z.next_out = (void *)buf_room(&packed, room);
		z.avail_out = (uInt)room;
		T_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
		cut_anywhere(packed.data, z.total_out, (unsigned)z.total_out / 2);
		deflateEnd(&z);
	}
	buf_done(&file);
	buf_done(&text);
	buf_done(&packed);
}

T_TEST(lines_of_any_length)
{
	static const size_t lengths[] = {1,	  262143,  262144,  262145,
					 1048575, 1048577, 3 << 20, 5};
	struct buf text = {0};
	struct stream in;
	struct line l;
	size_t at = 0;
	int fd = memfd_create("in", MFD_CLOEXEC);

	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		memset(buf_room(&text, lengths[i]), 'a' + (int)i, lengths[i]);
		text.len += lengths[i];
		buf_add_char(&text, '\n');
	}
	T_CHECK(write(fd, text.data, text.len) == (ssize_t)text.len);
	T_EQ(stream_open_fd(&in, fd, NULL), 0);
	while (stream_next(&in, &l)) {
		while (lengths[at] > (1 << 20))
			at++;
		T_EQ(line_len(&l), lengths[at]);
		T_EQ(*l.at, (char)('a' + at));
		T_EQ(in.line_number, at + 1);
		at++;
	}
	T_EQ(at, 8);
	T_EQ(in.too_long, 2);
	stream_close(&in);
	close(fd);
	buf_done(&text);
}

T_MAIN()
