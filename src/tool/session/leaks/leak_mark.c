/* SPDX-License-Identifier: MIT */
/* leak_mark.c -- from which words blocks are reached: the roots of a leak check, and what
 * the classifier makes of them. What may not be read as a root is found by
 * leak_holes.c. */
#include <stddef.h>
#include <stdlib.h>
#include <ucontext.h>

#include "tool/session/leaks/leakcheck_impl.h"
#include "tool/util/x.h"

enum { FPSTATE_BYTES_MAX = 16 << 10 };

/* Registers that a signal's frame holds besides the general ones. */
static void
mark_context(struct look *k, struct classify *c)
{
#if defined(__x86_64__)
	/* The kernel's note on how much it saved is at the end of what FXSAVE writes. */
	enum { FXSAVE_BYTES = 512 };
	struct _fpx_sw_bytes note;
	uint64_t at, words[FPSTATE_BYTES_MAX / 8];
	uint32_t bytes = FXSAVE_BYTES;

	if (k->at->context == 0 ||
	    procmem_read(&k->z.mem,
			 k->at->context + offsetof(ucontext_t, uc_mcontext.fpregs), &at,
			 sizeof at) < 0)
		return;
	if (procmem_read(&k->z.mem, at + FXSAVE_BYTES - sizeof note, &note,
			 sizeof note) == 0 &&
	    note.magic1 == FP_XSTATE_MAGIC1 && note.extended_size >= FXSAVE_BYTES &&
	    note.extended_size <= FPSTATE_BYTES_MAX)
		bytes = note.extended_size;
	if (procmem_read(&k->z.mem, at, words, bytes) < 0)
		return;
	for (unsigned i = 0; i < bytes / 8; i++)
		classify_root_word(c, words[i]);
#else
	(void)k, (void)c;
#endif
}

void
look_mark(struct look *k, const struct scan_range *roots, uint32_t nroots)
{
	struct scan_index index;
	struct classify c;
	uint32_t n = scan_tidy(k->blocks.data, (uint32_t)k->blocks.len), nspares;
	struct rec_spare *spares;
	size_t index_bytes;
	void *memory;
	uint32_t *stack;

	k->blocks.len = n;
	index_bytes = scan_index_bytes(k->blocks.data, n) + 8;
	memory = xmalloc(index_bytes);
	x_large_pages(memory, index_bytes);
	stack = xcalloc(n > 0 ? n : 1, sizeof *stack);
	x_large_pages(stack, n * sizeof *stack);
	scan_index_init(&index, k->blocks.data, n, memory);
	spares = leak_spares(k, &index, &nspares);
	classify_init(&c, &k->space, &index, CLASSIFY_ALL_HEURISTICS, stack);
	c.tails = (k->f->head->flags & REC_FLAG_USABLE) != 0;
	if (k->how->draconian) {
		nroots = 0;
		k->z.words.len = 0;
	}
	k->z.once = true;
	for (uint32_t i = 0; i < nroots; i++) {
		classify_root_range(&c, roots[i]);
		k->c->root_bytes += roots[i].end - roots[i].start;
	}
	k->z.once = false;
	for (size_t i = 0; i < k->z.words.len; i++)
		classify_root_word(&c, k->z.words.data[i]);
	for (size_t i = 0; i < k->z.kernel.len; i++)
		classify_root_word(&c, k->z.kernel.data[i].word);
	for (uint32_t i = 0; i < nspares; i++) {
		if ((spares[i].bytes & REC_SPARE_REGION) != 0 &&
		    spares[i].bytes != REC_SPARE_ANY_SIZE)
			classify_root_range(
				&c, (struct scan_range){spares[i].start,
							spares[i].start +
								(spares[i].bytes &
								 ~REC_SPARE_REGION)});
	}
	free(spares);
	if (k->at != NULL && !k->how->draconian) {
		for (uint32_t i = 0; i < k->at->nregs && i < REC_HOLD_REGS; i++)
			classify_root_word(&c, k->at->regs[i]);
		mark_context(k, &c);
	}
	classify_finish(&c);
	k->c->words = c.words;
	k->c->nblocks = n;
	free(stack);
	free(memory);
}
