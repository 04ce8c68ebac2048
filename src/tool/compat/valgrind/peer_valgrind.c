/* SPDX-License-Identifier: MIT */
/* peer_valgrind.c -- `seep valgrind`: memcheck's command line, over seep run.
 *
 * Options come from ~/.valgrindrc, $VALGRIND_OPTS, ./.valgrindrc and the command line, in
 * this order; later ones win. What is about leaks and wrong uses of the heap is honoured:
 * those are looked for with all that seep run has for them but guard pages, and the
 * program goes on after each. What only steers valgrind's own machinery is taken and
 * forgotten. What a user would miss (uninitialised values, other tools) gets a line that
 * says so. Nothing is saved. */
#include "tool/compat/valgrind/peer_valgrind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/compat/leaks/leak_opts.h"
#include "tool/session/log_name.h"
#include "tool/session/run/run_impl.h"
#include "tool/util/buf.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum {
	VG_WRONG = 1, /* valgrind's exit status for a wrong command line */
	VG_RC_BYTES_MAX = 1 << 20,
	VG_REDZONE_MAX = 4096,
};

struct args {
	const struct cmd *cmd;
	struct leak_opts leak;
	const char *tool, *log_file, *trace_children, *silent_forks, *xml, *reachable,
		*possibly, *list;
	uint64_t redzone, held; /* bytes */
	bool quiet, list_short;
};

#define AT(member) .at = offsetof(struct args, member)

struct words VEC_BODY(char *);

