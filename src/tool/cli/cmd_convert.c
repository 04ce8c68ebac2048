/* SPDX-License-Identifier: MIT */
/* cmd_convert.c -- `seep convert`: any profile that seep reads as any that it writes.
 *
 * Several inputs are summed (load.h). Names are looked up first, so the result needs no
 * binaries, and the frames of allocators and of start code are left out as in every
 * report. The output is written beside its place and renamed, and never over one of the
 * inputs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/analyze/sites/choose.h"
#include "tool/analyze/sites/skip.h"
#include "tool/analyze/sites/value.h"
#include "tool/cli/commands.h"
#include "tool/format/format_save.h"
#include "tool/format/text/massif_save.h"
#include "tool/model/prof.h"
#include "tool/render/report/report.h"
#include "tool/render/views/view.h"
#include "tool/session/load.h"
#include "tool/session/names/names.h"
#include "tool/session/out_file.h"
#include "tool/session/starts.h"
#include "tool/sym/demangle.h"
#include "tool/util/clean.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

struct convert_args {
	struct load_opts load;
	struct names_opts names;
	const char *to, *index;
	bool no_skip, no_names, all;
};

#define AT(member) .at = offsetof(struct convert_args, member)

static const struct opt convert_opts[] = {
	{"to", 't', OPT_STRING, AT(to), .metavar = "FORMAT",
	 .help = "Write this format: pprof, proto, heap, folded, speedscope, "
		 "dhat, massif, csv, dot, json or rec (by the name of OUT)."},
	{"format", 0, OPT_STRING, AT(to)},
	{"sample-index", 0, OPT_STRING, AT(index), .metavar = "WHAT",
	 .help = "Write this figure: live, peak, allocated or temporary, with "
		 "-objects for blocks; or pprof's names, such as inuse_space."},
	{"no-skip", 0, OPT_NONE, AT(no_skip),
	 .help = "Keep the frames of allocators and start code."},
	{"no-names", 0, OPT_NONE, AT(no_names),
	 .help = "Do not resolve addresses to functions and lines."},
	{"all", 0, OPT_NONE, AT(all),
	 .help = "Write every stack to speedscope's JSON, not only the 1,000 "
		 "largest."},
	LOAD_OPTS(offsetof(struct convert_args, load)),
	NAMES_OPTS(offsetof(struct convert_args, names)),
	{0},
};

/* These are reports, and so no formats of src/format. */
static const char convert_json[] = "json", convert_dot[] = "dot";

struct convert {
	const struct convert_args *o;
	const char *format;
	const char *out;
	struct loaded in;
	struct format_save_opts save;
	struct graph_query query;
	struct file_out file;
	uint64_t left_out;
};

/* ---- what was asked for ---- */

static int
convert_usage(const char *why, const char *word)
{
	struct buf names = {0};
	int status;

	for (size_t i = 0; format_writers[i] != NULL; i++)
		buf_printf(&names, "%s, ", format_writers[i]->name);
	status = cmd_usage(&cmd_convert, "%s \"%s\"; there are %s%s, %s", why, word,
			   buf_str(&names), convert_json, convert_dot);
	buf_done(&names);
	return status;
}

static bool
convert_ends(const char *path, const char *ending)
{
	size_t n = strlen(path), m = strlen(ending);

	return n > m && strcmp(path + n - m, ending) == 0;
}

/* The format by name or by the output's ending; 0, or the exit status of a refusal. */
static int
convert_choose_format(struct convert *c)
{
	const struct format_writer *w;

	if (c->o->to != NULL) {
		if (strcmp(c->o->to, convert_json) != 0 &&
		    strcmp(c->o->to, convert_dot) != 0 &&
		    format_writer_find(c->o->to) == NULL)
			return convert_usage("no format", c->o->to);
		c->format = c->o->to;
		return CMD_OK;
	}
	w = format_writer_for(c->out);
	if (w != NULL)
		c->format = w->name;
	else if (convert_ends(c->out, ".json"))
		c->format = convert_json;
	else if (convert_ends(c->out, ".dot") || convert_ends(c->out, ".gv"))
		c->format = convert_dot;
	else
		return convert_usage("--to FORMAT is needed for", c->out);
	return CMD_OK;
}

/* "peak", "peak-objects", or pprof's own "inuse_space". */
static int
convert_choose_value(struct convert *c, struct err *e)
{
	static const struct {
		const char *word;
		bool objects;
	} units[] = {{"bytes", false}, {"objects", true}, {"blocks", true}};
	const char *word = c->o->index;
	size_t n = strcspn(word, "-_:. ");
	char *first;
	int r = value_parse(word, &c->query.value, &c->query.objects, e);

	for (size_t i = 0; r < 0 && word[n] != '\0' && i < sizeof units / sizeof *units;
	     i++) {
		if (strcmp(word + n + 1, units[i].word) != 0)
			continue;
		first = xmemdup0(word, n);
		r = value_parse(first, &c->query.value, &c->query.objects, e);
		free(first);
		c->query.objects = units[i].objects;
	}
	return r;
}

