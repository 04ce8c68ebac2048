/* SPDX-License-Identifier: MIT */
/* test_pprof.c -- pprof's protobuf: what is written comes back, what others write is
 * understood, what is broken is counted or refused. */
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "pprof_file.h"
#include "t.h"
#include "t_prof.h"
#include "tool/format/format.h"
#include "tool/format/format_save.h"
#include "tool/format/pprof/pprof.h"
#include "tool/model/named.h"
#include "tool/util/x.h"

static struct prof *
load(const struct buf *b)
{
	struct prof *p = prof_new();
	struct err e = {0};

	T_EQ(pprof_load(b->data, b->len, p, &e), 0);
	T_STR(e.msg, "");
	return p;
}

static void
refused(const struct buf *b, const char *message)
{
	struct prof *p = prof_new();
	struct err e = {0};

	T_CHECK(pprof_load(b->data, b->len, p, &e) < 0);
	T_STR(e.msg, message);
	prof_free(p);
}

static uint64_t
damage(const struct prof *p, const char *what)
{
	for (uint32_t i = 0; i < p->ndamages; i++) {
		if (strcmp(prof_text(p, p->damages[i].what), what) == 0)
			return p->damages[i].count;
	}
	return 0;
}

static const struct prof_frame *
frame(const struct prof *p, uint32_t node, uint32_t inl)
{
	const struct prof_loc *l = &p->locs[p->nodes[node].loc];

	return &p->frames[l->frames + inl];
}

/* ---- reading ---- */

T_TEST(reads_go)
{
	struct file f = {0};
	struct prof *p;

	put_go(&f);
	T_CHECK(pprof_detect(f.out.data, f.out.len));
	T_CHECK(pprof_detect(f.out.data, 70));
	p = load(&f.out);
	T_EQ(p->columns, PROF_HAS_LIVE | PROF_HAS_ALLOCS);
	T_EQ(p->nsites, 4); /* the two without labels are one */
	T_EQ(p->sites[1].allocs, 71);
	T_EQ(p->sites[1].live_bytes, 3100);
	T_EQ(p->sites[2].alloc_bytes, 2600);
	T_EQ(p->sites[3].allocs, 7);
	T_EQ(p->sites[3].alloc_bytes, 350);
	T_EQ(p->sites[3].live_blocks, 1);
	T_EQ(p->processes[1].live_bytes, 5350);
	T_EQ(p->processes[1].mode, PROF_SAMPLED);
	T_EQ(p->processes[1].rate_bytes, 524288);
	T_STR(prof_text(p, p->processes[1].exe), "/no/such/server");
	T_EQ(p->time_ns, 1700000000000000000);
	T_STR(prof_text(p, p->drop_frames), "runtime\\..*");
	T_STR(prof_text(p, p->keep_frames), "runtime\\.mallocgc");
	T_STR(prof_text(p, p->comments), "first\nsecond");
	T_STR(prof_text(p, p->default_type), "alloc_space");
	T_STR(prof_text(p, p->format), "pprof");
	T_CHECK(p->has_names);
	T_EQ(p->ndamages, 0);
	prof_free(p);
	file_done(&f);
}

T_TEST(stacks_names_and_labels)
{
	struct file f = {0};
	struct prof *p;
	uint32_t node;

	put_go(&f);
	p = load(&f.out);
	node = p->sites[1].node;
	T_EQ(p->nnodes, 4); /* main, leak below it, leak at another line */
	T_EQ(p->sites[2].node, node);
	T_STR(prof_text(p, frame(p, node, 0)->function), "main.leak");
	T_EQ(frame(p, node, 0)->line, 77);
	T_EQ(frame(p, node, 0)->inlined, 1);
	T_EQ(frame(p, node, 0)->lang, PROF_GO);
	T_STR(prof_text(p, frame(p, node, 1)->function), "main.handle");
	T_EQ(frame(p, node, 1)->inlined, 0);
	T_STR(prof_text(p, frame(p, p->nodes[node].parent, 0)->file), "/src/main.go");
	T_EQ(p->nodes[p->nodes[node].parent].parent, 0);
	/* A program at 0x400000 has its own addresses, and they lie inside the call. */
	T_EQ(p->locs[p->nodes[node].loc].offset, 0x401003);
	T_EQ(p->locs[p->nodes[node].loc].exact, 1);
	T_EQ(p->nranges, 1);
	T_EQ(p->ranges[0].start, 0x400000);
	T_EQ(p->ranges[0].bias, 0);
	T_EQ(p->nlabels, 2);
	T_EQ(p->labels[1].site, 2);
	T_EQ(p->labels[1].number, 200);
	T_STR(prof_text(p, p->labels[1].key), "bytes");
	T_STR(prof_text(p, p->labels[1].unit), "bytes");
	prof_free(p);
	file_done(&f);
}

