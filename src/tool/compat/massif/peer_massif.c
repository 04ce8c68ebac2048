/* SPDX-License-Identifier: MIT */
/* peer_massif.c -- `seep massif`: massif's command line, over seep run.
 *
 * Words are read as valgrind reads them (vg_words.c). When the run has ended, each
 * process gets a massif.out file of its own, made from the recording; nothing else is
 * saved and no leak check is done. What the recording does not have (instructions, stacks
 * of threads, the number of blocks over time) is named in one line and left out. */
#include "tool/compat/massif/peer_massif.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/compat/leaks/leak_report.h"
#include "tool/compat/valgrind/vg_words.h"
#include "tool/format/format_save.h"
#include "tool/session/log_name.h"
#include "tool/session/out_file.h"
#include "tool/session/starts.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum {
	DEPTH_MAX = 200,
	SNAPSHOTS_MIN = 10,
	SNAPSHOTS_MAX = 1000,
	ADMIN_MAX = 1024,
	DETAILED_MAX = 1000000,
};

#define NOT_GIVEN UINT64_MAX

struct args {
	const struct cmd *cmd;
	struct peer_massif *m;
	struct peer_massif_names ignored_fns;
	const char *tool, *heap, *stacks, *pages, *unit, *log_file, *trace_children,
		*silent_forks;
	const char *out;
	uint64_t admin, detailed, depth, snapshots;
	double threshold, inaccuracy;
	bool quiet, verbose;
};

#define AT(member) .at = offsetof(struct args, member)

static int
add_alloc(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct args *a = to;

	(void)o, (void)e;
	vec_push(&a->m->alloc, v->text);
	return 0;
}

static int
add_ignored(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct args *a = to;

	(void)o, (void)e;
	vec_push(&a->ignored_fns, v->text);
	return 0;
}

const struct opt peer_massif_opts[] = {
	{"tool", 0, OPT_STRING, AT(tool), .metavar = "massif",
	 .help = "Accepted for massif only."},
	{"massif-out-file", 0, OPT_STRING, AT(out), .metavar = "FILE",
	 .help = "Write the snapshots to FILE; %p is the process id, %n a number, "
		 "%q{NAME} an environment variable (massif.out.%p)."},
	{"max-snapshots", 0, OPT_U64, AT(snapshots), .metavar = "N",
	 .help = "Write at most N snapshots, 10 to 1000 (100)."},
	{"depth", 0, OPT_U64, AT(depth), .metavar = "N",
	 .help = "Write at most N frames of a stack, 1 to 200 (30)."},
	{"threshold", 0, OPT_FLOAT, AT(threshold), .metavar = "M.N",
	 .help = "Sum up what is less than this percentage of a snapshot (1)."},
	{"alloc-fn", 0, OPT_STRING, .set = add_alloc, .metavar = "NAME",
	 .help = "Leave function NAME out when it is innermost, as malloc is; can be "
		 "repeated."},
	{"peak-inaccuracy", 0, OPT_FLOAT, AT(inaccuracy), .metavar = "M.N",
	 .help = "Accepted: the peak is exact."},
	{"time-unit", 0, OPT_STRING, AT(unit), .metavar = "i|ms|B",
	 .help = "Accepted: times are always milliseconds (ms)."},
	{"detailed-freq", 0, OPT_U64, AT(detailed), .metavar = "N",
	 .help = "Write stacks for every Nth snapshot, the peak, the marks and the "
		 "end (10)."},
	{"heap", 0, OPT_STRING, AT(heap), .metavar = "yes|no",
	 .help = "Accepted for yes only."},
	{"heap-admin", 0, OPT_U64, AT(admin), .metavar = "N",
	 .help = "Accepted: only the bytes that the program asks for are counted (0)."},
	{"stacks", 0, OPT_STRING, AT(stacks), .metavar = "yes|no",
	 .help = "Accepted: stacks of threads are not measured (no)."},
	{"pages-as-heap", 0, OPT_STRING, AT(pages), .metavar = "yes|no",
	 .help = "Accepted: pages are not counted (no)."},
	{"ignore-fn", 0, OPT_STRING, .set = add_ignored, .metavar = "NAME",
	 .help = "Accepted: no function is left out."},
	{"trace-children", 0, OPT_STRING, AT(trace_children), .metavar = "yes|no",
	 .help = "Also write files of the programs that PROGRAM starts (no)."},
	{"child-silent-after-fork", 0, OPT_STRING, AT(silent_forks), .metavar = "yes|no",
	 .help = "Write no files of forked child processes (no)."},
	{"log-file", 0, OPT_STRING, AT(log_file), .metavar = "FILE",
	 .help = "Write messages to FILE instead of stderr."},
	{"quiet", 'q', OPT_NONE, AT(quiet), .help = "Do not name the files written."},
	{"verbose", 'v', OPT_NONE, AT(verbose), .help = "Accepted."},
	/* of all of valgrind's tools, for reports that massif does not make */
	{"num-callers", 0, OPT_U64, .set = opt_ignore},
	{"error-exitcode", 0, OPT_U64, .set = opt_ignore},
	{"suppressions", 0, OPT_STRING, .set = opt_ignore},
	{"gen-suppressions", 0, OPT_STRING, .set = opt_ignore},
	{"show-error-list", 0, OPT_STRING, .set = opt_ignore},
	{"s", 's', OPT_NONE, .set = opt_ignore},
	{0},
};

