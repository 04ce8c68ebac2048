/* SPDX-License-Identifier: MIT */
/* microhttpd.c -- see microhttpd.h. */
#include "tool/web/microhttpd.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static struct microhttpd lib;

int
microhttpd_load(const struct microhttpd **ret, struct err *e)
{
	static const struct {
		const char *name;
		void *to;
	} symbols[] = {
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
	static void *handle;
	static const char name[] = "libmicrohttpd.so.12";

	if (handle == NULL) {
		handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (handle == NULL)
			return err_set(e, -ENOSYS,
				       "serving a page needs %s, which is not installed "
				       "(Debian: libmicrohttpd12)",
				       name);
		for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
			void *at = dlsym(handle, symbols[i].name);

			if (at == NULL) {
				dlclose(handle);
				handle = NULL;
				return err_set(e, -ENOSYS, "%s has no %s", name,
					       symbols[i].name);
			}
			memcpy(symbols[i].to, &at, sizeof at);
		}
	}
	*ret = &lib;
	return 0;
}
