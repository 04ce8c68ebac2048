/* SPDX-License-Identifier: MIT */
/* verdict_rules.c -- see verdict_rules.h. */
#include "tool/analyze/verdict/verdict_rules.h"

#include <stddef.h>

static const struct {
	const char *name;
	enum verdict_severity severity;
} words[VERDICT_WORDS] = {
	[VERDICT_OK] = {"OK", VERDICT_SEVERITY_OK},
	[VERDICT_STEADY] = {"STEADY", VERDICT_SEVERITY_OK},
	[VERDICT_NO_VERDICT] = {"NO VERDICT", VERDICT_SEVERITY_UNKNOWN},
	[VERDICT_PARTIAL] = {"PARTIAL", VERDICT_SEVERITY_UNKNOWN},
	[VERDICT_GROWING] = {"GROWING", VERDICT_SEVERITY_WARNING},
	[VERDICT_LEAK_LIKELY] = {"LEAK likely", VERDICT_SEVERITY_ERROR},
	[VERDICT_LEAK_MINOR] = {"LEAK (minor)", VERDICT_SEVERITY_WARNING},
	[VERDICT_LEAK] = {"LEAK", VERDICT_SEVERITY_ERROR},
	[VERDICT_KILLED] = {"KILLED", VERDICT_SEVERITY_ERROR},
	[VERDICT_WRONG] = {"WRONG", VERDICT_SEVERITY_ERROR},
};

const char *
verdict_word_name(enum verdict_word word)
{
	return words[word].name;
}

enum verdict_severity
verdict_severity(enum verdict_word word)
{
	return words[word].severity;
}

const char *
verdict_severity_name(enum verdict_severity severity)
{
	static const char *const names[] = {
		[VERDICT_SEVERITY_OK] = "ok",
		[VERDICT_SEVERITY_UNKNOWN] = "unknown",
		[VERDICT_SEVERITY_WARNING] = "warning",
		[VERDICT_SEVERITY_ERROR] = "error",
	};

	return names[severity];
}

const char *
verdict_why_name(enum verdict_why why)
{
	static const char *const names[VERDICT_WHYS] = {
		[VERDICT_WHY_NOT_RECORDED] = "not-recorded",
		[VERDICT_WHY_CUT_SHORT] = "recording-cut-short",
		[VERDICT_WHY_UNHOOKED] = "allocator-not-hooked",
		[VERDICT_WHY_PAST] = "calls-not-seen",
		[VERDICT_WHY_MANAGED] = "managed-heap",
		[VERDICT_WHY_UNREAD] = "heap-not-read",
		[VERDICT_WHY_FEW_SAMPLES] = "too-few-samples",
		[VERDICT_WHY_NO_CHECK] = "no-leak-check",
		[VERDICT_WHY_EARLY] = "too-early",
	};

	return names[why];
}

/* Could what a sampled program left have become more and more, with too few samples for a
 * rise to show? So it could if some were made late; a floor that was reached early has
 * none of these. */
static bool
verdict_may_grow(const struct verdict_facts *f)
{
	return f->left_bytes > VERDICT_MINOR_BYTES &&
	       f->late_samples >= VERDICT_LATE_SAMPLES;
}

/* What stands in the way of an all-clear. */
static enum verdict_why
verdict_obstacle(const struct verdict_facts *f)
{
	if (!f->recorded)
		return VERDICT_WHY_NOT_RECORDED;
	if (f->cut_short)
		return VERDICT_WHY_CUT_SHORT;
	if (f->unhooked)
		return VERDICT_WHY_UNHOOKED;
	if (f->past)
		return VERDICT_WHY_PAST;
	if (f->managed)
		return VERDICT_WHY_MANAGED;
	if (f->unread)
		return VERDICT_WHY_UNREAD;
	if (!f->ended && f->grows_little)
		return VERDICT_WHY_EARLY;
	if (f->sampled && f->samples < VERDICT_MIN_SAMPLES)
		return VERDICT_WHY_FEW_SAMPLES;
	/* That nothing is lost of some blocks, seen for a moment, is no answer yet. */
	if (f->checked && (f->ended || !(f->sampled || f->late) || f->growth_judged))
		return VERDICT_WHY_NONE;
	/* Sampled blocks cannot be searched for pointers, but a floor that stayed flat is
	 * an answer too. */
	if (f->ended && f->left_blocks > 0 &&
	    !(f->sampled && f->growth_judged && !verdict_may_grow(f)))
		return VERDICT_WHY_NO_CHECK;
	if (!f->ended && !f->growth_judged)
		return VERDICT_WHY_EARLY;
	return VERDICT_WHY_NONE;
}

/* Does it not grow, without it being known that nothing is lost? What a sampled program
 * has left may have been lost at first, or once. */
static bool
verdict_is_steady(const struct verdict_facts *f)
{
	if (!f->ended)
		return f->growth_judged;
	return !f->checked && f->sampled && f->left_bytes > VERDICT_MINOR_BYTES;
}

static enum verdict_word
verdict_of_loss(const struct verdict_facts *f)
{
	return f->lost_bytes > VERDICT_MINOR_BYTES ||
			       f->lost_blocks >= VERDICT_MINOR_BLOCKS ||
			       f->lost_intervals >= VERDICT_MINOR_INTERVALS
		       ? VERDICT_LEAK
		       : VERDICT_LEAK_MINOR;
}

/* Words that match by evidence; OK, STEADY and NO VERDICT are what is left without
 * any. */
static unsigned
verdict_matches(const struct verdict_facts *f)
{
	unsigned found = 0;

	if (f->wrong > 0)
		found |= 1u << VERDICT_WRONG;
	if (f->signal != 0)
		found |= 1u << VERDICT_KILLED;
	if (f->lost_blocks > 0)
		found |= 1u << verdict_of_loss(f);
	/* What grows and was found to be reachable is not lost. What may have been freed
	 * past the hooks need not be lost either. */
	if (f->growth == GROWTH_LEAK)
		found |= 1u << (f->checked || f->past ? VERDICT_GROWING
						      : VERDICT_LEAK_LIKELY);
	/* A short program has no trend: it is over before it would show. */
	if (f->growth == GROWTH_GROWING && (f->growth_judged || !f->ended))
		found |= 1u << VERDICT_GROWING;
	if (f->grows_outside)
		found |= 1u << VERDICT_GROWING;
	if (f->partial)
		found |= 1u << VERDICT_PARTIAL;
	return found;
}

struct verdict_answer
verdict_decide(const struct verdict_facts *f)
{
	struct verdict_answer a = {0};
	unsigned found = verdict_matches(f);

	if (found == 0) {
		a.why = verdict_obstacle(f);
		a.word = a.why != VERDICT_WHY_NONE ? VERDICT_NO_VERDICT
			 : verdict_is_steady(f)	   ? VERDICT_STEADY
						   : VERDICT_OK;
		return a;
	}
	while (a.word + 1 < VERDICT_WORDS && found >> (a.word + 1) != 0)
		a.word++;
	a.also = found & ~(1u << a.word);
	return a;
}
