/* SPDX-License-Identifier: MIT */
/* cmd_watch.c -- `seep watch`: which region of a running process grows, how fast, and
 * when it meets its limit.
 *
 * Reads /proc only; the process does not notice. One thread, one wait: until the next
 * snapshot is due or a signal comes. On a terminal the same screen is renewed; in a pipe
 * each snapshot is a line. Ctrl-C, SIGTERM and SIGHUP end it as any other end does: with
 * the verdict. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/cli/commands.h"
#include "tool/render/report/report.h"
#include "tool/render/watch/watch.h"
#include "tool/session/loop.h"
#include "tool/session/out_file.h"
#include "tool/session/watch/watcher.h"
#include "tool/util/clean.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/term.h"
#include "tool/util/x.h"

enum { WATCH_SNAPSHOTS = 10 };

#define WATCH_EVERY_NS UINT64_C(5000000000)
#define WATCH_LEAST_NS UINT64_C(100000000)

struct watch_args {
	uint64_t every_ns, for_ns, count, rows;
	uint64_t growth_bytes;
	const char *command, *metrics;
	double at_percent;
	bool cold, json, all, growth_given;
};

static int
watch_set_growth(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct watch_args *a = to;

	(void)o;
	if (v->u64 == 0)
		return err_set(e, -EINVAL, "--on-growth: SIZE must be greater than 0");
	a->growth_bytes = v->u64;
	a->growth_given = true;
	a->command = NULL;
	return 0;
}

/* "80%", "80". */
static int
watch_set_at(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	char *end;
	double n = strtod(v->text, &end);

	(void)o;
	if (end == v->text || (*end != '\0' && strcmp(end, "%") != 0) || !(n > 0) ||
	    n > 100)
		return err_set(e, -EINVAL,
			       "--at: \"%s\" is not a percentage of the limit", v->text);
	*(double *)to = n;
	return 0;
}

#define AT(member) .at = offsetof(struct watch_args, member)

static const struct opt watch_table[] = {
	{"every", 0, OPT_DURATION, AT(every_ns), .metavar = "TIME",
	 .help = "Interval between snapshots (5s, or a tenth of --for if that is "
		 "less)."},
	{"count", 'c', OPT_U64, AT(count), .metavar = "N",
	 .help = "Stop after N snapshots."},
	{"for", 0, OPT_DURATION, AT(for_ns), .metavar = "TIME",
	 .help = "Stop after TIME (until Ctrl-C)."},
	{"cold", 0, OPT_NONE, AT(cold),
	 .help = "Print how much memory was not used again. Clears the kernel's "
		 "referenced bits of the process."},
	{"on-growth", 0, OPT_SIZE, .set = watch_set_growth, .metavar = "SIZE COMMAND",
	 .help = "Run COMMAND each time that the memory has grown by SIZE."},
	{"at", 0, OPT_STRING, AT(at_percent), .set = watch_set_at, .metavar = "PERCENT",
	 .help = "At PERCENT of the memory limit, run COMMAND of --on-growth and "
		 "exit with status 1."},
	{"metrics", 0, OPT_STRING, AT(metrics), .metavar = "FILE",
	 .help = "Update FILE after each snapshot, in Prometheus' text format."},
	{"rows", 'n', OPT_U64, AT(rows), .metavar = "N",
	 .help = "Print at most N regions."},
	{"all", 0, OPT_NONE, AT(all), .help = "Print every region."},
	CMD_COLOR_OPT,
	{"json", 0, OPT_NONE, AT(json), .help = "Print the report as JSON at the end."},
	{0},
};

enum { WATCH_HELPED = -1 };

struct watch_cmd {
	const struct watch_args *o;
	struct watchers ws;
	struct term term;
	unsigned screen_lines; /* of what stands there now */
	pid_t child;	       /* the command that runs, or 0 */
	uint64_t *told_bytes;  /* growth of each process that the command was run for */
	bool at_limit;
};

/* ---- what happens at a snapshot ---- */

