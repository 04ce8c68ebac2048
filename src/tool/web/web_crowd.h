/* SPDX-License-Identifier: MIT */
/* web_crowd.h -- who is connected, so that nobody who is slow keeps others waiting.
 *
 * Everybody waits in the same thread, and a connection costs a descriptor: a client that
 * sends one byte a second, or never reads, would hold one for ever. So a request has
 * WEB_REQUEST_S seconds to arrive, and of more than WEB_CONNECTIONS connections the one
 * that has been as it is for the longest time is hung up on. Hanging up is shutdown(2) of
 * its socket; the library notices and closes it. */
#ifndef SEEP_WEB_WEB_CROWD_H
#define SEEP_WEB_WEB_CROWD_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WEB_CONNECTIONS = 64,	   /* are kept */
	WEB_CONNECTIONS_MAX = 128, /* are let in, until the slowest is gone */
	WEB_REQUEST_S = 20,	   /* for a request to arrive, or the next one to begin */
};

struct web_guest {
	int fd;		/* -1: nobody */
	bool waits;	/* no request of it is being answered */
	bool gone;	/* was hung up on; its socket is closed soon */
	uint64_t since; /* when that began, in ms */
};

struct web_crowd {
	struct web_guest guests[WEB_CONNECTIONS_MAX];
	unsigned present; /* not gone */
	unsigned most;	  /* are kept */
};

/* Nobody. No more are kept than half of the descriptors that may still be opened. */
void web_crowd_init(struct web_crowd *c);

/* Somebody has connected; NULL: there is no room, hang up. May hang up on another. */
struct web_guest *web_crowd_enter(struct web_crowd *c, int fd, uint64_t now_ms);
/* Its request is here; it was answered. */
void web_guest_asks(struct web_guest *g, uint64_t now_ms);
void web_guest_waits(struct web_guest *g, uint64_t now_ms);
void web_crowd_leave(struct web_crowd *c, struct web_guest *g);

/* Hangs up on those whose request does not arrive. Milliseconds until the next one is
 * due; -1 = nobody is waited for. */
int web_crowd_sweep(struct web_crowd *c, uint64_t now_ms);

#endif
