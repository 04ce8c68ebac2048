/* SPDX-License-Identifier: MIT */
/* web_crowd.c -- see web_crowd.h. */
#include "tool/web/web_crowd.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
	WEB_OWN_FILES = 16, /* descriptors that are not connections */
	WEB_LEAST = 4,
};

void
web_crowd_init(struct web_crowd *c)
{
	struct rlimit files;

	*c = (struct web_crowd){.most = WEB_CONNECTIONS};
	for (unsigned i = 0; i < WEB_CONNECTIONS_MAX; i++)
		c->guests[i].fd = -1;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	    files.rlim_cur < 2 * WEB_CONNECTIONS + WEB_OWN_FILES)
		c->most = files.rlim_cur > WEB_OWN_FILES + 2 * WEB_LEAST
				  ? (unsigned)(files.rlim_cur - WEB_OWN_FILES) / 2
				  : WEB_LEAST;
}

static void
web_hang_up(struct web_crowd *c, struct web_guest *g)
{
	shutdown(g->fd, SHUT_RDWR);
	g->gone = true;
	c->present--;
}

struct web_guest *
web_crowd_enter(struct web_crowd *c, int fd, uint64_t now_ms)
{
	struct web_guest *room = NULL, *slowest = NULL;

	for (unsigned i = 0; i < WEB_CONNECTIONS_MAX; i++) {
		struct web_guest *g = &c->guests[i];

		if (g->fd < 0)
			room = g;
		else if (!g->gone && (slowest == NULL || g->since < slowest->since))
			slowest = g;
	}
	if (room == NULL)
		return NULL;
	if (c->present >= c->most && slowest != NULL)
		web_hang_up(c, slowest);
	*room = (struct web_guest){.fd = fd, .waits = true, .since = now_ms};
	c->present++;
	return room;
}

void
web_guest_asks(struct web_guest *g, uint64_t now_ms)
{
	g->waits = false;
	g->since = now_ms;
}

void
web_guest_waits(struct web_guest *g, uint64_t now_ms)
{
	g->waits = true;
	g->since = now_ms;
}

void
web_crowd_leave(struct web_crowd *c, struct web_guest *g)
{
	if (!g->gone)
		c->present--;
	*g = (struct web_guest){.fd = -1};
}

int
web_crowd_sweep(struct web_crowd *c, uint64_t now_ms)
{
	int next = -1;

	for (unsigned i = 0; i < WEB_CONNECTIONS_MAX; i++) {
		struct web_guest *g = &c->guests[i];
		uint64_t due = g->since + WEB_REQUEST_S * 1000;

		if (g->fd < 0 || g->gone || !g->waits)
			continue;
		if (due <= now_ms)
			web_hang_up(c, g);
		else if (next < 0 || due - now_ms < (uint64_t)next)
			next = (int)(due - now_ms);
	}
	return next;
}