/* ---- input ---- */

/* Is this the file that will be written? */
static bool
convert_is_output(const struct convert *c, const char *what)
{
	struct stat a, b;

	return stat(what, &a) == 0 && stat(c->out, &b) == 0 && S_ISREG(a.st_mode) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Makes a snapshot of massif what is live in the profile. */
static int
convert_take_point(struct convert *c, struct err *e)
{
	struct prof *p = c->in.p;
	int64_t *bytes, *blocks;
	struct sites_point at;
	int r = choose_point(p, NULL, c->in.point, &at, e);

	if (r < 0 || at.at == SITES_AT_PEAK)
		return r;
	choose_mark_figures(p, at.mark, &bytes, &blocks);
	for (uint32_t i = 1; i < p->nsites; i++)
		p->sites[i].live_bytes =
			at.at == SITES_AT_EXIT ? p->sites[i].at_exit_bytes : bytes[i];
	p->columns = PROF_HAS_LIVE;
	p->comments = 0;
	free(bytes);
	free(blocks);
	return 0;
}

/* Loads all inputs. What formats hold is figures, not moments, but the peak is both. */
static int
convert_load(struct convert *c, int argc, char **argv, struct err *e)
{
	int r;

	for (int i = 0; i < argc; i++) {
		if (convert_is_output(c, argv[i]))
			return err_set(
				e, -EEXIST,
				"%s: is an input and would be overwritten; name another file "
				"to write",
				c->out);
	}
	/* Two recordings are more likely meant to be summed: OUT is missing. */
	r = out_check(c->out, strcmp(c->format, "rec") == 0 ? "a recording" : c->format,
		      e);
	if (r < 0)
		return r;
	r = load_targets(argc, argv, &c->o->load, &c->in, e);
	if (r < 0 || c->in.point[0] == '\0')
		return r;
	if (c->in.p->nsnapshots > 0)
		return convert_take_point(c, e);
	if (strcmp(c->in.point, "peak") != 0 || c->save.value_given)
		return err_set(e, -EINVAL,
			       "@%s: only @peak can be converted, as --sample-index peak",
			       c->in.point);
	c->query.value = PROF_PEAK;
	c->save.value = PROF_PEAK;
	c->save.value_given = true;
	return 0;
}

/* ---- output ---- */

static int
convert_to_file(void *ctx, const void *bytes, size_t n, struct err *e)
{
	return file_out_write(&((struct convert *)ctx)->file, bytes, n, e);
}

static int
convert_to_stdout(void *ctx, const void *bytes, size_t n, struct err *e)
{
	(void)ctx;
	if (fwrite(bytes, 1, n, clean_raw()) == n)
		return 0;
	return err_sys(e, -errno, "standard output: cannot write");
}

/* The call graph, as `seep report --graph` prints it. */
static void
convert_graph(const struct convert *c, const struct skip_opts *opts, struct buf *out)
{
	const struct prof *p = c->in.p;
	struct skip *skip = skip_new(p, opts);
	struct graph_query q = {.value = c->query.value,
				.objects = c->query.objects,
				.skip = skip,
				.full_name = demangle_full};
	struct view_opts o = {
		.title = c->in.name, .node_fraction = -1, .edge_fraction = -1};
	struct graph g = {0};
	struct view v = {.p = p, .g = &g, .q = &q, .o = &o};

	if (!c->save.value_given)
		q.value = value_default(p, &q.objects);
	graph_init(&g, p, &q, NULL, NULL);
	view_text(out, VIEW_GRAPH, &v);
	graph_done(&g);
	skip_free(skip);
}

struct json_drain {
	struct emit_out *out;
	struct err *e;
	int r;
};

static void
convert_drain(void *ctx, struct buf *b)
{
	struct json_drain *d = ctx;

	if (d->r == 0)
		d->r = d->out->drain(d->out->ctx, buf_str(b), b->len, d->e);
	buf_clear(b);
}

static int
convert_write(struct convert *c, struct err *e)
{
	bool to_stdout = strcmp(c->out, "-") == 0;
	struct skip_opts skip = {.off = c->o->no_skip};
	struct buf piece = {0};
	struct emit_out out = {.buf = &piece,
			       .drain = to_stdout ? convert_to_stdout : convert_to_file,
			       .ctx = c};
	struct json_drain drain = {.out = &out, .e = e};
	struct report_opts report = {
		.skip = &skip, .all = true, .drain = convert_drain, .drain_ctx = &drain};
	struct emit_start *starts = NULL;
	bool *tails = NULL;
	int r;

	if (strcmp(c->format, convert_json) == 0) {
		report_json(&piece, c->in.p, &report);
		convert_drain(&drain, &piece);
		r = drain.r;
	} else if (strcmp(c->format, convert_dot) == 0) {
		convert_graph(c, &skip, &piece);
		r = out.drain(c, buf_str(&piece), piece.len, e);
	} else {
		if (!c->o->no_skip)
			starts = starts_of(c->in.p, NULL, &tails);
		c->save.starts = starts;
		c->save.tails = tails;
		c->save.all = c->o->all;
		r = format_save(c->in.p, c->format, &c->save, &out, e);
	}
	free(starts);
	free(tails);
	buf_done(&piece);
	return r;
}

static int
convert_save(struct convert *c, struct err *e)
{
	int r;

	if (strcmp(c->out, "-") == 0)
		return convert_write(c, e);
	r = file_out_open(&c->file, c->out, e);
	if (r == 0)
		r = convert_write(c, e);
	if (r == 0)
		r = file_out_commit(&c->file, e);
	file_out_done(&c->file);
	return r;
}

/* A massif file is of one process. */
static void
convert_tell_massif(const struct convert *c)
{
	const struct prof *p = c->in.p;
	uint32_t one = massif_process(p), others = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++)
		others += i != one && p->processes[i].not_recorded == 0;
	if (strcmp(c->format, "massif") == 0 && others > 0)
		cmd_note("only %s (%u) is in it, which has the highest peak; %u more "
			 "process%s omitted",
			 choose_process_name(p, one).s, p->processes[one].pid, others,
			 others == 1 ? " is" : "es are");
}

