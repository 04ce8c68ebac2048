/* SPDX-License-Identifier: MIT */
/* rt_proc.c -- small files of /proc by raw system calls. See rt_proc.h. */
#include "guest/rt/rt_proc.h"

#include "guest/rt/libc_parts.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	STAT_BYTES = 384, /* field 22 is in the first 200, the name has at most 64 */
	STAT_START_FIELD = 22,
};

long
proc_slurp(const char *path, char *buf, size_t cap)
{
	long fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	size_t n = 0;
	long got = 0;

	buf[0] = '\0';
	if (fd < 0)
		return fd;
	while (n < cap - 1 && (got = sys_read((int)fd, buf + n, cap - 1 - n)) > 0)
		n += (size_t)got;
	sys_close((int)fd);
	buf[n] = '\0';
	return got < 0 ? got : (long)n;
}

bool
proc_one_thread(void)
{
	struct stat s;

	if (&__libc_single_threaded != NULL)
		return __libc_single_threaded != 0;
	/* A folder has two links, and one for each folder in it: those of the threads. */
	return !rt_sealed && SYS4(SYS_newfstatat, -100, "/proc/self/task", &s, 0) == 0 &&
	       s.st_nlink == 3;
}

int64_t
proc_start_ticks(uint32_t pid)
{
	char path[32], buf[STAT_BYTES];
	struct text t = text_on(path, sizeof(path));
	unsigned field = 2;
	int64_t ticks = 0;
	long n;

	text_add(&t, "/proc/");
	if (pid == 0)
		text_add(&t, "self");
	else
		text_dec(&t, pid);
	text_add(&t, "/stat");
	n = proc_slurp(path, buf, sizeof(buf));
	if (n < 0)
		return n;
	while (n > 0 && buf[n - 1] != ')') /* the name may hold anything */
		n--;
	for (const char *s = buf + n; *s != '\0' && field <= STAT_START_FIELD; s++) {
		if (*s == ' ')
			field++;
		else if (field == STAT_START_FIELD && *s >= '0' && *s <= '9')
			ticks = ticks * 10 + (*s - '0');
	}
	return ticks;
}

const char *
proc_variable(const char *name)
{
	size_t n = text_len(name);

	if (n == 0)
		return NULL;
	for (char **e = environ; e != NULL && *e != NULL; e++) {
		size_t i = 0;

		while (i < n && (*e)[i] == name[i])
			i++;
		if (i == n && (*e)[n] == '=')
			return *e + n + 1;
	}
	return NULL;
}