static uint64_t
watch_growth_bytes(const struct watcher *w)
{
	const struct track *t = &w->track;
	uint64_t now, first;

	if (t->total.len == 0)
		return 0;
	now = *vec_last(&t->total);
	first = t->total.data[0];
	return now > first ? (now - first) << 10 : 0;
}

static void
watch_set_env(const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	setenv(name, text, 1);
}

/* In the child: the command, told what happened. Its output goes to stderr, where it does
 * not mix with ours. */
static void
watch_exec(const struct watch_cmd *c, const struct watcher *w, const struct watch_view *v)
{
	struct track_verdict d;
	sigset_t none;

	track_judge(v->track, &d);
	watch_set_env("SEEP_PID", (uint64_t)w->mem.pid);
	setenv("SEEP_NAME", w->stat.comm, 1);
	watch_set_env("SEEP_RSS_BYTES", memmap_total_kib(v->map, MEMMAP_RSS) << 10);
	watch_set_env("SEEP_GROWTH_BYTES", watch_growth_bytes(w));
	watch_set_env("SEEP_LIMIT_BYTES", v->limit_bytes);
	setenv("SEEP_REGION",
	       d.word != TRACK_GROWING ? ""
	       : d.row != SIZE_MAX     ? v->track->rows.data[d.row].last.name
				       : region_kind_name(d.kind),
	       1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", c->o->command, (char *)NULL);
	_exit(127);
}

static void
watch_run_command(struct watch_cmd *c, struct watcher *w, const char *why)
{
	struct watch_view v = watcher_view(w);

	if (c->o->command == NULL)
		return;
	if (c->child != 0 && waitpid(c->child, NULL, WNOHANG) == c->child)
		c->child = 0;
	if (c->child != 0) {
		cmd_note("%d: %s; the command still runs from last time", w->mem.pid,
			 why);
		return;
	}
	cmd_note("%d: %s; running: %s", w->mem.pid, why, c->o->command);
	fflush(stdout);
	c->child = fork();
	if (c->child == 0)
		watch_exec(c, w, &v);
	if (c->child < 0) {
		cmd_note("cannot run the command: %s", strerror(errno));
		c->child = 0;
	}
}

static void
watch_check_growth(struct watch_cmd *c, size_t i)
{
	struct watcher *w = c->ws.data[i];
	uint64_t grown = watch_growth_bytes(w);
	char why[64];

	if (!c->o->growth_given || grown < c->o->growth_bytes ||
	    grown - c->o->growth_bytes < c->told_bytes[i])
		return;
	c->told_bytes[i] = grown - grown % c->o->growth_bytes;
	snprintf(why, sizeof why, "grew by %s", fmt_size(grown).s);
	watch_run_command(c, w, why);
}

static void
watch_check_limit(struct watch_cmd *c, struct watcher *w)
{
	/* Of a machine's memory, others take their part: then the process alone
	 * counts. */
	uint64_t used = w->limit.machine ? memmap_total_kib(&w->map, MEMMAP_RSS) << 10
					 : w->limit.used_bytes;
	char why[128];

	if (c->o->at_percent <= 0 || c->at_limit || w->limit.limit_bytes == 0 ||
	    (double)used < (double)w->limit.limit_bytes * c->o->at_percent / 100)
		return;
	c->at_limit = true;
	snprintf(why, sizeof why, "at %s of its memory limit of %s",
		 fmt_percent(used, w->limit.limit_bytes).s,
		 fmt_size(w->limit.limit_bytes).s);
	if (c->o->command == NULL)
		cmd_note("%d: %s", w->mem.pid, why);
	watch_run_command(c, w, why);
}

/* ---- what is shown ---- */

/* Replaced by rename, so that a scrape sees all or nothing, and readable for the
 * collector. */
static int
watch_write_metrics(struct watch_cmd *c, struct err *e)
{
	struct watch_view *views = xcalloc(c->ws.len, sizeof *views);
	struct file_out f = {0};
	struct buf b = {0};
	mode_t mask = umask(0);
	int r;

	umask(mask);
	for (size_t i = 0; i < c->ws.len; i++)
		views[i] = watcher_view(c->ws.data[i]);
	watch_metrics(&b, views, c->ws.len);
	r = file_out_open(&f, c->o->metrics, e);
	if (r == 0)
		r = file_out_write(&f, b.data, b.len, e);
	if (r == 0 && f.tmp != NULL)
		fchmod(f.fd, 0644 & ~mask);
	if (r == 0)
		r = file_out_commit(&f, e);
	file_out_done(&f);
	buf_done(&b);
	free(views);
	return r;
}

static struct watch_opts
watch_shown(const struct watch_cmd *c, bool brief)
{
	return (struct watch_opts){.term = &c->term,
				   .ascii = !report_locale_is_utf8(),
				   .all = c->o->all && !brief,
				   .rows = c->o->rows > UINT32_MAX ? UINT32_MAX
								   : (uint32_t)c->o->rows,
				   .brief = brief};
}

/* Columns of one line; colours take none. */
static size_t
watch_width(const char *at, const char *end)
{
	size_t width = 0;

	while (at < end) {
		if (*at == '\033') {
			while (at < end && *at != 'm')
				at++;
			at += at < end;
			continue;
		}
		width += (*at++ & 0xc0) != 0x80;
	}
	return width;
}

/* Lines of the text as the terminal breaks them. */
static unsigned
watch_lines(const struct watch_cmd *c, const struct buf *text)
{
	unsigned lines = 0;
	const char *at = buf_str(text);

	while (*at != '\0') {
		const char *end = strchrnul(at, '\n');
		size_t width = watch_width(at, end);

		lines++;
		if (c->term.columns > 0 && width > 0)
			lines += (unsigned)((width - 1) / c->term.columns);
		at = *end == '\n' ? end + 1 : end;
	}
	return lines;
}

static void
watch_wipe(struct watch_cmd *c)
{
	char up[32];

	snprintf(up, sizeof up, "\033[%uA\033[J", c->screen_lines);
	if (c->screen_lines > 0)
		clean_cursor(stdout, up);
	c->screen_lines = 0;
}

static void
watch_show(struct watch_cmd *c)
{
	struct watch_opts o = watch_shown(c, true);
	struct buf b = {0};
	char when[16];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof when, "%H:%M:%S", &tm);
	if (c->o->json)
		return;
	for (size_t i = 0; i < c->ws.len; i++) {
		struct watch_view v = watcher_view(c->ws.data[i]);

		if (c->term.tty)
			watch_text(&b, &v, &o);
		else if (!v.ended)
			watch_line(&b, &v, when);
		if (!c->term.tty && !v.ended)
			buf_add_char(&b, '\n');
	}
	if (c->term.tty) {
		watch_wipe(c);
		c->screen_lines = watch_lines(c, &b);
	}
	fputs(buf_str(&b), stdout);
	fflush(stdout);
	buf_done(&b);
}

