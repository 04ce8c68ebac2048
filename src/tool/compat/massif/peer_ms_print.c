/* SPDX-License-Identifier: MIT */
/* peer_ms_print.c -- `seep ms_print FILE`: a massif.out file as ms_print prints it.
 *
 * The same bytes: head, graph (ms_graph.c), table of the snapshots and their trees. For
 * that the text of the file is followed and not the profile made of it: figures are shown
 * as they are written, and everything behind a # is a comment, in names of functions too.
 * Nothing is printed of a file that is not sound to its end. Beyond ms_print: packed
 * files, and seconds as the unit of time, which heaptrack writes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/compat/compat.h"
#include "tool/compat/massif/ms_graph.h"
#include "tool/format/input.h"
#include "tool/format/lines.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum {
	MS_AXIS_MIN = 4,
	MS_AXIS_MAX = 1000,
	MS_DEPTH_MAX = 4096,
	MS_SHOWN_MAX = 40, /* bytes of a line in a message */
};

struct ms_args {
	const char *threshold;
	uint64_t x, y;
};

#define AT(member) .at = offsetof(struct ms_args, member)

static const struct opt ms_opts[] = {
	{"threshold", 0, OPT_STRING, AT(threshold), .metavar = "M.N",
	 .help = "Sum up what is less than this percentage of a snapshot (1)."},
	{"x", 0, OPT_U64, AT(x), .metavar = "COLUMNS",
	 .help = "Width of the graph, from 4 to 1000 (72)."},
	{"y", 0, OPT_U64, AT(y), .metavar = "ROWS",
	 .help = "Height of the graph, from 4 to 1000 (20)."},
	{0},
};

static const char ms_dashes[] = "----------------------------------------"
				"----------------------------------------\n";

/* A line of a tree whose children are still to come. */
struct ms_level {
	uint64_t left; /* children that are still to come */
	size_t prefix; /* what stands before its children, in `prefix` */
	bool shown;
	uint64_t small, small_bytes; /* children that are not shown */
};

struct ms {
	const char *file;
	double threshold;
	struct lines lines;
	struct buf text; /* the line at hand, without its comment */
	struct buf head, table, column_heads, prefix;
	VEC(struct ms_shot) shots;
	VEC(struct ms_level) levels;
	uint64_t peak; /* number that the file gives the peak */
	bool has_peak;
};

/* ---- lines ---- */

/* The next line with anything in it but a comment; empty at the end. */
static bool
ms_line(struct ms *m, struct line *ret)
{
	struct line l;

	while (lines_next(&m->lines, &l)) {
		const char *comment = l.at;
		struct line rest;

		/* carriage returns belong to the text here */
		if (l.end < m->lines.end && *l.end == '\r')
			l.end++;
		while (comment < l.end && *comment != '#')
			comment++;
		l.end = comment;
		rest = l;
		while (rest.at < rest.end && strchr(" \t\r\f\v", *rest.at) != NULL)
			rest.at++;
		if (rest.at == rest.end)
			continue;
		buf_clear(&m->text);
		buf_add(&m->text, l.at, line_len(&l));
		*ret = (struct line){buf_str(&m->text), m->text.data + m->text.len};
		return true;
	}
	*ret = (struct line){"", ""};
	ret->end = ret->at;
	return false;
}

static int
ms_wrong(const struct ms *m, const char *want, const struct line *got, struct err *e)
{
	size_t n = line_len(got);

	if (n == 0)
		return err_set(e, -EINVAL,
			       "%s: line %" PRIu64 ": want %s, and the file ends here",
			       m->file, m->lines.number, want);
	return err_set(e, -EINVAL, "%s: line %" PRIu64 ": want %s, found \"%.*s\"",
		       m->file, m->lines.number, want,
		       (int)(n < MS_SHOWN_MAX ? n : MS_SHOWN_MAX), got->at);
}

/* Appends the digits that `text` begins with in groups of three, and the rest as it
 * is. */
static void
ms_commify(struct buf *out, const char *text)
{
	size_t digits = strspn(text, "0123456789");

	for (size_t i = 0; i < digits; i++) {
		if (i > 0 && (digits - i) % 3 == 0)
			buf_add_char(out, ',');
		buf_add_char(out, text[i]);
	}
	buf_add_str(out, text + digits);
}

static void
ms_commify_number(struct buf *out, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, v);
	ms_commify(out, text);
}

/* The same at the right end of a column. */
static void
ms_column(struct buf *out, const char *text, unsigned width)
{
	struct buf b = {0};

	ms_commify(&b, text);
	buf_printf(out, " %*s", (int)width, buf_str(&b));
	buf_done(&b);
}

/* ---- trees ---- */

