/* SPDX-License-Identifier: MIT */
/* peer_memleak.c -- `seep memleak`: bcc's memleak, its options and its output, over seep
 * attach.
 *
 * Every interval it prints the stacks whose blocks are still there and older than -o,
 * largest last. What is different is said in docs/from-other-tools.md: stacks are whole,
 * every malloc is seen and no mapping counted twice, several processes can be named,
 * figures of -s are scaled up to what they stand for, and Ctrl-C ends with a last report.
 * The kernel's own allocations are not looked at. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/compat/compat.h"
#include "tool/render/figure.h"
#include "tool/session/attach/attached.h"
#include "tool/session/names/names.h"
#include "tool/target/run/libseep.h"
#include "tool/target/run/rundir.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum {
	INTERVAL_S = 5,
	OLDER_MS = 500,
	TOP = 10,
	SAMPLE_BYTES = 512, /* times -s: mean distance of samples */
	START_MS = 5000,    /* for a command of -c to begin */
};

#define MAX_BYTES (UINT64_C(4) << 30)

struct memleak_args {
	const char *pids, *command, *sort;
	uint64_t older_ms, top, min_bytes, max_bytes, sample;
	bool blocks, trace, combined, percpu;
};

static const struct memleak_args memleak_defaults = {
	.older_ms = OLDER_MS, .top = TOP, .max_bytes = UINT64_MAX, .sample = 1};

#define AT(member) .at = offsetof(struct memleak_args, member)

static const struct opt memleak_opts[] = {
	{"pid", 'p', OPT_STRING, AT(pids), .metavar = "PID[,PID...]",
	 .help = "Trace these processes."},
	{"command", 'c', OPT_STRING, AT(command), .metavar = "COMMAND",
	 .help = "Start COMMAND with its arguments, and trace it from its start."},
	{"show-allocs", 'a', OPT_NONE, AT(blocks),
	 .help = "Also print address and size of every block."},
	{"older", 'o', OPT_U64, AT(older_ms), .metavar = "MS",
	 .help = "Omit blocks younger than MS milliseconds (500)."},
	{"top", 'T', OPT_U64, AT(top), .metavar = "N",
	 .help = "Print the N largest stacks (10)."},
	{"min-size", 'z', OPT_SIZE, AT(min_bytes), .metavar = "BYTES",
	 .help = "Omit blocks smaller than BYTES."},
	{"max-size", 'Z', OPT_SIZE, AT(max_bytes), .metavar = "BYTES",
	 .help = "Omit blocks larger than BYTES."},
	{"sample-rate", 's', OPT_U64, AT(sample), .metavar = "N",
	 .help = "Record about one allocation in N and scale the figures up."},
	{"sort", 0, OPT_STRING, AT(sort), .metavar = "size|count",
	 .help = "Sort stacks by size or by number of blocks (size)."},
	{"obj", 'O', OPT_STRING, .set = opt_ignore, .metavar = "OBJECT",
	 .help = "Accepted: seep finds the allocator itself."},
	{"symbols-prefix", 'S', OPT_STRING, .set = opt_ignore, .metavar = "PREFIX",
	 .help = "Accepted: seep knows je_, _rjem_, tc_ and mi_."},
	{"combined-only", 'C', OPT_NONE, AT(combined),
	 .help = "Count all blocks, of any age; the same as -o 0."},
	{"wa-missing-free", 'F', OPT_NONE, .set = opt_ignore,
	 .help = "Accepted: seep always treats a block whose address is returned "
		 "again as freed."},
	{"trace", 't', OPT_NONE, AT(trace),
	 .help = "Refused: seep does not print single calls; use bpftrace."},
	{"percpu", 'P', OPT_NONE, AT(percpu),
	 .help = "Refused: seep does not trace the kernel; use bcc's memleak."},
	{0},
};

/* ---- what is outstanding ---- */

struct stack {
	uint32_t node;
	double bytes, blocks; /* estimates, when sampled */
	VEC(const struct prof_block *) list;
};

struct stacks VEC_BODY(struct stack);
struct words VEC_BODY(char *);

