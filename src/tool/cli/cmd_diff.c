/* SPDX-License-Identifier: MIT */
/* cmd_diff.c -- `seep diff`: what grew between two points, runs, machines or builds.
 *
 * Two words are the two sides; one with a point in time is compared with the same target
 * as it is now; more than two must be snapshots of one process, of which the first is
 * compared with the last. A program among the words is the one that the profiles are of;
 * of two, the first is the old side's. Everything is loaded by load.h, so a side may be
 * whatever `seep report` takes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/analyze/diff/diff.h"
#include "tool/analyze/sites/choose.h"
#include "tool/analyze/sites/value.h"
#include "tool/cli/commands.h"
#include "tool/cli/diff_maps.h"
#include "tool/cli/page_files.h"
#include "tool/cli/term/pager.h"
#include "tool/format/format.h"
#include "tool/render/about_line.h"
#include "tool/render/diff/diff_report.h"
#include "tool/render/report/report.h"
#include "tool/session/load.h"
#include "tool/session/names/names.h"
#include "tool/session/out_file.h"
#include "tool/sym/demangle.h"
#include "tool/util/clean.h"
#include "tool/util/file.h"
#include "tool/util/term.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

struct diff_args {
	struct load_opts load;
	struct names_opts names;
	bool normalize, bytes, all, json, no_skip, no_pager, peak;
	const char *base, *by, *process;
	const char *flame, *html;
	uint64_t rows;
	VEC(const char *) skip;
};

static int
diff_add_skip(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct diff_args *a = to;

	(void)o, (void)e;
	vec_push(&a->skip, v->text);
	return 0;
}

#define AT(member) .at = offsetof(struct diff_args, member)

static const struct opt diff_table_opts[] = {
	{"base", 0, OPT_STRING, AT(base), .metavar = "OLD",
	 .help = "Compare with OLD; then NEW is the only argument."},
	{"diff_base", 0, OPT_STRING, AT(base), .metavar = "OLD",
	 .help = "The same as --base; pprof's name."},
	{"diff-base", 0, OPT_STRING, AT(base)},
	{"normalize", 0, OPT_NONE, AT(normalize),
	 .help = "Scale NEW to the total of OLD before comparing."},
	{"flame", 0, OPT_STRING, AT(flame), .metavar = "OUT",
	 .help = "Write a flame graph of the differences as one SVG file."},
	{"html", 0, OPT_STRING, AT(html), .metavar = "OUT",
	 .help = "Write one web page with table, flame graph, tree and source."},
	{"peak", 0, OPT_NONE, AT(peak),
	 .help = "Compare the peaks: OLD@peak with NEW@peak."},
	{"by", 0, OPT_STRING, AT(by), .metavar = "WHAT",
	 .help = "Compare live, peak, count, allocated or temporary (live)."},
	{"rows", 'n', OPT_U64, AT(rows), .metavar = "N",
	 .help = "Print at most N sites."},
	{"all", 0, OPT_NONE, AT(all), .help = "Print every site, changed or not."},
	{"bytes", 0, OPT_NONE, AT(bytes),
	 .help = "Print bytes instead of KiB, MiB and GiB."},
	{"process", 0, OPT_STRING, AT(process), .metavar = "NAME|PID",
	 .help = "Compare only these processes of the recordings."},
	{"skip", 0, OPT_STRING, .set = diff_add_skip, .metavar = "PATTERN",
	 .help = "Also skip innermost frames whose function or module matches PATTERN."},
	{"no-skip", 0, OPT_NONE, AT(no_skip),
	 .help = "Show the frames of allocators and start code."},
	LOAD_OPTS(offsetof(struct diff_args, load)),
	NAMES_OPTS(offsetof(struct diff_args, names)),
	{"json", 0, OPT_NONE, AT(json), .help = "Print the report as JSON."},
	CMD_COLOR_OPT,
	{"no-pager", 0, OPT_NONE, AT(no_pager), .help = "Print without a pager."},
	{0},
};

struct diff_words VEC_BODY(char *);

/* One side: what was asked for, and what came of it. */
struct diff_side {
	struct loaded l;
	char *word; /* as written */
	bool *chosen;
	struct sites_point point;
	struct skip *skip;
};

