/* SPDX-License-Identifier: MIT */
/* peer_pprof_http.c -- `pprof -http=[host]:[port]`: the profile as a page, served to a
 * browser.
 *
 * The page is the one that `seep report --html` writes: it has all views inside and asks
 * for nothing more, so there are few paths. They are made when they are first asked for,
 * and kept. Names are pprof's, with and without the /ui that its newer versions put
 * before them. No browser is opened. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/compat/compat.h"
#include "tool/compat/pprof/peer_pprof.h"
#include "tool/format/format_save.h"
#include "tool/web/web.h"

struct pprof_site {
	struct pprof_loaded *l;
	struct buf page, top, proto;
};

static int
pprof_serve_page(void *ctx, struct web_reply *ret, struct err *e)
{
	struct pprof_site *s = ctx;
	int r = s->page.len > 0 ? 0 : pprof_report_page(s->l, &s->page, e);

	*ret = (struct web_reply){.type = "text/html; charset=utf-8", .body = &s->page};
	return r;
}

static int
pprof_serve_top(void *ctx, struct web_reply *ret, struct err *e)
{
	struct pprof_site *s = ctx;
	int r = s->top.len > 0 ? 0 : pprof_report_text(s->l, PPROF_TOP, &s->top, e);

	*ret = (struct web_reply){.type = "text/plain; charset=utf-8", .body = &s->top};
	return r;
}

static int
pprof_serve_proto(void *ctx, struct web_reply *ret, struct err *e)
{
	struct pprof_site *s = ctx;
	struct emit_out out = {.buf = &s->proto};
	int r = 0;

	if (s->l->base != NULL)
		return err_set(
			e, -ENOTSUP,
			"-base and -diff_base cannot be served; serve one profile");
	if (s->proto.len == 0)
		r = format_save(s->l->p, "pprof", NULL, &out, e);
	*ret = (struct web_reply){.type = "application/vnd.google.protobuf+gzip",
				  .save_as = "profile.pb.gz",
				  .body = &s->proto};
	return r;
}

static const struct web_route pprof_routes[] = {
	{"/", pprof_serve_page},
	{"/flamegraph", pprof_serve_page},
	{"/top", pprof_serve_top},
	{"/download", pprof_serve_proto},
	{"/ui/", pprof_serve_page},
	{"/ui/flamegraph", pprof_serve_page},
	{"/ui/top", pprof_serve_top},
	{"/ui/download", pprof_serve_proto},
	{0},
};

int
pprof_http(struct pprof_loaded *l, struct err *e)
{
	struct pprof_site site = {.l = l};
	struct web w = WEB_NONE;
	char *host = NULL;
	uint16_t port = 0;
	int r = web_address(l->args->http, &host, &port, e);

	if (r == 0)
		r = web_listen(host, port, &w, e);
	if (r < 0)
		err_wrap(e, r, "-http");
	if (r == 0) {
		fprintf(stderr, "Serving web UI on %s\n", w.url);
		if (!w.is_local)
			cmd_note("everyone who can reach %s can read this profile",
				 w.url);
		r = web_run(&w, pprof_routes, &site, e);
	}
	web_close(&w);
	free(host);
	buf_done(&site.page);
	buf_done(&site.top);
	buf_done(&site.proto);
	return r;
}
