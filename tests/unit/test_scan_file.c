/* SPDX-License-Identifier: MIT */
/* test_scan_file.c -- looks at heaps: kept in a file and read again, compared,
 * described. */
#include "t.h"
#include "tool/analyze/process/blocklook.h"
#include "tool/analyze/process/scan_growth.h"
#include "tool/format/text/scan_file.h"

static void
fill(struct heapscan *s, uint64_t lost, uint64_t held, uint64_t kept)
{
	struct heapscan_group *g;

	s->what = strtab_add(&s->strings, "12 (a\tb)");
	s->program = strtab_add(&s->strings, "a\\b");
	s->pid = 12;
	s->time_ns = UINT64_C(5000000000);
	g = vec_add(&s->groups);
	g->size = 24;
	g->type = strtab_add(&s->strings, "class A<int,\nB>");
	g->sums[HEAPSCAN_DEFINITE] = (struct heapscan_sum){lost, lost * 24};
	g = vec_add(&s->groups);
	g->size = 4096;
	g->least = 2056;
	g->pattern = strtab_add(&s->strings, "text");
	g->holder = strtab_add(&s->strings, "cache in app");
	g->sums[HEAPSCAN_REACHABLE] = (struct heapscan_sum){held, held * 3000};
	s->sums[HEAPSCAN_DEFINITE] = s->groups.data[0].sums[HEAPSCAN_DEFINITE];
	s->sums[HEAPSCAN_REACHABLE] = s->groups.data[1].sums[HEAPSCAN_REACHABLE];
	vec_push(&s->arenas, (struct heapscan_arena){.system_bytes = 1 << 20,
						     .used_bytes = 4321,
						     .free_bytes = kept,
						     .top_bytes = 100,
						     .heaps = 2});
	vec_push(&s->holders,
		 (struct heapscan_holder){.name = g->holder,
					  .address = UINT64_C(0x7f0012345670),
					  .retained = {held, held * 3000}});
	s->mapped = (struct heapscan_sum){3, 999};
}

T_TEST(round_trip)
{
	struct heapscan s = {0}, back = {0};
	struct buf b = {0}, again = {0};
	struct err e = {0};

	fill(&s, 7, 5, 50);
	scan_file_write(&b, &s);
	T_CHECK(scan_file_detect(b.data, b.len));
	T_EQ(scan_file_parse(b.data, b.len, &back, &e), 0);
	T_STR(heapscan_text(&back, back.what), "12 (a\tb)");
	T_STR(heapscan_text(&back, back.program), "a\\b");
	T_EQ(back.groups.len, 2);
	T_STR(heapscan_text(&back, back.groups.data[0].type), "class A<int,\nB>");
	T_EQ(back.groups.data[1].least, 2056);
	T_EQ(back.groups.data[1].sums[HEAPSCAN_REACHABLE].bytes, 15000);
	T_EQ(back.arenas.data[0].heaps, 2);
	T_EQ(back.holders.data[0].address, UINT64_C(0x7f0012345670));
	T_EQ(back.mapped.bytes, 999);
	T_EQ(heapscan_total(&back).blocks, 12);
	T_EQ(scan_kept_bytes(&back), 150);
	T_EQ(scan_live_bytes(&back), 4321 + 999);
	scan_file_write(&again, &back);
	T_STR(buf_str(&again), buf_str(&b));
	heapscan_done(&s);
	heapscan_done(&back);
	buf_done(&b);
	buf_done(&again);
}

/* Cut anywhere it is refused with the line, or what came before is all there is. */
T_TEST(cut_anywhere)
{
	struct heapscan s = {0};
	struct buf b = {0};
	uint64_t read = 0, lines = 0;

	fill(&s, 7, 5, 50);
	scan_file_write(&b, &s);
	for (size_t n = 0; n < b.len; n++) {
		struct heapscan back = {0};
		struct err e = {0};

		if (scan_file_parse(b.data, n, &back, &e) == 0)
			read++;
		else
			T_CHECK(e.msg[0] != '\0');
		lines += b.data[n] == '\n';
		heapscan_done(&back);
	}
	/* At the end of a line only. */
	T_EQ(read, lines - 1);
	heapscan_done(&s);
	buf_done(&b);
}

T_TEST(bad)
{
	struct heapscan s = {0};
	struct err e = {0};
	static const char number[] = "seep-heap\t1\nsum\t0\tx\t5\n";

	T_CHECK(scan_file_parse("hello", 5, &s, &e) < 0);
	T_STR(e.msg, "not a file that seep scan --save wrote");
	T_CHECK(scan_file_parse(number, strlen(number), &s, &e) < 0);
	T_STR(e.msg, "line 2 makes no sense");
	heapscan_done(&s);
}

