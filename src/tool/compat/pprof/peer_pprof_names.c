/* SPDX-License-Identifier: MIT */
/* peer_pprof_names.c -- see peer_pprof_names.h. */
#include "tool/compat/pprof/peer_pprof_names.h"

#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/hash.h"
#include "tool/analyze/sites/alloc_frames.h"
#include "tool/analyze/sites/skip.h"
#include "tool/compat/pprof/peer_pprof_graph.h"
#include "tool/model/prof.h"
#include "tool/sym/demangle.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

/* Functions of allocators, as a profile would name them in drop_frames. */
#define PPROF_ALLOCATORS                                                                 \
	"malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|"      \
	"valloc|pvalloc|tc_[a-z_]*|operator new.*|operator delete.*|tcmalloc::.*|"       \
	"\\[lib(jemalloc|tcmalloc|mimalloc|seep)[^\\]]*\\]"

/* Takes out <…> where it is no operator's name. */
static void
pprof_cut_templates(char *s)
{
	char *to = s;
	unsigned depth = 0;

	for (char *at = s; *at != '\0'; at++) {
		bool operator= at - s >= 8 && strncmp(at - 8, "operator", 8) == 0;

		if (*at == '<' && depth == 0 && operator) {
			while (*at == '<' || *at == '=' || *at == '>')
				*to++ = *at++;
			at--;
		} else if (*at == '<') {
			depth++;
		} else if (*at == '>' && depth > 0) {
			depth--;
		} else if (depth == 0) {
			*to++ = *at;
		}
	}
	*to = '\0';
}

static bool
pprof_is_cxx(const char *linkage)
{
	size_t n = strlen(linkage);

	return strncmp(linkage, "_Z", 2) == 0 &&
	       !(n > 24 && strncmp(linkage + n - 20, "17h", 3) == 0 &&
		 strspn(linkage + n - 17, "0123456789abcdef") == 16);
}

static void
pprof_shorten(struct prof *p, const struct pprof_given *given)
{
	struct map known = {0}; /* linkage name -> short one */

	for (uint32_t i = 0; i < p->nframes; i++) {
		const char *linkage = prof_text(p, p->frames[i].linkage);
		uint64_t *name;
		char *text;

		if (!pprof_is_cxx(linkage) || (i < given->n && given->both[i]))
			continue;
		name = map_add(&known, p->frames[i].linkage);
		if (*name == 0) {
			text = demangle_short(linkage);
			if (text != NULL)
				pprof_cut_templates(text);
			*name = text != NULL ? prof_str(p, text) : p->frames[i].function;
			free(text);
		}
		p->frames[i].function = (uint32_t)*name;
	}
	map_done(&known);
}

/* The frame that stands for the inside of an allocator's library:
 * "[libjemalloc.so.2]". */
static uint32_t
pprof_allocator_frame(struct prof *p, uint32_t module)
{
	char *text = xasprintf("[%s]", file_base(prof_text(p, p->modules[module].path)));
	uint32_t row = prof_add_frame(p);

	p->frames[row].function = prof_str(p, text);
	free(text);
	return row;
}

/* One name for all that is inside the library of an allocator: most are stripped. Names
 * that a protobuf file brings are kept. */
static void
pprof_name_allocators(struct prof *p)
{
	uint32_t *rows = xcalloc((size_t)p->nmodules + 1, sizeof *rows);
	bool *inside = alloc_frames(p),
	     keep = strcmp(prof_text(p, p->format), "pprof") == 0;

	for (uint32_t i = 1; i < p->nlocs; i++) {
		uint32_t module = p->locs[i].module;

		if (!inside[i] || module == 0 || (keep && p->locs[i].nframes > 0))
			continue;
		if (rows[module] == 0)
			rows[module] = pprof_allocator_frame(p, module);
		p->locs[i].frames = rows[module];
		p->locs[i].nframes = 1;
	}
	free(inside);
	free(rows);
}

void
pprof_given_init(struct pprof_given *ret, const struct prof *p)
{
	*ret = (struct pprof_given){0};
	if (strcmp(prof_text(p, p->format), "pprof") != 0)
		return; /* no other format has names of somebody's own */
	ret->n = p->nframes;
	ret->both = xcalloc((size_t)p->nframes + 1, sizeof *ret->both);
	for (uint32_t i = 0; i < p->nframes; i++)
		ret->both[i] = p->frames[i].linkage != 0;
}

void
pprof_names(struct prof *p, struct pprof_given *given)
{
	pprof_shorten(p, given);
	free(given->both);
	*given = (struct pprof_given){0};
	pprof_name_allocators(p);
	if (p->drop_frames == 0 && strcmp(prof_text(p, p->format), "pprof") != 0)
		p->drop_frames = prof_str(p, PPROF_ALLOCATORS);
}

/* ---- samples ---- */

static void
pprof_add_site(struct prof_site *to, const struct prof_site *from)
{
	to->allocs += from->allocs;
	to->alloc_bytes += from->alloc_bytes;
	to->frees += from->frees;
	to->free_bytes += from->free_bytes;
	to->live_blocks += from->live_blocks;
	to->live_bytes += from->live_bytes;
	to->samples += from->samples;
	to->live_samples += from->live_samples;
	to->var_live_bytes += from->var_live_bytes;
	to->var_alloc_bytes += from->var_alloc_bytes;
}

/* Labels and cells follow their sites; those of sites that went are gone, and kept by the
 * one that stayed. */
static void
pprof_move_rows(struct prof *p, const uint32_t *now, const bool *gone)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nlabels; i++) {
		struct prof_label l = p->labels[i];

		if (gone[l.site])
			continue;
		l.site = now[l.site];
		p->labels[n++] = l;
	}
	p->nlabels = n;
	for (uint32_t i = 0; i < p->ncells; i++)
		p->cells[i].site = now[p->cells[i].site];
}

void
pprof_merge_samples(struct prof *p)
{
	uint64_t *keys;
	uint32_t *now, n = 1;
	bool *gone;
	struct map first = {0};

	/* Recordings of our own have more than figures that can be added, and no such
	 * samples. */
	if (p->columns == PROF_HAS_ALL)
		return;
	keys = pprof_label_keys(p);
	now = xcalloc(p->nsites, sizeof *now);
	gone = xcalloc(p->nsites, sizeof *gone);
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint64_t *at = map_add(&first, hash_pair(p->sites[i].node, keys[i]));

		if (*at != 0) {
			pprof_add_site(&p->sites[*at], &p->sites[i]);
			gone[i] = true;
			now[i] = (uint32_t)*at;
			continue;
		}
		*at = now[i] = n;
		p->sites[n++] = p->sites[i];
	}
	if (n < p->nsites) {
		p->nsites = n;
		p->nreals = 0; /* whole numbers are what is shown */
		pprof_move_rows(p, now, gone);
	}
	map_done(&first);
	free(keys);
	free(now);
	free(gone);
}
