/* SPDX-License-Identifier: MIT */
/* main.c -- the command line: finds the command, reads its options, shows help.
 *
 * There are no global options but --help and --version. Options may stand anywhere among
 * a command's words, except for `run`, where the first word is the program and all behind
 * it are the program's own. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/cli/commands.h"
#include "tool/cli/term/sigbus.h"
#include "tool/cli/term/status_line.h"
#include "tool/compat/compat.h"
#include "tool/util/buf.h"
#include "tool/util/clean.h"
#include "tool/util/cmdline/doing.h"
#include "tool/util/cmdline/note.h"
#include "tool/util/file.h"
#include "tool/util/term.h"
#include "tool/util/vec.h"

enum {
	STACK_BYTES = 8 << 20, /* what Linux gives by default */
};

static const struct cmd *const commands[] = {
	&cmd_run,     &cmd_attach,    &cmd_detach,
	&cmd_report,  &cmd_leaks,     &cmd_scan,
	&cmd_diff,    &cmd_top,	      &cmd_watch,
	&cmd_why,     &cmd_dump,      &cmd_convert,
	&cmd_ps,      &cmd_mark,      &cmd_pause,
	&cmd_resume,  &cmd_doctor,    &cmd_jeprof,
	&cmd_pprof,   &cmd_mtrace,    &cmd_flamegraph,
	&cmd_memleak, &cmd_valgrind,  &cmd_ms_print,
	&cmd_massif,  &cmd_heaptrack, &cmd_heaptrack_print,
	&cmd_dhat,
};

/* Names that seep also answers to, as a link or as its first word. */
static const struct {
	const char *name, *command;
	const char *option; /* that goes with it, or NULL */
} other_names[] = {
	{"jeprof", "jeprof", NULL},
	{"google-pprof", "jeprof", "--google-pprof"},
	{"pprof", "pprof", NULL},
	{"mtrace", "mtrace", NULL},
	{"valgrind", "valgrind", NULL},
	{"memleak", "memleak", NULL},
	{"ms_print", "ms_print", NULL},
	{"memleak-bpfcc", "memleak", NULL},
	{"flamegraph.pl", "flamegraph.pl", NULL},
	{"heaptrack", "heaptrack", NULL},
	{"dhat", "dhat", NULL},
	{"heaptrack_print", "heaptrack_print", NULL},
	/* views of a report that have names of their own */
	{"peak", "report", "--peak"},
	{"churn", "report", "--churn"},
	{"lifetimes", "report", "--lifetimes"},
	{"timeline", "report", "--timeline"},
};

/* What people type who know another tool: the names of that tool, and what to run
 * instead. */
static const struct {
	const char *names; /* separated by blanks */
	const char *instead;
} other_tools[] = {
	{"massif-visualizer",
	 "seep timeline massif.out (memory over time), or seep report --html x.html massif.out"},
	{"heaptrack_gui",
	 "seep heaptrack PROGRAM, then seep report --html x.html FILE (or a file of heaptrack)"},
	{"heaptrack_interpret bytehound mleak",
	 "seep run -o x.rec PROGRAM (or seep attach PID), then seep report --html x.html x.rec"},
	{"memcheck drmemory", "seep valgrind PROGRAM"},
	{"lsan asan leaksanitizer", "seep run --format lsan PROGRAM"},
	{"tracemalloc memory_profiler memory-profiler mprof memray fil-profile scalene "
	 "py-spy pympler objgraph",
	 "PYTHONMALLOC=malloc seep run python3 SCRIPT for the memory of objects and of C "
	 "code; for lines of Python python3 -X tracemalloc=10 SCRIPT, with "
	 "tracemalloc.take_snapshot() printed by the script itself"},
	{"asprof async-profiler jmap jcmd jps heapdump",
	 "async-profiler or jcmd PID GC.class_histogram for Java objects; seep attach PID for "
	 "the native memory of the JVM"},
	{"jemalloc tcmalloc mimalloc gperftools",
	 "seep run PROGRAM records whichever malloc it uses; seep report PROGRAM FILE.heap "
	 "reads the profiles of jemalloc and tcmalloc"},
	{"version", "seep --version"},
	{"go", "seep pprof PROFILE or seep pprof http://HOST:PORT/debug/pprof/heap"},
	{"pmap smem smaps ps_mem",
	 "seep watch PID (memory by region, over time), or seep diff OLD.txt NEW.txt (saved "
	 "output of pmap -x)"},
	{"vmstat free htop",
	 "seep watch PID (memory by region, over time) or seep ps (what is recorded)"},
	{"gdb gcore strings hexdump", "seep dump PID REGION, or seep leaks CORE"},
	{"profile record trace start exec", "seep run PROGRAM, or seep attach PID"},
	{"stop end", "seep detach PID"},
	{"show view print open", "seep report FILE"},
	{"compare", "seep diff OLD NEW"},
	{"flamegraph flame", "seep report --flame OUT.svg FILE"},
	{"leak leakcheck check heapcheck", "seep leaks PID, or seep run PROGRAM"},
};