/* ---- what was asked for ---- */

static int
check_range(const struct vg_reader *r, const char *name, uint64_t v, uint64_t least,
	    uint64_t most)
{
	char *why;

	if (v == NOT_GIVEN || (v >= least && v <= most))
		return 0;
	why = xasprintf("want %" PRIu64 " to %" PRIu64, least, most);
	vg_wrong(r, name, why);
	free(why);
	return VG_WRONG;
}

static int
check(const struct vg_reader *r, const struct args *a)
{
	const struct {
		const char *name, *value;
	} switches[] = {{"--heap", a->heap},
			{"--stacks", a->stacks},
			{"--pages-as-heap", a->pages},
			{"--trace-children", a->trace_children},
			{"--child-silent-after-fork", a->silent_forks}};
	struct err e = {0};
	char *name = NULL;
	int bad = 0;

	if (a->tool != NULL && strcmp(a->tool, "massif") != 0)
		return vg_wrong(r, a->tool, "not this tool; use seep valgrind");
	for (size_t i = 0; i < ARRAY_LEN(switches) && bad == 0; i++)
		bad = vg_yes_no(r, switches[i].name, switches[i].value);
	bad = bad != 0 ? bad : check_range(r, "--depth", a->depth, 1, DEPTH_MAX);
	if (bad == 0)
		bad = check_range(r, "--max-snapshots", a->snapshots, SNAPSHOTS_MIN,
				  SNAPSHOTS_MAX);
	if (bad == 0)
		bad = check_range(r, "--detailed-freq", a->detailed, 1, DETAILED_MAX);
	bad = bad != 0 ? bad : check_range(r, "--heap-admin", a->admin, 0, ADMIN_MAX);
	if (bad == 0 && !(a->threshold >= 0 && a->threshold <= 100))
		bad = vg_wrong(r, "--threshold", "want 0 to 100");
	if (bad == 0 && a->unit != NULL && strcmp(a->unit, "i") != 0 &&
	    strcmp(a->unit, "ms") != 0 && strcmp(a->unit, "B") != 0)
		bad = vg_wrong(r, "--time-unit", "want i, ms or B");
	if (bad == 0 && log_name(a->m->out, 1, 0, &name, &e) < 0)
		bad = vg_wrong(r, "--massif-out-file", e.msg);
	/* before the program has run for an hour */
	if (bad == 0 && ((!log_name_differs(a->m->out) && out_check_log(name, &e) < 0) ||
			 file_out_check(name, &e) < 0))
		bad = vg_wrong(r, "--massif-out-file", e.msg);
	free(name);
	return bad;
}