T_TEST(other_profiles_are_refused_by_name)
{
	struct file f = {0};

	put_type(&f, PPROF_SAMPLE_TYPE, "samples", "count");
	put_type(&f, PPROF_SAMPLE_TYPE, "cpu", "nanoseconds");
	put_sample(&f, true, LOCS(1), VALUES(1, 10000000), NULL, 0);
	file_end(&f);
	refused(&f.out, "pprof profile, but not of memory: it has samples/count, "
			"cpu/nanoseconds");
	file_done(&f);
	f = (struct file){0};
	file_end(&f);
	refused(&f.out, "pprof profile without sample types");
	file_done(&f);
}

/* jemalloc_pprof: every mapping spans everything, addresses are the files' own. */
T_TEST(mappings_may_overlap)
{
	struct file f = {0};
	struct prof *p;

	put_jemalloc(&f);
	p = load(&f.out);
	T_EQ(p->nmodules, 3);
	T_EQ(p->nlocs, 3);
	T_EQ(p->locs[1].offset, 0x5001);
	T_EQ(p->locs[2].offset, 0x5001);
	T_EQ(p->locs[1].module, 1);
	T_EQ(p->locs[2].module, 2);
	T_EQ(p->modules[1].build_id_bytes, 20);
	T_EQ(p->modules[1].build_id[19], 0x14);
	T_STR(prof_text(p, p->modules[2].path), "/usr/lib/libother.so");
	T_EQ(p->nranges, 0);
	T_EQ(p->columns, PROF_HAS_LIVE);
	T_EQ(p->sites[1].live_bytes, 4099);
	T_CHECK(!p->has_names);
	T_EQ(p->processes[1].mode, 0); /* it does not say how it was sampled */
	prof_free(p);
	file_done(&f);
}

/* async-profiler: names without addresses, numbers one by one. */
T_TEST(names_without_addresses)
{
	struct file f = {0};
	struct prof *p, *q;
	uint32_t loc;

	put_async(&f);
	p = load(&f.out);
	T_EQ(p->columns, PROF_HAS_ALLOCS);
	T_EQ(p->nlocs, 3);
	T_EQ(p->nsites, 2);
	T_EQ(p->sites[1].alloc_bytes, 1046);
	loc = p->nodes[p->sites[1].node].loc;
	T_CHECK(named_is(p, loc));
	/* Merged into another, they are the same locations under other string ids. */
	q = prof_new();
	prof_str(q, "something else");
	prof_merge(q, p);
	prof_merge(q, p);
	T_EQ(q->nlocs, 3);
	prof_free(q);
	prof_free(p);
	file_done(&f);
}

/* One address, two sets of names: neither is lost. */
T_TEST(same_address_other_names)
{
	struct file f = {0};
	struct prof *p;

	put_type(&f, PPROF_SAMPLE_TYPE, "space", "bytes");
	put_location(&f, 1, 0, 0x7000, LINES(1, 5));
	put_location(&f, 2, 0, 0x7000, LINES(2, 6));
	put_function(&f, 1, "before", "");
	put_function(&f, 2, "after", "");
	put_sample(&f, true, LOCS(1), VALUES(3), NULL, 0);
	put_sample(&f, true, LOCS(2), VALUES(5), NULL, 0);
	file_end(&f);
	p = load(&f.out);
	T_EQ(p->nsites, 3);
	T_STR(prof_text(p, frame(p, p->sites[1].node, 0)->function), "before");
	T_STR(prof_text(p, frame(p, p->sites[2].node, 0)->function), "after");
	prof_free(p);
	file_done(&f);
}

