/* SPDX-License-Identifier: MIT */
/* test_web.c -- addresses to listen at, and which Host headers are answered. */
#include <errno.h>
#include <stdlib.h>

#include "t.h"
#include "tool/web/web.h"

T_TEST(addresses)
{
	static const struct {
		const char *text, *host;
		int port; /* < 0: refused */
	} rows[] = {
		{":8080", NULL, 8080},
		{":", NULL, 0},
		{":0", NULL, 0},
		{"localhost:", "localhost", 0},
		{"h:65535", "h", 65535},
		{"[::1]:80", "::1", 80},
		{"0.0.0.0:1", "0.0.0.0", 1},
		{"", NULL, -1},
		{"8080", NULL, -1},
		{"h:65536", NULL, -1},
		{"h:x", NULL, -1},
		{"h:1x", NULL, -1},
		{"h:-1", NULL, -1},
		{"h: 1", NULL, -1},
		{"h:+1", NULL, -1},
		{"::1:80", NULL, -1},
		{"[::1]", NULL, -1},
		{"a:b:1", NULL, -1},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char *host = NULL;
		uint16_t port = 7;
		struct err e = {0};
		int r = web_address(rows[i].text, &host, &port, &e);

		T_EQ(r, rows[i].port < 0 ? -EINVAL : 0);
		if (r < 0) {
			T_EQ(port, 7);
			continue;
		}
		T_EQ(port, rows[i].port);
		T_STR(host != NULL ? host : "(none)",
		      rows[i].host != NULL ? rows[i].host : "(none)");
		free(host);
	}
}

T_TEST(hosts)
{
	static const char *const yes[] = {
		"localhost",	"localhost:80",	 "LocalHost.",	    "x.localhost:9",
		"127.0.0.1",	"127.0.0.1:808", "192.168.1.7",	    "[::1]",
		"[fe80::2]:80", "Given.example", "given.example:1",
	};
	static const char *const no[] = {
		"",	      "evil.example",		"localhost.evil.example",
		"xlocalhost", "127.0.0.1.evil",		"[::1",
		"[::1]x",     "given.example.evil",	"notgiven.example",
		".",	      "127.0.0.1@evil.example", ":80",
	};

	for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
		T_CHECK(web_host_passes(yes[i], "given.example"));
	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
		T_CHECK(!web_host_passes(no[i], "given.example"));
	T_CHECK(!web_host_passes(NULL, "localhost"));
	T_CHECK(!web_host_passes("given.example", "localhost"));
}

T_MAIN()