static double
ms_percent(uint64_t bytes, uint64_t total)
{
	return total != 0 ? 100 * (double)bytes / (double)total : 0;
}

/* The children of the innermost line are complete, and perhaps those of others. */
static void
ms_close(struct ms *m, uint64_t total)
{
	while (m->levels.len > 0 && vec_last(&m->levels)->left == 0) {
		const struct ms_level *l = vec_last(&m->levels);

		if (l->shown && l->small > 0) {
			buf_add(&m->table, buf_str(&m->prefix), l->prefix);
			buf_printf(&m->table, "->%05.2f%% (",
				   ms_percent(l->small_bytes, total));
			ms_commify_number(&m->table, l->small_bytes);
			buf_printf(&m->table,
				   "B) in %" PRIu64
				   "+ places, all below ms_print's threshold "
				   "(%05.2f%%)\n",
				   l->small, m->threshold);
			buf_add(&m->table, buf_str(&m->prefix), l->prefix);
			buf_add_char(&m->table, '\n');
		}
		m->levels.len--;
	}
}

/* A line of a tree: `n2: 300 0x1: f (x.c:1)`. */
static int
ms_node(struct ms *m, struct line l, uint64_t total, struct err *e)
{
	struct ms_level *up = m->levels.len > 0 ? vec_last(&m->levels) : NULL, node = {0};
	const struct line whole = l;
	size_t before = up != NULL ? up->prefix : 0;
	uint64_t bytes;

	scan_blanks(&l);
	if (!scan_char(&l, 'n') || !scan_u64(&l, &node.left) || !scan_char(&l, ':') ||
	    (scan_blanks(&l), !scan_u64(&l, &bytes)) || bytes > total ||
	    m->levels.len >= MS_DEPTH_MAX)
		return ms_wrong(m, "a line of a tree, not larger than its snapshot",
				&whole, e);
	node.shown =
		up == NULL || m->threshold == 0 ||
		(total != 0 && (double)(bytes * 100) / (double)total >= m->threshold);
	m->prefix.len = before;
	if (up != NULL) {
		up->left--;
		up->small += !node.shown;
		up->small_bytes += node.shown ? 0 : bytes;
	}
	if (node.shown) {
		buf_add(&m->table, buf_str(&m->prefix), before);
		buf_printf(&m->table, "%s%05.2f%% (", up != NULL ? "->" : "",
			   ms_percent(bytes, total));
		ms_commify_number(&m->table, bytes);
		buf_printf(&m->table, "B)%.*s\n", (int)line_len(&l), l.at);
	}
	if (up != NULL)
		buf_add_str(&m->prefix, up->left == 0 ? "  " : "| ");
	node.prefix = m->prefix.len;
	if (node.shown && node.left == 0)
		buf_printf(&m->table, "%s\n", buf_str(&m->prefix));
	vec_push(&m->levels, node);
	return 0;
}

static int
ms_tree(struct ms *m, uint64_t total, struct err *e)
{
	struct line l;
	int r = 0;

	m->levels.len = 0;
	buf_clear(&m->prefix);
	do {
		ms_line(m, &l);
		r = ms_node(m, l, total, e);
		if (r == 0)
			ms_close(m, total);
	} while (r == 0 && m->levels.len > 0);
	return r;
}

/* ---- snapshots ---- */

/* The text behind `name=` in `l`, to be freed. */
static int
ms_text(const struct ms *m, struct line l, const char *name, char **ret, struct err *e)
{
	struct line whole = l;

	if (!scan_text(&l, name) || !scan_char(&l, '='))
		return ms_wrong(m, name, &whole, e);
	*ret = xmemdup0(l.at, line_len(&l));
	return 0;
}

/* The fields of a snapshot but its first line, in their order. */
enum ms_field { MS_TIME, MS_HEAP, MS_EXTRA, MS_STACKS, MS_TREE, MS_FIELDS };

static int
ms_fields(struct ms *m, char *fields[MS_FIELDS], uint64_t *ret_total, struct err *e)
{
	static const char *const names[MS_FIELDS] = {[MS_TIME] = "time",
						     [MS_HEAP] = "mem_heap_B",
						     [MS_EXTRA] = "mem_heap_extra_B",
						     [MS_STACKS] = "mem_stacks_B",
						     [MS_TREE] = "heap_tree"};
	uint64_t total = 0, v;
	struct line l;
	int r = 0;

	for (unsigned i = 0; i < MS_FIELDS && r == 0; i++) {
		struct line number;

		ms_line(m, &l);
		r = ms_text(m, l, names[i], &fields[i], e);
		if (r < 0 || i == MS_TIME || i == MS_TREE)
			continue;
		number = (struct line){fields[i], fields[i] + strlen(fields[i])};
		if (!scan_u64(&number, &v) || v > INT64_MAX / 4)
			return ms_wrong(m, "a number of bytes", &l, e);
		total += v;
	}
	*ret_total = total;
	return r;
}

