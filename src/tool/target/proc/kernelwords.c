/* SPDX-License-Identifier: MIT */
/* kernelwords.c -- see kernelwords.h.
 *
 * An epoll descriptor lists what is registered in its fdinfo, one line each:
 * "tfd: 7 events: 19 data: 55d0c2a4b2a0 …"; /proc/PID/timers has "signal:
 * 34/000055d0c2a4b2a0" below the "ID: 0" of each timer. */
#include "tool/target/proc/kernelwords.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/util/buf.h"
#include "tool/util/file.h"

static void
add(struct kernelwords *to, uint64_t word, enum kernelword_kind kind, int number)
{
	if (word != 0)
		vec_push(to, (struct kernelword){word, kind, number});
}

static void
read_epoll(int pid, const char *fd, struct kernelwords *to)
{
	struct buf text = {0};
	char path[320];
	const char *at;

	snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", file_proc_task(pid), fd);
	if (buf_read_file(&text, path, NULL) == 0) {
		for (at = strstr(buf_str(&text), " data:"); at != NULL;
		     at = strstr(at, " data:")) {
			at += strlen(" data:");
			add(to, strtoull(at, NULL, 16), KERNELWORD_EPOLL, atoi(fd));
		}
	}
	buf_done(&text);
}

static void
read_epolls(int pid, struct kernelwords *to)
{
	static const char wanted[] = "anon_inode:[eventpoll]";
	char path[64], target[sizeof wanted];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", file_proc_task(pid));
	dir = opendir(path);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		if (readlinkat(dirfd(dir), d->d_name, target, sizeof target) ==
			    (ssize_t)strlen(wanted) &&
		    memcmp(target, wanted, strlen(wanted)) == 0)
			read_epoll(pid, d->d_name, to);
	}
	if (dir != NULL)
		closedir(dir);
}

static void
read_timers(int pid, struct kernelwords *to)
{
	static const char id[] = "ID: ", signal[] = "signal: ";
	struct buf text = {0};
	char path[64], *line, *rest, *slash;
	int number = 0;

	snprintf(path, sizeof path, "/proc/%d/timers", pid);
	if (buf_read_file(&text, path, NULL) == 0 && text.len > 0) {
		rest = text.data;
		while ((line = strsep(&rest, "\n")) != NULL) {
			if (strncmp(line, id, strlen(id)) == 0)
				number = atoi(line + strlen(id));
			else if (strncmp(line, signal, strlen(signal)) == 0 &&
				 (slash = strchr(line, '/')) != NULL)
				add(to, strtoull(slash + 1, NULL, 16), KERNELWORD_TIMER,
				    number);
		}
	}
	buf_done(&text);
}

void
kernelwords_read(int pid, struct kernelwords *ret)
{
	ret->len = 0;
	read_epolls(pid, ret);
	read_timers(pid, ret);
}

void
kernelword_name(const struct kernelword *k, char *ret, size_t size)
{
	snprintf(ret, size, "%s %d",
		 k->kind == KERNELWORD_EPOLL ? "epoll descriptor" : "POSIX timer",
		 k->number);
}