/* ---- help ---- */

/* The questions that people come with. */
static int
help_first(FILE *out)
{
	fputs("seep: where did the memory go, and is it leaking?\n\n"
	      "  seep run PROGRAM     start a program; its leaks and its peak when it ends\n"
	      "  seep attach PID      record a running process for a while, without a restart\n"
	      "  seep leaks PID       find leaked memory in a running process or a core file\n"
	      "  seep report FILE     show a recording, or a heap profile of another tool\n"
	      "  seep diff OLD NEW    show what grew between two runs or two points in time\n\n"
	      "All commands: seep help --all. One command: seep help COMMAND. Manual: man seep.\n",
	      out);
	return CMD_OK;
}

static int
help_all(FILE *out)
{
	fputs("usage: seep COMMAND [OPTIONS] [WORDS]\n\n", out);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const struct cmd *c = commands[i];

		if (c == &cmd_jeprof)
			fputs("\nIn place of other tools:\n", out);
		fprintf(out, "  %-16s %s\n", c->name, c->help);
	}
	fputs("\nMore: seep help COMMAND, man seep. Version: seep --version\n", out);
	return CMD_OK;
}

static const struct cmd *
find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

/* Another tool as its users call it, by a path: ./flamegraph.pl, /usr/bin/valgrind. */
static const struct cmd *
find_peer(const char *path)
{
	const char *slash = strrchr(path, '/');
	bool peer = false;

	for (size_t i = 0; slash != NULL && i < ARRAY_LEN(commands); i++) {
		peer = peer || commands[i] == &cmd_jeprof; /* they are the last rows */
		if (peer && strcmp(commands[i]->name, slash + 1) == 0)
			return commands[i];
	}
	return NULL;
}

/* A file where a command belongs: what is mostly done with one. */
static bool
is_file_instead(const char *name)
{
	bool runs = access(name, X_OK) == 0;

	if (!file_is_regular(name))
		return false;
	fprintf(stderr, "seep: no command \"%s\"; did you mean \"seep %s %s%s\"?\n", name,
		runs ? "run" : "report", runs && strchr(name, '/') == NULL ? "./" : "",
		name);
	return true;
}

/* Whether `name` is one of the words of `names`. */
static bool
is_one_of(const char *names, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strstr(names, name); n > 0 && at != NULL;
	     at = strstr(at + 1, name)) {
		if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	}
	return false;
}

