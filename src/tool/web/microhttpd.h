/* SPDX-License-Identifier: MIT */
/* microhttpd.h -- the few functions of libmicrohttpd that seep calls.
 *
 * The library is opened when a command serves something, and never else: it brings a TLS library
 * along. Names and numbers of its interface have been the same since 0.9.50 (libmicrohttpd.so.12), so they
 * are written down here and no header is needed to build. */
#ifndef SEEP_WEB_MICROHTTPD_H
#define SEEP_WEB_MICROHTTPD_H

#include <stddef.h>
#include <stdint.h>

#include "tool/util/err.h"

struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;

enum {
	MICROHTTPD_YES = 1,
	MICROHTTPD_USE_EPOLL = 512,
	MICROHTTPD_OPTION_END = 0,
	MICROHTTPD_OPTION_MEMORY_LIMIT = 1,
	MICROHTTPD_OPTION_CONNECTION_LIMIT = 2,
	MICROHTTPD_OPTION_CONNECTION_TIMEOUT = 3,
	MICROHTTPD_OPTION_NOTIFY_COMPLETED = 4,
	MICROHTTPD_OPTION_LISTEN_SOCKET = 12,
	MICROHTTPD_OPTION_NOTIFY_CONNECTION = 27,
	MICROHTTPD_STARTED = 0, /* a connection; any other word: it was closed */
	MICROHTTPD_CONNECTION_FD = 6,
	MICROHTTPD_CONNECTION_CONTEXT = 7,
	MICROHTTPD_INFO_EPOLL_FD = 3,
	MICROHTTPD_HEADER_KIND = 1,
	MICROHTTPD_PERSISTENT = 0, /* the body outlives the response */
	MICROHTTPD_MUST_COPY = 2,
};

union microhttpd_info {
	int epoll_fd;
};

union microhttpd_connection_info {
	int fd;
	void *context; /* what was set when the connection began */
};

typedef int microhttpd_handler(void *ctx, struct MHD_Connection *c, const char *url,
			       const char *method, const char *version, const char *data,
			       size_t *data_bytes, void **of_connection);

struct microhttpd {
	struct MHD_Daemon *(*start)(unsigned flags, uint16_t port, void *accept,
				    void *accept_ctx, microhttpd_handler *handler,
				    void *ctx, ...);
	void (*stop)(struct MHD_Daemon *d);
	int (*run)(struct MHD_Daemon *d);
	int (*timeout)(struct MHD_Daemon *d, unsigned long long *ret_ms);
	const union microhttpd_info *(*info)(struct MHD_Daemon *d, int what, ...);
	const union microhttpd_connection_info *(*connection)(struct MHD_Connection *c,
							      int what, ...);
	const char *(*value)(struct MHD_Connection *c, int kind, const char *key);
	struct MHD_Response *(*response)(size_t bytes, void *body, int mode);
	int (*header)(struct MHD_Response *r, const char *name, const char *value);
	int (*queue)(struct MHD_Connection *c, unsigned status, struct MHD_Response *r);
	void (*destroy)(struct MHD_Response *r);
};

/* The functions, loaded at the first call; they stay loaded. -ENOSYS names the package. */
int microhttpd_load(const struct microhttpd **ret, struct err *e);

#endif
