/* SPDX-License-Identifier: MIT */
/* stackwalk.c -- see stackwalk.h. */
#include "stackwalk.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool/util/x.h"

/* DWARF's numbers of registers. */
enum { REG_BP = 6, REG_SP = 7 };

/* A binary that a frame was found in. */
struct opened {
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi;
	bool tried;
};

static Dwarf_CFI *
cfi_of(struct opened *o, const char *path)
{
	if (!o->tried) {
		o->tried = true;
		elf_version(EV_CURRENT);
		o->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		o->elf = o->fd >= 0 ? elf_begin(o->fd, ELF_C_READ_MMAP, NULL) : NULL;
		o->cfi = o->elf != NULL ? dwarf_getcfi_elf(o->elf) : NULL;
	}
	return o->cfi;
}

static void
close_all(struct opened *o, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!o[i].tried)
			continue;
		if (o[i].cfi != NULL)
			dwarf_cfi_end(o[i].cfi);
		elf_end(o[i].elf);
		if (o[i].fd >= 0)
			close(o[i].fd);
	}
	free(o);
}

/* A register plus an offset is all that a frame's end is computed from. */
static bool
frame_end(Dwarf_Frame *f, uint64_t sp, uint64_t bp, uint64_t *ret_end)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(f, &ops, &n) != 0 || n != 1)
		return false;
	if (ops[0].atom == DW_OP_breg0 + REG_SP)
		*ret_end = sp + ops[0].number;
	else if (ops[0].atom == DW_OP_breg0 + REG_BP)
		*ret_end = bp + ops[0].number;
	else if (ops[0].atom == DW_OP_bregx && ops[0].number == REG_SP)
		*ret_end = sp + ops[0].number2;
	else if (ops[0].atom == DW_OP_bregx && ops[0].number == REG_BP)
		*ret_end = bp + ops[0].number2;
	else
		return false;
	return true;
}

/* The caller's bp: kept, or saved at an offset from the frame's end. */
static bool
caller_bp(const struct stackwalk *w, Dwarf_Frame *f, uint64_t end, uint64_t *bp)
{
	Dwarf_Op room[3], *ops;
	size_t n;

	if (dwarf_frame_register(f, REG_BP, room, &ops, &n) != 0)
		return false;
	if (n == 0) /* unchanged, or not known: then it will hardly be needed */
		return true;
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (n == 1)
		return w->word(w->ctx, end, bp);
	if (n == 2 && ops[1].atom == DW_OP_plus_uconst)
		return w->word(w->ctx, end + ops[1].number, bp);
	return false;
}

static uint32_t
module_at(const struct stackwalk *w, uint64_t pc)
{
	uint32_t i = 0;

	while (i < w->nmodules && (pc < w->modules[i].start || pc >= w->modules[i].end))
		i++;
	return i;
}

uint32_t
stackwalk(const struct stackwalk *w, uint64_t pc, uint64_t sp, uint64_t bp,
	  struct stackwalk_frame *ret, uint32_t max)
{
	struct opened *opened = xcalloc(w->nmodules, sizeof *opened);
	uint32_t n = 0;

	while (n < max) {
		uint32_t m = module_at(w, pc);
		Dwarf_Frame *f = NULL;
		Dwarf_CFI *cfi;
		uint64_t end;
		bool ok;

		if (m == w->nmodules)
			break;
		cfi = cfi_of(&opened[m], w->modules[m].path);
		/* Behind a call that does not return is another function. */
		if (cfi == NULL ||
		    dwarf_cfi_addrframe(cfi, pc - w->modules[m].bias - (n > 0), &f) != 0)
			break;
		ok = frame_end(f, sp, bp, &end) && end > sp && caller_bp(w, f, end, &bp);
		free(f);
		if (!ok)
			break;
		ret[n++] = (struct stackwalk_frame){
			.pc = pc, .start = sp, .end = end, .module = m};
		if (!w->word(w->ctx, end - 8, &pc) || pc == 0)
			break;
		sp = end;
	}
	close_all(opened, w->nmodules);
	return n;
}
