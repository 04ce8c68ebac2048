/* SPDX-License-Identifier: MIT */
/* live_mixed.h -- a live recording, built by hand, in which frames have names and blocks
 * have types. */
#ifndef SEEP_TESTS_LIVE_MIXED_H
#define SEEP_TESTS_LIVE_MIXED_H

#include "live_image.h"

static inline uint32_t
image_name(struct image *m, const char *function, const char *file, uint32_t line,
	   uint32_t language)
{
	uint32_t fn = function != NULL ? image_string(m, function) : 0;
	uint32_t in = file != NULL ? image_string(m, file) : 0;
	uint32_t ref = image_alloc(m, REC_CHUNK_NAME, sizeof(struct rec_name));
	struct rec_name *n = image_at(m, ref);

	*n = (struct rec_name){fn, in, line, language};
	return ref;
}

/* Under main of the demo's program two lines of one Python function, that reach malloc by
 * the same native frame; and the second line again, for blocks of a type. */
struct mixed {
	struct image m;
	uint32_t names[2], nodes[3], sites[3];
};

static inline struct mixed
mixed_image(void)
{
	struct image_demo d = image_demo();
	struct mixed x = {.m = d.m};
	uint32_t thread = d.threads[0], type;

	for (unsigned i = 0; i < 2; i++) {
		x.names[i] = image_name(&x.m, "load", "/srv/app.py", 17 + 6 * i,
					REC_LANGUAGE_PYTHON);
		x.nodes[i] = image_node(&x.m, d.main, x.names[i], 0, REC_NODE_NAMED);
		x.nodes[i] = image_node(&x.m, x.nodes[i], 0x7f0000000409, 2, REC_NODE_PC);
	}
	type = image_string(&x.m, "Session");
	x.nodes[2] = image_node(&x.m, x.nodes[1], type, 0, REC_NODE_TYPE);
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t figures[3][2] = {
			{11, 1103}, {13, 1301}, {17, 1709}};
		uint32_t cell;

		x.sites[i] = image_site(&x.m, x.nodes[i]);
		cell = image_cell(&x.m, x.sites[i], thread);
		image_count(&x.m, cell, figures[i][0], figures[i][1], 0, 0);
	}
	return x;
}

#endif