T_TEST(damage_is_counted)
{
	struct file f = {0};
	struct prof *p;

	put_type(&f, PPROF_SAMPLE_TYPE, "alloc_space", "bytes");
	put_type(&f, PPROF_SAMPLE_TYPE, "inuse_space", "bytes");
	put_location(&f, 1, 9, 0x7001, NULL);	    /* no such mapping */
	put_location(&f, 1, 0, 0x7002, NULL);	    /* the id is taken */
	put_location(&f, 0, 0, 0x7003, NULL);	    /* no id */
	put_location(&f, 1 << 30, 0, 0x7004, NULL); /* far off, and fine */
	put_sample(&f, true, LOCS(1, 77, 78), VALUES(1, 2), NULL, 0);
	put_sample(&f, true, LOCS(1), VALUES(1), NULL, 0);
	put_sample(&f, true, LOCS(1), VALUES(1, 2, 3), NULL, 0);
	put_sample(&f, true, LOCS(1 << 30), VALUES(-4, -5), NULL, 0);
	pb_put(&f.out, PPROF_DEFAULT_TYPE, 99999);
	file_end(&f);
	p = load(&f.out);
	T_EQ(p->nsites, 3);
	T_EQ(damage(p, "frames that are not in the file"), 2);
	T_EQ(damage(p, "samples that do not fit their types"), 2);
	T_EQ(damage(p, "values out of range"), 1); /* nothing is allocated -4 times */
	T_EQ(damage(p, "ids that are missing or taken"), 3);
	T_EQ(damage(p, "strings that are not in the file"), 1);
	T_EQ(p->sites[2].live_bytes, -5); /* a difference may be below 0 */
	T_EQ(p->sites[2].alloc_bytes, 0);
	prof_free(p);
	file_done(&f);
}

T_TEST(two_in_one_are_refused)
{
	struct file f = {0};
	struct buf twice = {0};

	put_go(&f);
	buf_add(&twice, f.out.data, f.out.len);
	buf_add(&twice, f.out.data, f.out.len);
	refused(&twice, "two pprof profiles one behind the other, not one");
	buf_done(&twice);
	file_done(&f);
}

/* Text and other files are not taken for one. */
T_TEST(not_everything_is_a_profile)
{
	static const char *const texts[] = {
		"",
		"\n",
		"\n\n\n\n\n\n\n\n\n\n\n\n",
		"heap profile:      1:       64 [     1:       64] @ heapprofile\n",
		"heap_v2/524288\n  t*: 1: 64 [0: 0]\n",
		"main;work 12\n",
		"2 files and a half\n",
		"\x1f\x8b\x08",
		"\177ELF\2\1\1",
		"{\"a\": 1}",
		"= Start\n@ ./a.out:[0x4005a0] + 0x602010 0x10\n",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (pprof_detect(texts[i], strlen(texts[i])))
			T_FAIL("taken for a profile: %s", texts[i]);
	}
}

/* ---- writing ---- */

static void
save(const struct prof *p, const char *format, const struct format_save_opts *o,
     struct buf *out)
{
	struct emit_out to = {.buf = out};
	struct err e = {0};

	T_EQ(format_save(p, format, o, &to, &e), 0);
	T_STR(e.msg, "");
}

static struct prof *
again(const struct prof *p, const struct format_save_opts *o)
{
	struct buf out = {0};
	struct prof *q;

	save(p, "proto", o, &out);
	q = load(&out);
	buf_done(&out);
	return q;
}

