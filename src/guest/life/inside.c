/* SPDX-License-Identifier: MIT */
/* inside.c -- a program that asks for a look at its own memory: seep_leak_check, and the
 * names by which programs ask LeakSanitizer for it.
 *
 * The look is the tool's: we start it, allow it to trace us, and wait. It is found by
 * SEEP_BIN, beside libseep.so, where an installation has it, or in PATH, and gets an
 * environment without us. It is a child, but one whose end sends no signal and that no
 * wait() of the program sees. The thread that asks stands in a system call of ours
 * meanwhile; the others run on until the tool stops them.
 *
 * Without a tool nothing is looked at. What is lost can only be told while all threads
 * stand still and nobody allocates, which is more than a guest should do to its host. */
#include "guest/life/inside.h"

#include "guest/hooks/gate.h"
#include "guest/hooks/loaded.h"
#include "guest/life/hold.h"
#include "guest/life/life.h"
#include "guest/life/lsan_defaults.h"
#include "guest/life/spare.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seep/seep.h"

enum {
	LOST_STATUS = 23, /* LeakSanitizer's */
	USAGE_STATUS = 2,
	PATH_BYTES = 4096,
	ARGS = 8,
	EXECUTABLE = 1, /* X_OK */
};

static uint32_t asking; /* one look at a time */
static uint64_t lost_bytes,
	lost_blocks; /* since the look before the last, as the tool says */

/* ---- the tool ---- */

static bool
is_program(const char *path)
{
	return SYS3(SYS_faccessat, -100, path, EXECUTABLE) == 0;
}

/* `beside` in the folder of libseep.so. */
static bool
try_beside(const char *beside, char *to)
{
	struct text t = text_on(to, PATH_BYTES);
	struct dl_find_object o;
	const char *path, *slash;

	if (!loaded_find((const void *)(uintptr_t)try_beside, &o))
		return false;
	path = o.dlfo_link_map->l_name;
	slash = strrchr(path, '/');
	if (slash == NULL)
		return false;
	text_addn(&t, path, (size_t)(slash + 1 - path));
	text_add(&t, beside);
	return !t.cut && is_program(to);
}

static bool
try_path(char *to)
{
	const char *at = proc_variable("PATH");

	while (at != NULL && *at != '\0') {
		struct text t = text_on(to, PATH_BYTES);
		size_t n = 0;

		while (at[n] != '\0' && at[n] != ':')
			n++;
		text_addn(&t, at, n);
		text_add(&t, "/seep");
		if (n > 0 && !t.cut && is_program(to))
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

static bool
find_tool(char *to)
{
	struct text t = text_on(to, PATH_BYTES);
	const char *given = proc_variable("SEEP_BIN");

	if (given != NULL) {
		text_add(&t, given);
		return !t.cut && is_program(to);
	}
	return try_beside("seep", to) || try_beside("../../bin/seep", to) ||
	       try_beside("../../../bin/seep", to) || try_path(to);
}

/* An environment without what would have the tool recorded. */
static char **
tool_environment(size_t *ret_bytes)
{
	size_t n = 0, k = 0;
	char **env;

	while (environ != NULL && environ[n] != NULL)
		n++;
	*ret_bytes = (n + 1) * sizeof(*env);
	env = rt_map(*ret_bytes);
	for (size_t i = 0; env != NULL && i < n; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0 &&
		    strncmp(environ[i], "SEEP=", 5) != 0 &&
		    strncmp(environ[i], "HEAPCHECK=", 10) != 0)
			env[k++] = environ[i];
	}
	return env;
}

/* "BYTES BLOCKS", read from the tool, both counting up only; nothing is there when it
 * could not look. */
static void
read_figures(int fd)
{
	uint64_t figure[2] = {0, 0};
	unsigned at = 0;
	char text[64];
	long n = sys_read(fd, text, sizeof(text));

	for (long i = 0; i < n && at < 2; i++) {
		if (text[i] >= '0' && text[i] <= '9')
			figure[at] = figure[at] * 10 + (uint64_t)(text[i] - '0');
		else if (text[i] == '-')
			return;
		else
			at++;
	}
	lost_bytes = figure[0];
	lost_blocks = figure[1];
}

/* In the child: only system calls. `figures` stays open for the tool, unless it is
 * negative. */
static NORETURN void
become_tool(const char *path, const char *const *args, char **env, bool quiet,
	    int figures)
{
	uint64_t none = 0;
	long fd = quiet ? sys_open("/dev/null", O_RDWR, 0) : 2;

	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof(none));
	SYS3(SYS_dup3, fd, 1, 0);
	if (quiet)
		SYS3(SYS_dup3, fd, 2, 0);
	if (figures >= 0)
		SYS3(SYS_fcntl, figures, F_SETFD, 0);
	SYS3(SYS_execve, path, args, env);
	for (;;)
		SYS1(SYS_exit_group, 127);
}

