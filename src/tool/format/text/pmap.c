/* SPDX-License-Identifier: MIT */
/* pmap.c -- see pmap.h.
 *
 * A table has a line of column names, and each figure is found by its column's number;
 * smaps has the same names before a colon. So one table of names serves all. The
 * mapping's name is what follows the last column. */
#include "tool/format/text/pmap.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/format/lines.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"

enum {
	PMAP_COLUMNS_MAX = 40,
	PMAP_FILE_BYTES = 64 << 20,
	PMAP_NO_FIGURE = -1,
};

/* More than 256 TiB is no figure of a process; with the limit of all of them together it
 * keeps sums of bytes from overflowing. */
#define PMAP_KIB_MAX (UINT64_C(1) << 38)
#define PMAP_SUM_KIB_MAX (UINT64_C(1) << 48)

static const struct {
	const char *name;
	enum memmap_figure figure;
} pmap_names[] = {
	{"Size", MEMMAP_SIZE},
	{"Kbytes", MEMMAP_SIZE},
	{"Rss", MEMMAP_RSS},
	{"RSS", MEMMAP_RSS},
	{"Pss", MEMMAP_PSS},
	{"Dirty", MEMMAP_DIRTY},
	{"Shared_Clean", MEMMAP_SHARED_CLEAN},
	{"Shared_Dirty", MEMMAP_SHARED_DIRTY},
	{"Private_Clean", MEMMAP_PRIVATE_CLEAN},
	{"Private_Dirty", MEMMAP_PRIVATE_DIRTY},
	{"Referenced", MEMMAP_REFERENCED},
	{"Anonymous", MEMMAP_ANONYMOUS},
	{"LazyFree", MEMMAP_LAZYFREE},
	{"AnonHugePages", MEMMAP_HUGE},
	{"Swap", MEMMAP_SWAP},
};

struct pmap_reader {
	struct memmap map;
	struct lines in;
	/* of a table: the figure in each column, PMAP_NO_FIGURE for others */
	int column[PMAP_COLUMNS_MAX];
	unsigned columns;
	int perm_column, offset_column, inode_column, flags_column; /* -1 = none */
	bool ended; /* the line of sums came */
};

static int
pmap_figure(const struct line *name)
{
	for (size_t i = 0; i < ARRAY_LEN(pmap_names); i++) {
		if (strlen(pmap_names[i].name) == line_len(name) &&
		    memcmp(pmap_names[i].name, name->at, line_len(name)) == 0)
			return pmap_names[i].figure;
	}
	return PMAP_NO_FIGURE;
}

static bool
pmap_is_word(const struct line *w, const char *text)
{
	return strlen(text) == line_len(w) && memcmp(text, w->at, line_len(w)) == 0;
}

static int
pmap_nonsense(const struct pmap_reader *p, struct err *e)
{
	return err_set(e, -EBADMSG, "line %" PRIu64 ": not a line of %s", p->in.number,
		       p->map.form);
}

/* ---- one mapping ---- */

static bool
pmap_kib(struct line *l, uint64_t *ret_kib)
{
	return scan_u64(l, ret_kib) && *ret_kib <= PMAP_KIB_MAX;
}

static void
pmap_perms(struct memmap_area *a, const struct line *w)
{
	size_t n = line_len(w);

	memcpy(a->perms, "---?", 5);
	for (size_t i = 0; i < n && i < 4; i++)
		a->perms[i] = w->at[i];
	/* pmap -x has "rwxsR": shared is told, private is not. */
	if (n == 5)
		a->perms[3] = w->at[3] == 's' ? 's' : 'p';
}

static void
pmap_name(struct memmap *m, struct memmap_area *a, struct line rest)
{
	scan_trim(&rest);
	/* pmap writes "[ anon ]" for no name and "[ stack ]" for "[stack]". */
	if (pmap_is_word(&rest, "[ anon ]"))
		a->name = "";
	else if (pmap_is_word(&rest, "[ stack ]"))
		a->name = "[stack]";
	else
		a->name = arena_memdup0(&m->strings, rest.at, line_len(&rest));
}

