/* SPDX-License-Identifier: MIT */
/* test_loss_watch.c -- which interval a lost block gets: worked out by hand, check by
 * check. */
#include "t.h"
#include "tool/session/leaks/loss_watch.h"

/* One check at `ms` that finds these blocks lost. */
struct lost {
	uint64_t addr, bytes;
	uint32_t site, birth_ms;
	uint8_t kind;
};

static void
check(struct loss_watch *w, uint64_t us, const struct lost *all, size_t n)
{
	loss_watch_begin(w);
	for (size_t i = 0; i < n; i++) {
		struct scan_block b = {.addr = all[i].addr,
				       .bytes = all[i].bytes,
				       .site = all[i].site,
				       .state = all[i].kind};

		loss_watch_add(w, &b, all[i].birth_ms);
	}
	loss_watch_made(w, us, 1000, false);
}

#define CHECK(w, us, ...)                                                                \
	check(w, us, (const struct lost[]){__VA_ARGS__},                                 \
	      sizeof((const struct lost[]){__VA_ARGS__}) / sizeof(struct lost))

static struct prof_moment
only(const struct loss_watch *w)
{
	struct loss_watch_spans s;
	struct prof_moment m = {0};

	loss_watch_spans(w, &s);
	T_EQ(s.len, 1);
	if (s.len > 0)
		m = s.data[0];
	vec_done(&s);
	return m;
}

T_TEST(between_two_checks)
{
	struct loss_watch w = {0};
	struct prof_moment m;

	check(&w, 1000400, NULL, 0);
	CHECK(&w, 2000400, {0x1000, 31, 7, 13, CLASSIFY_DEFINITE});
	CHECK(&w, 3000400, {0x1000, 31, 7, 13, CLASSIFY_DEFINITE});
	m = only(&w);
	T_EQ(m.from_ms, 1000);
	T_EQ(m.to_ms, 2001);
	T_EQ(m.blocks, 1);
	T_EQ(m.bytes, 31);
	T_EQ(w.new_blocks, 0);
	loss_watch_done(&w);
}

T_TEST(not_before_its_birth)
{
	struct loss_watch w = {0};

	CHECK(&w, 500000, {0x1000, 31, 7, 13, CLASSIFY_DEFINITE});
	T_EQ(only(&w).from_ms, 13);
	CHECK(&w, 900000, {0x1000, 31, 7, 13, CLASSIFY_DEFINITE},
	      {0x2000, 37, 7, 777, CLASSIFY_DEFINITE});
	T_EQ(w.new_blocks, 1);
	T_EQ(w.new_bytes, 37);
	T_EQ(w.new_site, 7);
	loss_watch_done(&w);
}

/* An address that was freed and handed out again is another block. */
T_TEST(address_again)
{
	struct loss_watch w = {0};
	struct prof_moment m;

	CHECK(&w, 100000, {0x1000, 31, 7, 13, CLASSIFY_DEFINITE});
	CHECK(&w, 300000, {0x1000, 31, 7, 211, CLASSIFY_DEFINITE});
	m = only(&w);
	T_EQ(m.from_ms, 211);
	T_EQ(m.to_ms, 300);
	T_EQ(w.rounds.data[1].row.again_blocks, 1);
	T_EQ(w.rounds.data[1].row.again_bytes, 31);
	loss_watch_done(&w);
}

T_TEST(check_left_out)
{
	struct loss_watch w = {0};
	struct prof_moment m;

	check(&w, 100000, NULL, 0);
	loss_watch_failed(&w, 200, "no room");
	loss_watch_failed(&w, 300, "too long");
	CHECK(&w, 400000, {0x1000, 31, 7, 13, CLASSIFY_DEFINITE});
	m = only(&w);
	T_EQ(m.from_ms, 100);
	T_EQ(m.to_ms, 400);
	T_EQ(w.rounds.len, 3);
	T_EQ(w.rounds.data[1].row.checks, 2);
	T_STR(w.rounds.data[1].why, "too long");
	loss_watch_done(&w);
}