struct diff_cmd {
	const struct diff_args *o;
	struct diff_words words; /* without programs */
	const char *exe[2];
	struct diff_side side[2];
	unsigned series;
	enum sites_by by;
	bool misused;		/* the failure is one of the command line */
	struct diff_words made; /* words that are ours */
};

/* ---- loading ---- */

static int
diff_load(struct diff_cmd *c, unsigned side, char *word, struct diff_side *to,
	  struct err *e)
{
	struct load_opts load = {c->exe[side], c->o->load.max_unpacked};
	int r = load_targets(1, &word, &load, &to->l, e);

	to->word = word;
	if (r < 0 || !c->o->peak)
		return r;
	if (to->l.point[0] != '\0') {
		c->misused = true;
		return err_set(e, -EINVAL, "--peak is a point in time, and so is @%s",
			       to->l.point);
	}
	free(to->l.point);
	to->l.point = xstrdup("peak");
	to->word = xasprintf("%s@peak", word);
	vec_push(&c->made, to->word);
	return 0;
}

/* Is `a` the earlier snapshot? Dumps that say nothing else about it have numbers in their
 * names. */
static bool
diff_is_before(const struct diff_side *a, const struct diff_side *b)
{
	int order = diff_earlier(a->l.p, b->l.p);

	return order != 0 ? order < 0 : strverscmp(a->word, b->word) < 0;
}

static void
diff_replace(struct diff_side *to, struct diff_side *from)
{
	struct diff_side was = *to;

	*to = *from;
	*from = was;
}

/* Keeps the first and the last of all words, which must be of one process. */
static int
diff_load_series(struct diff_cmd *c, struct err *e)
{
	int r = diff_load(c, DIFF_OLD, c->words.data[0], &c->side[DIFF_OLD], e);

	for (size_t i = 1; i < c->words.len && r == 0; i++) {
		struct diff_side next = {0};

		r = diff_load(c, DIFF_NEW, c->words.data[i], &next, e);
		if (r == 0 && !diff_same_process(c->side[DIFF_OLD].l.p, next.l.p)) {
			c->misused = true;
			r = err_set(e, -EINVAL,
				    "%s is not of the same process as %s; diff takes two "
				    "profiles, or a series of one process",
				    c->words.data[i], c->words.data[0]);
		}
		if (r == 0 && i == 1)
			diff_replace(&c->side[DIFF_NEW], &next);
		else if (r == 0 && diff_is_before(&next, &c->side[DIFF_OLD]))
			diff_replace(&c->side[DIFF_OLD], &next);
		else if (r == 0 && diff_is_before(&c->side[DIFF_NEW], &next))
			diff_replace(&c->side[DIFF_NEW], &next);
		if (r == 0 && i == 1 &&
		    diff_is_before(&c->side[DIFF_NEW], &c->side[DIFF_OLD]))
			diff_replace(&c->side[DIFF_NEW], &c->side[DIFF_OLD]);
		loaded_done(&next.l);
	}
	c->series = (unsigned)c->words.len;
	return r;
}

static int
diff_load_all(struct diff_cmd *c, struct err *e)
{
	int r;

	if (c->words.len > 2)
		return diff_load_series(c, e);
	r = diff_load(c, DIFF_OLD, c->words.data[0], &c->side[DIFF_OLD], e);
	if (r == 0 && c->words.len == 1 && c->side[DIFF_OLD].l.point[0] == '\0') {
		c->misused = true;
		return err_set(
			e, -EINVAL,
			"%s: a second recording, or a point such as OLD@peak, is missing",
			c->words.data[0]);
	}
	if (r == 0 && c->words.len == 1) {
		/* A point of a target against the target as it is now. */
		size_t n = strlen(c->words.data[0]) - strlen(c->side[DIFF_OLD].l.point);

		char *whole =
			n > 1 ? xmemdup0(c->words.data[0], n - 1) : xstrdup("@last");

		vec_push(&c->made, whole);
		vec_push(&c->words, whole);
	}
	if (r == 0)
		r = diff_load(c, DIFF_NEW, c->words.data[1], &c->side[DIFF_NEW], e);
	return r;
}

/* ---- what was asked for ---- */

