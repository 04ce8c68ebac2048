/* SPDX-License-Identifier: MIT */
/* exec.c -- exec and posix_spawn, all forms: children are followed, or left in peace.
 *
 * LD_PRELOAD and SEEP are inherited, and added where the program passes an environment
 * without them (exec_env.c). But a program that cannot take the library must not see it
 * (exec_check.c): it is started with an environment that lacks the two. What will not be
 * recorded is noted (unseen.c). An exec that replaces this process is noted in the
 * recording too, so that the reader knows why it ends.
 *
 * Under a seccomp filter nothing is looked at, and what is started must not see the
 * library either: the filter is handed on, and knows nothing of what a recorder asks for.
 *
 * All of it may run in the child of a vfork, on the parent's memory and between fork and
 * exec of a threaded program: only the stack, raw system calls and mappings of our
 * own. */
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/lang/peek.h"
#include "guest/life/exec_check.h"
#include "guest/life/exec_env.h"
#include "guest/life/fork_locks.h"
#include "guest/life/life.h"
#include "guest/life/unseen.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ARGS_NEAR = 64, /* arguments of execl kept on the stack; a mapping beyond */
	PATH_MOST = 1024,
	ENV_NEAR = 64 << 10,
};

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

/* How a program is started. */
struct start {
	enum rec_unseen_why why; /* it will not be recorded, if anybody wants to know */
	bool without;		 /* its environment must not have our variables */
	size_t bytes; /* of an environment to be made; 0 = the given one will do */
	void *mapped; /* where it is, unless on the stack */
};

static struct start
plan(const char *path, char *const *env)
{
	struct start s = {0};

	if (rt_sealed)
		s.why = REC_UNSEEN_SEALED;
	else if (path != NULL)
		s.why = exec_check(path);
	s.without = exec_refuses(s.why);
	if (s.without)
		s.bytes = exec_env_bytes(env);
	if (!exec_env_follows()) {
		s.why = REC_UNSEEN_NONE;
	} else if (s.why == REC_UNSEEN_NONE && !exec_env_is_whole(env)) {
		s.why = exec_env_cannot_add();
		s.bytes = s.why == REC_UNSEEN_NONE ? exec_env_bytes(env) : 0;
	}
	return s;
}

/* On the stack, because after a vfork nobody is there to give a mapping back; only one
 * that is very large is mapped. */
#define ROOM_FOR(s)                                                                      \
	((s).bytes > 0 && (s).bytes <= ENV_NEAR ? __builtin_alloca((s).bytes) : NULL)

static char *const *
make_env(struct start *s, char *const *env, void *room)
{
	if (s->bytes == 0)
		return env;
	if (room == NULL)
		room = s->mapped = rt_map(s->bytes);
	if (room == NULL) {
		s->why = REC_UNSEEN_ENVIRONMENT;
		return env;
	}
	return s->without ? exec_env_without(env, room) : exec_env_with(env, room);
}

static void
start_done(const struct start *s)
{
	if (s->mapped != NULL)
		rt_unmap(s->mapped, s->bytes);
}

/* This process is about to be replaced (not a vfork child, which only borrows our
 * memory). */
static bool
note_exec(void)
{
	struct recorder *r = recorder_now;

	/* Sealed, we cannot ask who we are, and most that execute something are
	 * vfork's. */
	if (rt_sealed || r->base == NULL || (uint32_t)sys_getpid() != r->head->pid)
		return false;
	r->head->exec_ms = r->head->clock_ms + 1;
	r->head->life = REC_LIFE_EXEC;
	return true;
}

/* How libc is asked: execve, execvpe (it knows what to do with scripts that have no
 * `#!`), or fexecve. libc's own variants reach the kernel without passing through us
 * again. */
