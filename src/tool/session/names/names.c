/* SPDX-License-Identifier: MIT */
/* names.c -- fills the names into a profile.
 *
 * Who knows names is a list of providers (names_provider.h); each fills in what it knows,
 * for the frames that are its own. */
#include "tool/session/names/names.h"

#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/session/names/names_provider.h"
#include "tool/sym/demangle.h"
#include "tool/sym/source_text.h"
#include "tool/util/cmdline/doing.h"
#include "tool/util/map.h"

static const struct names_provider *const names_providers[] = {&names_elf, &names_named};

/* pprof files may have names as the symbol table has them: no other name, or the same
 * twice. As in pprof, a name that was made of one is left alone. */
static void
names_demangle(struct prof *p)
{
	struct map known = {0}; /* string of a name -> short one */

	if (strcmp(prof_text(p, p->format), "pprof") != 0)
		return;
	for (uint32_t i = 0; i < p->nframes; i++) {
		uint32_t name = p->frames[i].function;
		uint64_t *id;
		char *text;

		if (p->frames[i].linkage != 0 || prof_text(p, name)[0] != '_')
			continue;
		id = map_add(&known, name);
		if (*id == 0) {
			text = demangle_short(prof_text(p, name));
			*id = text != NULL ? prof_str(p, text) : name;
			free(text);
		}
		if (*id == name)
			continue;
		p->frames[i].function = (uint32_t)*id;
		p->frames[i].linkage = name;
	}
	map_done(&known);
}

void
names_resolve(struct prof *p, const struct names_opts *o)
{
	static const struct names_opts usual = {0};
	struct names_job job = {.p = p, .o = o != NULL ? o : &usual};

	names_demangle(p);
	if (p->has_names)
		return;
	doing("reading symbols");
	job.src = src_new();
	for (size_t i = 0; i < ARRAY_LEN(names_providers); i++)
		names_providers[i]->resolve(&job);
	p->has_names = true;
	src_free(job.src);
	doing_end();
}

void
names_full(struct prof *p)
{
	struct map known = {0}; /* string of a symbol -> of its name with parameters */

	for (uint32_t i = 0; i < p->nframes; i++) {
		struct prof_frame *f = &p->frames[i];
		uint64_t *id;
		char *text;

		if (f->linkage == 0 || f->inlined)
			continue;
		id = map_add(&known, f->linkage);
		if (*id == 0) {
			text = demangle_full(prof_text(p, f->linkage));
			*id = text != NULL ? prof_str(p, text) : UINT64_MAX;
			free(text);
		}
		if (*id != UINT64_MAX)
			f->function = (uint32_t)*id;
	}
	map_done(&known);
}