/* ---- smaps ---- */

/* `start-end perms offset maj:min inode   name` */
static bool
pmap_smaps_area(struct pmap_reader *p, struct line l)
{
	struct memmap_area a = {0};
	struct line perms, device;

	if (!scan_hex(&l, &a.start) || !scan_char(&l, '-') || !scan_hex(&l, &a.end) ||
	    a.end <= a.start)
		return false;
	scan_blanks(&l);
	if (!scan_word(&l, &perms) || line_len(&perms) != 4)
		return false;
	scan_blanks(&l);
	if (!scan_hex(&l, &a.offset))
		return false;
	scan_blanks(&l);
	if (!scan_word(&l, &device))
		return false;
	scan_blanks(&l);
	if (!scan_u64(&l, &a.inode))
		return false;
	pmap_perms(&a, &perms);
	pmap_name(&p->map, &a, l);
	vec_push(&p->map.areas, a);
	return true;
}

/* `Name:    123 kB`, or any other key, which is stepped over. */
static bool
pmap_smaps_figure(struct pmap_reader *p, struct line l)
{
	const char *colon = memchr(l.at, ':', line_len(&l));
	struct line name = {l.at, colon};
	uint64_t kib;
	int figure;

	if (colon == NULL || p->map.areas.len == 0)
		return false;
	for (const char *c = name.at; c < name.end; c++) {
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	}
	figure = pmap_figure(&name);
	if (figure == PMAP_NO_FIGURE)
		return true;
	l.at = colon + 1;
	scan_blanks(&l);
	if (!pmap_kib(&l, &kib))
		return false;
	vec_last(&p->map.areas)->kib[figure] = kib;
	p->map.known |= 1U << figure;
	return true;
}

static bool
pmap_is_smaps(struct line l)
{
	uint64_t start, end;

	return scan_hex(&l, &start) && scan_char(&l, '-') && scan_hex(&l, &end) &&
	       scan_is_blank(l.at < l.end ? *l.at : '\0') && start < end;
}

static int
pmap_read_smaps(struct pmap_reader *p, struct err *e)
{
	struct line l;

	p->map.form = "smaps";
	while (lines_next(&p->in, &l)) {
		bool good = pmap_is_smaps(l) ? pmap_smaps_area(p, l)
					     : pmap_smaps_figure(p, l);

		if (p->in.cut)
			p->map.cut_lines++;
		else if (!good && line_len(&l) > 0)
			return pmap_nonsense(p, e);
	}
	if ((p->map.known & 1U << MEMMAP_RSS) == 0)
		return err_set(e, -ENODATA,
			       "has mappings but no sizes: this is maps, save smaps "
			       "instead");
	return 0;
}

/* ---- tables of pmap ---- */

/* Understands the line of column names. */
static bool
pmap_columns(struct pmap_reader *p, struct line l)
{
	struct line w, last = {0};

	p->columns = 0;
	p->perm_column = p->offset_column = p->inode_column = p->flags_column = -1;
	scan_blanks(&l);
	while (scan_word(&l, &w) && p->columns < PMAP_COLUMNS_MAX) {
		int at = (int)p->columns;

		last = w;
		p->column[p->columns++] = pmap_figure(&w);
		if (pmap_is_word(&w, "Perm") || pmap_is_word(&w, "Mode"))
			p->perm_column = at;
		else if (pmap_is_word(&w, "Offset"))
			p->offset_column = at;
		else if (pmap_is_word(&w, "Inode"))
			p->inode_column = at;
		else if (pmap_is_word(&w, "VmFlags"))
			p->flags_column = at;
		scan_blanks(&l);
	}
	if (p->columns < 2 || !pmap_is_word(&last, "Mapping") || p->perm_column < 0)
		p->columns = 0;
	return p->columns > 0;
}

