/* SPDX-License-Identifier: MIT */
/* measure.c -- runs one command and says what it and everything it started took.
 *
 * It makes itself the reaper of orphans, so helpers that outlive their parent are waited
 * for and counted: their CPU time comes from the kernel's own account of reaped children,
 * exact and without looking while they run. With -i it also looks at the memory of the
 * whole tree every so many milliseconds: the sum of proportional set sizes, so pages
 * shared between the processes count once. That look holds the target's mmap lock for a
 * while, so runs whose time matters are made without -i.
 *
 * Usage: measure -r RESULT [-i MS] [-t SECONDS] [-e NAME=VALUE]... -- COMMAND ARGS
 * RESULT gets lines "name value". -e sets a variable for the command only: a preload must
 * not act on this program. After -t seconds, or when the machine is about to run out of
 * memory, the whole tree is killed.
 * A C program and not part of the driver, because a child's largest resident size starts
 * with that of the process that made it.
 * It does not see CPU time of children that a program lets the kernel reap unseen
 * (SIGCHLD ignored). */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_PROCS = 65536,
};

struct proc {
	pid_t pid, parent;
	int ours;
};

struct result {
	int status; /* of the command itself, as a shell would say it */
	int timed_out, no_memory;
	uint64_t wall_ns;
	uint64_t tree_bytes; /* largest sum seen, 0 without -i */
	uint64_t looks, procs;
};

struct setup {
	const char *result_path;
	long interval_ms, limit_s;
};

static struct proc procs[MAX_PROCS];

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
fail(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	exit(3);
}

/* Parent of a process, or 0 when it has gone. The name in parentheses may hold anything,
 * so the fields are counted from its last closing one. */
static pid_t
proc_parent(pid_t pid)
{
	char path[64], text[512];
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return 0;
	size_t got = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[got] = '\0';
	char *end = strrchr(text, ')');
	if (end == NULL || sscanf(end + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

/* Fills procs[] and marks what descends from this process; returns the number of rows.
 * /proc/PID/task/TID/children would be shorter but is not built into every kernel. */
static size_t
tree_read(void)
{
	size_t n = 0;
	struct dirent *d;
	DIR *dir = opendir("/proc");

	if (dir == NULL)
		return 0;
	while ((d = readdir(dir)) != NULL && n < MAX_PROCS) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		pid_t pid = (pid_t)atoi(d->d_name);

		procs[n++] = (struct proc){.pid = pid, .parent = proc_parent(pid)};
	}
	closedir(dir);

	for (int changed = 1; changed;) {
		changed = 0;
		for (size_t i = 0; i < n; i++) {
			int is = procs[i].parent == getpid();

			for (size_t j = 0; j < n && !is; j++)
				is = procs[j].ours && procs[j].pid == procs[i].parent;
			changed |= is && !procs[i].ours;
			procs[i].ours |= is;
		}
	}
	return n;
}

static uint64_t
proc_pss_bytes(pid_t pid)
{
	char path[64], line[256];
	unsigned long long kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "Pss: %llu kB", &kib) == 1)
			break;
	fclose(f);
	return kib * 1024;
}

/* Whether row i has the very address space of an earlier row of ours: a vfork child, or
 * a leak checker's tracer made with CLONE_VM. Counting it would count its memory
 * twice. */
static int
memory_seen(size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (procs[j].ours &&
		    syscall(SYS_kcmp, procs[j].pid, procs[i].pid, KCMP_VM, 0, 0) == 0)
			return 1;
	return 0;
}

static uint64_t
tree_bytes(size_t n, uint64_t *ret_count)
{
	uint64_t bytes = 0, count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!procs[i].ours || memory_seen(i))
			continue;
		bytes += proc_pss_bytes(procs[i].pid);
		count++;
	}
	*ret_count = count;
	return bytes;
}

/* Processes are looked at one after the other, for milliseconds. What one of them begins
 * to share meanwhile counts for the first as its own and for the second as half of it: so
 * a sum has to come twice. */
static void
tree_look(struct result *r)
{
	size_t n = tree_read();
	uint64_t count, bytes = tree_bytes(n, &count), again = tree_bytes(n, &count);

	bytes = again < bytes ? again : bytes;
	r->looks++;
	if (bytes > r->tree_bytes)
		r->tree_bytes = bytes;
	if (count > r->procs)
		r->procs = count;
}

static void
tree_kill(void)
{
	size_t n = tree_read();

	for (size_t i = 0; i < n; i++)
		if (procs[i].ours)
			kill(procs[i].pid, SIGKILL);
}

