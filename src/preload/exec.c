/* SPDX-License-Identifier: MIT */
/* exec.c -- exec and posix_spawn, all forms: children are followed, or left in peace.
 *
 * Following needs nothing: LD_PRELOAD and SEEP are inherited. But a program that cannot take the
 * library must not see it (exec_check.c): it is started with an environment that lacks the two,
 * and counted. An exec that replaces this process is noted in the recording, so that the reader
 * knows why it ends.
 *
 * Under a seccomp filter nothing is looked at, and what is started must not see the library either: the
 * filter is handed on, and knows nothing of what a recorder asks for.
 *
 * All of it may run in the child of a vfork, on the parent's memory and between fork and exec of
 * a threaded program: only the stack, raw system calls and mappings of our own. */
#include "preload/exec_check.h"
#include "preload/gate.h"
#include "preload/next.h"
#include "rt/rt_map.h"
#include "rt/rt_text.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ARGS_NEAR = 64,	    /* arguments of execl kept on the stack; a mapping beyond */
	ENTRIES_NEAR = 192, /* the same for environments */
	TEXT_NEAR = 512,
	PATH_MOST = 1024,
};

/* An environment without us: `at`, NULL when the given one will do. Room for it is on the stack,
 * because after a vfork nobody is there to give a mapping back; larger ones are mapped. */
struct scrubbed {
	char **at;
	size_t mapped_bytes;
	char *near[ENTRIES_NEAR];
	char text[TEXT_NEAR];
};

static bool
is_variable(const char *entry, const char *name)
{
	size_t n = text_len(name);

	for (size_t i = 0; i < n; i++)
		if (entry[i] != name[i])
			return false;
	return entry[n] == '=';
}

static bool
names_us(const char *s, size_t n)
{
	static const char *const us[] = {"libseep.so", "libseep_copy.so"};

	for (unsigned i = 0; i < ARRAY_LEN(us); i++) {
		size_t len = text_len(us[i]);

		if (n >= len && memcmp(s + n - len, us[i], len) == 0)
			return true;
	}
	return false;
}

/* LD_PRELOAD=… without our libraries, written to `to`; false when nothing is left of it. */
static bool
without_us(const char *entry, char *to, size_t cap)
{
	struct text t = text_on(to, cap);
	const char *s = entry + sizeof("LD_PRELOAD=") - 1;
	size_t head;

	text_add(&t, "LD_PRELOAD=");
	head = t.len;
	while (*s != '\0') {
		size_t n = 0;

		while (s[n] != '\0' && s[n] != ':' && s[n] != ' ')
			n++;
		if (n > 0 && !names_us(s, n)) {
			if (t.len > head)
				text_add(&t, ":");
			text_addn(&t, s, n);
		}
		s += n;
		if (*s != '\0')
			s++;
	}
	return t.len > head;
}

static void
scrub(char *const *env, struct scrubbed *sc)
{
	size_t n = 0, text = 0, k = 0;
	bool ours = false;
	char *room = sc->text;

	for (; env != NULL && env[n] != NULL; n++) {
		if (is_variable(env[n], "LD_PRELOAD")) {
			text += text_len(env[n]) + 1;
			ours = true;
		}
	}
	if (!ours)
		return;
	sc->at = sc->near;
	if (n >= ENTRIES_NEAR || text > TEXT_NEAR) {
		sc->mapped_bytes = (n + 1) * sizeof(char *) + text;
		sc->at = rt_map(sc->mapped_bytes);
		if (sc->at == NULL)
			return;
		room = (char *)(sc->at + n + 1);
	}
	for (size_t i = 0; i < n; i++) {
		if (is_variable(env[i], "SEEP"))
			continue;
		if (!is_variable(env[i], "LD_PRELOAD")) {
			sc->at[k++] = env[i];
			continue;
		}
		size_t len = text_len(env[i]) + 1;

		if (without_us(env[i], room, len))
			sc->at[k++] = room;
		room += len;
	}
	sc->at[k] = NULL;
}