/* One line for all that has no effect. */
static void
tell_ignored(const struct args *a)
{
	bool unit = a->unit != NULL && strcmp(a->unit, "ms") != 0;
	const struct {
		bool given;
		const char *text;
	} all[] = {
		{unit, "--time-unit (times are milliseconds)"},
		{vg_is_yes(a->stacks), "--stacks"},
		{vg_is_yes(a->pages), "--pages-as-heap"},
		{a->heap != NULL && !vg_is_yes(a->heap), "--heap=no"},
		{a->admin != NOT_GIVEN && a->admin != 0,
		 "--heap-admin (the number of blocks over time is not recorded)"},
		{a->ignored_fns.len > 0, "--ignore-fn"},
	};
	struct buf b = {0};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (all[i].given)
			buf_printf(&b, "%s%s", b.len > 0 ? ", " : "", all[i].text);
	}
	if (b.len > 0)
		cmd_tell(a->cmd, "ignored: %s", buf_str(&b));
	buf_done(&b);
}

/* The options as they are written into the file. Before they are read: that changes
 * words. */
static void
describe(struct peer_massif *m, int argc, char **argv)
{
	for (int i = 0; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0;
	     i++) {
		if (strncmp(argv[i], "--tool=", 7) != 0)
			buf_printf(&m->desc, "%s%s", m->desc.len > 0 ? " " : "", argv[i]);
	}
}

static void
settle(struct args *a, struct run_opts *ret_run)
{
	struct peer_massif *m = a->m;

	m->opts = (struct massif_opts)MASSIF_OPTS_NONE;
	if (a->depth != NOT_GIVEN)
		m->opts.depth = (unsigned)a->depth;
	if (a->snapshots != NOT_GIVEN)
		m->opts.max_snapshots = (unsigned)a->snapshots;
	if (a->detailed != NOT_GIVEN)
		m->opts.detailed_freq = (unsigned)a->detailed;
	m->opts.threshold = a->threshold;
	m->opts.desc = m->desc.len > 0 ? buf_str(&m->desc) : NULL;
	m->only = vg_is_yes(a->silent_forks)	 ? LEAK_ONLY_PROGRAM
		  : vg_is_yes(a->trace_children) ? LEAK_ONLY_ALL
						 : LEAK_ONLY_FORKS;
	m->quiet = a->quiet;
	ret_run->no_save = ret_run->no_check = true;
	ret_run->log_file = a->log_file;
}

bool
peer_massif_read(const struct cmd *cmd, int argc, char **argv, struct run_opts *ret_run,
		 struct peer_massif *ret, int *ret_at, int *ret_status)
{
	struct args a = {.cmd = cmd,
			 .m = ret,
			 .admin = NOT_GIVEN,
			 .detailed = NOT_GIVEN,
			 .depth = NOT_GIVEN,
			 .snapshots = NOT_GIVEN,
			 .threshold = 1};
	const struct vg_reader r = {
		.cmd = cmd, .tool = "massif", .opts = peer_massif_opts, .given = &a};
	int at = 0, status;

	*ret = (struct peer_massif){0};
	describe(ret, argc, argv);
	status = vg_read(&r, argc, argv, &at);
	ret->out = a.out != NULL ? a.out : "massif.out.%p";
	if (status == 0)
		status = check(&r, &a);
	if (status == 0 && at == argc) {
		cmd_usage(cmd, "no program given");
		status = VG_WRONG;
	}
	if (status == 0) {
		tell_ignored(&a);
		settle(&a, ret_run);
	}
	vec_done(&a.ignored_fns);
	*ret_at = at;
	*ret_status = status == VG_DONE ? CMD_OK : status;
	return status == 0;
}

void
peer_massif_done(struct peer_massif *m)
{
	vec_done(&m->alloc);
	buf_done(&m->desc);
}

/* ---- what is written ---- */

static int
drain(void *ctx, const void *bytes, size_t n, struct err *e)
{
	return file_out_write(ctx, bytes, n, e);
}

/* Writes one process to a file of this name. */
static int
write_file(const struct format_save_opts *o, const struct prof *p, const char *name,
	   struct err *e)
{
	struct file_out file = {0};
	struct buf piece = {0};
	struct emit_out out = {.buf = &piece, .drain = drain, .ctx = &file};
	int r = out_check_log(name, e);