static int
by_size(const void *pa, const void *pb)
{
	const struct stack *a = pa, *b = pb;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static int
by_count(const void *pa, const void *pb)
{
	const struct stack *a = pa, *b = pb;

	if (a->blocks != b->blocks)
		return a->blocks < b->blocks ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* How many blocks one that was sampled stands for: the larger, the fewer. */
static double
weight(const struct prof_process *pr, uint64_t bytes)
{
	if (pr->mode != PROF_SAMPLED || pr->rate_bytes <= 1 || bytes == 0)
		return 1.0;
	return 1 / -expm1(-(double)bytes / (double)pr->rate_bytes);
}

static void
gather(const struct memleak_args *a, const struct prof *p, struct stacks *ret)
{
	bool count = a->sort != NULL && strcmp(a->sort, "count") == 0;
	struct map at = {0};

	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *b = &p->blocks[i];
		const struct prof_site *s = &p->sites[b->site];
		const struct prof_process *pr = &p->processes[b->process];
		uint64_t *index,
			age = pr->duration_ms > b->ms ? pr->duration_ms - b->ms : 0;
		double w = weight(pr, b->bytes);
		struct stack *st;

		/* What an ended process has left will not be freed any more, however
		 * young. */
		if (b->bytes < a->min_bytes || b->bytes > a->max_bytes ||
		    (!a->combined && pr->end == PROF_END_RUNNING && age < a->older_ms))
			continue;
		index = map_add(&at, s->node);
		if (*index == 0) {
			vec_push(ret, (struct stack){.node = s->node});
			*index = ret->len;
		}
		st = &ret->data[*index - 1];
		st->bytes += w * (double)b->bytes;
		st->blocks += w;
		vec_push(&st->list, b);
	}
	if (count)
		vec_sort(ret, by_count);
	else
		vec_sort(ret, by_size);
	map_done(&at);
}

/* ---- output ---- */

static uint64_t
address(const struct prof *p, const struct prof_loc *l)
{
	for (uint32_t i = 0; i < p->nranges; i++) {
		if (p->ranges[i].module == l->module && l->module != 0)
			return l->offset + p->ranges[i].bias;
	}
	return l->offset >> 63 == 0 ? l->offset : 0; /* a name has no address */
}

static void
put_frame(struct buf *b, const struct prof *p, const struct prof_loc *l, uint32_t frame)
{
	const char *path = prof_text(p, p->modules[l->module].path);
	const char *slash = strrchr(path, '/');
	const struct prof_frame *f =
		frame < l->nframes ? &p->frames[l->frames + frame] : NULL;

	buf_printf(b, "\t\t0x%016" PRIx64 "\t", address(p, l));
	if (f != NULL && f->function != 0) {
		clean_text(b, prof_text(p, f->function));
		if (f->symbol_off != 0)
			buf_printf(b, "+0x%x", f->symbol_off);
	} else {
		buf_add_str(b, "[unknown]");
	}
	buf_add_str(b, " [");
	clean_text(b, slash != NULL ? slash + 1 : path);
	buf_add_char(b, ']');
	if (f != NULL && f->file != 0) {
		const char *file = prof_text(p, f->file);
		const char *base = strrchr(file, '/');

		buf_add_char(b, ' ');
		clean_text(b, base != NULL ? base + 1 : file);
		buf_printf(b, ":%u", f->line);
	}
	buf_add_char(b, '\n');
}

/* What libseep.so puts between libc and main() is no caller of the program's. */
static bool
is_start(const struct prof *p, uint32_t node)
{
	const struct prof_loc *l = &p->locs[p->nodes[node].loc];
	const char *slash;

	if (p->nodes[node].parent != 0 || l->kind != PROF_LOC_CODE)
		return false;
	slash = strrchr(prof_text(p, p->modules[l->module].path), '/');
	return slash != NULL && strcmp(slash, "/libseep.so") == 0;
}

static void
put_stack(struct buf *b, const struct memleak_args *a, const struct prof *p,
	  const struct stack *s)
{
	bool sampled = p->processes[s->list.data[0]->process].mode == PROF_SAMPLED;

	for (size_t i = 0; a->blocks && i < s->list.len; i++)
		buf_printf(b, "\taddr = %" PRIx64 " size = %" PRIu64 "\n",
			   s->list.data[i]->addr, s->list.data[i]->bytes);
	buf_printf(b, "\t%s%.0f bytes in %.0f allocations from stack\n",
		   sampled ? "about " : "", s->bytes, s->blocks);
	for (uint32_t n = s->node; n != 0 && !is_start(p, n); n = p->nodes[n].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[n].loc];

		if (l->kind == PROF_LOC_TRUNCATED) {
			buf_add_str(b, "\t\t[the rest could not be followed]\n");
			continue;
		}
		if (l->kind != PROF_LOC_CODE)
			continue;
		put_frame(b, p, l, 0);
		for (uint32_t i = 1; i < l->nframes; i++)
			put_frame(b, p, l, i);
	}
}