static enum prof_value
diff_value(enum sites_by by)
{
	static const enum prof_value values[SITES_BY_MAX] = {
		[SITES_LIVE] = PROF_LIVE,	    [SITES_PEAK] = PROF_PEAK,
		[SITES_COUNT] = PROF_ALLOCATED,	    [SITES_ALLOCATED] = PROF_ALLOCATED,
		[SITES_TEMPORARY] = PROF_TEMPORARY,
	};

	return values[by];
}

static int
diff_choose(struct diff_cmd *c, unsigned side, struct err *e)
{
	struct diff_side *s = &c->side[side];
	const struct prof *p = s->l.p;
	struct graph_query q = {.value = diff_value(c->by)};
	int r;

	s->chosen = xcalloc(p->nprocesses, sizeof *s->chosen);
	r = choose_processes(p, c->o->process, s->chosen, e);
	if (r == 0)
		r = choose_point(p, s->chosen, s->l.point, &s->point, e);
	if (r == 0)
		r = value_check(p, &q, e);
	if (r == 0 && !value_has_point(p, s->point.at, e))
		r = -ENODATA;
	return r < 0 ? err_wrap(e, r, "%s", s->word) : 0;
}

/* A snapshot of massif without a tree has no stacks that could be compared. */
static int
diff_check_sums(const struct diff_cmd *c, struct err *e)
{
	const struct diff_side *with = NULL, *without = NULL;
	struct buf trees = {0};
	int r;

	for (unsigned s = 0; s < 2; s++) {
		const struct diff_side *x = &c->side[s];

		*(choose_is_sum(x->l.p, x->chosen, &x->point) ? &without : &with) = x;
	}
	if (with == NULL || without == NULL)
		return 0;
	choose_trees(without->l.p, &trees);
	r = err_set(
		e, -ENODATA,
		"%s: this snapshot has its sums, but no stacks to compare; those with "
		"stacks: %s",
		without->word, trees.len > 0 ? buf_str(&trees) : "none");
	buf_done(&trees);
	return r;
}

/* Allocated memory where one of the two does not know what is live. */
static void
diff_choose_value(struct diff_cmd *c)
{
	for (unsigned s = 0; s < 2; s++) {
		if (c->o->by == NULL && !prof_has_value(c->side[s].l.p, PROF_LIVE))
			c->by = SITES_ALLOCATED;
	}
}

/* ---- all of it ---- */

static void
diff_make_skips(struct diff_cmd *c)
{
	struct skip_opts skip = {.more = c->o->skip.data,
				 .nmore = c->o->skip.len,
				 .off = c->o->no_skip,
				 .fold = !c->o->json && !c->o->all};

	for (unsigned s = 0; s < 2; s++) {
		struct names_opts names = c->o->names;

		names.pid = c->side[s].l.pid;
		names.exe = c->exe[s];
		names_resolve(c->side[s].l.p, &names);
	}
	diff_prepare(c->side[DIFF_OLD].l.p, c->side[DIFF_NEW].l.p);
	for (unsigned s = 0; s < 2; s++)
		c->side[s].skip = skip_new(c->side[s].l.p, &skip);
}

/* The files of --flame and --html: the same figures, drawn by function. */
static int
diff_draw(struct diff_cmd *c, struct err *e)
{
	struct graph_query q[2];
	struct buf notes = {0};
	struct pages pages = {
		.flame = c->o->flame, .html = c->o->html, .one_figure = c->o->by != NULL};
	char *title = xasprintf("%s \xe2\x86\x92 %s", c->side[DIFF_OLD].word,
				c->side[DIFF_NEW].word);
	int r;

	for (unsigned s = 0; s < 2; s++) {
		struct diff_side *of = &c->side[s];
		struct report_opts o = {.chosen = of->chosen};

		q[s] = (struct graph_query){.value = diff_value(c->by),
					    .objects = c->by == SITES_COUNT ||
						       c->by == SITES_TEMPORARY,
					    .chosen = of->chosen,
					    .point = of->point,
					    .skip = of->skip,
					    .normalize = c->o->normalize,
					    .full_name = demangle_full};
		report_remarks(&notes, of->l.p, &o);
	}
	pages.title = title;
	pages.notes = buf_str(&notes);
	r = pages_write(&pages, c->side[DIFF_NEW].l.p, &q[DIFF_NEW],
			c->side[DIFF_OLD].l.p, &q[DIFF_OLD], e);
	buf_done(&notes);
	free(title);
	return r;
}