static void
scrub_done(struct scrubbed *sc)
{
	if (sc->mapped_bytes != 0)
		rt_unmap(sc->at, sc->mapped_bytes);
}

/* Where the shell's rules find `file`; false when nowhere, or when we must not look. */
static bool
search(const char *file, char *ret, size_t cap)
{
	const char *path = getenv("PATH");
	const char *s = path == NULL ? "/bin:/usr/bin" : path;

	if (rt_sealed)
		return false;
	for (const char *c = file; *c != '\0'; c++) {
		if (*c == '/') {
			struct text t = text_on(ret, cap);

			text_add(&t, file);
			return !t.cut;
		}
	}
	for (;;) {
		struct text t = text_on(ret, cap);
		size_t n = 0;

		while (s[n] != '\0' && s[n] != ':')
			n++;
		text_addn(&t, s, n);
		text_add(&t, n > 0 ? "/" : "");
		text_add(&t, file);
		if (!t.cut && SYS4(SYS_faccessat, -100, ret, X_OK, 0) == 0)
			return true;
		if (s[n] == '\0')
			return false;
		s += n + 1;
	}
}

/* The environment to start `path` with, instead of `env` where `at` is set. */
static void
prepare(const char *path, char *const *env, struct scrubbed *ret)
{
	enum exec_fit fit = EXEC_FOLLOWED;

	if (rt_sealed)
		fit = EXEC_REFUSES;
	else if (path != NULL)
		fit = exec_fit(path);
	ret->at = NULL;
	ret->mapped_bytes = 0;
	if (fit == EXEC_REFUSES)
		scrub(env, ret);
	if (fit != EXEC_FOLLOWED && recorder_now->base != NULL)
		rec_lost(recorder_now, REC_LOST_EXEC);
}

/* This process is about to be replaced (not a vfork child, which only borrows our memory). */
static bool
note_exec(void)
{
	struct recorder *r = recorder_now;

	/* Sealed, we cannot ask who we are, and most that execute something are vfork's. */
	if (rt_sealed || r->base == NULL || (uint32_t)sys_getpid() != r->head->pid)
		return false;
	r->head->exec_ms = r->head->clock_ms + 1;
	r->head->life = REC_LIFE_EXEC;
	return true;
}

/* How libc is asked: execve, execvpe (it knows what to do with scripts that have no `#!`), or
 * fexecve. libc's own variants reach the kernel without passing through us again. */
struct call {
	const char *file;
	int fd;
	char *const *argv, *const *env;
};

static int
ask_execve(const struct call *c, char *const *env)
{
	return next.execve(c->file, c->argv, env);
}

static int
ask_execvpe(const struct call *c, char *const *env)
{
	return next.execvpe(c->file, c->argv, env);
}

static int
ask_fexecve(const struct call *c, char *const *env)
{
	return next.fexecve(c->fd, c->argv, env);
}

/* `path` is what will be started, as far as we know it; NULL: nothing of that name. */
static int
replace(const struct call *c, const char *path,
	int (*ask)(const struct call *, char *const *env))
{
	struct scrubbed sc;
	bool noted = note_exec();
	int r, saved;

	prepare(path, c->env, &sc);
	next_find();
	r = ask(c, sc.at != NULL ? sc.at : c->env);
	saved = errno;
	if (noted)
		recorder_now->head->life = REC_LIFE_RUNNING;
	scrub_done(&sc);
	errno = saved;
	return r;
}

static int
run(const char *path, char *const *argv, char *const *env)
{
	struct call c = {.file = path, .argv = argv, .env = env};

	return replace(&c, path, ask_execve);
}

static int
run_path(const char *file, char *const *argv, char *const *env)
{
	struct call c = {.file = file, .argv = argv, .env = env};
	char path[PATH_MOST];

	return replace(&c, search(file, path, sizeof(path)) ? path : NULL, ask_execvpe);
}