/* Lost, found again, lost once more: either may be the truth. */
T_TEST(found_again)
{
	struct loss_watch w = {0};
	struct loss_watch_spans s;
	struct prof_moment m;

	check(&w, 100000, NULL, 0);
	CHECK(&w, 200000, {0x1000, 31, 7, 13, CLASSIFY_DEFINITE});
	check(&w, 300000, NULL, 0);
	loss_watch_spans(&w, &s);
	T_EQ(s.len, 0);
	vec_done(&s);
	T_EQ(w.rounds.data[2].row.again_blocks, 1);
	CHECK(&w, 400000, {0x1000, 31, 7, 13, CLASSIFY_DEFINITE});
	m = only(&w);
	T_EQ(m.from_ms, 100);
	T_EQ(m.to_ms, 400);
	loss_watch_done(&w);
}

T_TEST(possibly_first)
{
	struct loss_watch w = {0};
	struct prof_moment m;

	check(&w, 100000, NULL, 0);
	CHECK(&w, 200000, {0x1000, 31, 7, 13, CLASSIFY_POSSIBLE});
	T_EQ(only(&w).kind, PROF_LOSS_POSSIBLE);
	CHECK(&w, 300000, {0x1000, 31, 7, 13, CLASSIFY_DEFINITE});
	m = only(&w);
	T_EQ(m.kind, PROF_LOSS_DEFINITE);
	T_EQ(m.from_ms, 100);
	T_EQ(m.to_ms, 300);
	T_EQ(w.rounds.data[1].row.possible_bytes, 31);
	T_EQ(w.rounds.data[2].row.lost_bytes, 31);
	loss_watch_done(&w);
}

/* However long it runs: neighbours are put together, and nothing is lost by that. */
T_TEST(bounds)
{
	struct loss_watch w = {0};
	struct loss_watch_spans s;
	uint64_t blocks = 0, checks = 0;

	for (unsigned i = 1; i <= 3 * LOSS_WATCH_ROUNDS; i++) {
		loss_watch_begin(&w);
		for (unsigned k = 0; k < i && k < 199; k++) {
			struct scan_block b = {.addr = 0x1000 + k * 64, .bytes = 31};

			loss_watch_add(&w, &b, 0);
		}
		loss_watch_made(&w, i * 1000000, 1, false);
	}
	T_CHECK(w.rounds.len <= LOSS_WATCH_ROUNDS);
	for (size_t i = 0; i < w.rounds.len; i++)
		checks += w.rounds.data[i].row.checks;
	T_EQ(checks, 3 * LOSS_WATCH_ROUNDS);
	loss_watch_spans(&w, &s);
	T_CHECK(s.len <= LOSS_WATCH_SPANS && s.len > LOSS_WATCH_SPANS / 2);
	for (size_t i = 0; i < s.len; i++) {
		blocks += s.data[i].blocks;
		T_CHECK(i == 0 || s.data[i].from_ms == s.data[i - 1].to_ms);
	}
	T_EQ(blocks, 199);
	vec_done(&s);
	loss_watch_done(&w);
}

T_TEST(too_many)
{
	struct loss_watch w = {0};

	for (int round = 0; round < 2; round++) {
		loss_watch_begin(&w);
		for (uint64_t k = 0; k < LOSS_WATCH_BLOCKS + 1009; k++) {
			struct scan_block b = {.addr = k * 16, .bytes = 1};

			loss_watch_add(&w, &b, 0);
		}
		loss_watch_made(&w, 1000000, 1, false);
		T_EQ(w.blocks.len, LOSS_WATCH_BLOCKS);
		T_EQ(w.rounds.data[round].row.unfollowed_blocks, 1009);
		T_EQ(w.rounds.data[round].row.again_blocks, 0);
	}
	loss_watch_done(&w);
}

T_MAIN()
