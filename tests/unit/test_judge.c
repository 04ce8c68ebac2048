/* SPDX-License-Identifier: MIT */
/* test_judge.c -- conditions on a run: what is read, what is counted, and what is new
 * beside a baseline. */
#include "t.h"
#include "t_prof.h"
#include "tool/analyze/verdict/judge.h"

static struct err e;

static unsigned
met(const char *text, const struct judge_figures *f)
{
	struct judge j = {0};
	unsigned n;

	e = (struct err){0};
	T_EQ(judge_read(&j, text, &e), 0);
	n = judge_all(&j, f);
	vec_done(&j);
	return n;
}

T_TEST(conditions)
{
	struct judge_figures f = {.peak_bytes = 200 << 20,
				  .left_bytes = 77,
				  .left_blocks = 3,
				  .allocs = 19,
				  .errors = 2};

	f.losses.blocks[PROF_LOSS_DEFINITE] = 5;
	f.losses.bytes[PROF_LOSS_DEFINITE] = 1025;
	f.losses.blocks[PROF_LOSS_POSSIBLE] = 2;
	f.losses.blocks[PROF_LOSS_REACHABLE] = 100;
	f.records[PROF_LOSS_DEFINITE] = 1;
	T_EQ(met("definite>0", &f), 1);
	T_EQ(met("definite>4,definite>5", &f), 1);
	T_EQ(met("definite-bytes > 1K", &f), 1);
	T_EQ(met("definite-bytes>=1025,definite-bytes<1025,definite-bytes!=1025", &f), 1);
	T_EQ(met("definite-records==1,definite-blocks=5,definite<=5", &f), 3);
	T_EQ(met("leak,leak==5,growth,definite", &f), 3);
	T_EQ(met("lost==7,indirect>0,suppressed>0", &f), 1);
	T_EQ(met("peak>200M,peak>199.9M", &f), 1);
	T_EQ(met("left==3,left-bytes==77,allocs<20,rss>0,allocated>0,errors>1", &f), 4);
}

static void
refused(const char *text, const char *message)
{
	struct judge j = {0};

	e = (struct err){0};
	T_CHECK(judge_read(&j, text, &e) < 0);
	T_CHECK(strstr(e.msg, message) != NULL);
	vec_done(&j);
}

T_TEST(wrong_conditions)
{
	refused("", "\"\": want a condition such as leak");
	refused("definite>0,", "\"\": want a condition");
	refused("nonsense", "\"nonsense\": no such figure");
	refused(">0", "\">0\": want a condition");
	refused("definite>", "\"definite>\": want a number behind the >");
	refused("definite>x", "want a number behind the >");
	refused("definite>-1", "want a number behind the >");
	refused("lots>0", "\"lots\": no such figure; there are definite, indirect");
	refused("definite-parts>0", "no such figure");
	refused("peak-bytes>0", "no such figure");
	refused("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa>0",
		"too long");
}

static void
loss(struct prof *p, uint32_t site, enum prof_loss_kind kind, uint64_t blocks,
     uint64_t bytes)
{
	uint32_t row = prof_add_loss(p);

	p->losses[row] = (struct prof_loss){
		.site = site, .kind = (uint8_t)kind, .blocks = blocks, .bytes = bytes};
}

static void
sum(struct prof *p, struct judge_figures *f, struct judge_places *places)
{
	static const struct loss_opts o;
	struct skip *s = skip_new(p, NULL);

	judge_sum(p, s, NULL, &o, f, places);
	skip_free(s);
}

T_TEST(sums)
{
	struct prof *p = tp_demo();
	struct judge_figures f;
	struct judge_places places = {0};

	loss(p, 1, PROF_LOSS_DEFINITE, 79, 3000);
	loss(p, 1, PROF_LOSS_INDIRECT, 1, 100);
	loss(p, 2, PROF_LOSS_DEFINITE, 40, 5000);
	sum(p, &f, &places);
	T_EQ(f.losses.blocks[PROF_LOSS_DEFINITE], 119);
	T_EQ(f.losses.bytes[PROF_LOSS_DEFINITE], 8000);
	T_EQ(f.records[PROF_LOSS_DEFINITE], 2);
	T_EQ(f.records[PROF_LOSS_INDIRECT], 1);
	T_EQ(f.left_blocks, 120);
	T_EQ(f.left_bytes, 6430720);
	T_EQ(f.allocs, 120);
	T_STR(strtab_str(&places.keys, 1), "do_something;main");
	judge_places_done(&places);
	prof_free(p);
}