T_TEST(demo_comes_back)
{
	struct prof *p = tp_demo(), *q;
	const struct prof_frame *f;
	uint32_t node;

	p->sites[1].temps = 17;
	p->sites[1].temp_bytes = 1700;
	q = again(p, NULL);
	T_EQ(q->columns,
	     PROF_HAS_LIVE | PROF_HAS_ALLOCS | PROF_HAS_PEAK | PROF_HAS_TEMPS);
	T_EQ(q->nsites, 3);
	T_EQ(q->sites[1].live_bytes, 3235840);
	T_EQ(q->sites[1].live_blocks, 80);
	T_EQ(q->sites[1].allocs, 80);
	T_EQ(q->sites[1].at_peak_bytes, 3235840);
	T_EQ(q->sites[1].temps, 17);
	T_EQ(q->sites[1].temp_bytes, 1700);
	T_EQ(q->sites[2].live_bytes, 3194880);
	T_EQ(q->sites[2].alloc_bytes, 3194880);
	T_EQ(q->processes[1].live_bytes, 6430720);
	T_EQ(q->processes[1].mode, PROF_EXACT);
	T_STR(prof_text(q, q->default_type), "inuse_space");
	T_CHECK(q->has_names);
	T_EQ(q->ndamages, 0);
	T_EQ(q->nnodes, p->nnodes);
	node = q->nodes[q->sites[1].node].parent;
	f = frame(q, node, 0);
	T_STR(prof_text(q, f->function), "do_something");
	T_STR(prof_text(q, f->file), "jemalloc-demo.c");
	T_EQ(f->line, 7);
	T_STR(prof_text(q, q->modules[q->locs[q->nodes[node].loc].module].path),
	      "/usr/lib/demo");
	/* One past the call there, inside it here. */
	T_EQ(q->locs[q->nodes[node].loc].offset,
	     p->locs[p->nodes[p->nodes[p->sites[1].node].parent].loc].offset - 1);
	prof_free(q);
	prof_free(p);
}

/* What was read from a file and written is the same file from then on. */
T_TEST(written_again_it_is_the_same)
{
	struct buf a = {0}, b = {0}, packed = {0};
	struct file f = {0};
	struct prof *p, *q, *r = NULL;
	struct err e = {0};

	put_go(&f);
	p = load(&f.out);
	save(p, "proto", NULL, &a);
	q = load(&a);
	save(q, "proto", NULL, &b);
	T_EQ(a.len, b.len);
	T_MEM(a.data, b.data, a.len);
	T_EQ(q->nlabels, 2);
	T_STR(prof_text(q, q->default_type), "alloc_space");
	T_STR(prof_text(q, q->drop_frames), "runtime\\..*");
	T_CHECK(strncmp(prof_text(q, q->comments), "first\nsecond\n# written by seep",
			30) == 0);
	save(p, "pprof", NULL, &packed);
	T_EQ((unsigned char)packed.data[0], 0x1f);
	T_EQ(format_load_bytes(packed.data, packed.len, "x", NULL, &r, &e), 0);
	T_EQ(r->sites[3].alloc_bytes, 350);
	prof_free(r);
	prof_free(q);
	prof_free(p);
	buf_done(&a);
	buf_done(&b);
	buf_done(&packed);
	file_done(&f);
}

T_TEST(frames_before_the_start_are_left_out)
{
	struct prof *p = tp_demo(), *q;
	struct emit_start starts[3] = {{0}};
	struct format_save_opts o = {.starts = starts};

	for (uint32_t i = 1; i < 3; i++)
		starts[i].node = p->nodes[p->sites[i].node].parent;
	q = again(p, &o);
	T_STR(prof_text(q, frame(q, q->sites[1].node, 0)->function), "do_something");
	T_EQ(q->nnodes, p->nnodes - 2);
	T_EQ(q->processes[1].live_bytes, 6430720);
	prof_free(q);
	prof_free(p);
}

/* The program comes first, whatever the order of stacks, and build-ids are kept. */
T_TEST(program_is_the_first_mapping)
{
	static const uint8_t id[20] = {0xde, 0xad, [19] = 0x42};
	struct prof *p = tp_demo(), *q;

	p->processes[1].exe = p->modules[2].path;
	memcpy(p->modules[2].build_id, id, sizeof id);
	p->modules[2].build_id_bytes = sizeof id;
	q = again(p, NULL);
	T_STR(prof_text(q, q->modules[1].path),
	      "/usr/lib/libc.so.6"); /* was the second */
	T_EQ(q->modules[1].build_id_bytes, 20);
	T_MEM(q->modules[1].build_id, id, sizeof id);
	T_STR(prof_text(q, q->processes[1].exe), "/usr/lib/libc.so.6");
	prof_free(q);
	prof_free(p);
}

