/* SPDX-License-Identifier: MIT */
/* sym_dwarf.c -- opening debug information, and saying why there is none.
 *
 * It is in the binary or in its debug file. dwz may have moved what several debug files
 * share to one more: without that, names are missing, so its absence is told. */
#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <string.h>

#include "tool/sym/sym_priv.h"
#include "tool/util/clock.h"

/* Are there more names than those that the loader needs? */
static bool
sym_has_symtab(struct sym *s)
{
	if (sym_file_has_symtab(&s->file))
		return true;
	sym_debug_open(s);
	return sym_file_has_symtab(&s->debug);
}

/* Finds the file of shared parts, if the debug information wants one. */
static void
sym_alt_open(struct sym *s)
{
	const char *name = NULL;
	const void *id = NULL;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(s->dwarf, &name, &id);

	if (len <= 0 || name == NULL)
		return;
	if (sym_alt_find(s, name, id, (size_t)len, &s->alt) < 0) {
		snprintf(s->reason, sizeof s->reason,
			 "debug file %s, which others share by dwz, is missing", name);
		return;
	}
	s->alt_dwarf = dwarf_begin_elf(s->alt.elf, DWARF_C_READ, NULL);
	if (s->alt_dwarf != NULL)
		dwarf_setalt(s->dwarf, s->alt_dwarf);
	else
		snprintf(s->reason, sizeof s->reason,
			 "debug file %s, which others share by dwz, cannot be read: %s",
			 s->alt.path, dwarf_errmsg(-1));
}

static void
sym_dwarf_begin(struct sym *s, const struct sym_file *f)
{
	int unpacked = sym_zstd_open(f, &s->plain);

	if (unpacked < 0) {
		snprintf(s->reason, sizeof s->reason,
			 "debug information is packed with zstd and cannot be unpacked");
		return;
	}
	s->dwarf = dwarf_begin_elf(unpacked ? s->plain.elf : f->elf, DWARF_C_READ, NULL);
	if (s->dwarf != NULL)
		sym_alt_open(s);
	else
		snprintf(s->reason, sizeof s->reason, "debug information is broken: %s",
			 dwarf_errmsg(-1));
}

void
sym_dwarf_open(struct sym *s)
{
	struct sym_file *f = &s->file;
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (s->dwarf_tried)
		return;
	s->dwarf_tried = true;
	if (s->opts.names_only) {
		if (!sym_has_symtab(s))
			snprintf(s->reason, sizeof s->reason, "stripped");
		return;
	}
	if (!sym_file_has_dwarf(f)) {
		sym_debug_open(s);
		f = &s->debug;
	}
	if (sym_file_has_dwarf(f)) {
		sym_dwarf_begin(s, f);
		sym_cache_count(s, 0, began);
		return;
	}
	if (s->reason[0] != '\0')
		return; /* a debug file was found and refused */
	if (s->file.elf == NULL)
		snprintf(s->reason, sizeof s->reason,
			 "file is gone, and not all of it is in the cache");
	else if (sym_has_symtab(s))
		snprintf(s->reason, sizeof s->reason, "built without -g");
	else
		snprintf(s->reason, sizeof s->reason, "stripped");
}
