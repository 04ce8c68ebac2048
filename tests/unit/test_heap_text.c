/* SPDX-License-Identifier: MIT */
/* test_heap_text.c -- heap profiles of jemalloc, gperftools and Go, and folded stacks.
 *
 * The figures of the goldens are what jeprof, google-pprof and go tool pprof print for
 * them (tests/golden/heap/README.md); the stacks are those of
 * tests/programs/heap_text.cpp. */
#include "t.h"

#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "tool/format/format.h"
#include "tool/format/heap/heap_in.h"
#include "tool/format/maps.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"

/* ---- loading ---- */

/* Where the goldens are: __FILE__ is as the build folder, two above this binary, sees
 * it. */
static const char *
golden(const char *name)
{
	static char path[3 * PATH_MAX];
	char exe[PATH_MAX] = "", file[] = __FILE__;

	if (file[0] != '/' && readlink("/proc/self/exe", exe, sizeof exe - 1) > 0)
		snprintf(path, sizeof path, "%s/../../%s/../golden/heap/%s", dirname(exe),
			 dirname(file), name);
	else
		snprintf(path, sizeof path, "%s/../golden/heap/%s", dirname(file), name);
	return path;
}

static struct prof *
load(const char *name)
{
	struct prof *p = NULL;
	struct err e = {0};

	if (format_load(golden(name), &p, &e) < 0) {
		T_FAIL("%s", e.msg);
		exit(EXIT_FAILURE);
	}
	return p;
}

static struct prof *
load_text(const char *text)
{
	struct prof *p = NULL;
	struct err e = {0};

	if (format_load_bytes(text, strlen(text), "text", NULL, &p, &e) < 0) {
		T_FAIL("%s", e.msg);
		p = prof_new();
	}
	return p;
}

/* ---- asking ---- */

static struct prof_real
reals(const struct prof *p)
{
	struct prof_real sum = {0};

	for (uint32_t i = 1; i < p->nreals; i++) {
		sum.live_blocks += p->reals[i].live_blocks;
		sum.live_bytes += p->reals[i].live_bytes;
		sum.alloc_bytes += p->reals[i].alloc_bytes;
	}
	return sum;
}

static struct heap_counts
wholes(const struct prof *p)
{
	struct heap_counts sum = {0};

	for (uint32_t i = 1; i < p->nsites; i++) {
		sum.live_blocks += p->sites[i].live_blocks;
		sum.live_bytes += p->sites[i].live_bytes;
		sum.allocs += (int64_t)p->sites[i].allocs;
		sum.alloc_bytes += (int64_t)p->sites[i].alloc_bytes;
	}
	return sum;
}

/* Frames of the stack of a site that are in `module`, innermost first, as hexadecimal
 * offsets. */
static const char *
offsets(const struct prof *p, uint32_t site, const char *module)
{
	static char text[512];
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t n = p->sites[site].node; n != 0; n = p->nodes[n].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[n].loc];

		if (strcmp(prof_text(p, p->modules[l->module].path), module) == 0)
			at += (size_t)snprintf(text + at, sizeof text - at, "%llx ",
					       (unsigned long long)l->offset);
	}
	return text;
}

/* Names of a stack, outermost first. */
static const char *
names(const struct prof *p, uint32_t node)
{
	static char text[1024];
	char before[1024];

	text[0] = '\0';
	for (; node != 0; node = p->nodes[node].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[node].loc];

		for (uint32_t i = 0; i < l->nframes; i++) {
			snprintf(before, sizeof before, "%s", text);
			snprintf(text, sizeof text, "%s%s%.900s",
				 prof_text(p, p->frames[l->frames + i].function),
				 before[0] != '\0' ? ";" : "", before);
		}
	}
	return text;
}

/* The site with so many live bytes, 0 = none. */
static uint32_t
site_of(const struct prof *p, int64_t live_bytes)
{
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].live_bytes == live_bytes)
			return i;
	}
	return 0;
}