T_TEST(processes_and_block_sizes_are_labels)
{
	struct prof *p = prof_new(), *q;
	uint32_t a = tp_process(p, "/bin/one", 11, 5),
		 b = tp_process(p, "/bin/two", 12, 5);
	uint32_t node = TP_STACK(p, "work w.c:3 one", "main w.c:9 one");
	static const uint64_t sizes[] = {48, 48, 48, 40, 56};

	tp_site(p, a, node, 4, 1, 192, 48); /* 48 bytes each */
	tp_site(p, b, node, 2, 0, 96, 0);   /* 40 and 56: 48 only on average */
	for (unsigned i = 0; i < 5; i++) {
		uint32_t row = prof_add_block(p);

		p->blocks[row].bytes = sizes[i];
		p->blocks[row].site = i < 3 ? 1 : 2;
	}
	q = again(p, NULL);
	T_EQ(q->nsites, 3);
	T_EQ(q->nlabels, 3);
	T_STR(prof_text(q, q->labels[0].key), "bytes");
	T_EQ(q->labels[0].number, 48);
	T_EQ(q->labels[0].site, 1);
	T_STR(prof_text(q, q->labels[1].text), "one 11");
	T_STR(prof_text(q, q->labels[2].text), "two 12");
	T_EQ(q->labels[2].site, 2);
	prof_free(q);
	prof_free(p);
}

T_TEST(what_is_no_code_has_words)
{
	struct prof *p = prof_new(), *q;
	uint32_t pr = tp_process(p, "/bin/x", 1, 1);
	uint32_t cut = prof_node(p, 0, prof_loc(p, 0, 0, PROF_LOC_TRUNCATED, false));
	uint32_t mmap = prof_node(p, cut, prof_loc(p, 0, 1, PROF_LOC_CLASS, false));

	tp_site(p, pr, mmap, 1, 0, 4096, 0);
	q = again(p, NULL);
	T_STR(prof_text(q, frame(q, q->sites[1].node, 0)->function), "[mmap]");
	T_STR(prof_text(q, frame(q, q->nodes[q->sites[1].node].parent, 0)->function),
	      "(could not be followed further)");
	prof_free(q);
	prof_free(p);
}

/* ---- cut and hostile ---- */

/* At every length it is refused or read as far as it goes, and never more than there
 * is. */
T_TEST(cut_at_every_length)
{
	struct file f = {0};
	struct buf ours = {0};
	struct prof *p;
	unsigned loaded = 0, loaded_ours = 0;

	put_go(&f);
	p = load(&f.out);
	save(p, "proto", NULL, &ours);
	for (size_t n = 0; n <= f.out.len; n++) {
		unsigned char *exact = xmalloc(n); /* one byte too far is seen */
		struct prof *q = prof_new();

		memcpy(exact, f.out.data, n);
		loaded += pprof_load(exact, n, q, NULL) == 0;
		T_CHECK(q->processes[q->nprocesses - 1].live_bytes <= 5350);
		prof_free(q);
		free(exact);
	}
	for (size_t n = 0; n <= ours.len; n++) {
		struct prof *q = prof_new();

		if (pprof_load(ours.data, n, q, NULL) == 0 && q->nsites > 1) {
			loaded_ours++;
			/* Tables come first: what is there has its names. */
			T_STR(prof_text(q, frame(q, q->sites[1].node, 0)->function),
			      "main.leak");
		}
		prof_free(q);
	}
	T_CHECK(loaded > 0);
	T_CHECK(loaded_ours > 30); /* every byte of the samples behind the first */
	prof_free(p);
	buf_done(&ours);
	file_done(&f);
}

