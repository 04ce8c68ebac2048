/* SPDX-License-Identifier: MIT */
/* input_url.c -- a profile from an HTTP server.
 *
 * libcurl is loaded when the first URL is asked for: nothing else of seep needs it, and it
 * brings some thirty libraries along. Its functions and the numbers of its options have been
 * the same since 2006, so they are written down here and no header is needed to build.
 * Redirects are followed within http and https only. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "input.h"
#include "shared/compiler.h"
#include "tool/util/err.h"

enum {
	URL_MAX_REDIRECTS = 8,
	URL_CONNECT_S = 15,
	URL_STALL_S = 60, /* less than a byte a second for so long */
	URL_SECONDS_MAX = 86400,
	URL_ERROR_BYTES = 256,
	URL_REASON_CHARS = 120,
};

static const size_t url_max_bytes = (size_t)4 << 30;

enum url_option { /* CURLOPT_* */
		  URL_OPT_LOW_SPEED_LIMIT = 19,
		  URL_OPT_LOW_SPEED_TIME = 20,
		  URL_OPT_FOLLOW = 52,
		  URL_OPT_REDIRECTS = 68,
		  URL_OPT_CONNECT_TIME = 78,
		  URL_OPT_NO_SIGNAL = 99,
		  URL_OPT_PROTOCOLS = 181,
		  URL_OPT_REDIR_PROTOCOLS = 182,
		  URL_OPT_WRITE_DATA = 10001,
		  URL_OPT_URL = 10002,
		  URL_OPT_ERROR_BUFFER = 10010,
		  URL_OPT_POST_TEXT = 10015,
		  URL_OPT_USER_AGENT = 10018,
		  URL_OPT_WRITE_FUNCTION = 20011,
};

enum {
	URL_INFO_STATUS = 0x200002, /* CURLINFO_RESPONSE_CODE */
	URL_HTTP_AND_HTTPS = 1 | 2, /* CURLPROTO_* */
};

struct url_curl {
	void *(*init)(void);
	int (*set)(void *handle, int option, ...);
	int (*perform)(void *handle);
	int (*info)(void *handle, int what, ...);
	const char *(*text)(int code);
	void (*cleanup)(void *handle);
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
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	struct url_curl c;
	void *lib = NULL;

	for (size_t i = 0; i < ARRAY_LEN(names) && lib == NULL; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (lib == NULL)
		return err_set(e, -ENOSYS,
			       "URLs need libcurl, which is not installed (package "
			       "libcurl4); or: curl -s URL | seep report -");
	c.init = (void *(*)(void))dlsym(lib, "curl_easy_init");
	c.set = (int (*)(void *, int, ...))dlsym(lib, "curl_easy_setopt");
	c.perform = (int (*)(void *))dlsym(lib, "curl_easy_perform");
	c.info = (int (*)(void *, int, ...))dlsym(lib, "curl_easy_getinfo");
	c.text = (const char *(*)(int))dlsym(lib, "curl_easy_strerror");
	c.cleanup = (void (*)(void *))dlsym(lib, "curl_easy_cleanup");
	if (c.init == NULL || c.set == NULL || c.perform == NULL || c.info == NULL ||
	    c.text == NULL || c.cleanup == NULL)
		return err_set(e, -ENOSYS, "libcurl lacks functions that URLs need");
	*ret_curl = c; /* stays loaded: it does not like to go */
	return 0;
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
	int r;

	c->set(h, URL_OPT_URL, url);
	if (post != NULL)
		c->set(h, URL_OPT_POST_TEXT, post);
	c->set(h, URL_OPT_WRITE_FUNCTION, url_take);
	c->set(h, URL_OPT_WRITE_DATA, (void *)ret_body);
	c->set(h, URL_OPT_ERROR_BUFFER, why);
	c->set(h, URL_OPT_USER_AGENT, "seep");
	c->set(h, URL_OPT_FOLLOW, 1L);
	c->set(h, URL_OPT_REDIRECTS, (long)URL_MAX_REDIRECTS);
	c->set(h, URL_OPT_PROTOCOLS, (long)URL_HTTP_AND_HTTPS);
	c->set(h, URL_OPT_REDIR_PROTOCOLS, (long)URL_HTTP_AND_HTTPS);
	c->set(h, URL_OPT_CONNECT_TIME, (long)URL_CONNECT_S);
	c->set(h, URL_OPT_LOW_SPEED_LIMIT, 1L);
	c->set(h, URL_OPT_LOW_SPEED_TIME, (long)URL_STALL_S + url_seconds(url));
	c->set(h, URL_OPT_NO_SIGNAL, 1L);
	r = c->perform(h);
	if (r != 0)
		return err_set(e, -EIO, "%s: %s", url, why[0] != '\0' ? why : c->text(r));
	c->info(h, URL_INFO_STATUS, &status);
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
