/* SPDX-License-Identifier: MIT */
/* requests.c -- a small server that loses memory on one path only; the picture in
 * README.md and docs/tutorial.md are made from it.
 *
 * 5,000 requests: 4,906 replies are sent and freed; 94 requests fail and lose their reply
 * of 4,096 bytes. 300 sessions stay in a table and are reachable: no leak. With an
 * argument it goes on, one request every millisecond, until it is killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reply {
	char text[4096];
};

static char *sessions[300];

static struct reply *
reply_new(const char *text)
{
	struct reply *r = malloc(sizeof(*r));

	if (r != NULL)
		snprintf(r->text, sizeof(r->text), "%s", text);
	return r;
}

static void
send_reply(struct reply *r)
{
	if (r != NULL)
		r->text[0] = '\0';
}

static void
handle_ok(void)
{
	struct reply *r = reply_new("200 OK");

	send_reply(r);
	free(r);
}

static void
handle_error(void)
{
	struct reply *r = reply_new("404 Not Found");

	send_reply(r); /* and never freed */
}

static void
handle(unsigned n)
{
	if (sessions[n % 300] == NULL)
		sessions[n % 300] = strdup("session");
	if (n % 53 == 26)
		handle_error();
	else
		handle_ok();
}

int
main(int argc, char **argv)
{
	(void)argv;
	for (unsigned n = 0; argc > 1 || n < 5000; n++) {
		handle(n);
		if (argc > 1)
			usleep(1000);
	}
	return 0;
}
