/* SPDX-License-Identifier: MIT */
/* status_line.c -- see status_line.h.
 *
 * The thread has every signal blocked and waits on a descriptor, which status_line writes
 * to when the text is over; then it is joined. So there is never more than one, and none
 * while the report is printed. */
#include "tool/cli/term/status_line.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tool/util/buf.h"
#include "tool/util/clean.h"
#include "tool/util/clock.h"
#include "tool/util/term.h"

enum { SECOND_MS = 1000 };

static struct {
	pthread_t thread;
	pid_t owner; /* that has the thread; 0 = none */
	int over;    /* eventfd */
	uint64_t since_ns;
	unsigned columns;
	struct buf text;
} line;

bool
status_line_may_show(void)
{
	return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* Only this thread writes while it lives. */
static void *
show(void *arg)
{
	static const char wipe[] = "\r\033[K";
	struct pollfd over = {.fd = line.over, .events = POLLIN};
	bool shown = false;

	(void)arg;
	while (poll(&over, 1, SECOND_MS) == 0) {
		uint64_t s = (clock_ns(CLOCK_MONOTONIC) - line.since_ns) / 1000000000;
		struct buf b = {0};

		/* In the background a write could stop us (TOSTOP). */
		if (!status_line_may_show())
			continue;
		buf_printf(&b, "seep: %s: %ju s", buf_str(&line.text), (uintmax_t)s);
		if (line.columns > 1 && b.len >= line.columns)
			b.data[b.len = line.columns - 1] = '\0';
		buf_add_str(&b, "\033[K\r");
		shown = write(STDERR_FILENO, b.data, b.len) > 0 || shown;
		buf_done(&b);
	}
	if (shown && status_line_may_show())
		(void)!write(STDERR_FILENO, wipe, sizeof wipe - 1);
	return NULL;
}

static void
end(void)
{
	uint64_t one = 1;

	if (line.owner == getpid() && write(line.over, &one, sizeof one) == sizeof one)
		pthread_join(line.thread, NULL);
	if (line.owner != 0)
		close(line.over);
	line.owner = 0;
	buf_done(&line.text);
}

void
status_line(const char *text)
{
	sigset_t all, before;
	struct term t;

	end();
	if (text == NULL)
		return;
	term_init(&t, STDERR_FILENO);
	if (!t.tty || !status_line_may_show())
		return;
	line.over = eventfd(0, EFD_CLOEXEC);
	if (line.over < 0)
		return;
	clean_text(&line.text, text);
	line.columns = t.columns;
	line.since_ns = clock_ns(CLOCK_MONOTONIC);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&line.thread, NULL, show, NULL) == 0)
		line.owner = getpid();
	else
		close(line.over);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