static uint64_t
damage(const struct prof *p, const char *part)
{
	for (uint32_t i = 0; i < p->ndamages; i++) {
		if (strstr(prof_text(p, p->damages[i].what), part) != NULL)
			return p->damages[i].count;
	}
	return 0;
}

/* ---- goldens ---- */

T_TEST(jemalloc_exact)
{
	struct prof *p = load("je_exact.heap");
	struct heap_counts w = wholes(p);
	uint32_t large = site_of(p, 13 * 81920), mixed = site_of(p, 60 * 112);

	T_STR(prof_text(p, p->format), "heap_v2");
	T_EQ(p->columns, PROF_HAS_LIVE | PROF_HAS_ALLOCS);
	T_EQ(p->ndamages, 0);
	T_EQ(p->nsites, 7 + 1);
	T_EQ(p->processes[1].mode, PROF_EXACT);
	T_STR(prof_text(p, p->processes[1].exe), "/opt/demo/heap_text");
	T_EQ(w.live_bytes, 1180192); /* jeprof: Total: 1180192 B */
	T_EQ(w.live_blocks, 214);
	T_EQ(w.alloc_bytes, 1197104); /* --alloc_space */
	T_CHECK((int64_t)reals(p).live_bytes == 1180192);
	T_CHECK(large != 0 && mixed != 0);
	T_EQ(p->sites[large].live_blocks, 13);
	T_EQ(p->sites[mixed].allocs, 211);
	T_EQ(p->sites[mixed].frees, 151);
	/* leak_large, work, main, _start: file offsets are addresses in this program */
	T_STR(offsets(p, large, "/opt/demo/heap_text"), "148e 1506 152f 1181 ");
	prof_free(p);
}

T_TEST(jemalloc_threads)
{
	struct prof *p = load("je_exact.heap");
	uint64_t bytes[3] = {0}, freed[3] = {0};

	T_EQ(p->nthreads, 2 + 1);
	T_EQ(p->threads[1].serial, 0);
	T_STR(prof_text(p, p->threads[1].name), "heap_text");
	T_EQ(p->threads[2].serial, 1);
	T_STR(prof_text(p, p->threads[2].name), "worker 1");
	for (uint32_t i = 0; i < p->ncells; i++) {
		bytes[p->cells[i].thread] += p->cells[i].alloc_bytes;
		freed[p->cells[i].thread] += p->cells[i].free_bytes;
	}
	T_EQ(bytes[1], 1178160);
	T_EQ(bytes[1] - freed[1], 1161248);
	T_EQ(bytes[2], 37 * 512);
	T_EQ(freed[2], 0);
	prof_free(p);
}

T_TEST(jemalloc_sampled)
{
	struct prof *p = load("je_sampled.heap");
	uint64_t worker = 0;

	T_EQ(p->columns, PROF_HAS_LIVE);
	T_EQ(p->processes[1].mode, PROF_SAMPLED);
	T_EQ(p->processes[1].rate_bytes, 4096);
	T_EQ((int64_t)reals(p).live_bytes, 1179258); /* jeprof: Total: 1179258 B */
	T_EQ((int64_t)reals(p).live_blocks, 95);
	T_EQ(wholes(p).live_bytes, 1179257); /* each stack truncated */
	T_EQ(wholes(p).live_blocks, 94);
	for (uint32_t i = 0; i < p->ncells; i++) {
		if (p->threads[p->cells[i].thread].serial == 1)
			worker += p->cells[i].alloc_bytes - p->cells[i].free_bytes;
	}
	T_EQ(worker, 21788); /* jeprof --thread=1 */
	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];
		double relative = sqrt(s->var_live_bytes) / (double)s->live_bytes;

		/* five samples of 512 bytes: 1/sqrt(5) of itself, less what is certain */
		if (s->live_samples == 5)
			T_CHECK(fabs(relative - 0.42) < 0.01);
		if (s->live_samples == 13)
			T_CHECK(relative < 0.001); /* twenty times the rate: all seen */
	}
	prof_free(p);
}

