/* SPDX-License-Identifier: MIT */
/* leak_opts.h -- what `seep run` and `seep leaks` share of options about leaks: how they
 * are told, which count, which are not to be heard of, and what makes the command fail.
 *
 * Names are valgrind's where it has the option. */
#ifndef SEEP_COMPAT_LEAK_OPTS_H
#define SEEP_COMPAT_LEAK_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/compat/leaks/leak_gate.h"
#include "tool/compat/leaks/lsan_opts.h"
#include "tool/model/suppress.h"
#include "tool/render/leaks/memcheck.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/cmdline/opt.h"
#include "tool/util/vec.h"

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

struct leak_files VEC_BODY(const char *);

/* As given. Legal when zeroed. */
struct leak_opts {
	const char *format_name, *check, *show, *errors, *resolution, *generate, *fail_on;
	const char *xml_file, *junit, *baseline, *sarif;
	bool xml, verbose, github;
	uint64_t callers, error_exitcode;
	struct leak_files files; /* of suppressions */

	/* What leak_opts_read makes of it. */
	bool read;
	enum leak_format format;
	enum memcheck_level level;
	bool level_given;
	unsigned show_kinds; /* bits 1 << enum prof_loss_kind; 0 = as the format has it */
	unsigned error_kinds;
	struct loss_opts records;
	struct suppress_set set;
	struct leak_gate gate;
	struct lsan_opts lsan;

	/* Not options of every command: set by those that stand in for others. */
	bool silent; /* no report but the files asked for */
	bool quiet;  /* of memcheck's report only the errors */
	enum leak_only only;

	/* The program that was started, by whoever did so; NULL and 0 = none was. */
	const char *const *program;
	uint32_t program_pid;
};

/* --suppressions may be given several times. */
int leak_opts_suppressions(void *to, const struct opt *o, const struct opt_value *v,
			   struct err *e);

/* Checks what was given and reads the files; 0, or the exit status after it has told
 * why. */
int leak_opts_read(const struct cmd *c, struct leak_opts *l);
void leak_opts_done(struct leak_opts *l);

/* Whether something was asked for that only a process which was looked at has. */
bool leak_opts_need_check(const struct leak_opts *l);

/* Rows for the option table of a command, in whose struct they are at the offset
 * `base`. */
/* clang-format off */
#define LEAK_AT(base, member) .at = (base) + offsetof(struct leak_opts, member)
#define LEAK_OPTS(base)                                                                 \
	{"format", 0, OPT_STRING, LEAK_AT(base, format_name),                           \
	 .metavar = "seep|memcheck|lsan",                                               \
	 .help = "Print the report in the format of seep, valgrind's memcheck or "      \
		 "LeakSanitizer (seep)."},                                              \
	{"xml", 0, OPT_NONE, LEAK_AT(base, xml),                                        \
	 .help = "Print the report as valgrind's XML, protocol 4."},                    \
	{"xml-file", 0, OPT_STRING, LEAK_AT(base, xml_file), .metavar = "FILE",         \
	 .help = "Also write valgrind's XML to FILE."},                                 \
	{"leak-check", 0, OPT_STRING, LEAK_AT(base, check),                             \
	 .metavar = "no|summary|yes|full",                                                  \
	 .help = "Skip the leak check, print its sums only, or print every leak "       \
		 "(full)."},                                                            \
	{"leak-kinds", 0, OPT_STRING, LEAK_AT(base, show), .metavar = "KINDS",          \
	 .help = "List blocks of these kinds: definite, indirect, possible, "           \
		 "reachable, all or none."},                                            \
	{"show-leak-kinds", 0, OPT_STRING, LEAK_AT(base, show), .metavar = "KINDS",     \
	 .help = "The same as --leak-kinds; valgrind's name."},                         \
	{"errors-for-leak-kinds", 0, OPT_STRING, LEAK_AT(base, errors),                 \
	 .metavar = "KINDS", .help = "Count leaks of these kinds as errors (definite,possible)."}, \
	{"error-exitcode", 0, OPT_U64, LEAK_AT(base, error_exitcode), .metavar = "N",   \
	 .help = "Exit with status N if errors are found or --fail-on is met."},        \
	{"leak-resolution", 0, OPT_STRING, LEAK_AT(base, resolution),                   \
	 .metavar = "low|med|high",                                                     \
	 .help = "Merge leaks whose innermost 2, 4 or all frames agree (high)."},       \
	{"num-callers", 0, OPT_U64, LEAK_AT(base, callers), .metavar = "N",             \
	 .help = "Print at most N frames of a stack in memcheck's format, 2 to 500 "    \
		 "(12)."},                                                              \
	{"suppressions", 0, OPT_STRING, LEAK_AT(base, files), .set = leak_opts_suppressions, \
	 .metavar = "FILE",                                                             \
	 .help = "Hide leaks that FILE names, in valgrind's or LeakSanitizer's "        \
		 "format."},                                                            \
	{"gen-suppressions", 0, OPT_STRING, LEAK_AT(base, generate),                    \
	 .metavar = "no|yes|all",                                                       \
	 .help = "Print a suppression for each leak."},                                 \
	{"verbose", 'v', OPT_NONE, LEAK_AT(base, verbose),                              \
	 .help = "Print how many leaks each suppression matched."},                     \
	{"fail-on", 0, OPT_STRING, LEAK_AT(base, fail_on), .metavar = "CONDITIONS",     \
	 .help = "Exit with status 1 if a condition is met: leak, definite>0, "         \
		 "peak>200M, ..."},                                                     \
	{"baseline", 0, OPT_STRING, LEAK_AT(base, baseline), .metavar = "FILE",         \
	 .help = "Count only leaks that are new or larger than in FILE, a recording "   \
		 "or JSON report; without --fail-on, any such leak gives status 1."},   \
	{"junit", 0, OPT_STRING, LEAK_AT(base, junit), .metavar = "FILE",               \
	 .help = "Write the result to FILE as JUnit XML."},                             \
	{"sarif", 0, OPT_STRING, LEAK_AT(base, sarif), .metavar = "FILE",               \
	 .help = "Write the leaks to FILE as SARIF 2.1.0."},                            \
	{"github", 0, OPT_NONE, LEAK_AT(base, github),                                  \
	 .help = "Print a GitHub annotation for each leak on stderr."}
/* clang-format on */

#endif