/* Options that mean something here; the rest is in the table below. */
const struct opt peer_valgrind_opts[] = {
	{"tool", 0, OPT_STRING, AT(tool), .metavar = "memcheck",
	 .help = "Accepted for memcheck only."},
	{"log-file", 0, OPT_STRING, AT(log_file), .metavar = "FILE",
	 .help = "Write the report to FILE; %p is the process id, %n a number, "
		 "%q{NAME} an environment variable."},
	{"leak-check", 0, OPT_STRING, AT(leak.check), .metavar = "no|summary|full",
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

/* Options that change nothing that could be seen here. A line is said for others when
 * they are given with a value other than `fine` (NULL: with any). */
static const struct {
	const char *name, *fine, *line;
} others[] = {
	{"track-origins", "no",
	 "seep does not check for uninitialised values; use valgrind itself"},
	{"undef-value-errors", "no",
	 "seep does not check for uninitialised values; use valgrind itself"},
	{"track-fds", "no", "seep does not check file descriptors; use valgrind itself"},
	{"time-stamp", "no", "lines have no times"},
	{"log-fd", "2", "the report goes to stderr, or to --log-file"},
	{"log-socket", NULL, "the report goes to stderr, or to --log-file"},
	{"xml-fd", NULL, "XML goes to --xml-file"},
	{"xml-socket", NULL, "XML goes to --xml-file"},
	{"xml-user-comment", NULL, "not in the XML"},
	{"demangle", "yes", "names of C++ functions are shown as they are written"},
	{"exit-on-first-error", "no", "leaks are known at the end only"},
	{"error-markers", "none", "errors have no markers"},
	{"show-below-main", "no", "stacks end at main"},
	{"fullpath-after", NULL, "files are shown without folders; the XML has both"},
	{"xtree-memory", "none", "use seep run and seep report --tree"},
	{"xtree-leak", "no", "use seep run and seep report --tree"},
	{"leak-check-heuristics", "all", "all heuristics are used"},
	{"vgdb", "no", NULL},
	{"vgdb-error", "999999999", "seep has no gdbserver; use seep leaks PID"},
	{"vgdb-stop-at", "none", "seep has no gdbserver; use seep leaks PID"},
	{"malloc-fill", NULL, "memory is not filled"},
	{"free-fill", NULL, "memory is not filled"},
	{"trace-children-skip", NULL, "all children are reported"},
	{"trace-children-skip-by-arg", NULL, "all children are reported"},
	{"ignore-ranges", NULL, NULL},
	{"ignore-range-below-sp", NULL, NULL},
	{"error-limit", NULL, NULL},
	{"keep-debuginfo", NULL, NULL},
	{"default-suppressions", NULL, NULL},
	{"input-fd", NULL, NULL},
	{"dsymutil", NULL, NULL},
	{"max-stackframe", NULL, NULL},
	{"main-stacksize", NULL, NULL},
	{"alignment", NULL, NULL},
	{"xtree-memory-file", NULL, NULL},
	{"xtree-leak-file", NULL, NULL},
	{"extra-debuginfo-path", NULL, NULL},
	{"debuginfo-server", NULL, NULL},
	{"allow-mismatched-debuginfo", NULL, NULL},
	{"smc-check", NULL, NULL},
	{"read-inline-info", NULL, NULL},
	{"read-var-info", NULL, NULL},
	{"vgdb-poll", NULL, NULL},
	{"vgdb-shadow-registers", NULL, NULL},
	{"vgdb-prefix", NULL, NULL},
	{"run-libc-freeres", NULL, NULL},
	{"run-cxx-freeres", NULL, NULL},
	{"sim-hints", NULL, NULL},
	{"fair-sched", NULL, NULL},
	{"kernel-variant", NULL, NULL},
	{"merge-recursive-frames", NULL, NULL},
	{"num-transtab-sectors", NULL, NULL},
	{"avg-transtab-entry-size", NULL, NULL},
	{"aspace-minaddr", NULL, NULL},
	{"valgrind-stacksize", NULL, NULL},
	{"show-emwarns", NULL, NULL},
	{"require-text-symbol", NULL, NULL},
	{"soname-synonyms", NULL, NULL},
	{"sigill-diagnostics", NULL, NULL},
	{"unw-stack-scan-thresh", NULL, NULL},
	{"unw-stack-scan-frames", NULL, NULL},
	{"resync-filter", NULL, NULL},
	{"max-threads", NULL, NULL},
	{"partial-loads-ok", NULL, NULL},
	{"expensive-definedness-checks", NULL, NULL},
	{"freelist-big-blocks", NULL, NULL},
	{"workaround-gcc296-bugs", NULL, NULL},
	{"keep-stacktraces", NULL, NULL},
	{"stats", NULL, "ignored: it only matters inside valgrind"},
	{"sanity-level", NULL, "ignored: it only matters inside valgrind"},
	{"trace-flags", NULL, "ignored: it only matters inside valgrind"},
	{"profile-flags", NULL, "ignored: it only matters inside valgrind"},
	{"profile-interval", NULL, "ignored: it only matters inside valgrind"},
	{"trace-notbelow", NULL, "ignored: it only matters inside valgrind"},
	{"trace-notabove", NULL, "ignored: it only matters inside valgrind"},
	{"trace-syscalls", NULL, "ignored: it only matters inside valgrind"},
	{"trace-signals", NULL, "ignored: it only matters inside valgrind"},
	{"trace-symtab", NULL, "ignored: it only matters inside valgrind"},
	{"trace-symtab-patt", NULL, "ignored: it only matters inside valgrind"},
	{"trace-cfi", NULL, "ignored: it only matters inside valgrind"},
	{"debug-dump", NULL, "ignored: it only matters inside valgrind"},
	{"trace-redir", NULL, "ignored: it only matters inside valgrind"},
	{"trace-sched", NULL, "ignored: it only matters inside valgrind"},
	{"profile-heap", NULL, "ignored: it only matters inside valgrind"},
	{"core-redzone-size", NULL, "ignored: it only matters inside valgrind"},
	{"wait-for-gdb", NULL, "ignored: it only matters inside valgrind"},
	{"sym-offsets", NULL, "ignored: it only matters inside valgrind"},
	{"progress-interval", NULL, "ignored: it only matters inside valgrind"},
	{"command-line-only", NULL, "ignored: it only matters inside valgrind"},
	{"vex-iropt-verbosity", NULL, "ignored: it only matters inside valgrind"},
	{"vex-iropt-level", NULL, "ignored: it only matters inside valgrind"},
	{"vex-iropt-unroll-thresh", NULL, "ignored: it only matters inside valgrind"},
	{"vex-guest-max-insns", NULL, "ignored: it only matters inside valgrind"},
	{"vex-guest-chase", NULL, "ignored: it only matters inside valgrind"},
	{"vex-iropt-register-updates", NULL, "ignored: it only matters inside valgrind"},
	{"px-default", NULL, "ignored: it only matters inside valgrind"},
	{"px-file-backed", NULL, "ignored: it only matters inside valgrind"},
	{"vex-regalloc-version", NULL, "ignored: it only matters inside valgrind"},
	{"dump-error", NULL, "ignored: it only matters inside valgrind"},
	{"trace-malloc", NULL, "ignored: it only matters inside valgrind"},
	{"xtree-compress-strings", NULL, "ignored: it only matters inside valgrind"},
	{"show-mismatched-frees", "yes", "suppress them: Memcheck:Free"},
};

/* valgrind's other tools, and what to do instead. */
static const struct {
	const char *name, *instead;
} tools[] = {
	{"massif", "use: seep run -o x.rec PROGRAM, then seep report --timeline x.rec or "
		   "seep report x.rec@peak"},
	{"dhat", "use: seep run -o x.rec PROGRAM, then seep report --by temporary x.rec"},
	{"cachegrind", "not a heap profiler; use valgrind itself"},
	{"callgrind", "not a heap profiler; use valgrind itself"},
	{"helgrind", "not a heap profiler; use valgrind itself"},
	{"drd", "not a heap profiler; use valgrind itself"},
	{"lackey", "not a heap profiler; use valgrind itself"},
	{"none", "just run the program"},
	{"exp-bbv", "not a heap profiler; use valgrind itself"},
};

/* ---- one option ---- */

static int
wrong(const struct args *a, const char *word, const char *why)
{
	cmd_usage(a->cmd, "%s: %s", word, why);
	return VG_WRONG;
}

/* An option that has no effect: false when it is none of valgrind's. */
static bool
take_other(const struct args *a, const char *name, size_t n, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		if (strlen(others[i].name) != n || strncmp(others[i].name, name, n) != 0)
			continue;
		if (others[i].line != NULL &&
		    (others[i].fine == NULL || strcmp(value, others[i].fine) != 0))
			cmd_tell(a->cmd, "--%s: %s", name, others[i].line);
		return true;
	}
	return false;
}

/* One word that begins with a dash. */
static int
take_option(struct args *a, char *word)
{
	char *one[] = {word, NULL};
	const char *name = word + 2, *value = strchr(word, '='), *colon;
	struct err e = {0};
	size_t n;
	int at = 0;

	if (strcmp(word, "-d") == 0) {
		cmd_tell(a->cmd, "-d: ignored: it only matters inside valgrind");
		return 0;
	}
	if (word[1] != '-')
		return strlen(word) == 2 && strchr("qvs", word[1]) != NULL &&
				       opt_parse(peer_valgrind_opts, 1, one, &at, a,
						 &e) == 0
			       ? 0
			       : wrong(a, word, "unknown option");
	/* "--memcheck:leak-check=full" is meant for one tool alone. */
	n = value != NULL ? (size_t)(value - name) : strlen(name);
	colon = memchr(name, ':', n);
	if (colon != NULL) {
		if (strncmp(name, "memcheck:", 9) != 0)
			return 0;
		n -= 9;
		name += 9;
		one[0] = word + 9;
		one[0][0] = one[0][1] = '-';
	}
	if (value == NULL)
		value = "=";
	if (take_other(a, name, n, value + 1))
		return 0;
	/* An argument stands behind = or not at all. */
	if (opt_parse(peer_valgrind_opts, 1, one, &at, a, &e) < 0 || at != 1)
		return wrong(a, word, "unknown option, or a wrong value");
	return 0;
}

/* ---- where options come from ---- */

/* Splits at blanks; quotes keep them. The pieces live as long as we do. */
static void
split(const char *text, struct words *to)
{
	struct buf word = {0};
	bool some = false;

	for (const char *at = text;; at++) {
		char quote = *at;

		if (*at == '\0' || strchr(" \t\r\n", *at) != NULL) {
			if (some)
				vec_push(to, buf_take(&word));
			some = false;
			if (*at == '\0')
				break;
			continue;
		}
		some = true;
		if (quote != '\'' && quote != '"') {
			buf_add_char(&word, *at);
			continue;
		}
		for (at++; *at != '\0' && *at != quote; at++)
			buf_add_char(&word, *at);
		if (*at == '\0')
			at--;
	}
	buf_done(&word);
}

/* A file of options, if it is ours and nobody else can write to it. */
static void
read_file(const struct args *a, const char *dir, struct words *to)
{
	char *path = xasprintf("%s/.valgrindrc", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct buf b = {0};
	struct stat st;

	if (fd >= 0) {
		if (fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
		    !S_ISREG(st.st_mode) || (st.st_mode & S_IWOTH) != 0)
			cmd_tell(a->cmd,
				 "%s was not read: not a regular file, or not ours, or "
				 "others may write to it",
				 path);
		else if (buf_read_fd(&b, fd, VG_RC_BYTES_MAX, path, NULL) == 0)
			split(buf_str(&b), to);
		close(fd);
	}
	buf_done(&b);
	free(path);
}

static void
read_sources(const struct args *a, struct words *to)
{
	const char *home = getenv("HOME"), *variable = getenv("VALGRIND_OPTS");
	char *here = getcwd(NULL, 0);

	if (home != NULL)
		read_file(a, home, to);
	if (variable != NULL)
		split(variable, to);
	if (here != NULL && (home == NULL || strcmp(here, home) != 0))
		read_file(a, ".", to);
	free(here);
}

/* ---- all of it ---- */

static bool
is_yes(const char *value)
{
	return value != NULL && strcmp(value, "yes") == 0;
}

static int
check_yes_no(const struct args *a)
{
	const char *const values[] = {a->trace_children, a->silent_forks, a->xml,
				      a->reachable,	 a->possibly,	  a->list};
	static const char *const names[] = {
		"--trace-children", "--child-silent-after-fork", "--xml",
		"--show-reachable", "--show-possibly-lost",	 "--show-error-list"};

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		if (values[i] != NULL && strcmp(values[i], "yes") != 0 &&
		    strcmp(values[i], "no") != 0)
			return wrong(a, names[i], "want yes or no");
	}
	return 0;
}

static int
check_tool(const struct args *a)
{
	if (a->tool == NULL || strcmp(a->tool, "memcheck") == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (strcmp(a->tool, tools[i].name) == 0) {
			cmd_tell(a->cmd, "--tool=%s: %s", a->tool, tools[i].instead);
			return VG_WRONG;
		}
	}
	return wrong(a, a->tool, "valgrind has no such tool");
}

/* From what was given to what `seep run` takes. */
static int
settle(struct args *a)
{
	struct leak_opts *l = &a->leak;
	struct err e = {0};
	char *name = NULL;
	int r = check_tool(a); /* once more: a file may have named it */

	if (r == 0)
		r = check_yes_no(a);
	if (r != 0)
		return r;
	l->verbose = l->verbose || a->list_short || is_yes(a->list);
	if (is_yes(a->reachable))
		l->show = "all";
	else if (a->possibly != NULL && !is_yes(a->possibly))
		l->show = "definite";
	else if (a->reachable != NULL)
		l->show = "definite,possible";
	if (is_yes(a->xml) && l->xml_file == NULL)
		return wrong(a, "--xml=yes", "say where it goes, with --xml-file");
	if (!is_yes(a->xml))
		l->xml_file = NULL;
	if (a->log_file != NULL && log_name(a->log_file, 1, 0, &name, &e) < 0)
		return wrong(a, "--log-file", e.msg);
	free(name);
	l->format_name = "memcheck";
	if (l->check == NULL)
		l->check = is_yes(a->xml) ? "full" : "summary";
	l->error_exitcode &= 255;
	l->callers = l->callers == 1 ? 2 : l->callers;
	l->silent = is_yes(a->xml);
	l->quiet = a->quiet;
	l->only = is_yes(a->silent_forks)     ? LEAK_ONLY_PROGRAM
		  : is_yes(a->trace_children) ? LEAK_ONLY_ALL
					      : LEAK_ONLY_FORKS;
	return leak_opts_read(a->cmd, l) != 0 ? VG_WRONG : 0;
}

static bool
is_help(const char *word)
{
	static const char *const words[] = {"--help", "-h", "--help-debug",
					    "--help-dyn-options"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

/* The command line, up to the program. Returns true when that is all: *ret_status. */
static bool
read_words(struct args *a, int argc, char **argv, int *at, int *ret_status)
{
	int r = 0;

	for (; r == 0 && *at < argc && argv[*at][0] == '-'; ++*at) {
		if (strcmp(argv[*at], "--") == 0) {
			++*at;
			break;
		}
		if (is_help(argv[*at]) || strcmp(argv[*at], "--version") == 0) {
			*ret_status =
				is_help(argv[*at]) ? cmd_help(a->cmd) : cmd_version();
			return true;
		}
		r = take_option(a, argv[*at]);
	}
	*ret_status = r;
	return r != 0;
}

bool
peer_valgrind_read(const struct cmd *cmd, int argc, char **argv, struct run_opts *ret_run,
		   struct leak_opts *ret_leak, int *ret_at, int *ret_status)
{
	struct args a = {.cmd = cmd, .redzone = 16, .held = 20000000};
	struct words words = {0};
	int at = 0, r;

	read_sources(&a, &words);
	for (int i = 0; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0;
	     i++) {
		if (strncmp(argv[i], "--tool=", 7) == 0)
			a.tool = argv[i] + 7;
	}
	r = check_tool(&a); /* before its options, which are not known here */
	for (size_t i = 0; r == 0 && i < words.len; i++)
		r = words.data[i][0] == '-' ? take_option(&a, words.data[i])
					    : wrong(&a, words.data[i], "unknown option");
	vec_done(&words);
	if (r == 0 && read_words(&a, argc, argv, &at, &r)) {
		*ret_status = r;
		return false;
	}
	if (r == 0)
		r = settle(&a);
	if (r == 0 && at == argc) {
		cmd_usage(cmd, "no program given");
		r = VG_WRONG;
	}
	*ret_status = r;
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
