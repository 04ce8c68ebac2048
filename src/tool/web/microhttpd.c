/* SPDX-License-Identifier: MIT */
/* microhttpd.c -- see microhttpd.h. */
#include "tool/web/microhttpd.h"

#include <stdbool.h>

#include "shared/compiler.h"
#include "tool/util/dynlib.h"

static struct microhttpd lib;

int
microhttpd_load(const struct microhttpd **ret, struct err *e)
{
	static const char *const names[] = {"libmicrohttpd.so.12", NULL};
	static const struct dynlib_symbol symbols[] = {
		{"MHD_start_daemon", &lib.start},
		{"MHD_stop_daemon", &lib.stop},
		{"MHD_run", &lib.run},
		{"MHD_get_timeout", &lib.timeout},
		{"MHD_get_daemon_info", &lib.info},
		{"MHD_get_connection_info", &lib.connection},
		{"MHD_lookup_connection_value", &lib.value},
		{"MHD_create_response_from_buffer", &lib.response},
		{"MHD_add_response_header", &lib.header},
		{"MHD_queue_response", &lib.queue},
		{"MHD_destroy_response", &lib.destroy},
	};
	static bool loaded;
	int r = loaded ? 0
		       : dynlib_load(names, symbols, ARRAY_LEN(symbols),
				     "serving a page needs libmicrohttpd.so.12, which is "
				     "not installed (Debian: libmicrohttpd12)",
				     e);

	loaded = r == 0;
	*ret = &lib;
	return r;
}
