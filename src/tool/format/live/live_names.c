/* SPDX-License-Identifier: MIT */
/* live_names.c -- frames of a live recording that have a name instead of an address, and
 * the types of blocks.
 *
 * A name is read once and becomes a location that is known by name alone
 * (tool/model/named.h). One that cannot be read is a frame without a name: the rest of
 * the stack is still right. The type of the blocks that a stack makes stands innermost,
 * as a node that is no frame. */
#include "live_impl.h"
#include "tool/model/named.h"

static uint32_t
live_name_text(struct live *l, uint64_t ref)
{
	const char *text = "";
	size_t bytes = 0;

	if (ref != 0 &&
	    (ref > UINT32_MAX || !live_string(l, (uint32_t)ref, &text, &bytes)))
		l->bad[LIVE_BAD_NAME]++;
	return prof_strn(l->p, text, bytes);
}

uint32_t
live_name_loc(struct live *l, uint32_t ref)
{
	struct prof_frame f = {.lang = PROF_OTHER};
	const struct rec_name *n = live_at(l, ref, REC_CHUNK_NAME, sizeof *n);
	uint32_t *known = n != NULL ? &l->name_locs[live_number(l, ref)] : NULL;
	uint32_t loc;

	if (known != NULL && *known != 0)
		return *known;
	if (n != NULL) {
		f.function = live_name_text(l, n->function);
		f.file = live_name_text(l, n->file);
		f.line = n->line;
		if (n->language != REC_LANGUAGE_NATIVE && n->language < REC_LANGUAGES)
			f.lang = (uint8_t)n->language;
	} else if (ref != 0) {
		l->bad[LIVE_BAD_NAME]++;
	}
	if (f.function == 0)
		f.function = prof_str(l->p, "(name unknown)");
	loc = named_loc(l->p, 0, &f, 1);
	if (known != NULL)
		*known = loc;
	return loc;
}

uint32_t
live_type(struct live *l, uint32_t node)
{
	for (unsigned i = 0; i < LIVE_TYPE_DEPTH; i++) {
		const struct rec_node *n = live_at(l, node, REC_CHUNK_NODE, sizeof *n);

		if (n == NULL)
			return 0;
		if (n->module >> 24 == REC_NODE_TYPE)
			return live_name_text(l, n->pc);
		node = n->parent;
	}
	return 0;
}
