/* SPDX-License-Identifier: MIT */
/* share.c -- see share.h. */
#include "cli/share.h"

#include <string.h>

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
}
