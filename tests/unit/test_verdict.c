/* SPDX-License-Identifier: MIT */
/* test_verdict.c -- the table of verdicts, row by row: the facts on the left, the words
 * on the right. */
#include "tool/analyze/verdict/verdict_rules.h"

#include <string.h>

#include "t.h"

#define WORD(w) (1u << VERDICT_##w)

/* A program that ended, was checked and lost nothing. */
#define CLEAN .recorded = true, .ended = true, .checked = true, .growth_judged = true
/* One that runs and was watched for long enough. */
#define RUNS .recorded = true, .growth_judged = true, .left_blocks = 7

static const struct {
	const char *what;
	struct verdict_facts facts;
	enum verdict_word word;
	enum verdict_why why;
	unsigned also;
} rows[] = {
	{"clean", {CLEAN}, VERDICT_OK, 0, 0},
	{"still reachable", {CLEAN, .left_blocks = 1000}, VERDICT_OK, 0, 0},
	{"everything freed, not checked",
	 {.recorded = true, .ended = true},
	 VERDICT_OK,
	 0,
	 0},
	{"nothing recorded", {0}, VERDICT_NO_VERDICT, VERDICT_WHY_NOT_RECORDED, 0},
	{"left, not checked",
	 {.recorded = true, .ended = true, .left_blocks = 1},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_NO_CHECK,
	 0},
	{"cut short",
	 {CLEAN, .cut_short = true},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_CUT_SHORT,
	 0},
	{"not hooked in full",
	 {CLEAN, .unhooked = true},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_UNHOOKED,
	 0},
	{"attached to a moment ago, nothing of it lost",
	 {.recorded = true, .late = true, .checked = true, .left_blocks = 7},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_EARLY,
	 0},
	{"attached to long ago, nothing of it lost",
	 {RUNS, .late = true, .checked = true},
	 VERDICT_STEADY,
	 0,
	 0},
	{"attached to long ago, and mappings grow by a little",
	 {RUNS, .late = true, .checked = true, .grows_little = true},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_EARLY,
	 0},
	{"mappings grew by a little until it ended",
	 {CLEAN, .grows_little = true},
	 VERDICT_OK,
	 0,
	 0},
	{"recorded from its start, runs, nothing lost",
	 {.recorded = true, .checked = true, .left_blocks = 7},
	 VERDICT_OK,
	 0,
	 0},
	{"blocks that a collector frees",
	 {.recorded = true, .checked = true, .managed = true},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_MANAGED,
	 0},
	{"heap not read in full",
	 {.recorded = true, .checked = true, .unread = true},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_UNREAD,
	 0},

	/* losses */
	{"one block",
	 {CLEAN, .lost_bytes = 8, .lost_blocks = 1},
	 VERDICT_LEAK_MINOR,
	 0,
	 0},
	{"64 KiB in 99 blocks",
	 {CLEAN, .lost_bytes = 65536, .lost_blocks = 99},
	 VERDICT_LEAK_MINOR,
	 0,
	 0},
	{"a byte more",
	 {CLEAN, .lost_bytes = 65537, .lost_blocks = 99},
	 VERDICT_LEAK,
	 0,
	 0},
	{"100 blocks",
	 {CLEAN, .lost_bytes = 100, .lost_blocks = 100},
	 VERDICT_LEAK,
	 0,
	 0},
	{"in two intervals",
	 {CLEAN, .lost_bytes = 16, .lost_blocks = 2, .lost_intervals = 2},
	 VERDICT_LEAK_MINOR,
	 0,
	 0},
	{"in three intervals",
	 {CLEAN, .lost_bytes = 24, .lost_blocks = 3, .lost_intervals = 3},
	 VERDICT_LEAK,
	 0,
	 0},
	{"lost, and cut short: what was found comes first",
	 {CLEAN, .lost_bytes = 8, .lost_blocks = 1, .cut_short = true},
	 VERDICT_LEAK_MINOR,
	 0,
	 0},
	{"lost, and most was not seen",
	 {CLEAN, .lost_bytes = 8, .lost_blocks = 1, .partial = true},
	 VERDICT_LEAK_MINOR,
	 0,
	 WORD(PARTIAL)},

	/* growth */
	{"grows like a leak", {RUNS, .growth = GROWTH_LEAK}, VERDICT_LEAK_LIKELY, 0, 0},
	{"grows like a leak, but is reachable",
	 {RUNS, .growth = GROWTH_LEAK, .checked = true},
	 VERDICT_GROWING,
	 0,
	 0},
	{"grows", {RUNS, .growth = GROWTH_GROWING}, VERDICT_GROWING, 0, 0},
	{"rises, watched for a short time",
	 {.recorded = true, .growth = GROWTH_GROWING},
	 VERDICT_GROWING,
	 0,
	 0},
	{"a short program that rose is over",
	 {.recorded = true, .ended = true, .checked = true, .growth = GROWTH_GROWING},
	 VERDICT_OK,
	 0,
	 0},
	{"a long one that rose",
	 {CLEAN, .growth = GROWTH_GROWING},
	 VERDICT_GROWING,
	 0,
	 0},
	{"outside malloc", {RUNS, .grows_outside = true}, VERDICT_GROWING, 0, 0},
	{"does not grow", {RUNS, .growth = GROWTH_STEADY}, VERDICT_STEADY, 0, 0},
	{"too early",
	 {.recorded = true, .left_blocks = 7},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_EARLY,
	 0},
	{"runs, checked, growth unknown",
	 {.recorded = true, .checked = true},
	 VERDICT_OK,
	 0,
	 0},
	{"lost and growing",
	 {CLEAN, .lost_bytes = 1 << 20, .lost_blocks = 1, .growth = GROWTH_LEAK},
	 VERDICT_LEAK,
	 0,
	 WORD(GROWING)},

	/* samples */
	{"nine samples",
	 {CLEAN, .sampled = true, .samples = 9},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_FEW_SAMPLES,
	 0},
	{"ten samples, nothing left",
	 {.recorded = true, .ended = true, .sampled = true, .samples = 10},
	 VERDICT_OK,
	 0,
	 0},
	{"ten samples, some left, no growth",
	 {.recorded = true,
	  .ended = true,
	  .sampled = true,
	  .samples = 10,
	  .left_blocks = 3,
	  .growth_judged = true},
	 VERDICT_OK,
	 0,
	 0},
	{"ten samples, much left, no growth: it may have been lost at first",
	 {.recorded = true,
	  .ended = true,
	  .sampled = true,
	  .samples = 10,
	  .left_blocks = 3,
	  .left_bytes = 65537,
	  .growth_judged = true},
	 VERDICT_STEADY,
	 0,
	 0},
	{"much left, three samples of it made late: it may grow",
	 {.recorded = true,
	  .ended = true,
	  .sampled = true,
	  .samples = 10,
	  .late_samples = 3,
	  .left_blocks = 3,
	  .left_bytes = 65537,
	  .growth_judged = true},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_NO_CHECK,
	 0},
	{"much left, two samples of it made late",
	 {.recorded = true,
	  .ended = true,
	  .sampled = true,
	  .samples = 10,
	  .late_samples = 2,
	  .left_blocks = 3,
	  .left_bytes = 65537,
	  .growth_judged = true},
	 VERDICT_STEADY,
	 0,
	 0},
	{"ten samples, some left, growth not known",
	 {.recorded = true,
	  .ended = true,
	  .sampled = true,
	  .samples = 10,
	  .left_blocks = 3},
	 VERDICT_NO_VERDICT,
	 VERDICT_WHY_NO_CHECK,
	 0},
	{"few samples that grow are growth",
	 {.recorded = true, .sampled = true, .samples = 9, .growth = GROWTH_GROWING},
	 VERDICT_GROWING,
	 0,
	 0},

	/* the rest, and the order */
	{"partial", {CLEAN, .partial = true}, VERDICT_PARTIAL, 0, 0},
	{"killed",
	 {.recorded = true, .ended = true, .signal = 9, .left_blocks = 3},
	 VERDICT_KILLED,
	 0,
	 0},
	{"killed while it leaked",
	 {.recorded = true, .ended = true, .signal = 9, .growth = GROWTH_LEAK},
	 VERDICT_KILLED,
	 0,
	 WORD(LEAK_LIKELY)},
	{"all at once",
	 {.recorded = true,
	  .ended = true,
	  .signal = 6,
	  .wrong = 1,
	  .lost_blocks = 1,
	  .lost_bytes = 1,
	  .growth = GROWTH_LEAK,
	  .grows_outside = true,
	  .partial = true},
	 VERDICT_WRONG,
	 0,
	 WORD(KILLED) | WORD(LEAK_MINOR) | WORD(LEAK_LIKELY) | WORD(GROWING) |
		 WORD(PARTIAL)},
};