static void
report(void *opts, struct attached_sessions *ss)
{
	const struct memleak_args *a = opts;
	struct prof *p = attached_load(ss, NULL, false);
	struct stacks all = {0};
	struct buf b = {0};
	time_t now = time(NULL);
	char clock[16];
	size_t from;

	names_resolve(p,
		      &(struct names_opts){.pid = ss->data[0]->pid, .no_source = true});
	gather(a, p, &all);
	from = all.len > a->top ? all.len - a->top : 0;
	strftime(clock, sizeof clock, "%H:%M:%S", localtime(&now));
	buf_printf(&b, "[%s] Top %" PRIu64 " stacks with outstanding allocations:\n",
		   clock, a->top);
	for (size_t i = from; i < all.len; i++)
		put_stack(&b, a, p, &all.data[i]);
	if (p->blocks_dropped > 0)
		buf_printf(&b, "\t[%" PRIu64 " more blocks are not listed]\n",
			   p->blocks_dropped);
	fputs(buf_str(&b), stdout);
	fflush(stdout);
	for (size_t i = 0; i < all.len; i++)
		vec_done(&all.data[i].list);
	vec_done(&all);
	buf_done(&b);
	prof_free(p);
}

/* ---- processes ---- */

static int
find_pids(const struct memleak_args *a, struct procfs_pids *pids, struct err *e)
{
	char *words = xstrdup(a->pids), *save = NULL;
	int r = 0;

	for (char *w = strtok_r(words, ",", &save); w != NULL && r == 0;
	     w = strtok_r(NULL, ",", &save))
		r = attached_pids(w, pids, e);
	free(words);
	return r;
}

/* Words of a command as a shell would part them: at spaces, but for quotes and
 * backslashes. */
static void
split(const char *command, struct words *ret)
{
	struct buf b = {0};
	bool word = false;
	char quote = 0;

	for (const char *c = command;; c++) {
		if (*c == '\0' || (quote == 0 && (*c == ' ' || *c == '\t'))) {
			if (word)
				vec_push(ret, buf_take(&b));
			word = false;
			if (*c == '\0')
				break;
			continue;
		}
		word = true;
		if (*c == quote)
			quote = 0;
		else if (quote == 0 && (*c == '\'' || *c == '"'))
			quote = *c;
		else if (*c == '\\' && quote != '\'' && c[1] != '\0')
			buf_add_char(&b, *++c);
		else
			buf_add_char(&b, *c);
	}
	buf_done(&b);
	vec_push(ret, NULL);
}

/* What SEEP says to the command: into which folder it records, so that the recording is
 * found even if the command has ended before. */
static char *
settings(const struct memleak_args *a, const struct rundir *dir)
{
	char *mode = a->sample > 1 ? xasprintf("mode=sample,rate=%" PRIu64,
					       a->sample * SAMPLE_BYTES)
				   : xstrdup("mode=exact");
	char *all = xasprintf("%s,children=0,dir=%s,run=%016" PRIx64, mode, dir->path,
			      dir->run_id);

	free(mode);
	return all;
}

