/* SPDX-License-Identifier: MIT */
/* cmd_doctor.c -- `seep doctor`: can seep work here, and with this process?
 *
 * One line a check: `ok`, `note` for what works less well, `BAD` for what does not work,
 * each with what to do about it. Only the last makes the exit status 3. Leftovers of dead
 * runs are saved and removed on the way. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/cli/commands.h"
#include "tool/render/figure.h"
#include "tool/session/attach/doctor_process.h"
#include "tool/session/heap/foreign.h"
#include "tool/session/last.h"
#include "tool/session/run/save.h"
#include "tool/target/proc/hiding.h"
#include "tool/target/proc/inspect.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/find.h"
#include "tool/target/run/held.h"
#include "tool/target/run/libseep.h"
#include "tool/target/run/rundir.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

#ifndef MADV_POPULATE_WRITE
#	define MADV_POPULATE_WRITE 23
#endif

enum mark { OK, NOTE, BAD };

static bool found_bad; /* by this call */

static void say(enum mark m, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void
say(enum mark m, const char *what, const char *fmt, ...)
{
	static const char *const words[] = {
		[OK] = "ok  ", [NOTE] = "note", [BAD] = "BAD "};
	struct buf b = {0};
	va_list ap;
	char *clean;

	found_bad = found_bad || m == BAD;
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	clean = clean_copy(buf_str(&b));
	printf("%s  %-14s %s\n", words[m], what, clean);
	free(clean);
	buf_done(&b);
}

/* ---- the machine ---- */

static void
check_libseep(void)
{
	struct err e = {0};
	char *path = NULL;

	if (libseep_find(&path, &e) < 0)
		say(BAD, "libseep.so", "%s", e.msg);
	else
		say(OK, "libseep.so", "%s", path);
	free(path);
}

/* Makes and removes a run folder, as a run would. */
static void
check_folder(void)
{
	struct rundir d = RUNDIR_NONE;
	struct err e = {0};
	uint64_t room;
	bool tmpfs;
	struct statfs fs;

	if (rundir_new("seep doctor", &d, &e) < 0) {
		say(BAD, "run folder", "%s", e.msg);
		return;
	}
	room = rundir_room_bytes(&d);
	tmpfs = fstatfs(d.fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
	*strrchr(d.path, '/') = '\0';
	if (!tmpfs)
		say(NOTE, "run folder",
		    "%s is not a tmpfs, which makes exact recording slow; %s", d.path,
		    "give /dev/shm more room");
	else
		say(room < (UINT64_C(1) << 30) ? NOTE : OK, "run folder", "%s, %s free%s",
		    d.path, fmt_size(room).s,
		    room < (UINT64_C(1) << 30)
			    ? ": large programs will run out; docker run --shm-size=4g"
			    : "");
	d.path[strlen(d.path)] = '/';
	rundir_remove(&d, NULL, NULL);
}

static void
check_memory(void)
{
	say(OK, "memory limit",
	    "%s; a recording takes at most a quarter (--max-size changes that)",
	    fmt_size(procfs_memory_limit_bytes()).s);
}

static void
check_kernel(void)
{
	size_t bytes = 4096;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		say(BAD, "kernel", "cannot map memory: %s", strerror(errno));
	else if (madvise(p, bytes, MADV_POPULATE_WRITE) == 0)
		say(OK, "kernel", "has MADV_POPULATE_WRITE");
	else
		say(NOTE, "kernel",
		    "older than 5.14: a recording takes its room at once, not bit by bit");
	if (p != MAP_FAILED)
		munmap(p, bytes);
}

static void
check_rights(void)
{
	int64_t scope = procfs_number("/proc/sys/kernel/yama/ptrace_scope");

	if (geteuid() == 0)
		say(OK, "rights", "root: processes of all users");
	else
		say(OK, "rights", "processes of your own; sudo for those of others");
	if (scope > 0 && geteuid() != 0)
		say(NOTE, "ptrace_scope",
		    "%d: only matters for processes that were not started by seep "
		    "run",
		    (int)scope);
}

static void
check_preload(void)
{
	if (access("/etc/ld.so.preload", R_OK) == 0)
		say(NOTE, "ld.so.preload",
		    "/etc/ld.so.preload loads libraries into every program; if one replaces "
		    "malloc, seep wraps that one");
	if (getenv("LD_PRELOAD") != NULL && *getenv("LD_PRELOAD") != '\0')
		say(NOTE, "LD_PRELOAD", "is set (%s); seep puts libseep.so before it",
		    getenv("LD_PRELOAD"));
	if (getenv("SEEP") != NULL)
		say(NOTE, "SEEP", "is set (%s); seep run replaces it", getenv("SEEP"));
}

static void
check_names(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool dirs = access("/usr/lib/debug/.build-id", R_OK) == 0;

	if (dirs)
		say(OK, "debug files",
		    "/usr/lib/debug has some; your own programs need -g");
	else
		say(NOTE, "debug files",
		    "none in /usr/lib/debug: libraries show functions without lines; install "
		    "their -dbgsym or -debuginfo packages");
	if (urls != NULL && *urls != '\0')
		say(OK, "debuginfod",
		    "DEBUGINFOD_URLS is set; asked only with --debuginfod");
}

/* Is a program of this name in PATH? */
static bool
in_path(const char *name)
{
	const char *path = getenv("PATH");
	bool found = false;

	while (path != NULL && *path != '\0' && !found) {
		size_t n = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)n, path, name);

		found = n > 0 && access(file, X_OK) == 0;
		free(file);
		path += n + (path[n] == ':');
	}
	return found;
}

