/* SPDX-License-Identifier: MIT */
/* judge.h -- conditions under which a run does not pass: "leak", "definite>0,peak>200M",
 * alone or compared with an earlier one, the baseline.
 *
 * Figures are sums over the processes asked about. With a baseline they are what has
 * come: of losses what each place has more than it had, so that a leak that went away
 * does not hide a new one; places are told apart by the names of the functions on their
 * stacks, not by lines, which move. Of the rest the difference. */
#ifndef SEEP_ANALYZE_JUDGE_H
#define SEEP_ANALYZE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/sites/skip.h"
#include "tool/analyze/verdict/loss_records.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

enum judge_op { JUDGE_GT, JUDGE_GE, JUDGE_LT, JUDGE_LE, JUDGE_EQ, JUDGE_NE };

#define JUDGE_WRONG (1u << PROF_LOSS_KINDS) /* the heap used wrongly */

struct judge_condition {
	char text[64]; /* as written, without blanks */
	enum judge_op op;
	uint64_t limit, value;
	bool met;
	bool more;   /* for the caller to set: the value is compared with a baseline */
	bool losses; /* it is known only where leaks were looked for */
	/* what it is about: bits 1 << enum prof_loss_kind, and JUDGE_WRONG */
	uint32_t kinds;
	const char *unit;  /* "block"; NULL = the value is in bytes */
	const char *words; /* "definitely lost" */
};

struct judge VEC_BODY(struct judge_condition);

struct judge_losses {
	uint64_t blocks[PROF_LOSS_KINDS], bytes[PROF_LOSS_KINDS];
};

struct judge_figures {
	struct judge_losses losses;
	uint64_t records[PROF_LOSS_KINDS]; /* with a baseline: places that have more */
	uint64_t peak_bytes;		   /* of the process that had most */
	uint64_t rss_bytes;		   /* of the same kind, as the kernel saw it */
	uint64_t left_bytes, left_blocks;  /* in use at the end, without libc's own */
	uint64_t allocs, allocated_bytes;
	uint64_t growth; /* sites behind LEAK or LEAK likely; never those of GROWING */
	uint64_t wrong;	 /* wrong uses of the heap, by place */
	uint64_t errors; /* for the caller to fill in: these, and records that are */
};

/* Places and what was lost there. */
struct judge_places {
	struct strtab keys;
	VEC(struct judge_losses) rows; /* by id of a key */
};

/* Conditions out of a text; a message names what cannot be read. Free with vec_done. */
int judge_read(struct judge *ret_judge, const char *text, struct err *e);

/* Appends the names of all figures, with commas. */
void judge_names(struct buf *out);

/* What process rows `chosen` (NULL = all) add up to, and where; `ret_places` may be NULL.
 * `s` must be of `p`. Places are done with judge_places_done. */
void judge_sum(const struct prof *p, const struct skip *s, const bool *chosen,
	       const struct loss_opts *o, struct judge_figures *ret_figures,
	       struct judge_places *ret_places);

/* Adds to a place; frames are named from the inside out, joined by ';'. */
void judge_places_add(struct judge_places *g, const char *key, unsigned kind,
		      uint64_t blocks, uint64_t bytes);
void judge_places_done(struct judge_places *g); /* legal on a zeroed one */

/* Replaces `ret_key` with the key of a stack: the names on it, as far as reports show
 * it. */
void judge_key(const struct prof *p, const struct skip *s, uint32_t node,
	       struct buf *ret_key);

/* What a place lost beyond what the baseline has for it, in blocks or in bytes. Definite
 * and indirect losses stand in for each other: which block of a lost ring is the first
 * one is chance. */
struct judge_losses judge_more_losses(const struct judge_losses *now,
				      const struct judge_losses *base);

/* The place of that key, NULL if it is not there. */
const struct judge_losses *judge_places_find(const struct judge_places *g,
					     const char *key, size_t len);

/* Leaves in `f` and `now` what is more than in `base_f` and `base`. */
void judge_subtract(struct judge_figures *f, struct judge_places *now,
		    const struct judge_figures *base_f, const struct judge_places *base);

/* Marks definite and indirect losses that the baseline has as known, and so suppressed:
 * of each place as many blocks as it had. A row that is partly new is split. judge_sum
 * still counts known ones as what they were. */
void judge_mark_known(struct prof *p, const struct skip *s,
		      const struct judge_places *base);

/* Fills in values and whether conditions are met; returns how many are. */
unsigned judge_all(struct judge *g, const struct judge_figures *f);

/* Appends a value in words: "286 blocks definitely lost", "+3 blocks ... since the
 * baseline". */
void judge_words(struct buf *out, const struct judge_condition *c);

#endif