/* Starts the command with libseep.so: what it allocates before we look is there, too. */
static int
start(const struct memleak_args *a, const struct rundir *dir, int *ret_pid, struct err *e)
{
	struct words words = {0};
	char *lib = NULL, *seep;
	int r = libseep_find(&lib, e), pid;

	if (r < 0)
		return r;
	split(a->command, &words);
	seep = settings(a, dir);
	pid = words.len > 1 ? fork() : -1;
	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setenv("LD_PRELOAD", lib, 1);
		setenv("SEEP", seep, 1);
		execvp(words.data[0], words.data);
		_exit(127);
	}
	free(lib);
	free(seep);
	for (size_t i = 0; i < words.len; i++)
		free(words.data[i]);
	vec_done(&words);
	if (pid < 0)
		return err_sys(e, -errno, "cannot start the command");
	*ret_pid = pid;
	return 0;
}

static int
memleak_run(void *opts, int argc, char **argv)
{
	struct memleak_args *a = opts;
	uint64_t interval = INTERVAL_S * UINT64_C(1000000000), count = 0;
	struct session_settings s = {
		.attach = {.mode = a->sample > 1 ? REC_MODE_SAMPLE : REC_MODE_EXACT,
			   .rate_bytes = a->sample * SAMPLE_BYTES,
			   .max_bytes = MAX_BYTES},
	};
	struct attached_sessions ss = {0};
	struct procfs_pids pids = {0};
	struct rundir dir = RUNDIR_NONE;
	struct err e = {0};
	int r = 0, child = 0, status;

	if (a->trace || a->percpu || (a->pids == NULL && a->command == NULL))
		return cmd_usage(
			&cmd_memleak,
			a->trace ? "--trace is not supported; use bpftrace"
				 : "the kernel is not traced; give -p PID or -c COMMAND");
	if (a->sample == 0 || a->sample > 1 << 20)
		return cmd_usage(&cmd_memleak, "-s: from 1 to 1048576");
	if ((argc > 0 && (opt_duration(argv[0], &interval) < 0 || interval == 0)) ||
	    (argc > 1 && (count = strtoull(argv[1], NULL, 10)) == 0))
		return cmd_usage(&cmd_memleak, "interval and count are numbers above 0");
	attached_signals();
	if (a->pids != NULL)
		r = find_pids(a, &pids, &e);
	else
		r = rundir_new(a->command, &dir, &e);
	if (r == 0 && a->pids == NULL)
		r = start(a, &dir, &child, &e);
	if (r == 0 && child != 0)
		r = attached_recorded(child, &dir, START_MS, &ss, &e);
	else if (r == 0)
		r = attached_open(&pids, &s, &ss, &e);
	vec_done(&pids);
	if (r >= 0) {
		printf("Attaching to pid %d, Ctrl+C to quit.\n", ss.data[0]->pid);
		fflush(stdout);
		r = attached_run(&ss,
				 &(struct attached_run){.every_ns = interval,
							.count = count,
							.report = report,
							.ctx = opts},
				 &e);
		attached_detach(&ss); /* nobody is there any more while it is added up */
		report(opts, &ss);
	}
	attached_done(&ss);
	if (child != 0) {
		kill(child, SIGTERM);
		waitpid(child, &status, 0);
		if (r < 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
			err_set(&e, r, "cannot start %s", a->command);
	}
	if (r < 0)
		cmd_fail(&e);
	if (dir.lock_fd >= 0)
		rundir_remove(&dir, NULL, NULL);
	return r >= 0 ? CMD_OK : CMD_FAILED;
}

const struct cmd cmd_memleak = {
	.name = "memleak",
	.args = "-p PID [INTERVAL [COUNT]]",
	.help = "list outstanding allocations as bcc's memleak does",
	.man = "seep-memleak",
	.needs_proc = true,
	.opts = memleak_opts,
	.opts_bytes = sizeof(struct memleak_args),
	.defaults = &memleak_defaults,
	.min_args = 0,
	.max_args = 2,
	.run = memleak_run,
};
