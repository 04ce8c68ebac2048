/* SPDX-License-Identifier: MIT */
/* test_commands.c -- commands that run twice in one process: what was asked for the first
 * time, or found then, is forgotten the second time. */
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "t_prof.h"
#include "tool/cli/commands.h"
#include "tool/compat/compat.h"
#include "tool/format/pack/pack.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

static char *folder;

static char *
in_folder(const char *name)
{
	if (folder == NULL)
		folder = mkdtemp(xstrdup("/tmp/seep-commands.XXXXXX"));
	return xasprintf("%s/%s", folder, name);
}

static void
put(const char *name, const char *text)
{
	char *path = in_folder(name);

	T_EQ(file_write(path, text, strlen(text), NULL), 0);
	free(path);
}

/* A recording of which a part is lost, two profiles of another tool, a log of mtrace. */
static void
make_files(void)
{
	struct prof *p = tp_demo();
	char *path = in_folder("lost.rec");
	uint32_t row = prof_add_check(p);

	p->checks[row] = (struct prof_check){.process = 1, .done = true};
	row = prof_add_loss(p);
	p->losses[row] = (struct prof_loss){.site = 1,
					    .kind = PROF_LOSS_DEFINITE,
					    .blocks = 80,
					    .bytes = (uint64_t)p->sites[1].live_bytes};
	T_EQ(pack_save(p, path, NULL), 0);
	prof_free(p);
	free(path);
	put("old.folded", "main;serve;accept_one 4096\nmain;load 77\n");
	put("new.folded", "main;serve;accept_one 9001\nmain;load 77\n");
	put("mtrace.log", "= Start\n@ [0x10] + 0x1000 0x17\n@ [0x20] + 0x2000 0x2b\n"
			  "@ [0x30] - 0x2000\n= End\n");
	put("lost.supp", "{\n   one\n   Memcheck:Leak\n   fun:malloc\n   ...\n}\n");
}

/* Runs a command with words in which @ is the folder; what it printed and its status. To
 * be freed. */
static char *
call(const struct cmd *c, const char *words)
{
	struct buf text = {0};
	char *line = xstrdup(words), *argv[16], *path = in_folder("printed"),
	     *save = NULL;
	int argc = 0, status, out = dup(1), err = dup(2),
	    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (char *w = strtok_r(line, " ", &save); w != NULL;
	     w = strtok_r(NULL, " ", &save)) {
		char *at = strchr(w, '@');

		argv[argc++] = at == NULL ? xstrdup(w)
					  : xasprintf("%.*s%s/%s", (int)(at - w), w,
						      folder, at + 1);
	}
	argv[argc] = NULL;
	fflush(NULL);
	dup2(fd, 1);
	dup2(fd, 2);
	status = cmd_call(c, argc, argv);
	fflush(NULL);
	dup2(out, 1);
	dup2(err, 2);
	close(out);
	close(err);
	close(fd);
	T_EQ(buf_read_file(&text, path, NULL), 0);
	buf_printf(&text, "\nstatus %d\n", status);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	free(line);
	free(path);
	return buf_take(&text);
}

/* A command as it is most often called, and with options that change what it says. */
static const struct {
	const struct cmd *cmd;
	const char *plain, *other;
} cases[] = {
	{&cmd_report, "@lost.rec", "--all --bytes --json @lost.rec"},
	{&cmd_report, "@new.folded", "--tree --limit 1 @new.folded"},
	{&cmd_leaks, "@lost.rec",
	 "--format memcheck --leak-kinds all --fail-on definite>0 @lost.rec"},
	{&cmd_leaks, "--fail-on definite>0 @lost.rec",
	 "--suppressions @lost.supp --error-exitcode 17 @lost.rec"},
	{&cmd_leaks, "--format lsan @lost.rec", "--baseline @lost.rec @lost.rec"},
	{&cmd_diff, "@old.folded @new.folded", "--json @new.folded @old.folded"},
	{&cmd_convert, "--to folded @lost.rec -",
	 "--to folded --sample-index peak-objects @lost.rec -"},
	{&cmd_doctor, "no-such-program-7", "2147483647"},
	{&cmd_jeprof, "--text @old.folded", "--lines --cum --text @new.folded"},
	{&cmd_pprof, "-top @old.folded", "-cum -traces @new.folded"},
	{&cmd_mtrace, "@mtrace.log", "--json @mtrace.log"},
	{&cmd_flamegraph, "@old.folded", "--title 23 --inverted @old.folded"},
};

T_TEST(options_do_not_stick)
{
	make_files();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *first = call(cases[i].cmd, cases[i].plain);
		char *other = call(cases[i].cmd, cases[i].other);
		char *again = call(cases[i].cmd, cases[i].plain);

		T_STR(again, first);
		if (strcmp(first, other) == 0)
			t_fail(__FILE__, __LINE__, "%s: %s says the same as %s: %s",
			       cases[i].cmd->name, cases[i].other, cases[i].plain, first);
		free(first);
		free(other);
		free(again);
	}
}

/* Only where there is a libseep.so to record with: not under sanitizers. */
T_TEST(a_run_leaves_nothing_for_the_next)
{
	const char *build = getenv("SEEP_BUILD");
	char *lib = xasprintf("%s/libseep.so", build != NULL ? build : "."), *first,
	     *again;

	if (build == NULL || access(lib, R_OK) < 0) {
		free(lib);
		T_SKIP("no libseep.so");
	}
	setenv("SEEP_LIB", lib, 1);
	setenv("XDG_STATE_HOME", folder, 1);
	first = call(&cmd_run, "--no-save --format memcheck --leak-check full --log-file "
			       "@memcheck.log --error-exitcode 19 /bin/true");
	T_STR(first, "\nstatus 0\n");
	free(first);
	first = call(&cmd_valgrind, "-q --error-exitcode=23 /bin/sh -c :");
	T_STR(first, "\nstatus 0\n");
	again = call(&cmd_run, "--no-save /bin/false");
	T_CHECK(strstr(again, "==") == NULL); /* in seep's own words */
	T_CHECK(strstr(again, "status 1\n") != NULL);
	free(first);
	free(again);
	free(lib);
}

T_TEST(files_are_removed)
{
	char *words = xasprintf("rm -rf %s", folder);

	T_EQ(system(words), 0);
	free(words);
}

T_MAIN()