T_TEST(jemalloc_symbolized)
{
	struct prof *p = load("symbolized.heap");
	uint32_t large = site_of(p, 13 * 81920);

	T_EQ(wholes(p).live_bytes, 1180192);
	T_CHECK(large != 0);
	T_CHECK(strstr(names(p, p->sites[large].node),
		       "_start;__libc_start_main_impl;__libc_start_call_main;main;work;"
		       "leak_large;") != NULL);
	T_EQ(p->ndamages, 0);
	prof_free(p);
}

T_TEST(gperftools_profile)
{
	struct prof *p = load("gp_profile.heap");
	struct heap_counts w = wholes(p);
	uint32_t large = site_of(p, 13 * 70001);

	T_STR(prof_text(p, p->format), "heapprofile");
	T_EQ(p->columns, PROF_HAS_LIVE | PROF_HAS_ALLOCS);
	T_EQ(p->nreals, 0);
	T_EQ(w.live_bytes, 941797);
	T_EQ(w.live_blocks, 213);
	T_EQ(w.alloc_bytes, 956897);
	T_EQ(w.allocs, 364);
	T_EQ(p->ndamages, 0);
	T_STR(offsets(p, large, "/opt/demo/heap_text"), "148e 1506 152f 1181 ");
	T_EQ(p->nlabels, 6);
	for (uint32_t i = 0; i < p->nlabels; i++) {
		if (p->labels[i].site == large)
			T_EQ(p->labels[i].number, 70001);
	}
	prof_free(p);
}

T_TEST(gperftools_others)
{
	struct prof *mapped = load("gp_mmap.heap"), *sample = load("gp_sample.heap"),
		    *growth = load("gp_growth.heap");

	T_EQ(wholes(mapped).live_bytes, 4808421);
	T_EQ(mapped->ndamages, 0); /* the header has less, and that is no damage */
	T_STR(prof_text(sample, sample->format), "heap_v2");
	T_EQ(sample->processes[1].mode, PROF_SAMPLED);
	T_EQ(sample->columns, PROF_HAS_LIVE); /* a sampler forgets what was freed */
	T_EQ(wholes(sample).live_bytes, 914121);
	T_EQ(wholes(sample).live_blocks, 184);
	T_EQ((int64_t)reals(sample).live_bytes, 914121);
	T_STR(prof_text(growth, growth->format), "growth");
	T_EQ(growth->columns, PROF_HAS_LIVE);
	T_EQ(wholes(growth).live_bytes, 2097152);
	prof_free(mapped);
	prof_free(sample);
	prof_free(growth);
}

T_TEST(go_text)
{
	struct prof *p = load("go_debug1.heap");
	struct heap_counts w = wholes(p);
	bool inlined = false;

	T_EQ(w.live_bytes, 253108); /* go tool pprof -top -unit=bytes */
	T_EQ(w.live_blocks, 1065);
	T_EQ(w.alloc_bytes, 1236037);
	T_EQ(w.allocs, 1167);
	T_EQ(p->nreals, 0); /* Go's own tool sums whole numbers */
	T_EQ(p->ndamages, 0);
	T_EQ(p->processes[1].rate_bytes, 4096); /* the header has twice that */
	for (uint32_t i = 1; i < p->nsites; i++)
		inlined |=
			strcmp(names(p, p->sites[i].node),
			       "runtime.main;main.main;main.leakLarge;main.inlined") == 0;
	T_CHECK(inlined);
	for (uint32_t i = 0; i < p->nframes; i++) {
		if (strcmp(prof_text(p, p->frames[i].function), "main.inlined") == 0) {
			T_STR(prof_text(p, p->frames[i].file), "./main.go");
			T_EQ(p->frames[i].line, 18);
		}
	}
	prof_free(p);
}

