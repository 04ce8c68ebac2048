/* SPDX-License-Identifier: MIT */
/* holders_frame.c -- which function's frame an address on a stack belongs to; see
 * holders.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/session/heap/holders.h"
#include "tool/sym/stackwalk.h"
#include "tool/sym/sym.h"
#include "tool/util/x.h"

enum {
	FRAMES_MAX = 256,
	/* in struct user_regs_struct */
	REG_BP = 4,
	RED_ZONE = 128,
};

static bool
word_at(void *ctx, uint64_t addr, uint64_t *ret_word)
{
	const struct image *i = ctx;

	return image_read(i, addr, ret_word, sizeof *ret_word) == sizeof *ret_word;
}

/* "serve in api.c:93", or "in serve+0x1c" where lines are not known. */
static void
name_frame(const struct holders_module *m, const struct stackwalk_frame *f, bool first,
	   char *ret, size_t size)
{
	struct sym *s = holders_sym(m);
	struct sym_frame frames[8];
	const struct sym_frame *real;
	const char *slash;
	unsigned n = 0;

	if (s != NULL)
		n = sym_find(s, f->pc - m->bias - !first, frames, 8);
	real = n > 0 ? &frames[n - 1] : NULL;
	if (real == NULL || real->short_name[0] == '\0') {
		slash = strrchr(m->path, '/');
		snprintf(ret, size, ", in %s", slash != NULL ? slash + 1 : m->path);
	} else if (real->line > 0) {
		slash = strrchr(real->file, '/');
		snprintf(ret, size, ", in %s %s:%u", real->short_name,
			 slash != NULL ? slash + 1 : real->file, real->line);
	} else {
		snprintf(ret, size, ", in %s", real->short_name);
	}
	sym_close(s);
}

void
holders_frame(const struct holders *h, const struct image_thread *t, uint64_t addr,
	      char *ret, size_t size)
{
	struct stackwalk_module *modules = xcalloc(h->modules.len, sizeof *modules);
	struct stackwalk w = {.modules = modules,
			      .nmodules = (uint32_t)h->modules.len,
			      .word = word_at,
			      .ctx = (void *)(uintptr_t)h->image};
	struct stackwalk_frame frames[FRAMES_MAX];
	uint64_t bp = t->regs + REG_BP < h->image->words->len
			      ? h->image->words->data[t->regs + REG_BP]
			      : 0;
	uint32_t n;

	ret[0] = '\0';
	for (size_t i = 0; i < h->modules.len; i++)
		modules[i] = (struct stackwalk_module){.path = h->modules.data[i].file,
						       .start = h->modules.data[i].start,
						       .end = h->modules.data[i].end,
						       .bias = h->modules.data[i].bias};
	n = stackwalk(&w, t->pc, t->sp, bp, frames, FRAMES_MAX);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t start = frames[i].start - (i == 0 ? RED_ZONE : 0);

		if (addr >= start && addr < frames[i].end) {
			name_frame(&h->modules.data[frames[i].module], &frames[i], i == 0,
				   ret, size);
			break;
		}
	}
	free(modules);
}