/* What only some commands need, and load or start when they do. */
static void
check_parts(void)
{
	static const struct {
		const char *name, *other; /* libraries, or a program and NULL */
		const char *what, *package, *use;
	} parts[] = {
		{"libpcre2-8.so.0", "", "pcre2", "libpcre2-8-0",
		 "regular expressions of filters, --peek and --list"},
		{"dot", NULL, "graphviz", "graphviz",
		 "pictures of call graphs: --svg, --pdf, --png; --flame needs nothing"},
		{"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl", "libcurl4",
		 "profiles from URLs"},
		{"libmicrohttpd.so.12", "", "libmicrohttpd", "libmicrohttpd12",
		 "pprof -http"},
		{"libncursesw.so.6", "", "ncurses", "libncursesw6", "seep top"},
		{"libdebuginfod.so.1", "", "libdebuginfod", "libdebuginfod1",
		 "--debuginfod"},
	};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const char *name = parts[i].name;
		bool found;

		if (parts[i].other == NULL) {
			found = in_path(name);
		} else {
			found = dlopen(name, RTLD_LAZY | RTLD_LOCAL) != NULL;
			if (!found && parts[i].other[0] != '\0')
				found = dlopen(name = parts[i].other,
					       RTLD_LAZY | RTLD_LOCAL) != NULL;
		}
		if (found)
			say(OK, parts[i].what, "%s, for %s", name, parts[i].use);
		else
			say(NOTE, parts[i].what,
			    "%s is not installed (Debian: %s); it is for %s",
			    parts[i].name, parts[i].package, parts[i].use);
	}
}

static void
check_state(void)
{
	struct err e = {0};
	char *folder = NULL, *last = NULL;

	if (last_folder(&folder, &e) < 0)
		say(NOTE, "@last", "cannot be remembered: %s", e.msg);
	else if (access(folder, W_OK | X_OK) < 0)
		say(NOTE, "@last", "cannot be remembered: %s: %s", folder,
		    strerror(errno));
	else if (last_read(&last, NULL) < 0)
		say(OK, "@last", "nothing recorded yet");
	else if (access(last, R_OK) < 0)
		say(NOTE, "@last", "%s: %s", last, strerror(errno));
	else
		say(OK, "@last", "%s", last);
	free(folder);
	free(last);
}

/* Saves what is dead; tells what is left. */
static void
check_leftovers(void)
{
	struct rundir_names paths = {0};
	unsigned saved = save_orphans(true), owned = 0, living = 0;

	rundir_list(&paths);
	for (size_t i = 0; i < paths.len; i++) {
		struct rundir d = RUNDIR_NONE;

		if (rundir_open(paths.data[i], &d, NULL) < 0)
			continue;
		if (rundir_owned(&d))
			owned++;
		else if (rundir_living(&d, NULL, 0) > 0)
			living++;
		else
			say(NOTE, "leftovers",
			    "%s: could not be saved; seep ps says what can be done",
			    rundir_name(&d));
		rundir_close(&d);
	}
	rundir_names_done(&paths);
	say(OK, "leftovers",
	    "%u saved and removed, %u in use, %u with processes that go on", saved, owned,
	    living);
}

/* ---- one process ---- */

/* `hides`: where memory hides from malloc has been said already. */
static void
check_allocator(int pid, const struct procfs_stat *st, struct procfs_maps *maps,
		bool hides)
{
	static const char *const known[] = {"libjemalloc", "libtcmalloc", "libmimalloc",
					    "libasan",	   "libtsan",	  "libhwasan"};
	const char *found = NULL, *linked;
	uint32_t traits = 0;
	struct procfs_map m;
	bool libc = false, musl = false;
	char link[64];

	snprintf(link, sizeof link, "/proc/%d/exe", file_proc_task(pid));
	linked = foreign_linked(link);
	while (procfs_maps_next(maps, &m)) {
		const char *name = strrchr(m.path, '/');

		name = name != NULL ? name + 1 : m.path;
		for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
			if (strncmp(name, known[i], strlen(known[i])) == 0)
				found = known[i];
		}
		libc = libc || strncmp(name, "libc.so.6", 9) == 0 ||
		       strncmp(name, "libc-2.", 7) == 0;
		musl = musl || strncmp(name, "ld-musl-", 8) == 0;
		traits |= inspect_module_traits(m.path);
	}
	if (musl)
		say(BAD, "allocator",
		    "musl, where libseep.so cannot be preloaded; seep attach and seep run do without");
	else if (!libc)
		say(BAD, "allocator", "no libc.so.6 is loaded: nothing to wrap");
	else if (found == NULL && linked != NULL)
		say(OK, "allocator", "%s, linked into the program", linked);
	else
		say(OK, "allocator", "%s", found != NULL ? found : "glibc");
	traits = inspect_not_redirected(traits, pid);
	if (!hides && inspect_coverage(traits) != NULL)
		say(NOTE, "coverage", "%s: %s", st->comm, inspect_coverage(traits));
}