T_TEST(folded_files)
{
	struct prof *p = load("plain.folded"), *pair = load("pair.folded");

	T_STR(prof_text(p, p->format), "folded");
	T_EQ(p->nsites, 4 + 1);
	T_EQ(wholes(p).live_bytes, 4096 + 1021 + 7 + 13);
	T_STR(names(p, p->sites[2].node), "main;load;read file");
	T_EQ(p->sites[1].node, p->sites[4].node);
	T_EQ(p->nnodes, 5 + 1);
	T_EQ(p->nmarks, 0);
	T_EQ(wholes(pair).live_bytes, 8192 + 101);
	T_CHECK(reals(pair).live_bytes == 8293.5);
	T_EQ(pair->nmarks, 1);
	T_STR(prof_text(pair, pair->marks[0].name), "before");
	T_EQ(pair->marks[0].live_bytes, 4096 + 77);
	prof_merge(p, pair);
	T_EQ(p->nnodes, 7 + 1); /* `gone` and `new` alone are new */
	prof_free(p);
	prof_free(pair);
}

T_TEST(mtrace_log)
{
	struct prof *p = load("mtrace.log");
	uint32_t leak = site_of(p, 16 * 101), grown = site_of(p, 4096);

	T_STR(prof_text(p, p->format), "mtrace");
	T_EQ(p->ndamages, 0);
	T_EQ(p->nsites, 3 + 1);
	T_EQ(wholes(p).live_bytes, 16 * 101 + 4096);
	T_EQ(wholes(p).allocs, 23 + 1 + 1); /* realloc allocates once more */
	T_EQ(p->sites[leak].frees, 7);
	T_EQ(p->sites[grown].live_blocks, 1);
	T_STR(offsets(p, leak, "/opt/demo/mt"), "1182 ");
	T_EQ(p->processes[1].frees_unknown, 0);
	prof_free(p);
	p = load_text(
		"= Start\n@ [0x10] - 0x500\n@ [0x10] + 0x600 0x8\n@ [0x20] + 0x600 0x9\n"
		"@ /a b/c.so:(f (x)+0x2)[0x77] + 0x700 0xa\n@ [0x3] ! 0x700 0xfff\n"
		"+ 0x800 0xb\n@ [0x10] + (nil) 0x99\nnonsense\n= End\n");
	T_EQ(p->processes[1].frees_unknown, 1);
	T_EQ(p->processes[1].frees_unseen, 1); /* 0x600 again */
	T_EQ(wholes(p).live_bytes, 9 + 10 + 11);
	T_STR(offsets(p, site_of(p, 10), "/a b/c.so"), "77 ");
	T_EQ(damage(p, "lines that are not events (it is line 9)"), 1);
	prof_free(p);
}

/* ---- scaling ---- */

T_TEST(scaling_formulas)
{
	struct heap_rate v2 = {HEAP_POISSON, 1000, 1000}, v1 = {HEAP_LINEAR, 1000, 1000};
	struct heap_rate one = {HEAP_POISSON, 1, 1};
	struct heap_counts c = {7, 3500, 3, 6000}, w;
	struct prof_real r;

	heap_in_scale(&v2, &c, &w, &r);
	/* 1 / (1 - exp(-0.5)) = 2.541494, 1 / (1 - exp(-2)) = 1.156518 */
	T_CHECK(fabs(r.live_blocks - 17.790458) < 1e-5);
	T_CHECK(fabs(r.live_bytes - 8895.2287) < 1e-3);
	T_EQ(w.live_blocks, 17);
	T_EQ(w.live_bytes, 8895);
	T_EQ(w.allocs, 3);
	T_EQ(w.alloc_bytes, 6939);
	heap_in_scale(&v1, &c, &w, &r);
	T_CHECK(r.live_blocks == 14 && r.live_bytes == 7000); /* as if 1000 each */
	T_CHECK(r.allocs == 3 && r.alloc_bytes == 6000);      /* larger than the rate */
	T_EQ(w.live_bytes, 8895);			      /* Go knows no version 1 */
	/* Rate 1: jeprof scales even then, Go does not. */
	c = (struct heap_counts){1000, 8000, 0, 0};
	heap_in_scale(&one, &c, &w, &r);
	T_CHECK(fabs(r.live_bytes - 8002.6846) < 1e-3);
	T_EQ(w.live_bytes, 8000);
	/* Blocks of no bytes have no average. */
	c = (struct heap_counts){5, 0, 0, 77};
	heap_in_scale(&v2, &c, &w, &r);
	T_CHECK(r.live_blocks == 5 && r.live_bytes == 0 && r.alloc_bytes == 77);
}