static int
unknown_command(const char *name)
{
	if (is_file_instead(name))
		return CMD_USAGE;
	for (size_t i = 0; i < ARRAY_LEN(other_tools); i++) {
		if (is_one_of(other_tools[i].names, name)) {
			fprintf(stderr, "seep: no command \"%s\"; use: %s\n", name,
				other_tools[i].instead);
			return CMD_USAGE;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (opt_is_near(name, commands[i]->name)) {
			fprintf(stderr,
				"seep: no command \"%s\"; did you mean \"seep %s\"?\n",
				name, commands[i]->name);
			return CMD_USAGE;
		}
	}
	fprintf(stderr, "seep: no command \"%s\"; see: seep help --all\n", name);
	return CMD_USAGE;
}

/* ---- running ---- */

struct words VEC_BODY(char *);

static int
run_help(int argc, char **argv)
{
	const struct cmd *c;

	if (argc < 1)
		return help_first(stdout);
	if (strcmp(argv[0], "--all") == 0)
		return help_all(stdout);
	c = find_command(argv[0]);
	return c != NULL ? cmd_help(c) : unknown_command(argv[0]);
}

/* Runs the command that goes by another name, if `name` is one; else *ret is left
 * alone. */
static bool
run_other_name(const char *name, int argc, char **argv, int *ret)
{
	struct words words = {0};
	size_t i = 0;

	while (i < ARRAY_LEN(other_names) && strcmp(other_names[i].name, name) != 0)
		i++;
	if (i == ARRAY_LEN(other_names))
		return false;
	if (other_names[i].option != NULL)
		vec_push(&words, (char *)other_names[i].option);
	for (int k = 0; k < argc; k++)
		vec_push(&words, argv[k]);
	vec_push(&words, NULL);
	*ret = cmd_call(find_command(other_names[i].command), (int)words.len - 1,
			words.data);
	vec_done(&words);
	return true;
}

static int
dispatch(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL, *name;
	const struct cmd *c;
	int status;

	name = argc > 0 ? (slash != NULL ? slash + 1 : argv[0]) : "";
	/* CTest and others know valgrind by a part of its file's name. */
	if (strstr(name, "valgrind") != NULL)
		name = "valgrind";
	if (run_other_name(name, argc - 1, argv + 1, &status))
		return status;
	if (argc < 2) {
		help_first(stderr);
		return CMD_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0)
		return cmd_version();
	if (strcmp(argv[1], "help") == 0 || cmd_is_help(argv[1]))
		return run_help(argc - 2, argv + 2);
	c = find_command(argv[1]);
	if (c == NULL)
		c = find_peer(argv[1]);
	if (c != NULL)
		return cmd_call(c, argc - 2, argv + 2);
	if (run_other_name(argv[1], argc - 2, argv + 2, &status))
		return status;
	return unknown_command(argv[1]);
}

/* Descriptors 0 to 2 are never anything else of ours, also if we were started without
 * them: a message must not end up in a recording. The program that we start finds them as
 * we did. */
static void
hold_std_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/* ---- a stack that is large enough ---- */

/* What runs on a stack of its own. makecontext passes only int. */
static struct {
	int argc, status;
	char **argv;
} roomy;

static void
dispatch_roomy(void)
{
	roomy.status = dispatch(roomy.argc, roomy.argv);
}

/* libdw keeps some 200 KB of a file's line numbers on the stack and does not ask for its
 * limit (ulimit -s). The limit itself is the program's, which is started with it. */
static int
dispatch_with_room(int argc, char **argv)
{
	ucontext_t here, there;
	struct rlimit limit;
	void *stack;

	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_BYTES)
		return dispatch(argc, argv);
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED || getcontext(&there) < 0)
		return dispatch(argc, argv);
	roomy.argc = argc;
	roomy.argv = argv;
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &here;
	makecontext(&there, dispatch_roomy, 0);
	swapcontext(&here, &there);
	return roomy.status;
}

static void
tell_note(const char *text)
{
	cmd_note("%s", text);
}

int
main(int argc, char **argv)
{
	int status;

	/* Tables that have grown out of their memory give it back at once. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	hold_std_fds();
	clean_install();
	note_to(tell_note);
	doing_to(status_line);
	sigbus_survive();
	status = dispatch_with_room(argc, argv);

	/* A full disk or a closed pipe is not to pass for success. */
	if ((fflush(stdout) != 0 || ferror(stdout) || fflush(clean_raw()) != 0) &&
	    status == CMD_OK) {
		if (errno != EPIPE)
			fprintf(stderr, "seep: cannot write the output: %s\n",
				strerror(errno));
		status = CMD_FAILED;
	}
	return status;
}