SEEP_EXPORT int
execve(const char *path, char *const argv[], char *const envp[])
{
	return run(path, argv, envp);
}

SEEP_EXPORT int
execv(const char *path, char *const argv[])
{
	return run(path, argv, environ);
}

SEEP_EXPORT int
execvpe(const char *file, char *const argv[], char *const envp[])
{
	return run_path(file, argv, envp);
}

SEEP_EXPORT int
execvp(const char *file, char *const argv[])
{
	return run_path(file, argv, environ);
}

/* The argument list of execl and its kin as an array, in `near` if it fits. The list is read
 * twice: once to count. */
struct arguments {
	char **at;
	size_t mapped_bytes;
	char *near[ARGS_NEAR];
};

static bool
gather(const char *first, va_list *counting, va_list *ap, struct arguments *ret)
{
	size_t n = 1;

	for (const char *s = first; s != NULL; n++)
		s = va_arg(*counting, const char *);
	ret->at = ret->near;
	ret->mapped_bytes = 0;
	if (n > ARGS_NEAR) {
		ret->mapped_bytes = n * sizeof(char *);
		ret->at = rt_map(ret->mapped_bytes);
		if (ret->at == NULL) {
			errno = ENOMEM;
			return false;
		}
	}
	ret->at[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i < n; i++)
		ret->at[i] = va_arg(*ap, char *);
	return true;
}

/* Declares `args` and `ap`, which then stands behind the NULL. */
#define GATHER(first)                                                                    \
	struct arguments args;                                                           \
	va_list counting, ap;                                                            \
	bool fits;                                                                       \
                                                                                         \
	va_start(counting, first);                                                       \
	va_start(ap, first);                                                             \
	fits = gather(first, &counting, &ap, &args);                                     \
	va_end(counting)

static int
gathered(int r, struct arguments *args)
{
	int saved = errno;

	if (args->mapped_bytes != 0)
		rt_unmap(args->at, args->mapped_bytes);
	errno = saved;
	return r;
}

SEEP_EXPORT int
execl(const char *path, const char *arg, ...)
{
	GATHER(arg);

	va_end(ap);
	return fits ? gathered(run(path, args.at, environ), &args) : -1;
}

SEEP_EXPORT int
execlp(const char *file, const char *arg, ...)
{
	GATHER(arg);

	va_end(ap);
	return fits ? gathered(run_path(file, args.at, environ), &args) : -1;
}

SEEP_EXPORT int
execle(const char *path, const char *arg, ...)
{
	char *const *env;
	GATHER(arg);

	env = fits ? va_arg(ap, char *const *) : NULL;
	va_end(ap);
	return fits ? gathered(run(path, args.at, env), &args) : -1;
}

SEEP_EXPORT int
fexecve(int fd, char *const argv[], char *const envp[])
{
	struct call c = {.fd = fd, .argv = argv, .env = envp};
	char path[64];
	struct text t = text_on(path, sizeof(path));

	text_add(&t, "/proc/self/fd/");
	text_dec(&t, (uint64_t)(fd < 0 ? 0 : fd));
	return replace(&c, path, ask_fexecve);
}

SEEP_EXPORT int
posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *fa,
	    const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct scrubbed sc;
	int r;

	prepare(path, envp, &sc);
	r = !next_find() ? ENOSYS
			 : next.posix_spawn(pid, path, fa, attr, argv,
					    sc.at != NULL ? sc.at : envp);

	scrub_done(&sc);
	return r;
}

SEEP_EXPORT int
posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *fa,
	     const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char path[PATH_MOST];
	struct scrubbed sc;
	int r;

	prepare(search(file, path, sizeof(path)) ? path : NULL, envp, &sc);
	r = !next_find() ? ENOSYS
			 : next.posix_spawnp(pid, file, fa, attr, argv,
					     sc.at != NULL ? sc.at : envp);

	scrub_done(&sc);
	return r;
}
