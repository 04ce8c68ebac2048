/* SPDX-License-Identifier: MIT */
/* names_provider.h -- who knows the names of frames: what names.c asks, one after the
 * other.
 *
 * A provider is responsible for one kind of frames and leaves all others alone. Code by
 * address gets its names from ELF and DWARF (names_elf.c). A frame that came with its
 * name lacks at most the text of its line (names_named.c). */
#ifndef SEEP_SESSION_NAMES_PROVIDER_H
#define SEEP_SESSION_NAMES_PROVIDER_H

#include "tool/session/names/names.h"

struct src;

/* The profile to fill, and what may be used for it. */
struct names_job {
	struct prof *p;
	const struct names_opts *o;
	struct src *src; /* source files, read once for all */
};

struct names_provider {
	const char *what; /* the frames that are its own, in words */
	/* Fills in what it knows. Cannot fail: what is not found stays 0, and its module
	 * says why. */
	void (*resolve)(const struct names_job *job);
};

extern const struct names_provider names_elf, names_named;

#endif