/* The verdicts, or all of it as JSON. */
static void
watch_end(struct watch_cmd *c)
{
	struct watch_view *views = xcalloc(c->ws.len, sizeof *views);
	struct watch_opts o = watch_shown(c, false);
	struct buf b = {0};

	watch_wipe(c);
	for (size_t i = 0; i < c->ws.len; i++) {
		watcher_account(c->ws.data[i]);
		views[i] = watcher_view(c->ws.data[i]);
	}
	if (c->o->json) {
		watch_json(&b, views, c->ws.len);
	} else {
		for (size_t i = 0; i < c->ws.len; i++) {
			if (i > 0)
				buf_add_char(&b, '\n');
			watch_text(&b, &views[i], &o);
		}
	}
	fputs(buf_str(&b), stdout);
	buf_done(&b);
	free(views);
}

/* ---- all of it ---- */

static int
watch_step(void *ctx, double seconds, struct err *e)
{
	struct watch_cmd *c = ctx;
	bool some = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->ws.len; i++) {
		struct watcher *w = c->ws.data[i];

		r = watcher_look(w, seconds, c->o->cold, e);
		if (r < 0 || w->ended)
			continue;
		some = true;
		watch_check_growth(c, i);
		watch_check_limit(c, w);
	}
	if (r == 0)
		watch_show(c);
	if (r == 0 && c->o->metrics != NULL)
		r = watch_write_metrics(c, e);
	if (r < 0)
		return r;
	return some && !c->at_limit ? LOOP_GO_ON : LOOP_END;
}