/* Whether less than a tenth of the machine's memory is left. Some profilers grow without
 * bound on some programs, and the kernel might choose someone else to kill. */
static int
memory_short(void)
{
	char line[128];
	unsigned long long total = 0, left = 0;
	FILE *f = fopen("/proc/meminfo", "re");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		sscanf(line, "MemTotal: %llu", &total);
		if (sscanf(line, "MemAvailable: %llu", &left) == 1)
			break;
	}
	fclose(f);
	return left < total / 10;
}

/* Starts the command with an empty signal mask; ours has SIGCHLD blocked. */
static pid_t
command_start(char **argv, char **env)
{
	pid_t pid;
	sigset_t none;
	posix_spawnattr_t attr;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	errno = posix_spawnp(&pid, argv[0], NULL, &attr, argv, env);
	if (errno != 0)
		fail(argv[0]);
	posix_spawnattr_destroy(&attr);
	return pid;
}

/* Reaps what has ended; returns 0 when nobody is left. */
static int
tree_reap(pid_t main_pid, struct result *r)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		if (pid == main_pid)
			r->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
							: WEXITSTATUS(status);
	return pid == 0;
}

/* Runs the command and waits for all of its tree. */
static void
tree_run(char **argv, char **env, const struct setup *s, struct result *r)
{
	sigset_t child;
	uint64_t start = now_ns();
	pid_t main_pid = command_start(argv, env);
	long step_ms = s->interval_ms > 0 ? s->interval_ms : 200;
	struct timespec step = {step_ms / 1000, step_ms % 1000 * 1000000};

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (tree_reap(main_pid, r)) {
		if (sigtimedwait(&child, NULL, &step) < 0 && errno == EAGAIN &&
		    s->interval_ms > 0)
			tree_look(r);
		r->timed_out |= now_ns() - start > (uint64_t)s->limit_s * 1000000000;
		r->no_memory |= memory_short();
		if (r->timed_out || r->no_memory)
			tree_kill();
	}
	r->wall_ns = now_ns() - start;
}

static void
result_write(const char *path, const struct result *r)
{
	struct rusage u;
	FILE *f = fopen(path, "we");

	if (f == NULL || getrusage(RUSAGE_CHILDREN, &u) != 0)
		fail(path);
	fprintf(f, "status %d\ntimed_out %d\nno_memory %d\n", r->status, r->timed_out,
		r->no_memory);
	fprintf(f, "wall_s %.6f\n", (double)r->wall_ns / 1e9);
	fprintf(f, "user_s %ld.%06ld\n", u.ru_utime.tv_sec, u.ru_utime.tv_usec);
	fprintf(f, "sys_s %ld.%06ld\n", u.ru_stime.tv_sec, u.ru_stime.tv_usec);
	fprintf(f, "maxrss_bytes %llu\n", (unsigned long long)u.ru_maxrss * 1024);
	fprintf(f, "tree_bytes %llu\n", (unsigned long long)r->tree_bytes);
	fprintf(f, "looks %llu\nprocs %llu\n", (unsigned long long)r->looks,
		(unsigned long long)r->procs);
	if (fclose(f) != 0)
		fail(path);
}

int
main(int argc, char **argv)
{
	struct setup s = {.limit_s = 3600};
	struct result r = {.status = 255};
	sigset_t child;
	char **env = calloc((size_t)argc + 1, sizeof(*env)); /* of -e: at most argc */
	size_t settings = 0, inherited = 0;
	int opt;

	if (env == NULL)
		fail("memory");
	while ((opt = getopt(argc, argv, "+r:i:t:e:")) != -1) {
		if (opt == 'r')
			s.result_path = optarg;
		else if (opt == 'i')
			s.interval_ms = atol(optarg);
		else if (opt == 't')
			s.limit_s = atol(optarg);
		else if (opt == 'e')
			env[settings++] = optarg;
		else
			return 2;
	}
	if (s.result_path == NULL || optind >= argc) {
		fprintf(stderr, "usage: measure -r RESULT [-i MS] [-t SECONDS] "
				"[-e NAME=VALUE]... -- COMMAND ARGS\n");
		return 2;
	}

	while (environ[inherited] != NULL)
		inherited++;
	char **all = calloc(settings + inherited + 1, sizeof(*all));
	if (all == NULL)
		fail("memory");
	memcpy(all, env, settings * sizeof(*all)); /* first one found wins in getenv */
	memcpy(all + settings, environ, inherited * sizeof(*all));

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		fail("becoming the reaper");
	tree_run(argv + optind, all, &s, &r);
	result_write(s.result_path, &r);
	free(all);
	free(env);
	return 0;
}