T_TEST(labels_decide_the_scaling)
{
	static const struct {
		const char *label, *format;
		int64_t whole;
		double real; /* 0 = none kept */
	} cases[] = {
		{"heapprofile", "heapprofile", 500, 0},
		{"heap_v2/1000", "heap_v2", 1270, 1270.7470},
		{"heapz_v2/1000", "heapz_v2", 1270, 1270.7470},
		{"heap/2000", "heap", 1270, 1000},
		{"heap", "heap", 500, 131072},
		{"heap_v2", "heap_v2", 500, 131322.1},
		{"growth", "growth", 500, 0},
		{"growthz", "growthz", 500, 0},
		{"fragmentationz", "fragmentationz", 500, 0},
		{"", "heap profile", 500, 131072},
	};
	char text[128];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct prof *p;

		snprintf(text, sizeof text,
			 "heap profile: 1: 500 [1: 500] @ %s\n1: 500 [1: 500] @ 0x10\n",
			 cases[i].label);
		p = load_text(text);
		T_STR(prof_text(p, p->format), cases[i].format);
		T_EQ(wholes(p).live_bytes, cases[i].whole);
		T_CHECK(fabs(reals(p).live_bytes - cases[i].real) < 0.1);
		T_EQ(damage(p, "memory map is missing"), 1);
		prof_free(p);
	}
}

/* ---- maps ---- */

#define STACK "heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ "

static void
check_map(const char *addr, const char *map, const char *path, uint64_t offset)
{
	char text[1024];
	struct prof *p;
	const struct prof_loc *l;

	snprintf(text, sizeof text, STACK "%s\n\n%s", addr, map);
	p = load_text(text);
	l = &p->locs[1];
	T_STR(prof_text(p, p->modules[l->module].path), path);
	T_EQ(l->offset, offset);
	T_EQ(p->ndamages, 0);
	prof_free(p);
}

T_TEST(map_lines)
{
	static const char m[] = "MAPPED_LIBRARIES:\n", d[] = "--- Memory map: ---\n";
	char text[512];

	snprintf(text, sizeof text, "%s%s", m,
		 "00401000-00402000 r-xp 00003000 08:01 12  /none/a b (deleted)\n");
	check_map("0x401010", text, "/none/a b (deleted)", 0x3010);
	/* A return address at the very end belongs to the call before it. */
	check_map("0x402000", text, "/none/a b (deleted)", 0x4000);
	check_map("0x402001", text, "", 0x402001);
	check_map("0x401000", text, "", 0x401000);
	snprintf(text, sizeof text, "%s%s", m,
		 "1000-2000 rw-p 00000000 00:00 0 /none/x\n"
		 "1000-2000 r-xp 00000000 00:00 0 \n");
	check_map("0x1010", text, "", 0x1010); /* code without a file */
	snprintf(text, sizeof text, "%s%s", d,
		 "build=/none/out\n  40000000-40015000: $build/lib.so.2\n");
	check_map("0x40000123", text, "/none/out/lib.so.2", 0x123);
	snprintf(text, sizeof text, "%s%s", d,
		 "I0722 x.cc:34] 0x40000-0x80000 /none/bin (@ff00) abc12345\n");
	check_map("0x40010", text, "/none/bin", 0xff10);
	snprintf(text, sizeof text, "%s%s", m,
		 "200000-400000 r-xp 00000000 00:0f 7 /anon_hugepage (deleted)\n"
		 "400000-500000 r-xp 00200000 08:01 9 /none/huge\n");
	check_map("0x200100", text, "/none/huge", 0x100);
}