static int
ms_snapshot(struct ms *m, const char *number, char *fields[MS_FIELDS], struct err *e)
{
	struct ms_shot shot = {0};
	char text[24];
	int r = ms_fields(m, fields, &shot.total, e);

	if (r < 0)
		return r;
	snprintf(text, sizeof text, "%" PRIu64, shot.total);
	buf_printf(&m->table, "%3s", number);
	ms_column(&m->table, fields[MS_TIME], 14);
	ms_column(&m->table, text, 16);
	ms_column(&m->table, fields[MS_HEAP], 16);
	ms_column(&m->table, fields[MS_EXTRA], 13);
	ms_column(&m->table, fields[MS_STACKS], 12);
	buf_add_char(&m->table, '\n');
	shot.time = strtod(fields[MS_TIME], NULL);
	shot.tree = strcmp(fields[MS_TREE], "empty") != 0;
	if (!(shot.time >= 0 && shot.time < 1e19))
		return err_set(e, -EINVAL,
			       "%s: line %" PRIu64 ": time=%s is out of range", m->file,
			       m->lines.number, fields[MS_TIME]);
	vec_push(&m->shots, shot);
	if (!shot.tree)
		return 0;
	if (strstr(fields[MS_TREE], "detailed") == NULL &&
	    strstr(fields[MS_TREE], "peak") == NULL) {
		struct line l = {fields[MS_TREE],
				 fields[MS_TREE] + strlen(fields[MS_TREE])};

		return ms_wrong(m, "heap_tree=empty, detailed or peak", &l, e);
	}
	if (strcmp(fields[MS_TREE], "peak") == 0) {
		m->peak = strtoull(number, NULL, 10);
		m->has_peak = true;
	}
	return ms_tree(m, shot.total, e);
}

static int
ms_snapshots(struct ms *m, struct err *e)
{
	bool heads = true;
	struct line l;
	int r = 0;

	while (r == 0 && ms_line(m, &l)) {
		char *number = NULL, *fields[MS_FIELDS] = {0};

		if (heads)
			buf_add_str(&m->table, buf_str(&m->column_heads));
		r = ms_text(m, l, "snapshot", &number, e);
		if (r == 0)
			r = ms_snapshot(m, number, fields, e);
		/* Behind a tree the columns are named once more. */
		heads = r == 0 && vec_last(&m->shots)->tree;
		for (unsigned i = 0; i < MS_FIELDS; i++)
			free(fields[i]);
		free(number);
	}
	if (r == 0 && m->shots.len == 0)
		r = err_set(e, -EINVAL, "%s: line %" PRIu64 ": there is no snapshot",
			    m->file, m->lines.number);
	return r;
}

/* ---- head and end ---- */

/* Lines up to the first snapshot. */
static int
ms_head(struct ms *m, const char *arguments, char **ret_unit, struct err *e)
{
	struct buf options = {0}, column = {0};
	struct line l;
	int r = 0;

	while (ms_line(m, &l) && scan_text(&l, "desc:"))
		buf_printf(&options, "%.*s\n", (int)line_len(&l), l.at);
	if (!scan_text(&l, "cmd:"))
		r = ms_wrong(m, "\"cmd:\"", &l, e);
	if (r == 0) {
		scan_blanks(&l);
		buf_printf(&m->head, "%sCommand:            %.*s\n", ms_dashes,
			   (int)line_len(&l), l.at);
		buf_printf(&m->head, "Massif arguments:  %sms_print arguments:%s\n%s\n\n",
			   buf_str(&options), arguments, ms_dashes);
		ms_line(m, &l);
		if (!scan_text(&l, "time_unit:"))
			r = ms_wrong(m, "\"time_unit:\"", &l, e);
	}
	if (r == 0) {
		scan_blanks(&l);
		*ret_unit = xmemdup0(l.at, line_len(&l));
		buf_printf(&column, "time(%s)", *ret_unit);
		buf_printf(&m->column_heads, "%s%3s %14s %16s %16s %13s %12s\n%s",
			   ms_dashes, "n", buf_str(&column), "total(B)", "useful-heap(B)",
			   "extra-heap(B)", "stacks(B)", ms_dashes);
	}
	buf_done(&options);
	buf_done(&column);
	return r;
}

static void
ms_print_trees(const struct ms *m, struct buf *out)
{
	bool first = true;

	buf_printf(out, "\nNumber of snapshots: %zu\n Detailed snapshots: [",
		   (size_t)m->shots.len);
	for (uint32_t i = 0; i < m->shots.len; i++) {
		if (!m->shots.data[i].tree)
			continue;
		buf_printf(out, "%s%u%s", first ? "" : ", ", i,
			   m->shots.data[i].peak ? " (peak)" : "");
		first = false;
	}
	buf_add_str(out, "]\n\n");
}