/* -XX has flags of two letters each, as many as there are, before the name. */
static void
pmap_skip_flags(struct line *l)
{
	for (;;) {
		struct line at = *l, w;

		scan_blanks(&at);
		if (!scan_word(&at, &w) || line_len(&w) != 2 ||
		    !islower((unsigned char)w.at[0]) || !isalnum((unsigned char)w.at[1]))
			return;
		*l = at;
	}
}

static bool
pmap_column(struct pmap_reader *p, unsigned i, struct line w, struct memmap_area *a)
{
	if (i == 0)
		return scan_hex(&w, &a->start) && w.at == w.end;
	if ((int)i == p->perm_column) {
		pmap_perms(a, &w);
		return line_len(&w) >= 4 && line_len(&w) <= 5;
	}
	if ((int)i == p->offset_column)
		return scan_hex(&w, &a->offset);
	if ((int)i == p->inode_column)
		return scan_u64(&w, &a->inode);
	if (p->column[i] == PMAP_NO_FIGURE)
		return true;
	return pmap_kib(&w, &a->kib[p->column[i]]) && w.at == w.end;
}

static bool
pmap_row(struct pmap_reader *p, struct line l)
{
	struct memmap_area a = {0};
	struct line w;

	for (unsigned i = 0; i + 1 < p->columns; i++) {
		if ((int)i == p->flags_column) {
			pmap_skip_flags(&l);
			continue;
		}
		scan_blanks(&l);
		if (!scan_word(&l, &w) || !pmap_column(p, i, w, &a))
			return false;
	}
	a.end = a.start + (a.kib[MEMMAP_SIZE] << 10);
	if (a.end <= a.start)
		return false;
	pmap_name(&p->map, &a, l);
	vec_push(&p->map.areas, a);
	return true;
}

/* Lines of dashes or equal signs, and the sums below them. */
static bool
pmap_is_end(struct line l)
{
	scan_trim(&l);
	return scan_text(&l, "---") || scan_text(&l, "===") || scan_text(&l, "total ");
}

static bool
pmap_is_heading(struct line l, int *ret_pid)
{
	uint64_t pid;

	if (!scan_u64(&l, &pid) || pid == 0 || pid > INT32_MAX || !scan_char(&l, ':'))
		return false;
	*ret_pid = (int)pid;
	return l.at == l.end || scan_is_blank(*l.at);
}

/* What the table has to have, and what it is called. */
static int
pmap_check_columns(struct pmap_reader *p, struct err *e)
{
	uint32_t known = 0;

	for (unsigned i = 0; i < p->columns; i++) {
		if (p->column[i] != PMAP_NO_FIGURE)
			known |= 1U << p->column[i];
	}
	p->map.known = known;
	p->map.form = p->inode_column >= 0 ? "pmap -X" : "pmap -x";
	if ((known & 1U << MEMMAP_RSS) == 0 || (known & 1U << MEMMAP_SIZE) == 0)
		return err_set(e, -ENODATA, "has no resident sizes; save pmap -x PID");
	return 0;
}

static int
pmap_read_table(struct pmap_reader *p, struct err *e)
{
	struct line l;
	int pid, r = 0;

	while (r == 0 && lines_next(&p->in, &l)) {
		if (pmap_is_heading(l, &pid)) {
			struct line rest = {memchr(l.at, ':', line_len(&l)), l.end};

			if (p->map.pid != 0)
				return err_set(e, -EINVAL,
					       "line %" PRIu64 ": holds more than one "
					       "process; save one a file",
					       p->in.number);
			p->map.pid = pid;
			rest.at++;
			scan_trim(&rest);
			p->map.command =
				arena_memdup0(&p->map.strings, rest.at, line_len(&rest));
		} else if (p->columns == 0 && pmap_columns(p, l)) {
			r = pmap_check_columns(p, e);
		} else if (p->columns == 0 && line_len(&l) > 0) {
			return err_set(e, -ENODATA,
				       "has no resident sizes; save pmap -x PID");
		} else if (pmap_is_end(l)) {
			p->ended = true;
		} else if (!p->ended && line_len(&l) > 0 && !pmap_row(p, l)) {
			if (!p->in.cut)
				return pmap_nonsense(p, e);
			p->map.cut_lines++;
		}
	}
	/* A table that ends without its sums was cut off somewhere. */
	if (r == 0 && !p->ended && p->map.cut_lines == 0)
		p->map.cut_lines = 1;
	return r;
}

