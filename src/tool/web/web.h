/* SPDX-License-Identifier: MIT */
/* web.h -- pages for the browsers of this machine: a socket, a table of paths, an end on
 * SIGINT or SIGTERM.
 *
 * One thread, no threads of the library's. Bound to 127.0.0.1 unless a host is given. A
 * request whose Host header is a name that was not given is refused: another site's
 * script could reach us under a name of its own (DNS rebinding), but not under an address
 * or `localhost`. Only GET and HEAD; no body of a request is ever read, and what is
 * served cannot be framed, cached or read by other sites. There is no TLS and no
 * password: who can reach the socket can read the pages. */
#ifndef SEEP_WEB_WEB_H
#define SEEP_WEB_WEB_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/buf.h"
#include "tool/util/err.h"

/* A socket that listens. */
struct web {
	int fd;
	char *host; /* as given, "localhost" when none was */
	uint16_t port;
	char *url;     /* of the page itself: "http://localhost:8080" */
	bool is_local; /* only this machine can connect */
};
#define WEB_NONE                                                                         \
	{                                                                                \
		.fd = -1                                                                 \
	}

struct web_reply {
	const char *type;	/* of the content */
	const char *save_as;	/* a file for the user's disk; NULL = to be shown */
	const struct buf *body; /* borrowed: stays as it is until web_run returns */
};

/* What to answer for a path. `make` fills the reply; a failure becomes status 500 with
 * the message. The table ends with a path of NULL. */
struct web_route {
	const char *path;
	int (*make)(void *ctx, struct web_reply *ret_reply, struct err *e);
};

/* Takes "[host]:[port]" apart, "[::1]:8080" too; no host is NULL, no port is 0. The host
 * is to be freed. -EINVAL. */
int web_address(const char *text, char **ret_host, uint16_t *ret_port, struct err *e);

/* Listens. `host` NULL is this machine alone; port 0 is one that is free. -ENOSYS says
 * which package is missing. Close with web_close. */
int web_listen(const char *host, uint16_t port, struct web *ret_web, struct err *e);
void web_close(struct web *w); /* legal on WEB_NONE */

/* Serves until SIGINT or SIGTERM, which are blocked meanwhile; nobody listens
 * afterwards. */
int web_run(struct web *w, const struct web_route *routes, void *ctx, struct err *e);

/* May a request with this Host header be answered by a server at `host`? */
bool web_host_passes(const char *header, const char *host);

#endif
