/* SPDX-License-Identifier: MIT */
/* liveobjects.h -- the objects in a live recording, for those who work on it in place.
 *
 * Every ref and every chunk is checked against what the recorder made present. All need
 * livefile_map_all. */
#ifndef SEEP_TARGET_LIVEOBJECTS_H
#define SEEP_TARGET_LIVEOBJECTS_H

#include "shared/recording.h"
#include "tool/target/run/livefile.h"

/* Calls `each` with every object of `bytes` in the chunks of one kind, newest chunk
 * first. The first one is at the offset `first` of its chunk. */
typedef void livefile_visitor(void *ctx, const struct livefile *f, void *object);
void livefile_each(const struct livefile *f, enum rec_chunk_kind kind, uint32_t first,
		   uint32_t bytes, livefile_visitor *each, void *ctx);
/* The same with every cell, also those inside of sites. */
void livefile_each_cell(const struct livefile *f, livefile_visitor *each, void *ctx);

/* A site's ref, and its cells: those of running threads, and the sum of the ended ones,
 * which may just have taken up a cell that is still in the list. Cells come and go
 * meanwhile; one that is in another site's hands by now ends the list. */
uint32_t livefile_site_ref(const struct livefile *f, const struct rec_site *s);
void livefile_each_cell_of(const struct livefile *f, const struct rec_site *s,
			   livefile_visitor *each, void *ctx);

/* Head of chunk `index` (1 …), or NULL when it was not made present or lies
 * outside. */
struct rec_chunk *livefile_chunk(const struct livefile *f, uint32_t index);

/* Object at a ref, `bytes` long; NULL when that is 0, misplaced or not present. */
void *livefile_at(const struct livefile *f, uint32_t ref, uint64_t bytes);

#endif