	if (r == 0)
		r = file_out_open(&file, name, e);
	if (r == 0)
		r = format_save(p, "massif", o, &out, e);
	if (r == 0)
		r = file_out_commit(&file, e);
	file_out_done(&file);
	buf_done(&piece);
	return r;
}

/* Is this frame one of a function that --alloc-fn names? As in massif the function counts
 * that the address is in, and not what is inlined there. Arguments are no part of a name
 * here. */
static bool
is_alloc_fn(const struct peer_massif *m, const struct prof *p, uint32_t node)
{
	const struct prof_loc *l = &p->locs[p->nodes[node].loc];
	const char *name;

	if (l->nframes == 0)
		return false;
	name = prof_text(p, p->frames[l->frames + l->nframes - 1].function);
	for (size_t i = 0; i < m->alloc.len; i++) {
		const char *fn = m->alloc.data[i];
		size_t n = strcspn(fn, "(");

		if (strcspn(name, "(") == n && strncmp(fn, name, n) == 0)
			return true;
	}
	return false;
}

/* Leaves the frames of such functions out where stacks begin with them. */
static void
skip_alloc_fns(const struct peer_massif *m, const struct prof *p,
	       const struct format_save_opts *o, struct emit_start *starts)
{
	for (uint32_t i = 1; i < p->nsites && m->alloc.len > 0; i++) {
		uint32_t node = starts[i].node;

		while (node != 0 && is_alloc_fn(m, p, node))
			node = emit_caller(p, o, node);
		if (node != starts[i].node)
			starts[i] = (struct emit_start){.node = node};
	}
}

/* The processes of the run that get a file. */
static bool *
choose(const struct peer_massif *m, const struct prof *p, uint32_t pid)
{
	const struct leak_opts which = {.only = m->only, .program_pid = pid};
	bool *chosen = xcalloc(p->nprocesses, sizeof *chosen);

	if (m->only == LEAK_ONLY_PROGRAM) {
		for (uint32_t i = 1; i < p->nprocesses; i++)
			chosen[i] = p->processes[i].pid == pid;
	} else if (!leak_report_choose(&which, p, chosen)) {
		for (uint32_t i = 1; i < p->nprocesses; i++)
			chosen[i] = true;
	}
	for (uint32_t i = 1; i < p->nprocesses; i++)
		chosen[i] = chosen[i] && p->processes[i].not_recorded == 0;
	return chosen;
}

/* Is there a later process of this number? By exec: it is the one that has the file. */
static bool
is_replaced(const struct prof *p, const bool *chosen, uint32_t process)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (chosen[i] && p->processes[i].pid == p->processes[process].pid &&
		    p->processes[i].start_ns > p->processes[process].start_ns)
			return true;
	}
	return false;
}

int
peer_massif_write(void *ctx, struct prof *p, uint32_t pid, struct err *e)
{
	struct peer_massif *m = ctx;
	bool *tails = NULL, *chosen = choose(m, p, pid);
	struct emit_start *starts = starts_of(p, NULL, &tails);
	struct format_save_opts o = {
		.starts = starts, .tails = tails, .massif = &m->opts};
	uint32_t written = 0, without = 0;
	int r = 0;

	skip_alloc_fns(m, p, &o, starts);
	for (uint32_t i = 1; i < p->nprocesses && r == 0; i++) {
		char *name = NULL;

		if (!chosen[i] || is_replaced(p, chosen, i))
			continue;
		if (!log_name_differs(m->out) && p->processes[i].pid != pid) {
			without++;
			continue;
		}
		m->opts.process = i;
		r = log_name(m->out, p->processes[i].pid, written, &name, e);
		if (r == 0)
			r = write_file(&o, p, name, e);
		if (r == 0 && !m->quiet)
			cmd_wrote(name);
		written += r == 0;
		free(name);
	}
	if (r == 0 && without > 0)
		cmd_note("%u child process%s without a file: %%p in --massif-out-file "
			 "gives each its own",
			 without, without == 1 ? " is" : "es are");
	if (r == 0 && written == 0)
		r = err_set(e, -ENODATA, "nothing was recorded; seep doctor says why");
	free(starts);
	free(tails);
	free(chosen);
	return r;
}