T_TEST(growth)
{
	struct heapscan before = {0}, after = {0};
	struct scan_growth g;

	fill(&before, 7, 5, 50);
	fill(&after, 10, 105, 80);
	after.time_ns += UINT64_C(60000000000);
	/* One that was not there. */
	vec_push(&after.groups, (struct heapscan_group){.size = 48});
	after.groups.data[2].sums[HEAPSCAN_POSSIBLE] = (struct heapscan_sum){1, 48};
	/* The range of sizes is another, and the same class of sizes. */
	after.groups.data[1].size = 4090;
	scan_growth_init(&g, &before, &after);
	T_EQ(g.seconds, 60);
	T_EQ(g.lost_blocks, 3);
	T_EQ(g.lost_bytes, 72);
	T_EQ(g.kept_bytes, 30);
	T_EQ(g.rows.len, 3);
	T_EQ(g.rows.data[0].group, 1);
	T_EQ(g.rows.data[0].old_group, 1);
	T_EQ(g.rows.data[0].bytes, 300000);
	T_EQ(g.rows.data[0].lost_blocks, 0);
	T_EQ(g.rows.data[1].lost_blocks, 3);
	T_EQ(g.rows.data[2].old_group, UINT32_MAX);
	scan_growth_done(&g);
	/* The other way round it shrinks. */
	scan_growth_init(&g, &after, &before);
	T_EQ(g.rows.data[2].bytes, -300000);
	T_EQ(g.lost_blocks, -3);
	T_EQ(g.seconds, 0);
	scan_growth_done(&g);
	heapscan_done(&before);
	heapscan_done(&after);
}

T_TEST(partial)
{
	struct heapscan s = {.anon_bytes = 100 << 20};

	vec_push(&s.arenas,
		 (struct heapscan_arena){.used_bytes = 30 << 20, .free_bytes = 21 << 20});
	T_CHECK(!scan_is_partial(&s));
	s.arenas.data[0].free_bytes = 19 << 20;
	T_CHECK(scan_is_partial(&s));
	s.anon_bytes = 0; /* not known */
	T_CHECK(!scan_is_partial(&s));
	heapscan_done(&s);
}

/* What was found comes first, then what was not seen. */
T_TEST(verdicts)
{
	struct heapscan s = {.anon_bytes = 20 << 20};
	struct scan_growth g = {0};

	vec_push(&s.arenas, (struct heapscan_arena){.used_bytes = 19 << 20});
	T_EQ(scan_decide(&s, NULL).word, VERDICT_OK);
	s.sums[HEAPSCAN_POSSIBLE] = (struct heapscan_sum){500, 1 << 20};
	T_EQ(scan_decide(&s, NULL).word, VERDICT_OK);
	s.arenas.data[0].gap_bytes = 1 << 20;
	T_EQ(scan_decide(&s, NULL).word, VERDICT_NO_VERDICT);
	T_EQ(scan_decide(&s, NULL).why, VERDICT_WHY_UNREAD);
	s.arenas.data[0].gap_bytes = 0;
	T_EQ(scan_decide(&s, NULL).word, VERDICT_OK);
	s.missed.blocks = 1; /* however small it is beside the others */
	T_EQ(scan_decide(&s, NULL).word, VERDICT_NO_VERDICT);
	T_EQ(scan_decide(&s, NULL).why, VERDICT_WHY_UNREAD);
	s.missed.blocks = 0;
	s.arenas.data[0].gap_bytes = 1 << 20;
	s.sums[HEAPSCAN_INDIRECT] = (struct heapscan_sum){98, 60000};
	s.sums[HEAPSCAN_DEFINITE] = (struct heapscan_sum){1, 5536};
	T_EQ(scan_decide(&s, NULL).word, VERDICT_LEAK_MINOR);
	s.sums[HEAPSCAN_DEFINITE].bytes++;
	T_EQ(scan_decide(&s, NULL).word, VERDICT_LEAK);
	s.anon_bytes = 100 << 20;
	T_EQ(scan_decide(&s, NULL).word, VERDICT_LEAK);
	T_EQ(scan_decide(&s, NULL).also, 1u << VERDICT_PARTIAL);
	s.anon_bytes = 20 << 20;
	s.arenas.data[0].gap_bytes = 0;
	T_EQ(scan_decide(&s, &g).word, VERDICT_STEADY); /* lost before the earlier look */
	g.kept_bytes = 5 << 20;
	T_EQ(scan_decide(&s, &g).word, VERDICT_GROWING);
	T_CHECK(scan_keeps_more(&s, &g));
	g.kept_bytes = 0;
	g.bytes = 1000;
	T_EQ(scan_decide(&s, &g).word, VERDICT_GROWING);
	g.lost_blocks = 1;
	T_EQ(scan_decide(&s, &g).word, VERDICT_LEAK_MINOR);
	heapscan_done(&s);
}

static const char *
looks(const struct memmap *map, const void *data, size_t bytes)
{
	static char words[80];

	blocklook_words(blocklook(map, data, bytes), words, sizeof words);
	return words;
}

T_TEST(what_blocks_look_like)
{
	/* An address all of whose bytes are letters. */
	uint64_t words[4] = {UINT64_C(0x555a51504948), 0, 77,
			     UINT64_C(0x4048000000000000)};
	unsigned char same[40];
	struct memmap map = {0};

	vec_push(&map.areas, (struct memmap_area){.start = UINT64_C(0x555a51504000),
						  .end = UINT64_C(0x555a51505000),
						  .name = "",
						  .perms = "rw-p"});
	T_STR(looks(&map, words, sizeof words),
	      "pointer, zero, small number, floating point");
	T_STR(looks(&map, words, 16), "pointer, zero");
	T_STR(looks(&map, "hello world, this is text", 25), "text");
	memset(same, 0, sizeof same);
	T_STR(looks(&map, same, sizeof same), "all zero");
	memset(same, 0x5a, sizeof same);
	T_STR(looks(&map, same, sizeof same), "all bytes equal");
	T_STR(looks(&map, same, 0), "");
	memmap_done(&map);
}

T_MAIN()
