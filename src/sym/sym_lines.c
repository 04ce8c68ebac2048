/* SPDX-License-Identifier: MIT */
/* sym_lines.c -- a unit's line table as sorted rows, and the names of its source files.
 *
 * libdw decodes and sorts; we keep address, file and line. Of several rows at one address
 * the last counts, as the debuggers have it. Rows outside the program's code, left behind
 * by functions that the linker threw away, are dropped. */
#include <dwarf.h>
#include <string.h>

#include "sym/sym_priv.h"

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

static void
sym_row_add(struct sym_unit *u, struct sym_row row, bool is_end)
{
	struct sym_row *last = u->rows.len > 0 ? vec_last(&u->rows) : NULL;

	if (last != NULL && last->addr == row.addr) {
		/* libdw sorts an end before a beginning; still never let it hide one */
		if (!is_end)
			*last = row;
		return;
	}
	vec_push(&u->rows, row);
}

void
sym_lines_load(struct sym *s, struct sym_unit *u)
{
	const char *path, *last_path = NULL;
	uint32_t last_file = 0;
	Dwarf_Lines *lines;
	Dwarf_Addr addr;
	size_t n = 0;
	bool end;
	int line;

	if (dwarf_getsrclines(&u->die, &lines, &n) != 0)
		return;
	vec_reserve(&u->rows, n);
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);

		if (l == NULL || dwarf_lineaddr(l, &addr) != 0 ||
		    dwarf_lineendsequence(l, &end) != 0)
			continue;
		/* an end may stand just behind the code */
		if (!sym_is_code(s, addr) &&
		    !(end && addr > 0 && sym_is_code(s, addr - 1)))
			continue;
		if (end) {
			sym_row_add(u, (struct sym_row){.addr = addr}, true);
			continue;
		}
		path = dwarf_linesrc(l, NULL, NULL);
		if (path != last_path) {
			last_file = sym_path_id(s, u, path);
			last_path = path;
		}
		if (dwarf_lineno(l, &line) != 0 || line < 0)
			line = 0;
		sym_row_add(u, (struct sym_row){addr, last_file, (uint32_t)line}, false);
	}
}

const struct sym_row *
sym_row_find(const struct sym_unit *u, uint64_t addr)
{
	size_t lo = 0, hi = u->rows.len, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (u->rows.data[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? &u->rows.data[lo - 1] : NULL;
}
