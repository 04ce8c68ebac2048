/* SPDX-License-Identifier: MIT */
/* web_server.c -- requests and their answers, in the caller's own thread.
 *
 * The library's sockets are behind one epoll descriptor, the signals behind another
 * descriptor, and we wait for either. No socket is ever waited for alone: what a client
 * does not take yet is sent when it does, and those that are too slow about it make room
 * for others (web_crowd.h). */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool/util/clock.h"
#include "tool/web/microhttpd.h"
#include "tool/web/web.h"
#include "tool/web/web_crowd.h"

enum {
	WEB_IDLE_S = 60,	      /* without a byte in either direction */
	WEB_REQUEST_BYTES = 32 << 10, /* of a connection: no longer head is read */
	WEB_OK = 200,
	WEB_FORBIDDEN = 403,
	WEB_NOT_FOUND = 404,
	WEB_NOT_ALLOWED = 405,
	WEB_FAILED = 500,
};

struct web_server {
	const struct microhttpd *lib;
	const struct web *w;
	const struct web_route *routes;
	void *ctx;
	struct web_crowd crowd;
};

/* ---- answers ---- */

static enum MHD_Result
web_send(const struct web_server *s, struct MHD_Connection *c, unsigned status,
	 const struct web_reply *reply, enum MHD_ResponseMemoryMode mode)
{
	static const struct {
		const char *name, *value;
	} always[] = {
		{"X-Content-Type-Options", "nosniff"},
		{"Cache-Control", "no-store"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Content-Security-Policy", "frame-ancestors 'none'"},
	};
	struct MHD_Response *r =
		s->lib->response(reply->body->len, reply->body->data, mode);
	struct buf as = {0};
	enum MHD_Result queued;

	if (r == NULL)
		return MHD_NO; /* closes the connection */
	s->lib->header(r, "Content-Type", reply->type);
	for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
		s->lib->header(r, always[i].name, always[i].value);
	if (reply->save_as != NULL) {
		buf_printf(&as, "attachment; filename=\"%s\"", reply->save_as);
		s->lib->header(r, "Content-Disposition", buf_str(&as));
	}
	if (status == WEB_NOT_ALLOWED)
		s->lib->header(r, "Allow", "GET, HEAD");
	queued = s->lib->queue(c, status, r);
	s->lib->destroy(r);
	buf_done(&as);
	return queued;
}

static enum MHD_Result
web_say(const struct web_server *s, struct MHD_Connection *c, unsigned status,
	const char *text)
{
	struct buf body = {0};
	struct web_reply reply = {.type = "text/plain; charset=utf-8", .body = &body};
	enum MHD_Result queued;

	buf_printf(&body, "%s\n", text);
	queued = web_send(s, c, status, &reply, MHD_RESPMEM_MUST_COPY);
	buf_done(&body);
	return queued;
}

/* ---- who is there ---- */

static struct web_guest *
web_guest_of(const struct web_server *s, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		s->lib->connection(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info != NULL ? info->socket_context : NULL;
}

static void
web_connected(void *ctx, struct MHD_Connection *c, void **ret_context,
	      enum MHD_ConnectionNotificationCode what)
{
	struct web_server *s = ctx;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		info = s->lib->connection(c, MHD_CONNECTION_INFO_CONNECTION_FD);
		*ret_context = info != NULL ? web_crowd_enter(&s->crowd, info->connect_fd,
							      clock_ms())
					    : NULL;
		if (info != NULL && *ret_context == NULL)
			shutdown(info->connect_fd, SHUT_RDWR);
	} else if (*ret_context != NULL) {
		web_crowd_leave(&s->crowd, *ret_context);
		*ret_context = NULL;
	}
}

static void
web_answered(void *ctx, struct MHD_Connection *c, void **of_request,
	     enum MHD_RequestTerminationCode how)
{
	struct web_guest *guest = web_guest_of(ctx, c);

	(void)of_request, (void)how;
	if (guest != NULL)
		web_guest_waits(guest, clock_ms());
}

static enum MHD_Result
web_handle(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
	   const char *version, const char *data, size_t *data_bytes,
	   void **of_connection)
{
	const struct web_server *s = ctx;
	const struct web_route *route = s->routes;
	struct web_guest *guest = web_guest_of(s, c);
	struct web_reply reply = {0};
	struct err e = {0};

	(void)version, (void)data, (void)data_bytes, (void)of_connection;
	if (guest != NULL)
		web_guest_asks(guest, clock_ms());
	if (!web_host_passes(s->lib->value(c, MHD_HEADER_KIND, "Host"), s->w->host))
		return web_say(s, c, WEB_FORBIDDEN,
			       "this Host is not served: ask for localhost, or for the "
			       "host that was named");
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return web_say(s, c, WEB_NOT_ALLOWED, "only GET and HEAD");
	while (route->path != NULL && strcmp(route->path, url) != 0)
		route++;
	if (route->path == NULL)
		return web_say(s, c, WEB_NOT_FOUND, "there is no such page");
	if (route->make(s->ctx, &reply, &e) < 0)
		return web_say(s, c, WEB_FAILED, e.msg);
	return web_send(s, c, WEB_OK, &reply, MHD_RESPMEM_PERSISTENT);
}

/* ---- until it ends ---- */

static int
web_loop(struct web_server *s, struct MHD_Daemon *d, int signals, struct err *e)
{
	const union MHD_DaemonInfo *info = s->lib->info(d, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[2] = {{.fd = signals, .events = POLLIN}, {.events = POLLIN}};

	if (info == NULL)
		return err_set(e, -EIO, "libmicrohttpd has no descriptor");
	fds[1].fd = info->epoll_fd;
	for (;;) {
		unsigned long long ms = 0;
		int wait = web_crowd_sweep(&s->crowd, clock_ms());

		if (s->lib->timeout(d, &ms) == MHD_YES &&
		    (wait < 0 || ms < (unsigned)wait))
			wait = ms > INT_MAX ? INT_MAX : (int)ms;
		if (poll(fds, 2, wait) < 0 && errno != EINTR)
			return err_sys(e, -errno, "cannot wait for requests");
		if ((fds[0].revents & POLLIN) != 0)
			return 0;
		s->lib->run(d);
	}
}

static struct MHD_Daemon *
web_start(struct web_server *s)
{
	web_crowd_init(&s->crowd);
	return s->lib->start(
		MHD_USE_EPOLL, 0, NULL, NULL, web_handle, s, MHD_OPTION_LISTEN_SOCKET,
		s->w->fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_REQUEST_BYTES,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)WEB_CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)WEB_IDLE_S,
		MHD_OPTION_NOTIFY_COMPLETED, web_answered, s,
		MHD_OPTION_NOTIFY_CONNECTION, web_connected, s, MHD_OPTION_END);
}

int
web_run(struct web *w, const struct web_route *routes, void *ctx, struct err *e)
{
	struct web_server s = {.w = w, .routes = routes, .ctx = ctx};
	struct MHD_Daemon *d;
	sigset_t ends, before;
	int signals, r = microhttpd_load(&s.lib, e);

	if (r < 0)
		return r;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &before);
	signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	d = signals >= 0 ? web_start(&s) : NULL;
	if (signals < 0) {
		r = err_sys(e, -errno, "cannot wait for signals");
	} else if (d == NULL) {
		r = err_set(e, -EIO, "libmicrohttpd cannot serve here");
	} else {
		struct signalfd_siginfo seen;

		r = web_loop(&s, d, signals, e);
		s.lib->stop(d);
		w->fd = -1; /* closed by that */
		/* Taken, so that they do not end us when they are let through again. */
		while (read(signals, &seen, sizeof seen) > 0)
			;
	}
	if (signals >= 0)
		close(signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}
