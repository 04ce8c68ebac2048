/* SPDX-License-Identifier: MIT */
/* mallctl_wrong.c -- every profiling name of mallctl and the totals, called wrongly in eight ways, and three
 * right ones. Prints a table that is the same over any library that keeps jemalloc's rules.
 *
 * Each call is made in a child of its own, so that one that crashes or changes a setting spoils
 * no other. `S11` means that signal 11 ended it. */
/* cflags: -O1 -g -rdynamic */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int mallctl_fn(const char *, void *, size_t *, void *, size_t);
typedef int tomib_fn(const char *, size_t *, size_t *);
typedef int bymib_fn(const size_t *, size_t, void *, size_t *, void *, size_t);

static mallctl_fn *ctl;
static tomib_fn *tomib;
static bymib_fn *bymib;

static const struct name {
	const char *name;
	size_t bytes;	  /* of its value */
	const char *text; /* a value to write, where it is a string */
	uint64_t number;
} names[] = {
	{"prof.active", 1, NULL, 1},
	{"prof.thread_active_init", 1, NULL, 1},
	{"prof.gdump", 1, NULL, 0},
	{"prof.dump", 8, "a.heap", 0},
	{"prof.prefix", 8, "b", 0},
	{"prof.reset", 8, NULL, 9},
	{"prof.interval", 8, NULL, 0},
	{"prof.lg_sample", 8, NULL, 3},
	{"prof.stats.bins.3.live", 16, NULL, 0},
	{"prof.stats.bins.3.accum", 16, NULL, 0},
	{"prof.stats.bins.36.live", 16, NULL, 0},
	{"prof.stats.lextents.3.live", 16, NULL, 0},
	{"prof.stats.lextents.196.accum", 16, NULL, 0},
	{"thread.prof.active", 1, NULL, 1},
	{"thread.prof.name", 8, "worker 7", 0},
	{"opt.prof", 1, NULL, 1},
	{"opt.prof_prefix", 8, "x", 0},
	{"opt.prof_active", 1, NULL, 1},
	{"opt.prof_thread_active_init", 1, NULL, 1},
	{"opt.lg_prof_sample", 8, NULL, 1},
	{"opt.lg_prof_interval", 8, NULL, 1},
	{"opt.prof_gdump", 1, NULL, 1},
	{"opt.prof_final", 1, NULL, 1},
	{"opt.prof_leak", 1, NULL, 1},
	{"opt.prof_leak_error", 1, NULL, 1},
	{"opt.prof_accum", 1, NULL, 1},
	{"opt.prof_recent_alloc_max", 8, NULL, 1},
	{"opt.prof_stats", 1, NULL, 1},
	{"opt.prof_sys_thread_name", 1, NULL, 1},
	{"opt.prof_time_resolution", 8, "high", 1},
	{"config.prof", 1, NULL, 1},
	{"config.prof_libgcc", 1, NULL, 1},
	{"config.prof_libunwind", 1, NULL, 1},
	{"prof", 8, NULL, 0},
	{"prof.stats", 8, NULL, 0},
	{"prof.nothing", 8, NULL, 0},
	{"thread.prof", 8, NULL, 0},
	{"opt.prof_unbias", 1, NULL, 0},
	{"version", 8, "x", 0},
	{"epoch", 8, NULL, 1},
	{"stats.allocated", 8, NULL, 0},
	{"stats.active", 8, NULL, 0},
	{"stats.metadata", 8, NULL, 0},
	{"stats.resident", 8, NULL, 0},
	{"stats.mapped", 8, NULL, 0},
	{"stats.retained", 8, NULL, 0},
	{"stats", 8, NULL, 0},
	{"stats.nothing", 8, NULL, 0},
	{"", 1, NULL, 0},
	{".prof", 1, NULL, 0},
};

static unsigned char old[64], new[64];
static size_t old_bytes;

/* The eight wrong ways come first. */
static int
call(const struct name *n, int way)
{
	char longer[80];
	size_t mib[8] = {0}, depth = 8, small = 1;

	memset(old, 0x5a, sizeof(old));
	memset(new, 0, sizeof(new));
	if (n->text != NULL)
		memcpy(new, &n->text, sizeof(n->text));
	else
		memcpy(new, &n->number, sizeof(n->number));
	old_bytes = n->bytes;
	switch (way) {
	case 0: /* too little room for the old value */
		old_bytes = n->bytes - 1;
		return ctl(n->name, old, &old_bytes, NULL, 0);
	case 1: /* too much */
		old_bytes = n->bytes + 5;
		return ctl(n->name, old, &old_bytes, NULL, 0);
	case 2: /* a new value of the wrong size */
		return ctl(n->name, NULL, NULL, new, n->bytes + 1);
	case 3: /* a size without a value */
		return ctl(n->name, NULL, NULL, NULL, n->bytes);
	case 4: /* both at once */
		return ctl(n->name, old, &old_bytes, new, n->bytes);
	case 5: /* no size for the old value */
		return ctl(n->name, old, NULL, NULL, 0);
	case 6: /* no place for it */
		return ctl(n->name, NULL, &old_bytes, NULL, 0);
	case 7: /* a name that goes on */
		snprintf(longer, sizeof(longer), "%s.more", n->name);
		return ctl(longer, old, &old_bytes, NULL, 0);
	case 8: /* read it */
		return ctl(n->name, old, &old_bytes, NULL, 0);
	case 9: /* write it */
		return ctl(n->name, NULL, NULL, new, n->bytes);
	case 10: /* read it by number */
		if (tomib(n->name, mib, &depth) != 0)
			return -1;
		return bymib(mib, depth, old, &old_bytes, NULL, 0);
	default: /* read it by too short a number */
		if (tomib(n->name, mib, &small) != 0)
			return -1;
		return bymib(mib, small, old, &old_bytes, NULL, 0);
	}
}

static const char *
error_name(int error)
{
	switch (error) {
	case 0:
		return "ok";
	case EPERM:
		return "EPERM";
	case ENOENT:
		return "ENOENT";
	case EINVAL:
		return "EINVAL";
	case EFAULT:
		return "EFAULT";
	case EAGAIN:
		return "EAGAIN";
	case -1:
		return "nomib";
	default:
		return "other";
	}
}

static void
report(const struct name *n, int way)
{
	int status, error;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		errno = 77;
		error = call(n, way);
		printf(" %s", error_name(error));
		/* How much of the old value was written, and whether errno was left alone. */
		if ((way < 2 || way == 8 || way == 10) && error >= 0)
			printf("/%zu", old_bytes);
		if (errno != 77)
			printf("!");
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf(" S%d", WTERMSIG(status));
}

int
main(void)
{
	ctl = (mallctl_fn *)dlsym(RTLD_DEFAULT, "mallctl");
	tomib = (tomib_fn *)dlsym(RTLD_DEFAULT, "mallctlnametomib");
	bymib = (bymib_fn *)dlsym(RTLD_DEFAULT, "mallctlbymib");
	if (ctl == NULL || tomib == NULL || bymib == NULL) {
		puts("no mallctl");
		return 1;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		printf("%-32s", names[i].name);
		for (int way = 0; way < 12; way++)
			report(&names[i], way);
		printf("\n");
	}
	return 0;
}
