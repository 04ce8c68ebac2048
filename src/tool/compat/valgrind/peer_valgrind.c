/* SPDX-License-Identifier: MIT */
/* peer_valgrind.c -- `seep valgrind`: memcheck's command line, over seep run.
 *
 * Words are read by vg_words.c. What is about leaks and wrong uses of the heap is
 * honoured: those are looked for with all that seep run has for them but guard pages, and
 * the program goes on after each. What a user would miss (uninitialised values, other
 * tools) gets a line that says so. Nothing is saved. */
#include "tool/compat/valgrind/peer_valgrind.h"

#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/compat/leaks/leak_opts.h"
#include "tool/compat/valgrind/vg_words.h"
#include "tool/session/log_name.h"
#include "tool/session/run/run_impl.h"
#include "tool/util/cmdline/cmd.h"

enum { VG_REDZONE_MAX = 4096 };

struct args {
	const struct cmd *cmd;
	struct leak_opts leak;
	const char *tool, *log_file, *trace_children, *silent_forks, *xml, *reachable,
		*possibly, *list;
	uint64_t redzone, held; /* bytes */
	bool quiet, list_short;
};

#define AT(member) .at = offsetof(struct args, member)

/* Options that mean something here; the rest is in vg_words.c. */
const struct opt peer_valgrind_opts[] = {
	{"tool", 0, OPT_STRING, AT(tool), .metavar = "memcheck",
	 .help = "Or massif: then the options are those of seep massif."},
	{"log-file", 0, OPT_STRING, AT(log_file), .metavar = "FILE",
	 .help = "Write the report to FILE; %p is the process id, %n a number, "
		 "%q{NAME} an environment variable."},
	{"leak-check", 0, OPT_STRING, AT(leak.check), .metavar = "no|summary|yes|full",
	 .help = "Skip the leak check, print its sums, or print every leak "
		 "(summary)."},
	{"show-leak-kinds", 0, OPT_STRING, AT(leak.show), .metavar = "KINDS",
	 .help = "Print leaks of these kinds (definite,possible)."},
	{"errors-for-leak-kinds", 0, OPT_STRING, AT(leak.errors), .metavar = "KINDS",
	 .help = "Count leaks of these kinds as errors (definite,possible)."},
	{"show-reachable", 0, OPT_STRING, AT(reachable), .metavar = "yes|no",
	 .help = "With yes, print leaks of all kinds."},
	{"show-possibly-lost", 0, OPT_STRING, AT(possibly), .metavar = "yes|no",
	 .help = "With no, print only definite leaks."},
	{"leak-resolution", 0, OPT_STRING, AT(leak.resolution), .metavar = "low|med|high",
	 .help = "Merge leaks whose innermost 2, 4 or all frames agree (high)."},
	{"num-callers", 0, OPT_U64, AT(leak.callers), .metavar = "N",
	 .help = "Print at most N frames of a stack (12)."},
	{"error-exitcode", 0, OPT_U64, AT(leak.error_exitcode), .metavar = "N",
	 .help = "Exit with status N if errors are found."},
	{"suppressions", 0, OPT_STRING, AT(leak.files), .set = leak_opts_suppressions,
	 .metavar = "FILE", .help = "Hide the errors that FILE names; can be repeated."},
	{"gen-suppressions", 0, OPT_STRING, AT(leak.generate), .metavar = "no|yes|all",
	 .help = "Print a suppression for each error."},
	{"xml", 0, OPT_STRING, AT(xml), .metavar = "yes|no",
	 .help = "Write the report as XML to --xml-file."},
	{"xml-file", 0, OPT_STRING, AT(leak.xml_file), .metavar = "FILE",
	 .help = "Write the XML to FILE."},
	{"redzone-size", 0, OPT_U64, AT(redzone), .metavar = "N",
	 .help = "Put N guard bytes before and after each block (16)."},
	{"freelist-vol", 0, OPT_U64, AT(held), .metavar = "N",
	 .help = "Delay the reuse of up to N bytes of freed blocks, to detect "
		 "writes to them (20000000)."},
	{"trace-children", 0, OPT_STRING, AT(trace_children), .metavar = "yes|no",
	 .help = "Also report the programs that PROGRAM starts (no)."},
	{"child-silent-after-fork", 0, OPT_STRING, AT(silent_forks), .metavar = "yes|no",
	 .help = "Do not report forked child processes (no)."},
	{"quiet", 'q', OPT_NONE, AT(quiet), .help = "Print errors only."},
	{"verbose", 'v', OPT_NONE, AT(leak.verbose),
	 .help = "Print how many leaks each suppression matched."},
	{"show-error-list", 0, OPT_STRING, AT(list), .metavar = "yes|no",
	 .help = "The same as --top."},
	{"s", 's', OPT_NONE, AT(list_short), .help = NULL},
	{0},
};