struct watch_words VEC_BODY(const char *);

/* Options and words; the first word behind --on-growth is its command. 0, or the exit
 * status of a refusal; WATCH_HELPED when help was asked for. */
static int
watch_take_words(struct watch_args *o, int argc, char **argv,
		 struct watch_words *ret_words, struct err *e)
{
	for (int at = 0; at < argc;) {
		bool wanted;

		if (opt_parse(watch_table, argc, argv, &at, o, e) < 0) {
			if (strcmp(argv[at], "--help") != 0 &&
			    strcmp(argv[at], "-h") != 0)
				return cmd_usage(&cmd_watch, "%s", e->msg);
			cmd_help(&cmd_watch);
			return WATCH_HELPED;
		}
		wanted = o->growth_given && o->command == NULL;
		if (at < argc && wanted)
			o->command = argv[at++];
		else if (at < argc)
			vec_push(ret_words, argv[at++]);
	}
	if (o->growth_given && o->command == NULL)
		return cmd_usage(&cmd_watch, "--on-growth: COMMAND is missing");
	if (ret_words->len == 0)
		return cmd_usage(&cmd_watch, "incomplete; usage: seep watch PID...");
	for (size_t i = 0; i < ret_words->len; i++) {
		if (ret_words->data[i][0] == '\0')
			return cmd_empty_word(&cmd_watch);
	}
	if (o->metrics != NULL && out_check(o->metrics, "metrics", e) < 0)
		return cmd_fail_output(e);
	return CMD_OK;
}

/* A short look has ten snapshots too: fewer show nothing. */
static uint64_t
watch_every_ns(const struct watch_args *o)
{
	uint64_t tenth = o->for_ns / WATCH_SNAPSHOTS;

	if (o->every_ns > 0)
		return o->every_ns;
	if (o->for_ns == 0 || o->count > 0 || tenth > WATCH_EVERY_NS)
		return WATCH_EVERY_NS;
	return tenth > WATCH_LEAST_NS ? tenth : WATCH_LEAST_NS;
}

/* Watches what the words name. Returns the exit status. */
static int
watch_do(struct watch_cmd *c, const struct watch_words *words, struct err *e)
{
	struct loop_steps loop = {.every_ns = watch_every_ns(c->o),
				  .for_ns = c->o->for_ns,
				  .count = c->o->count,
				  .step = watch_step,
				  .ctx = c};
	int r = 0;

	for (size_t i = 0; r == 0 && i < words->len; i++)
		r = watcher_add(&c->ws, words->data[i], e);
	if (r < 0)
		return cmd_fail(e);
	c->told_bytes = xcalloc(c->ws.len, sizeof *c->told_bytes);
	term_init(&c->term, STDOUT_FILENO);
	r = loop_steps(&loop, e);
	if (r < 0)
		return cmd_fail(e);
	watch_end(c);
	return c->at_limit ? CMD_FOUND : CMD_OK;
}

static int
watch_run(void *opts, int argc, char **argv)
{
	struct watch_words words = {0};
	struct watch_cmd c = {.o = opts};
	struct err e = {0};
	int status = watch_take_words(opts, argc, argv, &words, &e);

	if (status == CMD_OK)
		status = watch_do(&c, &words, &e);
	free(c.told_bytes);
	watchers_done(&c.ws);
	vec_done(&words);
	return status == WATCH_HELPED ? CMD_OK : status;
}

const struct cmd cmd_watch = {
	.name = "watch",
	.args = "PID|NAME...",
	.help = "show which region of a process grows, how fast, until when",
	.man = "seep-watch",
	.needs_proc = true,
	.opts = watch_table,
	.opts_bytes = sizeof(struct watch_args),
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.own_options = true,
	.run = watch_run,
};
