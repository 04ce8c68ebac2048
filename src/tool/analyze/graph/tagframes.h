/* SPDX-License-Identifier: MIT */
/* tagframes.h -- labels as frames: what a label says becomes the caller of a whole stack,
 * or what its innermost function calls.
 *
 * So every view that knows functions can be asked by label: a tree with a branch for each
 * request type, a flame graph over block sizes. As in pprof this comes before all
 * filters, which may name the new frames. The profile is changed; make a copy
 * (prof_merge) to keep it. */
#ifndef SEEP_ANALYZE_TAGFRAMES_H
#define SEEP_ANALYZE_TAGFRAMES_H

#include <stdbool.h>

#include "tool/analyze/sites/skip.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"

/* Appends the value of a label. */
typedef void tagframes_text(struct buf *out, const struct prof *p,
			    const struct prof_label *l);

struct tagframes {
	/* Names of labels, "KEY,KEY": the first is nearest to the root. NULL or "" =
	 * none. */
	const char *root, *leaf;
	/* NULL: frames read "KEY=VALUE", or "(no KEY)" in stacks without the label. Else
	 * they are pprof's: the value alone, the name for a file, and no name where there
	 * is no label. */
	tagframes_text *text;
	/* Frames that are to be left out afterwards would be in the middle then, so they
	 * are taken out here: those of `skip` (NULL = none; show every frame afterwards),
	 * or with `drop` those that the profile itself asks to drop. */
	const struct skip *skip;
	bool drop;
};

enum tagframes_unmatched {
	TAGFRAMES_NO_ROOT = 1, /* `root` was given, and no stack has such a label */
	TAGFRAMES_NO_LEAF = 2,
};

/* Puts the frames in. Returns bits of enum tagframes_unmatched. */
unsigned tagframes_add(struct prof *p, const struct tagframes *t);

#endif