static int
ms_do(struct ms *m, const struct ms_args *a, const char *arguments, struct err *e)
{
	char *unit = NULL;
	int r = ms_head(m, arguments, &unit, e);

	if (r == 0)
		r = ms_snapshots(m, e);
	if (r == 0) {
		struct ms_graph g = {.shots = m->shots.data,
				     .nshots = (uint32_t)m->shots.len,
				     .unit = unit,
				     .width = (unsigned)a->x,
				     .height = (unsigned)a->y};

		/* The peak is known by its number, which is its row as well. */
		if (m->has_peak && m->peak < m->shots.len)
			m->shots.data[m->peak].peak = true;
		if (!ms_graph_draw(&m->head, &g))
			r = err_set(e, -EINVAL, "%s: time_unit: %s: want i, ms, B or s",
				    m->file, unit);
	}
	if (r == 0) {
		ms_print_trees(m, &m->head);
		fwrite(buf_str(&m->head), 1, m->head.len, stdout);
		fwrite(buf_str(&m->table), 1, m->table.len, stdout);
	}
	free(unit);
	return r;
}

/* ---- options ---- */

/* Percentages as ms_print takes them: digits and points, perhaps with a %. */
static bool
ms_threshold(const char *text, double *ret)
{
	size_t n = strspn(text, "0123456789.");

	if (n == 0 || (text[n] != '\0' && strcmp(text + n, "%") != 0))
		return false;
	*ret = strtod(text, NULL);
	return *ret >= 0 && *ret <= 100;
}

/* The words, of which one is the file. 0, or the exit status of a refusal. */
static int
ms_words(struct ms_args *a, struct ms *m, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char *one[] = {argv[i], NULL};
		struct err e = {0};
		int at = 0;

		if (argv[i][0] != '-' || argv[i][1] == '\0')
			m->file = m->file == NULL ? argv[i] : m->file;
		else if (opt_parse(ms_opts, 1, one, &at, a, &e) < 0 || at != 1)
			return cmd_usage(&cmd_ms_print,
					 "%s: unknown option, or a wrong value", argv[i]);
	}
	if (a->threshold != NULL && !ms_threshold(a->threshold, &m->threshold))
		return cmd_usage(&cmd_ms_print, "--threshold=%s: want 0 to 100",
				 a->threshold);
	if (a->x < MS_AXIS_MIN || a->x > MS_AXIS_MAX || a->y < MS_AXIS_MIN ||
	    a->y > MS_AXIS_MAX)
		return cmd_usage(&cmd_ms_print, "--x and --y: want 4 to 1000");
	if (m->file == NULL)
		return cmd_usage(&cmd_ms_print, "no massif.out file given");
	return CMD_OK;
}

static int
ms_open(const struct ms *m, struct input *in, struct err *e)
{
	int fd, r;

	if (strcmp(m->file, "-") == 0)
		return input_open_fd(in, STDIN_FILENO, "standard input", NULL, e);
	fd = open(m->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", m->file);
	r = input_open_fd(in, fd, m->file, NULL, e);
	close(fd);
	return r;
}

static int
ms_run(void *opts, int argc, char **argv)
{
	struct ms_args a = {.x = 72, .y = 20};
	struct ms m = {.threshold = 1};
	struct buf arguments = {0};
	struct input in = {0};
	struct err e = {0};
	int status;

	(void)opts;
	for (int i = 0; i < argc; i++) {
		if (cmd_is_help(argv[i]))
			return cmd_help(&cmd_ms_print);
		if (strcmp(argv[i], "--version") == 0)
			return cmd_version();
		buf_printf(&arguments, " %s", argv[i]);
	}
	status = ms_words(&a, &m, argc, argv);
	if (status == CMD_OK) {
		int r = ms_open(&m, &in, &e);

		if (r == 0) {
			m.lines = lines_init(in.data, in.bytes);
			r = ms_do(&m, &a, buf_str(&arguments), &e);
		}
		if (r < 0)
			status = cmd_fail(&e);
	}
	input_close(&in);
	buf_done(&arguments);
	buf_done(&m.text);
	buf_done(&m.head);
	buf_done(&m.table);
	buf_done(&m.column_heads);
	buf_done(&m.prefix);
	vec_done(&m.shots);
	vec_done(&m.levels);
	return status;
}

const struct cmd cmd_ms_print = {
	.name = "ms_print",
	.args = "[OPTIONS] FILE",
	.help = "print a massif.out file as ms_print does",
	.man = "seep-ms_print",
	.opts = ms_opts,
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.own_options = true,
	.run = ms_run,
};