/* What is compared: a line for each side, or one if both are points of one recording. */
static void
diff_about(const struct diff_cmd *c, struct buf *out, const struct term *t)
{
	const struct diff_side *old = &c->side[DIFF_OLD], *new = &c->side[DIFF_NEW];
	bool one = strcmp(old->l.name, new->l.name) == 0;

	buf_add_str(out, one ? "" : "old  ");
	about_line(out, old->l.p, old->chosen, old->l.name, t);
	if (one)
		return;
	buf_add_str(out, "new  ");
	about_line(out, new->l.p, new->chosen, new->l.name, t);
}

/* The options that the names came from, for a command that is to find the same. */
static void
diff_reading(const struct diff_cmd *c, struct buf *out)
{
	const struct names_opts *n = &c->o->names;
	const struct {
		const char *option, *value;
	} given[] = {
		{"--exe", c->exe[DIFF_NEW]},
		{"--sysroot", n->sysroot},
		{"--debug-dir", n->debug_dirs},
	};

	for (size_t i = 0; i < ARRAY_LEN(given); i++) {
		const char *at = given[i].value;

		/* Folders of debug files are joined with colons, and given one by one. */
		while (at != NULL) {
			const char *colon =
				i == ARRAY_LEN(given) - 1 ? strchr(at, ':') : NULL;
			char *one = colon != NULL
					    ? xasprintf("%.*s", (int)(colon - at), at)
					    : xstrdup(at);

			buf_printf(out, "%s ", given[i].option);
			clean_shell(out, one);
			buf_add_char(out, ' ');
			free(one);
			at = colon != NULL ? colon + 1 : NULL;
		}
	}
	if (n->debuginfod)
		buf_add_str(out, "--debuginfod ");
}

static int
diff_print(struct diff_cmd *c, struct err *e)
{
	struct diff_query q = {
		.by = c->by, .depth = REPORT_FRAMES, .normalize = c->o->normalize};
	struct diff_opts o = {.by = c->by,
			      .ascii = !report_locale_is_utf8(),
			      .bytes = c->o->bytes,
			      .all = c->o->all,
			      .rows = c->o->rows > UINT32_MAX ? UINT32_MAX
							      : (uint32_t)c->o->rows,
			      .frames = REPORT_FRAMES,
			      .series = c->series};
	struct buf out = {0}, reading = {0};
	struct term term;
	struct diff d;
	int r;

	diff_reading(c, &reading);
	if (reading.len > 0)
		o.reading = buf_str(&reading);
	for (unsigned s = 0; s < 2; s++) {
		q.side[s].chosen = c->side[s].chosen;
		q.side[s].point = c->side[s].point;
		q.side[s].skip = o.skip[s] = c->side[s].skip;
		o.p[s] = c->side[s].l.p;
		o.target[s] = c->side[s].word;
	}
	diff_init(&d, o.p[DIFF_OLD], o.p[DIFF_NEW], &q);
	term_init(&term, STDOUT_FILENO);
	o.term = &term;
	if (c->o->json) {
		diff_json(&out, &d, &o);
	} else {
		diff_about(c, &out, &term);
		diff_text(&out, &d, &o);
	}
	r = pager_print(&out, c->o->no_pager || c->o->json, e);
	diff_done(&d);
	buf_done(&out);
	buf_done(&reading);
	return r;
}

static int
diff_do(struct diff_cmd *c, struct err *e)
{
	int r = diff_load_all(c, e);

	if (r < 0)
		return r;
	diff_choose_value(c);
	for (unsigned s = 0; s < 2 && r == 0; s++)
		r = diff_choose(c, s, e);
	if (r == 0)
		r = diff_check_sums(c, e);
	if (r < 0)
		return r;
	diff_make_skips(c);
	if (c->o->flame != NULL || c->o->html != NULL)
		return diff_draw(c, e);
	return diff_print(c, e);
}

static int
diff_only_one(const char *word)
{
	char head[64];
	const struct format *f = file_head(word, head, sizeof head)
					 ? format_find(head, sizeof head)
					 : NULL;

	/* Profiles of other tools are of one moment. */
	if (f != NULL && f != &format_pack && f != &format_live)
		return cmd_usage(&cmd_diff, "OLD and NEW are needed, there is only %s",
				 word);
	return cmd_usage(&cmd_diff,
			 "OLD and NEW are needed; to compare its peak with its end: seep "
			 "diff %s@peak",
			 word);
}