/* ---- all of it ---- */

/* Sizes that are not told, and mappings that overlap: the kernel lets go of the process
 * between parts of smaps, so one that grew meanwhile may be there twice. The first one
 * counts. */
static int
pmap_tidy(struct memmap *m, struct err *e)
{
	uint64_t sum = 0;
	size_t kept = 0;

	if (m->areas.len == 0)
		return err_set(e, -ENODATA, "has no mappings");
	memmap_sort(m);
	for (size_t i = 0; i < m->areas.len; i++) {
		struct memmap_area *a = &m->areas.data[i];

		if (kept > 0 && a->start < m->areas.data[kept - 1].end)
			continue;
		if (a->kib[MEMMAP_SIZE] == 0)
			a->kib[MEMMAP_SIZE] = (a->end - a->start) >> 10;
		for (unsigned f = 0; f < MEMMAP_FIGURES; f++)
			sum += f != MEMMAP_SIZE ? a->kib[f] : 0;
		if (sum > PMAP_SUM_KIB_MAX)
			return err_set(e, -EBADMSG, "its sizes make no sense");
		m->areas.data[kept++] = *a;
	}
	m->areas.len = kept;
	return 0;
}

bool
pmap_detect(const void *head, size_t bytes)
{
	struct lines in = lines_init(head, bytes);
	struct pmap_reader p = {0};
	struct line l, second;
	uint64_t addr;
	int pid;

	if (!lines_next(&in, &l))
		return false;
	if (pmap_is_smaps(l)) {
		struct line after;

		/* maps of a heap profile look the same; smaps goes on with a size. */
		return lines_next(&in, &after) &&
		       (scan_text(&after, "Size:") || pmap_is_smaps(after));
	}
	if (!pmap_is_heading(l, &pid))
		return false;
	if (!lines_next(&in, &second))
		return false;
	if (pmap_columns(&p, second))
		return true;
	scan_blanks(&second);
	return scan_hex(&second, &addr) && second.at < second.end &&
	       scan_is_blank(*second.at);
}

int
pmap_parse(const void *data, size_t bytes, struct memmap *ret_map, struct err *e)
{
	struct pmap_reader p = {.in = lines_init(data, bytes)};
	struct lines first = p.in;
	struct line l;
	int r;

	p.map.form = "pmap";
	p.map.command = "";
	if (!lines_next(&first, &l))
		return err_set(e, -ENODATA, "is empty");
	r = pmap_is_smaps(l) ? pmap_read_smaps(&p, e) : pmap_read_table(&p, e);
	if (r == 0)
		r = pmap_tidy(&p.map, e);
	if (r < 0) {
		memmap_done(&p.map);
		return r;
	}
	*ret_map = p.map;
	return 0;
}

int
pmap_load(const char *path, struct memmap *ret_map, struct err *e)
{
	struct buf b = {0};
	struct stat st;
	char head[4096];
	ssize_t got = -1;
	int r, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	/* Only files are looked into: what comes through a pipe can be read but once. */
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		got = pread(fd, head, sizeof head, 0);
	if (fd >= 0)
		close(fd);
	if (got <= 0 || !pmap_detect(head, (size_t)got))
		return -ENOMSG;
	r = file_read(path, PMAP_FILE_BYTES, &b, e);
	if (r == 0) {
		r = pmap_parse(b.data, b.len, ret_map, e);
		if (r < 0)
			err_wrap(e, r, "%s", path);
	}
	buf_done(&b);
	return r;
}
