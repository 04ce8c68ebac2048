/* SPDX-License-Identifier: MIT */
/* web_address.c -- where a server listens, and under which names it may be asked. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool/util/x.h"
#include "tool/web/microhttpd.h"
#include "tool/web/web.h"

enum { WEB_BACKLOG = 128, WEB_HOST_MAX = 255 };

int
web_address(const char *text, char **ret_host, uint16_t *ret_port, struct err *e)
{
	const char *colon = strrchr(text, ':');
	const char *end = colon;
	unsigned long port = 0;
	char *after = NULL;

	if (colon == NULL || strchr(colon, ']') != NULL)
		return err_set(e, -EINVAL, "\"%s\" has no port: [host]:[port]", text);
	if (colon[1] != '\0') {
		port = strtoul(colon + 1, &after, 10);
		if (*after != '\0' || colon[1] < '0' || colon[1] > '9' ||
		    port > UINT16_MAX)
			return err_set(e, -EINVAL, "\"%s\" is not a port", colon + 1);
	}
	if (text[0] == '[' && end > text && end[-1] == ']') {
		text++;
		end--;
	} else if (memchr(text, ':', (size_t)(end - text)) != NULL) {
		return err_set(e, -EINVAL, "\"%s\": put an address with colons into []",
			       text);
	}
	*ret_port = (uint16_t)port;
	*ret_host = end > text ? xmemdup0(text, (size_t)(end - text)) : NULL;
	return 0;
}

/* ---- listening ---- */

static int
web_bind(const struct addrinfo *a, int *ret_fd)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, WEB_BACKLOG) == 0) {
		*ret_fd = fd;
		return 0;
	}
	r = -errno;
	close(fd);
	return r;
}

/* The port that it became, and whether others can reach it. */
static void
web_look(struct web *w)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {0};
	socklen_t n = sizeof at;

	if (getsockname(w->fd, &at.any, &n) < 0)
		return;
	if (at.any.sa_family == AF_INET6) {
		w->port = ntohs(at.v6.sin6_port);
		w->is_local = IN6_IS_ADDR_LOOPBACK(&at.v6.sin6_addr);
	} else {
		w->port = ntohs(at.v4.sin_port);
		w->is_local = ntohl(at.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
}

int
web_listen(const char *host, uint16_t port, struct web *ret_web, struct err *e)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct web w = {.fd = -1};
	const struct microhttpd *lib;
	struct addrinfo *found = NULL;
	/* Not what a resolver makes of the name: a hosts file may say anything. */
	bool local = host == NULL || strcasecmp(host, "localhost") == 0;
	char service[8];
	int r = microhttpd_load(&lib, e);

	if (r < 0)
		return r;
	snprintf(service, sizeof service, "%u", port);
	r = getaddrinfo(local ? "127.0.0.1" : host, service, &hints, &found);
	if (r != 0)
		return err_set(e, -EADDRNOTAVAIL, "%s: %s", local ? "localhost" : host,
			       gai_strerror(r));
	r = -EADDRNOTAVAIL;
	for (const struct addrinfo *a = found; a != NULL && w.fd < 0; a = a->ai_next)
		r = web_bind(a, &w.fd);
	freeaddrinfo(found);
	host = local ? "localhost" : host;
	if (r < 0)
		return err_sys(e, r, "%s:%u: cannot listen there", host, port);
	web_look(&w);
	w.host = xstrdup(host);
	w.url = strchr(host, ':') != NULL ? xasprintf("http://[%s]:%u", host, w.port)
					  : xasprintf("http://%s:%u", host, w.port);
	*ret_web = w;
	return 0;
}

void
web_close(struct web *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->host);
	free(w->url);
	*w = (struct web)WEB_NONE;
}

/* ---- who asks for what ---- */

/* An address is no name that someone else's server could have answered for. */
static bool
web_is_address(const char *host)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, host, bytes) == 1 ||
	       inet_pton(AF_INET6, host, bytes) == 1;
}

bool
web_host_passes(const char *header, const char *host)
{
	char name[WEB_HOST_MAX + 1];
	const char *end;
	size_t n;

	if (header == NULL)
		return false;
	if (header[0] == '[') {
		header++;
		end = strchr(header, ']');
		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return false;
	} else {
		end = strchr(header, ':');
	}
	n = end != NULL ? (size_t)(end - header) : strlen(header);
	if (n == 0 || n > WEB_HOST_MAX)
		return false;
	memcpy(name, header, n);
	name[n] = '\0';
	if (n > 1 && name[n - 1] == '.')
		name[--n] = '\0';
	return strcasecmp(name, "localhost") == 0 ||
	       (n > 10 && strcasecmp(name + n - 10, ".localhost") == 0) ||
	       strcasecmp(name, host) == 0 || web_is_address(name);
}
