/* SPDX-License-Identifier: MIT */
/* verdict_rules.h -- the table of verdicts: which word a set of facts gets.
 *
 * Every command that answers "is it leaking?" fills in what it knows and asks
 * verdict_decide, so that the same facts get the same word wherever they are shown.
 * docs/verdicts.md has a row and an example for each word; a test compares it with the
 * table in here.
 *
 * Pure: figures in, words out. Which processes a report is about, and where the figures
 * come from, is the caller's business (verdict.h for recordings). */
#ifndef SEEP_ANALYZE_VERDICT_RULES_H
#define SEEP_ANALYZE_VERDICT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/growth/growth.h"

/* In ascending order: of several words that match, the last one is the first word of the
 * report. */
enum verdict_word {
	VERDICT_OK = 0, /* ended, nothing lost */
	VERDICT_STEADY, /* does not grow; runs, or whether all is reachable is unknown */
	VERDICT_NO_VERDICT,  /* undecided; enum verdict_why says what is missing */
	VERDICT_PARTIAL,     /* most of its memory, or of its growth, was not seen */
	VERDICT_GROWING,     /* grows, but is reachable, outside malloc or never freed */
	VERDICT_LEAK_LIKELY, /* grows like a leak; reachability is unknown */
	VERDICT_LEAK_MINOR,  /* a small definite loss */
	VERDICT_LEAK,	     /* definitely or indirectly lost */
	VERDICT_KILLED,	     /* died by a signal or the OOM killer */
	VERDICT_WRONG,	     /* double free and other wrong uses of the heap */
	VERDICT_WORDS,
};

enum verdict_severity {
	VERDICT_SEVERITY_OK = 0,
	VERDICT_SEVERITY_UNKNOWN,
	VERDICT_SEVERITY_WARNING,
	VERDICT_SEVERITY_ERROR,
};

/* Why there is no verdict. */
enum verdict_why {
	VERDICT_WHY_NONE = 0,
	VERDICT_WHY_NOT_RECORDED, /* nothing was recorded */
	VERDICT_WHY_CUT_SHORT,	  /* the recording ended before the program did */
	VERDICT_WHY_UNHOOKED,	  /* some of its allocations pass by the hooks */
	VERDICT_WHY_PAST,	  /* blocks went past the hooks */
	VERDICT_WHY_MANAGED,	  /* a runtime's collector decides what is lost */
	VERDICT_WHY_UNREAD,	  /* part of its heap could not be read */
	VERDICT_WHY_FEW_SAMPLES,
	VERDICT_WHY_NO_CHECK, /* memory is left; whether it is lost is unknown */
	VERDICT_WHY_EARLY,    /* watched for too short a time */
	VERDICT_WHYS,
};

/* Limits of the table. */
enum {
	VERDICT_MINOR_BYTES = 64
			      << 10, /* more than this lost in total is no minor leak */
	VERDICT_MINOR_BLOCKS = 100,  /* nor are this many blocks */
	VERDICT_MINOR_INTERVALS = 3, /* nor a site that lost some in so many intervals */
	VERDICT_MIN_SAMPLES = 10,
	VERDICT_LATE_SAMPLES =
		3, /* left, and made in the second half of the run: it may grow */
};

/* What is known of a process, or of several. Zero means no, none or unknown. */
struct verdict_facts {
	bool recorded;
	bool late; /* recorded from later on than its start: older blocks are not known */
	bool ended;
	int signal;	/* that ended it */
	uint64_t wrong; /* wrong uses of the heap */
	/* Leak check. */
	bool checked;			 /* which blocks are lost is known */
	int64_t lost_bytes, lost_blocks; /* definitely or indirectly */
	unsigned lost_intervals; /* in which one site lost blocks; the most of any site */
	int64_t left_bytes, left_blocks; /* not freed, or live now */
	/* Growth. */
	enum growth_word growth; /* the worst of its sites */
	bool growth_judged;	 /* enough was seen for a leak to show */
	bool grows_outside;	 /* memory grows that malloc did not hand out */
	bool grows_little;	 /* so it does, but by too little to be sure */
	/* What limits the answer. */
	/* most of its memory, or of its growth, was not seen; also a runtime's heap that
	 * became larger without growing all the time */
	bool partial;
	bool cut_short, unhooked, past;
	/* No recording, and a runtime with a collector: blocks look lost that it may
	 * free; or there was one look only, which cannot tell objects that are held for
	 * too long from those in use. */
	bool managed;
	bool unread; /* no recording: parts of the heap were not understood */
	bool sampled;
	uint64_t samples;
	uint64_t late_samples; /* of those left: made in the second half of its time,
				  and more than their site has freed at that age */
};

struct verdict_answer {
	enum verdict_word word;
	enum verdict_why why; /* of VERDICT_NO_VERDICT */
	unsigned also; /* bits 1 << word: further words that match, without `word` */
};

struct verdict_answer verdict_decide(const struct verdict_facts *f);

/* "LEAK (minor)", and "error" for the severity of LEAK. Static. */
const char *verdict_word_name(enum verdict_word word);
enum verdict_severity verdict_severity(enum verdict_word word);
const char *verdict_severity_name(enum verdict_severity severity);

/* "too-few-samples" …: for JSON; NULL for VERDICT_WHY_NONE. Static. */
const char *verdict_why_name(enum verdict_why why);

#endif