T_TEST(build_id_in_the_map)
{
	struct prof *p =
		load_text(STACK "0x40010\n\nMAPPED_LIBRARIES:\n0x40000-0x80000 /none/bin "
				"(@0) abcdef0123456789\n");
	const struct prof_module *m = &p->modules[p->locs[1].module];

	T_EQ(m->build_id_bytes, 8);
	T_EQ(m->build_id[0], 0xab);
	T_EQ(m->build_id[7], 0x89);
	prof_free(p);
}

T_TEST(program_named_by_the_user)
{
	static const char text[] =
		STACK "0x401010\n\nMAPPED_LIBRARIES:\n"
		      "00200000-00300000 r-xp 00000000 08:01 12  /none/libx.so.3\n"
		      "00401000-00402000 r-xp 00001000 08:01 12  /none/old\n";
	static const char bare[] = STACK "0x401010\n";
	struct format_opts o = {.exe = "/none/new"};
	struct prof *p = NULL;

	T_EQ(format_load_bytes(text, strlen(text), "x", &o, &p, NULL), 0);
	T_STR(prof_text(p, p->modules[p->locs[1].module].path), "/none/new");
	T_STR(prof_text(p, p->processes[1].exe), "/none/new");
	/* A program that is linked to a fixed address keeps its addresses. */
	T_EQ(p->locs[1].offset, 0x401010);
	prof_free(p);
	/* Without a map, addresses are taken as they are. */
	T_EQ(format_load_bytes(bare, strlen(bare), "x", &o, &p, NULL), 0);
	T_STR(prof_text(p, p->modules[p->locs[1].module].path), "/none/new");
	T_EQ(p->locs[1].offset, 0x401010);
	prof_free(p);
	T_CHECK(format_is_program("/proc/self/exe"));
	T_CHECK(!format_is_program(golden("README.md")));
}

/* ---- damage ---- */

T_TEST(bad_lines_are_counted)
{
	struct prof *p =
		load_text("heap_v2/1\n  t*: 3: 300 [0: 0]\n"
			  "@ 0x10 0x20\n  t*: 1: 100 [0: 0]\n"
			  "nonsense\nmore\n"
			  "@ 0x10 0x2z 0x30\n  t*: 1: 100 [0: 0]\n"
			  "@ 0x40\n@ 0x50\n  t*: 1: 99999999999999999999 [0: 0]\n"
			  "  t7: 1: 5 [0: 0]\n"
			  "\nMAPPED_LIBRARIES:\n");

	T_EQ(p->nsites, 2 + 1);
	T_EQ(wholes(p).live_bytes, 200);
	T_EQ(damage(p, "lines that do not belong to a heap profile (first is line 5)"),
	     3);
	T_EQ(damage(p, "stacks with a word that is not an address (it is line 7)"), 1);
	T_EQ(damage(p, "stacks without figures (first is line 10)"), 2);
	T_EQ(damage(p, "figures without a stack (it is line 12)"), 1);
	T_EQ(damage(p, "bytes of the header's total that are in no stack"), 100);
	prof_free(p);
}

