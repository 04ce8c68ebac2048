/* SPDX-License-Identifier: MIT */
/* input_url.c -- a profile from an HTTP server.
 *
 * libcurl is loaded when the first URL is asked for: nothing else of seep needs it, and
 * it brings some thirty libraries along. Only its header is needed to build. Redirects
 * are followed within http and https only. */
#define CURL_DISABLE_DEPRECATION /* what replaces CURLOPT_PROTOCOLS came with 7.85 */
#include <curl/curl.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "input.h"
#include "shared/compiler.h"
#include "tool/util/dynlib.h"
#include "tool/util/err.h"

enum {
	URL_MAX_REDIRECTS = 8,
	URL_CONNECT_S = 15,
	URL_STALL_S = 60, /* less than a byte a second for so long */
	URL_SECONDS_MAX = 86400,
	URL_ERROR_BYTES = CURL_ERROR_SIZE,
	URL_REASON_CHARS = 120,
};

static const size_t url_max_bytes = (size_t)4 << 30;

struct url_curl {
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_setopt) *set;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *info;
	__typeof__(curl_easy_strerror) *text;
	__typeof__(curl_easy_cleanup) *cleanup;
};

bool
input_is_url(const char *source)
{
	return strncasecmp(source, "http://", 7) == 0 ||
	       strncasecmp(source, "https://", 8) == 0;
}

static int
url_load(struct url_curl *ret_curl, struct err *e)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
	const struct dynlib_symbol symbols[] = {
		{"curl_easy_init", &ret_curl->init},
		{"curl_easy_setopt", &ret_curl->set},
		{"curl_easy_perform", &ret_curl->perform},
		{"curl_easy_getinfo", &ret_curl->info},
		{"curl_easy_strerror", &ret_curl->text},
		{"curl_easy_cleanup", &ret_curl->cleanup},
	};

	return dynlib_load(names, symbols, ARRAY_LEN(symbols),
			   "URLs need libcurl, which is not installed (package "
			   "libcurl4); or: curl -s URL | seep report -",
			   e);
}

/* Less than `size * n` taken makes libcurl stop. */
static size_t
url_take(char *data, size_t size, size_t n, void *to)
{
	struct buf *body = to;

	if (n != 0 && size > SIZE_MAX / n)
		return 0;
	if (size * n > url_max_bytes - body->len)
		return 0;
	buf_add(body, data, size * n);
	return size * n;
}

/* The server's own words, if it sent some: the first line, printable. */
static void
url_reason(const struct buf *body, char *ret_text)
{
	size_t n = 0;

	for (; n < body->len && n < URL_REASON_CHARS; n++) {
		unsigned char c = (unsigned char)body->data[n];

		if (c < ' ' || c >= 127)
			break;
		ret_text[n] = (char)c;
	}
	ret_text[n] = '\0';
	if (strncmp(ret_text, "<", 1) == 0)
		ret_text[0] = '\0'; /* a page, not a sentence */
}

/* What the URL itself asks the server to wait (`?seconds=30`). */
static long
url_seconds(const char *url)
{
	const char *at = strstr(url, "seconds=");
	long s = at != NULL ? strtol(at + strlen("seconds="), NULL, 10) : 0;

	return s > 0 && s < URL_SECONDS_MAX ? s : 0;
}

static int
url_ask(const struct url_curl *c, void *h, const char *url, const char *post,
	struct buf *ret_body, struct err *e)
{
	char why[URL_ERROR_BYTES] = "", reason[URL_REASON_CHARS + 1];
	long status = 0;
	CURLcode r;

	c->set(h, CURLOPT_URL, url);
	if (post != NULL)
		c->set(h, CURLOPT_POSTFIELDS, post);
	c->set(h, CURLOPT_WRITEFUNCTION, url_take);
	c->set(h, CURLOPT_WRITEDATA, (void *)ret_body);
	c->set(h, CURLOPT_ERRORBUFFER, why);
	c->set(h, CURLOPT_USERAGENT, "seep");
	c->set(h, CURLOPT_FOLLOWLOCATION, 1L);
	c->set(h, CURLOPT_MAXREDIRS, (long)URL_MAX_REDIRECTS);
	c->set(h, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	c->set(h, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	c->set(h, CURLOPT_CONNECTTIMEOUT, (long)URL_CONNECT_S);
	c->set(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
	c->set(h, CURLOPT_LOW_SPEED_TIME, (long)URL_STALL_S + url_seconds(url));
	c->set(h, CURLOPT_NOSIGNAL, 1L);
	r = c->perform(h);
	if (r != 0)
		return err_set(e, -EIO, "%s: %s", url, why[0] != '\0' ? why : c->text(r));
	c->info(h, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		return 0;
	url_reason(ret_body, reason);
	return err_set(e, -EPROTO, "%s: the server answers %ld%s%s", url, status,
		       reason[0] != '\0' ? ": " : "", reason);
}

int
input_post(const char *url, const char *text, struct buf *ret_body, struct err *e)
{
	struct url_curl c = {0};
	struct buf body = {0};
	int r = url_load(&c, e);
	void *h;

	if (r < 0)
		return r;
	h = c.init();
	if (h == NULL)
		return err_set(e, -ENOMEM, "%s: libcurl cannot be started", url);
	r = url_ask(&c, h, url, text, &body, e);
	c.cleanup(h);
	if (r == 0)
		*ret_body = body;
	else
		buf_done(&body);
	return r;
}

int
input_fetch(const char *url, struct buf *ret_body, struct err *e)
{
	return input_post(url, NULL, ret_body, e);
}