/* What the output does not have that the input should have had. */
static void
convert_tell(const struct convert *c)
{
	const struct prof *p = c->in.p;

	for (uint32_t i = 0; i < p->ndamages; i++)
		cmd_note("not read: %s (%s)", prof_text(p, p->damages[i].what),
			 fmt_count(p->damages[i].count).s);
	convert_tell_massif(c);
	if (c->in.series > 1)
		cmd_note(
			"%u dumps of one process: the last one, %s, holds what is in all",
			c->in.series, c->in.name);
	if (c->left_out > 0)
		cmd_note("%s stacks with figures below 0 are omitted: %s cannot "
			 "represent them",
			 fmt_count(c->left_out).s, c->format);
}

static int
convert_do(struct convert *c, int argc, char **argv, struct err *e)
{
	struct names_opts names = c->o->names;
	int r = convert_load(c, argc, argv, e);

	if (r == 0 && c->save.value_given)
		r = value_check(c->in.p, &c->query, e);
	if (r < 0)
		return r;
	names.pid = c->in.pid;
	names.exe = c->in.exe;
	if (!c->o->no_names)
		names_resolve(c->in.p, &names);
	c->save.ret_left_out = &c->left_out;
	r = convert_save(c, e);
	if (r == 0) {
		convert_tell(c);
		cmd_wrote(c->out);
	} else if (r != -EEXIST && e->msg[0] != '\0' && strchr(e->msg, '/') == NULL)
		r = err_wrap(e, r, "%s", c->out);
	return r;
}

static int
convert_run(void *opts, int argc, char **argv)
{
	struct convert_args *o = opts;
	struct convert c = {.o = o, .out = argv[argc - 1]};
	struct err e = {0};
	int r = convert_choose_format(&c);

	if (r != CMD_OK)
		return r;
	o->load.exe = o->names.exe;
	if (c.o->index != NULL) {
		if (convert_choose_value(&c, &e) < 0)
			return cmd_usage(&cmd_convert, "%s", e.msg);
		c.save.value = c.query.value;
		c.save.objects = c.query.objects;
		c.save.value_given = true;
	}
	r = convert_do(&c, argc - 1, argv, &e);
	loaded_done(&c.in);
	return r < 0 ? cmd_fail_output(&e) : CMD_OK;
}

static void
convert_done(void *opts)
{
	names_opts_done(&((struct convert_args *)opts)->names);
}

const struct cmd cmd_convert = {
	.name = "convert",
	.args = "IN... OUT",
	.help = "convert a profile to another format",
	.man = "seep-convert",
	.opts = convert_opts,
	.opts_bytes = sizeof(struct convert_args),
	.defaults = &(const struct convert_args){.load = LOAD_OPTS_NONE},
	.done = convert_done,
	.min_args = 2,
	.max_args = CMD_ANY_ARGS,
	.run = convert_run,
};