T_TEST(rows_of_the_table)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct verdict_answer a = verdict_decide(&rows[i].facts);

		if (a.word != rows[i].word || a.why != rows[i].why ||
		    a.also != rows[i].also)
			printf("    %s: %s\n", rows[i].what, verdict_word_name(a.word));
		T_EQ(a.word, rows[i].word);
		T_EQ(a.why, rows[i].why);
		T_EQ(a.also, rows[i].also);
	}
}

/* Scripts depend on these. */
T_TEST(names)
{
	static const struct {
		const char *name, *severity;
	} want[VERDICT_WORDS] = {
		{"OK", "ok"},
		{"STEADY", "ok"},
		{"NO VERDICT", "unknown"},
		{"PARTIAL", "unknown"},
		{"GROWING", "warning"},
		{"LEAK likely", "error"},
		{"LEAK (minor)", "warning"},
		{"LEAK", "error"},
		{"KILLED", "error"},
		{"WRONG", "error"},
	};

	for (int i = 0; i < VERDICT_WORDS; i++) {
		enum verdict_word word = (enum verdict_word)i;

		T_STR(verdict_word_name(word), want[i].name);
		T_STR(verdict_severity_name(verdict_severity(word)), want[i].severity);
	}
	T_CHECK(verdict_why_name(VERDICT_WHY_NONE) == NULL);
	for (int i = 1; i < VERDICT_WHYS; i++)
		T_CHECK(verdict_why_name((enum verdict_why)i) != NULL);
}

T_MAIN()