/* Whether it said where memory hides from malloc. */
static bool
check_program(int pid)
{
	struct inspect_elf elf;
	struct err e = {0};
	char link[64], *exe = NULL;
	const char *hides = NULL;

	snprintf(link, sizeof link, "/proc/%d/exe", file_proc_task(pid));
	if (file_proc_link(pid, "exe", &exe, NULL, &e) < 0 ||
	    inspect_elf(link, &elf, &e) < 0) {
		say(NOTE, "program", "%s", e.msg);
	} else {
		hides = inspect_coverage(inspect_not_redirected(
			elf.traits | inspect_module_traits(exe), pid));
		if (inspect_without_malloc(elf.traits) != NULL)
			say(BAD, "program", "%s: %s %d", exe,
			    inspect_without_malloc(elf.traits), pid);
		else if ((elf.traits & INSPECT_STATIC) != 0)
			say(held_possible() ? OK : BAD, "program",
			    held_possible() ? "%s: statically linked; seep run puts the "
					      "recorder in"
					    : "%s: statically linked, malloc cannot be "
					      "wrapped",
			    exe);
		else if ((elf.traits & (INSPECT_CLASS32 | INSPECT_OTHER_MACHINE)) != 0)
			say(BAD, "program", "%s: not a 64-bit program of this machine",
			    exe);
		else if ((elf.traits & INSPECT_SANITIZER) != 0)
			say(BAD, "program",
			    "%s: built with a sanitizer, which owns malloc", exe);
		else
			say(OK, "program", "%s: dynamically linked", exe);
		if (hides != NULL)
			say(NOTE, "coverage", "%s", hides);
	}
	free(exe);
	return hides != NULL;
}

static void
say_found(enum doctor_mark mark, const char *what, const char *text)
{
	say(mark == DOCTOR_OK ? OK : mark == DOCTOR_NOTE ? NOTE : BAD, what, "%s", text);
}

static int
check_process(const char *what)
{
	struct livefile f = {.fd = -1};
	struct procfs_stat st;
	struct procfs_maps maps;
	struct err e = {0};
	int pid = 0, r = procfs_find_one(what, &pid, &e);
	bool hides, cannot; /* be recorded, whatever else is checked */

	if (r == 0)
		r = procfs_stat(pid, &st, &e);
	if (r < 0)
		return cmd_fail(&e);
	say(OK, "process", "%d (%s), %u thread%s, RSS %s", pid, st.comm, st.threads,
	    st.threads == 1 ? "" : "s", fmt_size(st.rss_kib << 10).s);
	hides = check_program(pid);
	cannot = found_bad;
	if (procfs_maps_open(&maps, pid, &e) < 0)
		say(BAD, "mappings", "%s; try sudo", e.msg);
	else if (maps.text.len > 0)
		check_allocator(pid, &st, &maps, hides);
	if (target_find_pid(pid, &f, &e) == 0 && livefile_map_all(&f, &e) == 0)
		say(OK, "recorded", "yes, %s live; see: seep report %d",
		    fmt_size(livefile_live_bytes(&f)).s, pid);
	else
		say(NOTE, "recorded", "no%s%s", cannot ? "" : ": ", cannot ? "" : e.msg);
	livefile_close(&f);
	procfs_maps_close(&maps);
	doctor_process(pid, cannot, say_found);
	return found_bad ? CMD_FAILED : CMD_OK;
}

static int
doctor_run(void *opts, int argc, char **argv)
{
	(void)opts;
	found_bad = false;
	if (argc > 0)
		return check_process(argv[0]);
	if (cmd_has_proc()) /* it is looked for beside our own file */
		check_libseep();
	else
		say(BAD, "/proc",
		    "not mounted: processes cannot be seen; mount -t proc proc /proc");
	check_folder();
	check_memory();
	check_kernel();
	check_rights();
	check_preload();
	check_names();
	check_parts();
	check_state();
	check_leftovers();
	return found_bad ? CMD_FAILED : CMD_OK;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.args = "[PID|NAME]",
	.help = "check this machine, or whether a process can be recorded",
	.man = "seep-doctor",
	.min_args = 0,
	.max_args = 1,
	.run = doctor_run,
};
