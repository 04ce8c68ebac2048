/* SPDX-License-Identifier: MIT */
/* share.c -- see share.h. */
#include "tool/session/share.h"

#include <string.h>

/* The same string without the folders in front. */
static uint32_t
share_name(struct prof *p, uint32_t path)
{
	const char *text = prof_text(p, path), *slash = strrchr(text, '/');

	return slash != NULL && slash[1] != '\0' ? prof_str(p, slash + 1) : path;
}

static void
share_mask_files(struct prof *p)
{
	for (uint32_t i = 1; i < p->nmodules; i++) {
		p->modules[i].path = share_name(p, p->modules[i].path);
		p->modules[i].why_no_names = 0;
	}
	for (uint32_t i = 0; i < p->nframes; i++) {
		p->frames[i].file = share_name(p, p->frames[i].file);
		p->frames[i].source = 0;
	}
}

void
share_mask(struct prof *p)
{
	uint32_t masked = prof_str(p, "masked");

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		struct prof_process *pr = &p->processes[i];
		const char *words = prof_text(p, pr->cmdline);
		size_t first = strcspn(words, " ");

		if (words[first] != '\0')
			pr->cmdline = prof_strn(p, words, first);
		pr->cmdline = share_name(p, pr->cmdline);
		pr->exe = share_name(p, pr->exe);
		pr->cwd = 0;
		pr->host = 0;
	}
	for (uint32_t i = 0; i < p->nlabels; i++) {
		if (p->labels[i].text != 0)
			p->labels[i].text = masked;
	}
	for (uint32_t i = 0; i < p->nblocks; i++)
		p->blocks[i].addr = 0;
	p->comments = 0;
	share_mask_files(p);
}
