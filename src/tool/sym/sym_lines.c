/* SPDX-License-Identifier: MIT */
/* sym_lines.c -- a unit's line table as sorted rows, and the names of its source files.
 *
 * libdw decodes and sorts; we keep address, file and line. Of several rows at one address
 * the last counts, as the debuggers have it; rows that say the same as the one before are
 * left out. Rows outside the program's code, left behind
 * by functions that the linker threw away, are dropped. */
#include <dwarf.h>
#include <string.h>

#include "tool/sym/sym_priv.h"

/* Drops "./" and doubled slashes; ".." stays, because it may cross a symbolic link. In
 * place. */
static void
sym_path_tidy(char *path)
{
	char *to = path;
	const char *from = path;

	while (*from != '\0') {
		if (from[0] == '/' && from[1] == '/')
			from++;
		else if (from[0] == '/' && from[1] == '.' && from[2] == '/')
			from += 2;
		else
			*to++ = *from++;
	}
	*to = '\0';
}

uint32_t
sym_path_id(struct sym *s, const struct sym_unit *u, const char *path)
{
	Dwarf_Attribute attr;
	const char *folder = NULL;
	Dwarf_Die die = u->die;
	char *whole;
	uint32_t id;

	if (path == NULL || path[0] == '\0' || strcmp(path, "???") == 0)
		return 0;
	if (path[0] != '/')
		folder = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &attr));
	if (folder != NULL && folder[0] != '\0')
		whole = xasprintf("%s/%s", folder, path);
	else
		whole = xstrdup(path);
	sym_path_tidy(whole);
	id = strtab_add(&s->strings, whole);
	free(whole);
	return id;
}

uint32_t
sym_file_id(struct sym *s, struct sym_unit *u, uint32_t index)
{
	uint64_t *id;

	if (u->files == NULL || index >= u->files_len)
		return 0;
	id = map_add(&u->paths, index);
	if (*id == 0)
		*id = 1 + (uint64_t)sym_path_id(
				  s, u, dwarf_filesrc(u->files, index, NULL, NULL));
	return (uint32_t)(*id - 1);
}

static void
sym_row_add(struct sym_unit *u, struct sym_row row, bool is_end)
{
	struct sym_row *last = u->rows.len > 0 ? vec_last(&u->rows) : NULL;

	if (last != NULL && last->lo == row.lo) {
		/* libdw sorts an end before a beginning; still never let it hide one */
		if (!is_end)
			*last = row;
		return;
	}
	if (last == NULL || last->file != row.file || last->line != row.line)
		vec_push(&u->rows, row);
}

/* The address as rows have it; false when there is no code. */
static bool
sym_row_place(const struct sym *s, uint64_t addr, bool is_end, uint32_t *ret_at)
{
	/* an end may stand just behind the code */
	if (!sym_is_code(s, addr) && !(is_end && addr > 0 && sym_is_code(s, addr - 1)))
		return false;
	if (addr - s->base >= SYM_FARTHEST)
		return false;
	*ret_at = (uint32_t)(addr - s->base);
	return true;
}

void
sym_lines_load(struct sym *s, struct sym_unit *u)
{
	const char *path, *last_path = NULL;
	uint32_t last_file = 0, at;
	Dwarf_Lines *lines;
	Dwarf_Addr addr;
	size_t n = 0;
	bool end;
	int line;

	if (dwarf_getsrclines(&u->die, &lines, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);

		if (l == NULL || dwarf_lineaddr(l, &addr) != 0 ||
		    dwarf_lineendsequence(l, &end) != 0 ||
		    !sym_row_place(s, addr, end, &at))
			continue;
		if (end) {
			sym_row_add(u, (struct sym_row){.lo = at}, true);
			continue;
		}
		path = dwarf_linesrc(l, NULL, NULL);
		if (path != last_path) {
			last_file = sym_path_id(s, u, path);
			last_path = path;
		}
		if (dwarf_lineno(l, &line) != 0 || line < 0)
			line = 0;
		sym_row_add(u, (struct sym_row){at, last_file, (uint32_t)line}, false);
	}
}

const struct sym_row *
sym_row_find(const struct sym_part *p, uint64_t at)
{
	size_t lo = 0, hi = p->nrows, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (p->rows[mid].lo <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? &p->rows[lo - 1] : NULL;
}
