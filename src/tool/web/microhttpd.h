/* SPDX-License-Identifier: MIT */
/* microhttpd.h -- the few functions of libmicrohttpd that seep calls.
 *
 * The library is opened when a command serves something, and never else: it brings a TLS
 * library along. Only its header is needed to build. */
#ifndef SEEP_WEB_MICROHTTPD_H
#define SEEP_WEB_MICROHTTPD_H

#include <microhttpd.h>

#include "tool/util/err.h"

struct microhttpd {
	__typeof__(MHD_start_daemon) *start;
	__typeof__(MHD_stop_daemon) *stop;
	__typeof__(MHD_run) *run;
	__typeof__(MHD_get_timeout) *timeout;
	__typeof__(MHD_get_daemon_info) *info;
	__typeof__(MHD_get_connection_info) *connection;
	__typeof__(MHD_lookup_connection_value) *value;
	__typeof__(MHD_create_response_from_buffer) *response;
	__typeof__(MHD_add_response_header) *header;
	__typeof__(MHD_queue_response) *queue;
	__typeof__(MHD_destroy_response) *destroy;
};

/* The functions, loaded at the first call; they stay loaded. -ENOSYS names the
 * package. */
int microhttpd_load(const struct microhttpd **ret, struct err *e);

#endif
