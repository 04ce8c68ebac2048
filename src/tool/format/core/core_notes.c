/* SPDX-License-Identifier: MIT */
/* core_notes.c -- the notes of a core file: registers of each thread, the program's name,
 * which mappings are of files, what the kernel told the program when it began. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "core_impl.h"
#include "tool/util/x.h"

enum {
	/* struct elf_prstatus of x86-64 */
	PRSTATUS_PID = 32,
	PRSTATUS_REGS = 112,
	PRSTATUS_BYTES = 336,
	/* struct elf_prpsinfo */
	PRPSINFO_PID = 24,
	PRPSINFO_NAME = 40,
	PRPSINFO_NAME_BYTES = 16,
	/* struct user_regs_struct */
	REG_PC = 16,
	REG_SP = 19,
	REG_TP = 21,
	XSTATE_BYTES_MAX = 64 << 10,
	NOTE_NAME_MAX = 64,
	THREADS_MAX = 1 << 20,
};

static void
take_thread(struct core *c, struct cur note)
{
	struct core_thread *t;

	if (note.bytes < PRSTATUS_BYTES || c->threads.len >= THREADS_MAX)
		return;
	t = vec_add(&c->threads);
	cur_seek(&note, PRSTATUS_PID);
	t->tid = (int)cur_u32(&note);
	cur_seek(&note, PRSTATUS_REGS);
	t->words = xcalloc(CORE_REGS, sizeof *t->words);
	while (t->nwords < CORE_REGS)
		t->words[t->nwords++] = cur_u64(&note);
	t->pc = t->words[REG_PC];
	t->sp = t->words[REG_SP];
	t->tp = t->words[REG_TP];
}

/* Vectors belong to the thread whose general registers came last. */
static void
take_vectors(struct core *c, struct cur note)
{
	size_t words = note.bytes / 8;
	struct core_thread *t;

	if (c->threads.len == 0 || note.bytes > XSTATE_BYTES_MAX)
		return;
	t = vec_last(&c->threads);
	t->words = xreallocarray(t->words, t->nwords + words, sizeof *t->words);
	for (size_t i = 0; i < words; i++)
		t->words[t->nwords++] = cur_u64(&note);
}

static void
take_program(struct core *c, struct cur note)
{
	const unsigned char *name;

	cur_seek(&note, PRPSINFO_PID);
	c->pid = (int)cur_u32(&note);
	cur_seek(&note, PRPSINFO_NAME);
	name = cur_take(&note, PRPSINFO_NAME_BYTES);
	if (name == NULL)
		return;
	free(c->name);
	c->name = xmemdup0(name, strnlen((const char *)name, PRPSINFO_NAME_BYTES));
}

static void
take_auxv(struct core *c, struct cur note)
{
	while (cur_left(&note) >= 16) {
		uint64_t type = cur_u64(&note), value = cur_u64(&note);

		if (type == AT_ENTRY)
			c->entry_auxv = value;
		else if (type == AT_RANDOM)
			c->random_auxv = value;
		else if (type == AT_SYSINFO_EHDR)
			c->vdso_auxv = value;
	}
}

/* count u64 | page size u64 | count × (start, end, offset in pages) | names */
static void
take_files(struct core *c, struct cur note, struct core_file_vec *files)
{
	uint64_t n = cur_u64(&note), page = cur_u64(&note);
	struct cur names = note;

	if (!cur_ok(&note) || n > cur_left(&note) / 25 || page == 0 || page > 1 << 24)
		return;
	cur_skip(&names, n * 24);
	for (uint64_t i = 0; i < n && cur_ok(&names); i++) {
		struct core_file f = {.start = cur_u64(&note), .end = cur_u64(&note)};
		uint64_t pages = cur_u64(&note);
		const char *name = (const char *)names.data + names.off;
		size_t bytes = strnlen(name, cur_left(&names));

		if (bytes == cur_left(&names)) /* no end */
			return;
		cur_skip(&names, bytes + 1);
		if (f.start >= f.end || pages > UINT64_MAX / page)
			continue;
		f.off = pages * page;
		f.name = arena_memdup0(&c->map.strings, name, bytes);
		vec_push(files, f);
	}
}

static void
take_note(struct core *c, const char *name, uint32_t type, struct cur note,
	  struct core_file_vec *files)
{
	bool core = strcmp(name, "CORE") == 0;

	if (core && type == NT_PRSTATUS)
		take_thread(c, note);
	else if (core && type == NT_PRPSINFO)
		take_program(c, note);
	else if (core && type == NT_AUXV)
		take_auxv(c, note);
	else if (core && type == NT_FILE)
		take_files(c, note, files);
	else if (strcmp(name, "LINUX") == 0 && type == NT_X86_XSTATE)
		take_vectors(c, note);
}

void
core_notes(struct core *c, struct cur *notes, struct core_file_vec *files)
{
	while (cur_left(notes) >= 12) {
		uint32_t name_bytes = cur_u32(notes), bytes = cur_u32(notes);
		uint32_t type = cur_u32(notes);
		char name[NOTE_NAME_MAX] = "";
		const unsigned char *text;
		struct cur note;

		text = cur_take(notes, name_bytes);
		if (text == NULL)
			return;
		if (name_bytes > 0 && name_bytes < sizeof name)
			memcpy(name, text, name_bytes);
		name[sizeof name - 1] = '\0';
		cur_align(notes, 4);
		note = cur_sub(notes, bytes);
		if (!cur_ok(notes))
			return;
		take_note(c, name, type, note, files);
		if (cur_left(notes) > 0)
			cur_align(notes, 4);
	}
}