/* Reads what the tool has written, if it ran, and closes both ends. -1, for who gives
 * up. */
static int
close_figures(const int *ends, bool ran)
{
	if (ends[0] < 0)
		return -1;
	sys_close(ends[1]);
	if (ran)
		read_figures(ends[0]);
	sys_close(ends[0]);
	return -1;
}

/* Its exit status, or -1. `newest`: with options that older ones do not know. */
static int
run_tool(enum inside_ask ask, bool newest)
{
	char path[PATH_BYTES], pid[16], figures[32];
	struct text t = text_on(pid, sizeof(pid)), f = text_on(figures, sizeof(figures));
	int ends[2] = {-1, -1};
	const char *args[ARGS] = {"seep", "leaks", "--error-exitcode=23", pid};
	size_t env_bytes;
	char **env;
	int status = 0;
	long child, r;

	if (!find_tool(path))
		return -1;
	if (ask == INSIDE_NEW)
		args[4] = "--increased";
	if (ask == INSIDE_LSAN)
		args[4] = "--format=lsan";
	if (ask == INSIDE_DRACONIAN) {
		args[4] = newest ? "--draconian" : "--leak-kinds=all";
	}
	if (ask == INSIDE_NEW && newest &&
	    SYS2(SYS_pipe2, ends, O_CLOEXEC | O_NONBLOCK) == 0) {
		text_add(&f, "--figures-fd=");
		text_dec(&f, (uint64_t)ends[1]);
		args[5] = figures;
	}
	text_dec(&t, (uint64_t)sys_getpid());
	env = tool_environment(&env_bytes);
	if (env == NULL)
		return close_figures(ends, false);
	/* No flags, so no signal at its end. */
	child = sys_raw(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (child == 0)
		become_tool(path, args, env, ask == INSIDE_QUIET, ends[1]);
	if (child > 0) {
		SYS2(SYS_prctl, PR_SET_PTRACER, child);
		do
			r = SYS4(SYS_wait4, child, &status, __WALL, 0);
		while (r == -EINTR);
		SYS2(SYS_prctl, PR_SET_PTRACER, 0);
		if (r != child)
			status = -1;
	}
	rt_unmap(env, env_bytes);
	close_figures(ends, child > 0);
	return child < 0 || status < 0 || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

int
inside_look(enum inside_ask ask, uintptr_t sp)
{
	int saved = errno, status = -1;
	struct recorder *r = recorder_now;
	uintptr_t was;

	if (!life_begun() || r->base == NULL || !r->exact || rt_sealed ||
	    !lock_take(&asking, lock_id()))
		return -1;
	was = gate_quiet(GATE_CFA());
	lost_bytes = lost_blocks = 0;
	hold_asked(sp);
	if (ask == INSIDE_LSAN) {
		gate_unquiet(was); /* functions of the program */
		lsan_defaults_tell((void *)(r->base + REC_HOLD_OFF), true);
		was = gate_quiet(GATE_CFA());
	}
	status = run_tool(ask, true);
	if (status == USAGE_STATUS) /* a tool that does not know that */
		status = run_tool(ask, false);
	hold_asked(0);
	gate_unquiet(was);
	lock_drop(&asking);
	errno = saved;
	return status == 0 ? 0 : status == LOST_STATUS ? 1 : -1;
}

void
inside_forked(void)
{
	if (asking != lock_id())
		asking = 0; /* of a thread that is not here */
}

/* ---- what programs call ---- */

SEEP_EXPORT int
seep_leak_check(void)
{
	return inside_look(INSIDE_ALL, HOLD_HERE());
}

SEEP_EXPORT int
seep_leak_check_new(void)
{
	return inside_look(INSIDE_NEW, HOLD_HERE());
}

SEEP_EXPORT void
seep_leak_figures(size_t *bytes, size_t *blocks)
{
	*bytes = lost_bytes;
	*blocks = lost_blocks;
}

SEEP_EXPORT int
seep_leak_forget(void)
{
	return inside_look(INSIDE_QUIET, HOLD_HERE()) < 0 ? -1 : 0;
}

SEEP_EXPORT int __lsan_do_recoverable_leak_check(void);
SEEP_EXPORT int
__lsan_do_recoverable_leak_check(void)
{
	return inside_look(INSIDE_LSAN, HOLD_HERE()) == 1;
}

/* Once, and in place of the look at the end. */
SEEP_EXPORT void __lsan_do_leak_check(void);
SEEP_EXPORT void
__lsan_do_leak_check(void)
{
	static uint32_t done;

	if (__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED) != 0)
		return;
	hold_wanted(0);
	if (inside_look(INSIDE_LSAN, HOLD_HERE()) == 1)
		_exit(LOST_STATUS);
}
