/* SPDX-License-Identifier: MIT */
/* leak_opts.h -- what `seep run` and `seep leaks` share of options about leaks: how they are told, which
 * count, which are not to be heard of, and what makes the command fail.
 *
 * Names are valgrind's where it has the option. */
#ifndef SEEP_CLI_LEAK_OPTS_H
#define SEEP_CLI_LEAK_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/suppress.h"
#include "tool/render/memcheck.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/cmdline/opt.h"

enum leak_format {
	LEAK_SEEP = 0,
	LEAK_MEMCHECK,
	LEAK_LSAN,
	LEAK_XML,
};

/* Which processes of a run are told. */
enum leak_only {
	LEAK_ONLY_FOCUS = 0, /* those that the headline is about (focus.h) */
	LEAK_ONLY_ALL,
	LEAK_ONLY_FORKS,   /* the program and what it forked, up to an exec */
	LEAK_ONLY_PROGRAM, /* the program alone */
};

/* As given, and what leak_opts_read makes of it. */
struct leak_opts {
	const char *format_name, *check, *show, *errors, *resolution, *generate, *fail_on;
	const char *xml_file, *junit, *baseline, *sarif;
	bool xml, verbose, github;
	uint64_t callers, error_exitcode;

	enum leak_format format;
	enum memcheck_level level;
	bool level_given;
	unsigned show_kinds; /* bits 1 << enum prof_loss_kind; 0 = as the format has it */
	unsigned error_kinds;
	struct loss_opts records;
	struct suppress_set set;

	/* Not options of every command: set by those that stand in for others. */
	bool no_save; /* keep no recording */
	bool silent;  /* no report but the files asked for */
	bool quiet;   /* of memcheck's report only the errors */
	enum leak_only only;

	/* The program that was started, by whoever did so; NULL and 0 = none was. */
	const char *const *program;
	uint32_t program_pid;
};

extern struct leak_opts leak_given;

/* --suppressions may be given several times. */
int leak_opts_suppressions(void *ctx, const struct opt *o, const struct opt_value *v,
			   struct err *e);

/* Checks what was given and reads the files; 0, or the exit status after it has told why. */
int leak_opts_read(const struct cmd *c);

/* Our own command line without the program's, ended by NULL. Borrowed. */
const char *const *leak_opts_words(void);

/* Whether something was asked for that only a process which was looked at has. */
bool leak_opts_need_check(void);

/* Rows for the option table of a command. */
/* clang-format off */
#define LEAK_OPTS                                                                        \
	{"format", 0, OPT_STRING, .to = &leak_given.format_name,                         \
	 .metavar = "seep|memcheck|lsan",                                                \
	 .help = "Report in the words of valgrind's memcheck, or of LeakSanitizer."},    \
	{"xml", 0, OPT_NONE, .to = &leak_given.xml,                                      \
	 .help = "Report as valgrind's XML, protocol 4."},                               \
	{"xml-file", 0, OPT_STRING, .to = &leak_given.xml_file, .metavar = "FILE",       \
	 .help = "Write that XML there, besides the report."},                           \
	{"leak-check", 0, OPT_STRING, .to = &leak_given.check,                           \
	 .metavar = "no|summary|full",                                                   \
	 .help = "Only sum up leaks, or do not look for them (full)."},                  \
	{"leak-kinds", 0, OPT_STRING, .to = &leak_given.show, .metavar = "KINDS",        \
	 .help = "List these: definite,indirect,possible,reachable, all or none."},      \
	{"show-leak-kinds", 0, OPT_STRING, .to = &leak_given.show, .metavar = "KINDS",   \
	 .help = "The same, as valgrind calls it."},                                     \
	{"errors-for-leak-kinds", 0, OPT_STRING, .to = &leak_given.errors,               \
	 .metavar = "KINDS", .help = "These are errors (definite,possible)."},           \
	{"error-exitcode", 0, OPT_U64, .to = &leak_given.error_exitcode, .metavar = "N", \
	 .help = "Exit with N if there are errors, or --fail-on is met."},               \
	{"leak-resolution", 0, OPT_STRING, .to = &leak_given.resolution,                 \
	 .metavar = "low|med|high",                                                      \
	 .help = "Tell loss records apart by 2, 4 or all frames (high)."},               \
	{"num-callers", 0, OPT_U64, .to = &leak_given.callers, .metavar = "N",           \
	 .help = "Frames in stacks of memcheck's reports, 2 to 500 (12)."},              \
	{"suppressions", 0, OPT_STRING, .set = leak_opts_suppressions,                   \
	 .metavar = "FILE",                                                              \
	 .help = "Do not tell leaks that valgrind's or LSan's suppressions there name."},\
	{"gen-suppressions", 0, OPT_STRING, .to = &leak_given.generate,                  \
	 .metavar = "no|yes|all",                                                        \
	 .help = "Print a suppression for each leak."},                                  \
	{"verbose", 'v', OPT_NONE, .to = &leak_given.verbose,                            \
	 .help = "Say how often each suppression was used."},                            \
	{"fail-on", 0, OPT_STRING, .to = &leak_given.fail_on, .metavar = "CONDITIONS",   \
	 .help = "Exit with 1 if one is met: definite>0,peak>200M,..."},                 \
	{"baseline", 0, OPT_STRING, .to = &leak_given.baseline, .metavar = "FILE",       \
	 .help = "Count only what is more than in that recording or JSON report; "       \
		 "alone, fail for any such leak."},                                      \
	{"junit", 0, OPT_STRING, .to = &leak_given.junit, .metavar = "FILE",             \
	 .help = "Write the result there as JUnit's XML."},                              \
	{"sarif", 0, OPT_STRING, .to = &leak_given.sarif, .metavar = "FILE",             \
	 .help = "Write the leaks there as SARIF 2.1.0."},                               \
	{"github", 0, OPT_NONE, .to = &leak_given.github,                                \
	 .help = "Print a GitHub annotation for each leak to stderr."}
/* clang-format on */

#endif