T_TEST(cut_off_in_a_stack)
{
	struct prof *p = load_text("heap profile: 2: 20 [2: 20] @ heapprofile\n"
				   "1: 10 [1: 10] @ 0x10 0x20\n1: 10 [1: 10] @ 0x10 0x2");

	T_EQ(p->nsites, 1 + 1);
	T_EQ(damage(p, "last line breaks off (it is line 3)"), 1);
	T_EQ(damage(p, "header's total"), 10);
	T_EQ(damage(p, "memory map is missing"), 1);
	prof_free(p);
}

/* Of names joined by -- the first is the function; the model has the innermost first. */
T_TEST(symbolized_inlined)
{
	struct prof *p = load_text("--- symbol\nbinary=/none/bin\n"
				   "0x40010 outer--middle--inner\n---\n--- heap\n"
				   "heap profile: 1: 10 [1: 10] @ heapprofile\n"
				   "1: 10 [1: 10] @ 0x40011\n");
	const struct prof_loc *l;

	T_EQ(p->nsites, 2);
	l = &p->locs[p->nodes[p->sites[1].node].loc];
	T_EQ(l->nframes, 3);
	T_STR(prof_text(p, p->frames[l->frames].function), "inner");
	T_STR(prof_text(p, p->frames[l->frames + 1].function), "middle");
	T_STR(prof_text(p, p->frames[l->frames + 2].function), "outer");
	T_EQ(p->frames[l->frames].inlined, 1);
	T_EQ(p->frames[l->frames + 1].inlined, 1);
	T_EQ(p->frames[l->frames + 2].inlined, 0);
	prof_free(p);
}

T_TEST(two_profiles_are_refused)
{
	static const char one[] = STACK "0x10\n\nMAPPED_LIBRARIES:\n";
	char text[512];
	struct prof *p = NULL;
	struct err e = {0};

	snprintf(text, sizeof text, "%s%s", one, one);
	T_CHECK(format_load_bytes(text, strlen(text), "x", NULL, &p, &e) < 0);
	T_STR(e.msg, "x: holds several profiles (the first ends in line 4): they must be "
		     "read one by one");
}

T_TEST(huge_figures)
{
	struct prof *p =
		load_text("heap profile: 1: 1 [1: 1] @ heap_v2/7\n"
			  "9223372036854775807: 9223372036854775807 [0: 0] @ 0x1\n"
			  "9223372036854775807: 1 [0: 0] @ 0x1\n"
			  "-9223372036854775807: 9223372036854775807 [0: 5] @\n"
			  "1: 9223372036854775808 [0: 0] @ 0x1\n");

	T_EQ(p->nsites, 3 + 1);
	T_EQ(p->processes[1].live_bytes, INT64_MAX);
	T_EQ(damage(p, "do not belong to a heap profile (it is line 5)"), 1);
	T_EQ(damage(p, "bytes in no blocks (it is line 4)"), 1);
	prof_free(p);
}

/* Every golden cut at every length is read or refused, and never has more than the
 * whole. */
T_TEST(cut_anywhere)
{
	static const char *const all[] = {
		"go_debug1.heap", "gp_growth.heap", "gp_mmap.heap",    "gp_profile.heap",
		"gp_sample.heap", "je_exact.heap",  "je_sampled.heap", "mtrace.log",
		"pair.folded",	  "plain.folded",   "symbolized.heap",
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct buf file = {0};
		struct prof *whole = load(all[i]);
		unsigned read = 0;

		T_EQ(buf_read_file(&file, golden(all[i]), NULL), 0);
		for (size_t n = 0; n < file.len; n++) {
			char *copy = malloc(n + 1); /* so that a byte too far is seen */
			struct prof *p = NULL;

			memcpy(copy, file.data, n);
			if (format_load_bytes(copy, n, "x", NULL, &p, NULL) == 0) {
				read++;
				if (p->nsites > whole->nsites)
					T_FAIL("%s cut at %zu", all[i], n);
			}
			prof_free(p);
			free(copy);
		}
		T_CHECK(read > file.len / 3);
		prof_free(whole);
		buf_done(&file);
	}
}

T_MAIN()