/* A length or an id that is not there costs nothing. */
T_TEST(large_numbers_cost_nothing)
{
	struct file f = {0};
	struct prof *p;

	put_type(&f, PPROF_SAMPLE_TYPE, "space", "bytes");
	for (uint64_t i = 1; i < 40; i++)
		put_location(&f, UINT64_MAX - i, 0, UINT64_MAX - i, NULL);
	put_sample(&f, true, LOCS(UINT64_MAX - 3, UINT64_MAX - 1000), VALUES(INT64_MAX),
		   "bytes", INT64_MIN);
	put_sample(&f, true, LOCS(UINT64_MAX - 4), VALUES(INT64_MAX), NULL, 0);
	put_sample(&f, true, LOCS(UINT64_MAX - 4), VALUES(INT64_MAX), NULL, 0);
	file_end(&f);
	p = load(&f.out);
	T_EQ(p->nsites, 3);
	T_EQ(damage(p, "frames that are not in the file"), 1);
	T_EQ(damage(p, "values out of range"), 1); /* the sum of two does not fit */
	prof_free(p);
	/* a string of an exabyte */
	pb_put_varint(&f.out, PPROF_STRING << 3 | PB_BYTES);
	pb_put_varint(&f.out, UINT64_C(1) << 60);
	p = load(&f.out);
	T_EQ(damage(p, "pprof profile that breaks off"), 1);
	prof_free(p);
	file_done(&f);
}

/* ---- files that Go wrote: tests/golden/pprof ---- */

/* __FILE__ is as the build folder, two above this binary, sees it. */
static void
golden(const char *name, struct buf *ret)
{
	char path[3 * PATH_MAX], exe[PATH_MAX] = "", file[] = __FILE__;
	struct err e = {0};

	if (file[0] != '/' && readlink("/proc/self/exe", exe, sizeof exe - 1) > 0)
		snprintf(path, sizeof path, "%s/../../%s/../golden/pprof/%s",
			 dirname(exe), dirname(file), name);
	else
		snprintf(path, sizeof path, "%s/../golden/pprof/%s", dirname(file), name);
	T_EQ(buf_read_file(ret, path, &e), 0);
	T_STR(e.msg, "");
}

T_TEST(golden_go_heap)
{
	int64_t live = 0, live_bytes = 0;
	uint64_t allocs = 0, alloc_bytes = 0;
	struct buf raw = {0};
	struct prof *p = NULL;
	struct err e = {0};

	golden("go_heap.pb.gz", &raw);
	T_EQ(format_load_bytes(raw.data, raw.len, "x", NULL, &p, &e), 0);
	T_STR(e.msg, "");
	for (uint32_t i = 1; p != NULL && i < p->nsites; i++) {
		live += p->sites[i].live_blocks;
		live_bytes += p->sites[i].live_bytes;
		allocs += p->sites[i].allocs;
		alloc_bytes += p->sites[i].alloc_bytes;
	}
	T_EQ(live, 121);
	T_EQ(live_bytes, 117440);
	T_EQ(allocs, 150);
	T_EQ(alloc_bytes, 147136);
	T_EQ(p->nsites, 8);
	T_EQ(p->nlabels, 7);
	T_EQ(p->processes[1].mode, PROF_EXACT);
	T_EQ(p->ndamages, 0);
	prof_free(p);
	buf_clear(&raw);
	golden("go_cpu.pb.gz", &raw);
	T_CHECK(format_load_bytes(raw.data, raw.len, "x", NULL, &p, &e) < 0);
	T_STR(e.msg, "x: pprof profile, but not of memory: it has samples/count, "
		     "cpu/nanoseconds");
	buf_done(&raw);
}

/* Go puts its strings last, so what was cut off has no names and mostly no types. */
T_TEST(golden_cut_at_every_length)
{
	static const char *const names[] = {"go_heap.pb.gz", "go_allocs.pb.gz",
					    "go_cpu.pb.gz"};
	unsigned whole = 0;

	for (size_t k = 0; k < 3; k++) {
		struct buf raw = {0};

		golden(names[k], &raw);
		T_CHECK(raw.len > 200 && raw.len < 65536);
		for (size_t n = 0; n <= raw.len; n++) {
			struct prof *p = NULL;

			if (format_load_bytes(raw.data, n, "x", NULL, &p, NULL) == 0) {
				whole += p->ndamages == 0;
				T_CHECK(n == raw.len || p->ndamages > 0);
			}
			prof_free(p);
		}
		buf_done(&raw);
	}
	T_EQ(whole, 2);
}

T_MAIN()