/* A leak that went away does not hide a new one. */
T_TEST(baseline)
{
	struct prof *p = tp_demo();
	struct judge_figures f, before;
	struct judge_places places = {0}, base = {0};

	loss(p, 1, PROF_LOSS_DEFINITE, 79, 3000);
	loss(p, 2, PROF_LOSS_DEFINITE, 40, 5000);
	sum(p, &f, &places);
	before = f;
	before.allocs = 100;
	before.peak_bytes = 1 << 30;
	judge_places_add(&base, "do_something;main", PROF_LOSS_DEFINITE, 70, 2900);
	judge_places_add(&base, "gone;main", PROF_LOSS_DEFINITE, 1000, 100000);
	judge_places_add(&base, "do_something_else;main", PROF_LOSS_POSSIBLE, 40, 5000);
	judge_subtract(&f, &places, &before, &base);
	T_EQ(f.losses.blocks[PROF_LOSS_DEFINITE], 49);
	T_EQ(f.losses.bytes[PROF_LOSS_DEFINITE], 5100);
	T_EQ(f.records[PROF_LOSS_DEFINITE], 2);
	T_EQ(f.losses.blocks[PROF_LOSS_POSSIBLE], 0);
	T_EQ(f.allocs, 20);
	T_EQ(f.peak_bytes, 0);
	judge_places_done(&places);
	judge_places_done(&base);
	prof_free(p);
}

/* Larger blocks are new as far as they have more bytes. A few more blocks are those that
 * came. */
T_TEST(larger)
{
	static const struct {
		uint64_t blocks, bytes, base_blocks, base_bytes, more_blocks, more_bytes;
	} cases[] = {
		{10, 10000, 10, 10000, 0, 0},
		{10, 10000000, 10, 10000, 10, 9990000},
		{10, 10001, 10, 10000, 1, 1},
		{11, 20000, 10, 10000, 1, 10000},
		{11, 2000000, 10, 10000, 11, 1990000},
		{12, 9000, 10, 10000, 2, 0},
		{5, 5000, 10, 10000, 0, 0},
		{3, 0, 0, 0, 3, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct judge_losses now = {0}, base = {0}, more;

		now.blocks[PROF_LOSS_DEFINITE] = cases[i].blocks;
		now.bytes[PROF_LOSS_DEFINITE] = cases[i].bytes;
		base.blocks[PROF_LOSS_DEFINITE] = cases[i].base_blocks;
		base.bytes[PROF_LOSS_DEFINITE] = cases[i].base_bytes;
		more = judge_more_losses(&now, &base);
		T_EQ(more.blocks[PROF_LOSS_DEFINITE], cases[i].more_blocks);
		T_EQ(more.bytes[PROF_LOSS_DEFINITE], cases[i].more_bytes);
	}
}

/* What a baseline has is marked, a row that has more is split, and a lost ring may begin
 * elsewhere. */
T_TEST(known)
{
	struct prof *p = tp_demo();
	struct skip *s = skip_new(p, NULL);
	struct judge_places base = {0};
	struct judge_figures f;

	loss(p, 1, PROF_LOSS_DEFINITE, 79, 7900);
	loss(p, 2, PROF_LOSS_INDIRECT, 40, 5000);
	judge_places_add(&base, "do_something;main", PROF_LOSS_DEFINITE, 70, 7000);
	judge_places_add(&base, "do_something_else;main", PROF_LOSS_DEFINITE, 40, 5000);
	judge_mark_known(p, s, &base);
	T_EQ(p->nlosses, 3);
	T_EQ(p->losses[0].kind, PROF_LOSS_DEFINITE);
	T_EQ(p->losses[0].blocks, 9);
	T_EQ(p->losses[0].bytes, 900);
	T_CHECK(p->losses[1].known);
	T_EQ(p->losses[1].was, PROF_LOSS_INDIRECT);
	T_CHECK(p->losses[2].known);
	T_EQ(p->losses[2].kind, PROF_LOSS_SUPPRESSED);
	T_EQ(p->losses[2].blocks, 70);
	T_EQ(p->losses[2].bytes, 7000);
	sum(p, &f, NULL);
	T_EQ(f.losses.blocks[PROF_LOSS_DEFINITE], 9);
	judge_places_done(&base);
	skip_free(s);
	prof_free(p);
}

T_MAIN()