/* Sorts the words; 0, or the exit status of a refusal. */
static int
diff_take_words(struct diff_cmd *c, int argc, char **argv)
{
	unsigned programs = 0;

	c->exe[0] = c->exe[1] = c->o->names.exe;
	if (c->o->base != NULL)
		vec_push(&c->words, (char *)c->o->base);
	for (int i = 0; i < argc; i++) {
		if (!format_is_program(argv[i])) {
			vec_push(&c->words, argv[i]);
			continue;
		}
		if (programs == 0)
			c->exe[DIFF_OLD] = argv[i];
		c->exe[DIFF_NEW] = argv[i];
		programs++;
	}
	if (programs > 2)
		return cmd_usage(&cmd_diff, "%u programs; at most one for each side",
				 programs);
	if (c->words.len == 0)
		return cmd_usage(&cmd_diff,
				 "two recordings or profiles are needed: seep diff "
				 "OLD NEW");
	if (c->words.len == 1 && strchr(c->words.data[0] + 1, '@') == NULL &&
	    (c->words.data[0][0] != '@' || strcmp(c->words.data[0], "@last") == 0))
		return diff_only_one(c->words.data[0]);
	return CMD_OK;
}

static int
diff_run(void *opts, int argc, char **argv)
{
	const struct diff_args *o = opts;
	struct diff_maps_opts maps = {
		.json = o->json, .all = o->all, .no_pager = o->no_pager, .rows = o->rows};
	struct diff_cmd c = {.o = o};
	struct err e = {0};
	int r, status = CMD_OK;

	if (o->by != NULL && choose_by(o->by, &c.by, &e) < 0)
		status = cmd_usage(&cmd_diff, "%s", e.msg);
	else if ((o->flame != NULL || o->html != NULL) && o->json)
		status = cmd_usage(&cmd_diff, "--flame and --html write files of their "
					      "own kind: no --json goes with them");
	else if (pages_check(o->flame, o->html, &e) < 0)
		status = cmd_fail_output(&e);
	if (status == CMD_OK)
		status = diff_take_words(&c, argc, argv);
	if (status == CMD_OK &&
	    !diff_maps((int)c.words.len, c.words.data, &maps, &status)) {
		r = diff_do(&c, &e);
		if (r < 0 && c.misused)
			status = cmd_usage(&cmd_diff, "%s", e.msg);
		else if (r < 0)
			status = cmd_fail(&e);
	}
	for (unsigned s = 0; s < 2; s++) {
		loaded_done(&c.side[s].l);
		free(c.side[s].chosen);
		skip_free(c.side[s].skip);
	}
	for (size_t i = 0; i < c.made.len; i++)
		free(c.made.data[i]);
	vec_done(&c.made);
	vec_done(&c.words);
	return status;
}

static void
diff_free(void *opts)
{
	struct diff_args *a = opts;

	names_opts_done(&a->names);
	vec_done(&a->skip);
}

int
cmd_diff_marks(FILE *to, const char *recording, const char *before, const char *after,
	       bool json)
{
	char *old = xasprintf("%s@%s", recording, before);
	char *new = xasprintf("%s@%s", recording, after);
	char plain[] = "--no-pager", as_json[] = "--json", end[] = "--";
	char *words[] = {plain, json ? as_json : plain, end, old, new};
	int out, status;

	fflush(stdout);
	fflush(to);
	out = dup(STDOUT_FILENO);
	dup2(clean_fd(to), STDOUT_FILENO);
	status = cmd_call(&cmd_diff, ARRAY_LEN(words), words);
	fflush(stdout);
	if (out >= 0) {
		dup2(out, STDOUT_FILENO);
		close(out);
	}
	free(old);
	free(new);
	return status;
}

const struct cmd cmd_diff = {
	.name = "diff",
	.args = "OLD NEW",
	.help = "show what grew between two points, runs, machines or builds",
	.man = "seep-diff",
	.opts = diff_table_opts,
	.opts_bytes = sizeof(struct diff_args),
	.defaults = &(const struct diff_args){.load = LOAD_OPTS_NONE},
	.done = diff_free,
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.run = diff_run,
};