/* valgrind's other tools, and what to do instead. */
static const struct {
	const char *name, *instead;
} tools[] = {
	{"massif", "only on the command line; or use: seep massif"},
	{"dhat", "use: seep dhat PROGRAM"},
	{"cachegrind", "not a heap profiler; use valgrind itself"},
	{"callgrind", "not a heap profiler; use valgrind itself"},
	{"helgrind", "not a heap profiler; use valgrind itself"},
	{"drd", "not a heap profiler; use valgrind itself"},
	{"lackey", "not a heap profiler; use valgrind itself"},
	{"none", "just run the program"},
	{"exp-bbv", "not a heap profiler; use valgrind itself"},
};

/* ---- all of it ---- */

static struct vg_reader
reader(struct args *a)
{
	return (struct vg_reader){.cmd = a->cmd,
				  .tool = "memcheck",
				  .opts = peer_valgrind_opts,
				  .given = a};
}

static int
check_yes_no(struct args *a)
{
	const char *const values[] = {a->trace_children, a->silent_forks, a->xml,
				      a->reachable,	 a->possibly,	  a->list};
	static const char *const names[] = {
		"--trace-children", "--child-silent-after-fork", "--xml",
		"--show-reachable", "--show-possibly-lost",	 "--show-error-list"};
	struct vg_reader r = reader(a);
	int status = 0;

	for (size_t i = 0; i < ARRAY_LEN(values) && status == 0; i++)
		status = vg_yes_no(&r, names[i], values[i]);
	return status;
}

static int
check_tool(struct args *a)
{
	struct vg_reader r = reader(a);

	if (a->tool == NULL || strcmp(a->tool, "memcheck") == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (strcmp(a->tool, tools[i].name) == 0) {
			cmd_tell(a->cmd, "--tool=%s: %s", a->tool, tools[i].instead);
			return VG_WRONG;
		}
	}
	return vg_wrong(&r, a->tool, "valgrind has no such tool");
}

/* From what was given to what `seep run` takes. */
static int
settle(struct args *a)
{
	const struct vg_reader reads = reader(a);
	struct leak_opts *l = &a->leak;
	struct err e = {0};
	char *name = NULL;
	int r = check_tool(a); /* once more: a file may have named it */

	if (r == 0)
		r = check_yes_no(a);
	if (r != 0)
		return r;
	l->verbose = l->verbose || a->list_short || vg_is_yes(a->list);
	if (vg_is_yes(a->reachable))
		l->show = "all";
	else if (a->possibly != NULL && !vg_is_yes(a->possibly))
		l->show = "definite";
	else if (a->reachable != NULL)
		l->show = "definite,possible";
	if (vg_is_yes(a->xml) && l->xml_file == NULL)
		return vg_wrong(&reads, "--xml=yes",
				"say where it goes, with --xml-file");
	if (!vg_is_yes(a->xml))
		l->xml_file = NULL;
	if (a->log_file != NULL && log_name(a->log_file, 1, 0, &name, &e) < 0)
		return vg_wrong(&reads, "--log-file", e.msg);
	free(name);
	l->format_name = "memcheck";
	if (l->check == NULL)
		l->check = vg_is_yes(a->xml) ? "full" : "summary";
	l->error_exitcode &= 255;
	l->callers = l->callers == 1 ? 2 : l->callers;
	l->silent = vg_is_yes(a->xml);
	l->quiet = a->quiet;
	l->only = vg_is_yes(a->silent_forks)	 ? LEAK_ONLY_PROGRAM
		  : vg_is_yes(a->trace_children) ? LEAK_ONLY_ALL
						 : LEAK_ONLY_FORKS;
	return leak_opts_read(a->cmd, l) != 0 ? VG_WRONG : 0;
}

bool
peer_valgrind_read(const struct cmd *cmd, int argc, char **argv, struct run_opts *ret_run,
		   struct leak_opts *ret_leak, int *ret_at, int *ret_status)
{
	struct args a = {
		.cmd = cmd, .redzone = 16, .held = 20000000, .tool = vg_tool(argc, argv)};
	const struct vg_reader reads = reader(&a);
	int at = 0, r = check_tool(&a); /* before its options, which are not known here */

	if (r == 0)
		r = vg_read(&reads, argc, argv, &at);
	if (r == 0)
		r = settle(&a);
	if (r == 0 && at == argc) {
		cmd_usage(cmd, "no program given");
		r = VG_WRONG;
	}
	*ret_status = r == VG_DONE ? CMD_OK : r;
	if (r != 0)
		return false;
	ret_run->no_save = ret_run->keep_going = ret_run->check_copy = true;
	ret_run->redzone = (struct opt_optional){
		.given = a.redzone > 0,
		.has_value = true,
		.value = a.redzone < VG_REDZONE_MAX ? a.redzone : VG_REDZONE_MAX};
	ret_run->quarantine = a.held;
	ret_run->log_file = a.log_file;
	*ret_leak = a.leak;
	*ret_at = at;
	return true;
}
