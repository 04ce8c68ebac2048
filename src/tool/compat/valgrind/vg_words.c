/* SPDX-License-Identifier: MIT */
/* vg_words.c -- see vg_words.h. */
#include "tool/compat/valgrind/vg_words.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum { VG_RC_BYTES_MAX = 1 << 20 };

struct vg_words VEC_BODY(char *);

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

/* ---- one option ---- */

int
vg_wrong(const struct vg_reader *r, const char *word, const char *why)
{
	cmd_usage(r->cmd, "%s: %s", word, why);
	return VG_WRONG;
}

/* An option that has no effect: false when it is none of valgrind's. */
static bool
take_other(const struct vg_reader *r, const char *name, size_t n, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		if (strlen(others[i].name) != n || strncmp(others[i].name, name, n) != 0)
			continue;
		if (others[i].line != NULL &&
		    (others[i].fine == NULL || strcmp(value, others[i].fine) != 0))
			cmd_tell(r->cmd, "--%s: %s", name, others[i].line);
		return true;
	}
	return false;
}

/* One word that begins with a dash. */
static int
take_option(const struct vg_reader *r, char *word)
{
	char *one[] = {word, NULL};
	const char *name = word + 2, *value = strchr(word, '='), *colon;
	struct err e = {0};
	size_t n;
	int at = 0;

	if (strcmp(word, "-d") == 0) {
		cmd_tell(r->cmd, "-d: ignored: it only matters inside valgrind");
		return 0;
	}
	if (word[1] != '-')
		return strlen(word) == 2 && strchr("qvs", word[1]) != NULL &&
				       opt_parse(r->opts, 1, one, &at, r->given, &e) == 0
			       ? 0
			       : vg_wrong(r, word, "unknown option");
	/* "--memcheck:leak-check=full" is meant for one tool alone. */
	n = value != NULL ? (size_t)(value - name) : strlen(name);
	colon = memchr(name, ':', n);
	if (colon != NULL) {
		size_t tool = strlen(r->tool);

		if (strncmp(name, r->tool, tool) != 0 || name[tool] != ':')
			return 0;
		n -= tool + 1;
		name += tool + 1;
		one[0] = word + tool + 1;
		one[0][0] = one[0][1] = '-';
	}
	if (value == NULL)
		value = "=";
	if (take_other(r, name, n, value + 1))
		return 0;
	/* An argument stands behind = or not at all. */
	if (opt_parse(r->opts, 1, one, &at, r->given, &e) < 0 || at != 1)
		return vg_wrong(r, word, "unknown option, or a wrong value");
	return 0;
}

/* ---- where options come from ---- */

/* Splits at blanks; quotes keep them. The pieces live as long as we do. */
static void
split(const char *text, struct vg_words *to)
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
read_file(const struct vg_reader *r, const char *dir, struct vg_words *to)
{
	char *path = xasprintf("%s/.valgrindrc", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct buf b = {0};
	struct stat st;

	if (fd >= 0) {
		if (fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
		    !S_ISREG(st.st_mode) || (st.st_mode & S_IWOTH) != 0)
			cmd_tell(r->cmd,
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
read_sources(const struct vg_reader *r, struct vg_words *to)
{
	const char *home = getenv("HOME"), *variable = getenv("VALGRIND_OPTS");
	char *here = getcwd(NULL, 0);

	if (home != NULL)
		read_file(r, home, to);
	if (variable != NULL)
		split(variable, to);
	if (here != NULL && (home == NULL || strcmp(here, home) != 0))
		read_file(r, ".", to);
	free(here);
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

/* The command line, up to the program. */
static int
read_words(const struct vg_reader *r, int argc, char **argv, int *ret_at)
{
	int at = 0, status = 0;

	for (; status == 0 && at < argc && argv[at][0] == '-'; at++) {
		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		if (is_help(argv[at]) || strcmp(argv[at], "--version") == 0) {
			status = is_help(argv[at]) ? cmd_help(r->cmd) : cmd_version();
			return status == 0 ? VG_DONE : status;
		}
		status = take_option(r, argv[at]);
	}
	*ret_at = at;
	return status;
}

int
vg_read(const struct vg_reader *r, int argc, char **argv, int *ret_at)
{
	struct vg_words words = {0};
	int status = 0;

	read_sources(r, &words);
	for (size_t i = 0; status == 0 && i < words.len; i++)
		status = words.data[i][0] == '-'
				 ? take_option(r, words.data[i])
				 : vg_wrong(r, words.data[i], "unknown option");
	vec_done(&words);
	return status == 0 ? read_words(r, argc, argv, ret_at) : status;
}

const char *
vg_tool(int argc, char **argv)
{
	const char *tool = NULL;

	for (int i = 0; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0;
	     i++) {
		if (strncmp(argv[i], "--tool=", 7) == 0)
			tool = argv[i] + 7;
	}
	return tool;
}

bool
vg_is_yes(const char *value)
{
	return value != NULL && strcmp(value, "yes") == 0;
}

int
vg_yes_no(const struct vg_reader *r, const char *name, const char *value)
{
	if (value != NULL && strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return vg_wrong(r, name, "want yes or no");
	return 0;
}