struct call {
	const char *file;
	int fd, flags;
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

static int
ask_execveat(const struct call *c, char *const *env)
{
	return next.execveat(c->fd, c->file, c->argv, env, c->flags);
}

/* Where that cannot be read, the call is passed on as it is: the kernel refuses it. Once
 * sealed we must not ask. */
static bool
can_read(char *const *argv, char *const *env)
{
	return rt_sealed || (exec_can_read(argv) && exec_can_read(env));
}

/* `path` is what will be started, as far as we know it; NULL: nothing of that name. */
static int
replace_readable(const struct call *c, const char *path,
		 int (*ask)(const struct call *, char *const *env))
{
	struct start s = plan(path, c->env);
	char *const *env = make_env(&s, c->env, ROOM_FOR(s));
	struct unseen u = {0};
	bool noted = note_exec(), whole;
	struct rec_head *notes = life_notes(&whole);
	bool quiet = notes != NULL && quiet_end(notes);
	int r, saved;

	if (s.why != REC_UNSEEN_NONE)
		u = unseen_note(s.why, rt_sealed ? 0 : (uint32_t)sys_getpid(), path,
				c->argv);
	next_find();
	r = ask(c, env);
	saved = errno;
	unseen_take_back(&u);
	if (quiet)
		quiet_begin(notes);
	if (noted)
		recorder_now->head->life = REC_LIFE_RUNNING;
	start_done(&s);
	errno = saved;
	return r;
}

static int
replace(const struct call *c, const char *path,
	int (*ask)(const struct call *, char *const *env))
{
	if (can_read(c->argv, c->env))
		return replace_readable(c, path, ask);
	next_find();
	return ask(c, c->env);
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

/* The argument list of execl and its kin as an array, in `near` if it fits. The list is
 * read twice: once to count. */
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

/* /proc/self/fd/FD, or that and a file in the directory which it is. */
static void
path_of_fd(struct text *t, int fd, const char *file)
{
	text_add(t, "/proc/self/fd/");
	text_dec(t, (uint64_t)(fd < 0 ? 0 : fd));
	text_add(t, file[0] != '\0' ? "/" : "");
	text_add(t, file);
}

SEEP_EXPORT int
fexecve(int fd, char *const argv[], char *const envp[])
{
	struct call c = {.fd = fd, .argv = argv, .env = envp};
	char path[64];
	struct text t = text_on(path, sizeof(path));

	path_of_fd(&t, fd, "");
	return replace(&c, path, ask_fexecve);
}

SEEP_EXPORT int
execveat(int fd, const char *file, char *const argv[], char *const envp[], int flags)
{
	struct call c = {
		.file = file, .fd = fd, .argv = argv, .env = envp, .flags = flags};
	char path[PATH_MOST];
	struct text t = text_on(path, sizeof(path));
	struct peek k = {0};
	bool known = rt_sealed || peek_may_text(&k, (uintptr_t)file);

	if (known && (fd == AT_FDCWD || file[0] == '/'))
		text_add(&t, file);
	else if (known)
		path_of_fd(&t, fd, file);
	if (!next_find() || next.execveat == NULL) { /* before glibc 2.34 */
		errno = ENOSYS;
		return -1;
	}
	return replace(&c, t.cut || !known ? NULL : path, ask_execveat);
}

/* A child that posix_spawn has made, or not: the latter is said by `r`. */
static int
spawned(int r, const struct start *s, const pid_t *pid, const char *path,
	char *const *argv)
{
	int saved = errno;

	start_done(s);
	if (r == 0 && s->why != REC_UNSEEN_NONE)
		unseen_note(s->why, pid != NULL ? (uint32_t)*pid : 0, path, argv);
	errno = saved;
	return r;
}

SEEP_EXPORT int
posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *fa,
	    const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	bool known = can_read(argv, envp);
	struct start s = known ? plan(path, envp) : (struct start){0};
	char *const *env = make_env(&s, envp, ROOM_FOR(s));
	int r = !next_find() ? ENOSYS : next.posix_spawn(pid, path, fa, attr, argv, env);

	return spawned(r, &s, pid, path, argv);
}

SEEP_EXPORT int
posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *fa,
	     const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char room[PATH_MOST];
	const char *path = search(file, room, sizeof(room)) ? room : NULL;
	bool known = can_read(argv, envp);
	struct start s = known ? plan(path, envp) : (struct start){0};
	char *const *env = make_env(&s, envp, ROOM_FOR(s));
	int r = !next_find() ? ENOSYS : next.posix_spawnp(pid, file, fa, attr, argv, env);

	return spawned(r, &s, pid, path, argv);
}

/* ---- the shell ---- */

/* libc starts it without passing through us, with `environ` as it is. Where that lacks
 * our variables and there is only one thread, `environ` is another one for the duration
 * of the call: in a mapping, because a handler may leave the call by longjmp. Where other
 * threads could see that, the shell is not recorded. */
struct borrowed {
	char **was, **now; /* NULL: nothing was changed */
	size_t bytes;
};

static bool
must_borrow(const char *command)
{
	return command != NULL && exec_env_follows() && can_read(NULL, environ) &&
	       !exec_env_is_whole(environ);
}

static struct borrowed
borrow(const char *command)
{
	struct borrowed b = {.bytes = exec_env_bytes(environ)};
	enum rec_unseen_why why = exec_env_cannot_add();
	char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			      (char *)(uintptr_t)command, NULL};

	if (why == REC_UNSEEN_NONE && proc_one_thread())
		b.now = rt_map(b.bytes);
	if (b.now == NULL) {
		unseen_note(why != REC_UNSEEN_NONE ? why : REC_UNSEEN_ENVIRONMENT, 0,
			    "/bin/sh", argv);
		return b;
	}
	exec_env_with(environ, b.now);
	b.was = environ;
	environ = b.now;
	return b;
}

static void
give_back(const struct borrowed *b)
{
	if (b->now == NULL || environ != b->now)
		return;
	environ = b->was;
	rt_unmap(b->now, b->bytes);
}

SEEP_EXPORT int
system(const char *command)
{
	struct borrowed b;
	int r;

	if (!next_find())
		return -1;
	if (!must_borrow(command)) /* and no frame of ours */
		return next.system(command);
	b = borrow(command);
	r = next.system(command);
	give_back(&b);
	return r;
}

SEEP_EXPORT void *popen(const char *command, const char *type); /* a FILE */

SEEP_EXPORT void *
popen(const char *command, const char *type)
{
	struct borrowed b;
	void *f;

	if (!next_find())
		return NULL;
	if (!must_borrow(command))
		return next.popen(command, type);
	b = borrow(command);
	f = next.popen(command, type);
	give_back(&b);
	return f;
}
